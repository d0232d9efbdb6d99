from ...edits import drop_argument, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.loaders import loaders_with_workers
from ...units import plural
from ...workers import workers_bytes, workers_that_fit

_OF_WORKERS = ("persistent_workers", "prefetch_factor", "multiprocessing_context", "timeout")
_LOADER = "from torch.utils.data import DataLoader\n"


class LimitDataloaderWorkers(Fix):
    """Load the data with fewer worker processes.

    What it does: Each worker of a `DataLoader` is a process. It holds a copy of what it touches of the data set, its
    own imports, and `prefetch_factor` batches that wait to be taken.

    When it is offered: Memory ran out while the kernel's child processes held a good part of it, and a cell makes a
    `DataLoader` with workers.

    What it costs: Speed, where loading is what the training waits for.
    """

    id, title, causes = "limit-dataloader-workers", "Load the data with fewer workers", (Family.MEMORY,)

    FIRES = [
        Case(
            _LOADER + "loader = DataLoader(ds, batch_size=64, num_workers=8)",
            "for x in loader: pass",
            children_mib=1500,
            becomes={1: _LOADER + "loader = DataLoader(ds, batch_size=64, num_workers=3)"},
            says=("8", "num_workers"),
        ),
        Case(
            _LOADER + "loader = DataLoader(ds, num_workers=2, persistent_workers=True, shuffle=True)",
            "for x in loader: pass",
            children_mib=1700,
            becomes={1: _LOADER + "loader = DataLoader(ds, num_workers=0, shuffle=True)"},
        ),
        Case(
            _LOADER + "N_WORKERS = 4\ndef make(ds, workers=0):\n    return DataLoader(ds, num_workers=workers)",
            "for x in make(ds, workers=N_WORKERS): pass",
            children_mib=1500,
            becomes={"N_WORKERS = 4": "N_WORKERS = 1"},
        ),
    ]
    SILENT = [
        Case(_LOADER + "loader = DataLoader(ds, num_workers=8)", "for x in loader: pass"),  # nobody saw the children
        Case(_LOADER + "loader = DataLoader(ds)", "for x in loader: pass", children_mib=1500),
        # what its only worker held does not fit into the kernel either
        Case(_LOADER + "loader = DataLoader(ds, num_workers=1)", "for x in loader: pass", children_mib=1500),
    ]

    def propose(self, death: Death) -> Proposals:
        held = workers_bytes(death)
        for loader in loaders_with_workers(death.code) if held else ():
            fewer = workers_that_fit(death, loader.workers)
            if fewer is None:
                continue
            where = death.code.cell_name(loader.number.scope.cell)
            why = (
                f"{quote(loader.call.text)} starts {plural(loader.workers, 'process')} (`num_workers`). The kernel's "
                f"child processes held {size(held or 0)} at the end. The number is written in {where}."
            )
            title = f"{self.title}: {fewer} in place of {loader.workers}"
            edits = replace(loader.number.scope, loader.number.node, str(fewer))
            if fewer == 0:  # these are for workers only
                given = [one for one in _OF_WORKERS if loader.call.argument(one) is not None]
                edits += tuple(one for name in given for one in drop_argument(loader.call, name))
            yield Proposal(edits, why, held, title)
            return

    def is_cured(self, before: Death, after: Death) -> bool:
        """There are fewer workers than before."""
        counts = [sum(one.workers for one in loaders_with_workers(death.code)) for death in (before, after)]
        return counts[1] < counts[0]
