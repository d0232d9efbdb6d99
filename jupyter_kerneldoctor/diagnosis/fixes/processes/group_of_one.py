from ...fix import Advice, Case, Death


class GroupOfOne(Advice):
    """Make a group of processes as large as it is.

    What it does: `init_process_group` returns when all of its `world_size` processes have called it. A notebook is one
    process: the snippet makes a group of this one, or starts the others with `torchrun`.

    When it is offered: The kernel waits in `torch.distributed` for the other processes of a group, and has started
    none.

    What it costs: With one process nothing runs in parallel. What `torchrun` runs has to be in a file.
    """

    id, title, causes = "group-of-one", "Make a group of this process only: world_size=1", ("hang",)
    functions = ("torch.distributed.init_process_group",)
    why = (
        "{call} waits until all processes of the group have called it, and this notebook has started no other. Make "
        "a group of one, or put the code into a file and let torchrun start as many processes as you want."
    )
    snippet = (
        'dist.init_process_group("gloo", rank=0, world_size=1, timeout=timedelta(seconds=60))\n\n'
        "!torchrun --nproc-per-node=2 train.py  # it gives each its rank and the world_size"
    )

    FIRES = [
        Case(
            "import torch.distributed as dist",
            'dist.init_process_group("gloo", rank=0, world_size=2)',
            says=("world_size=1", "torchrun"),
        )
    ]
    SILENT = [
        Case(
            "import torch.distributed as dist",
            'p.start()\ndist.init_process_group("gloo", rank=0, world_size=2)\nq.get()',
            line=3,
        ),
        Case("q.get()"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Keep silent where the cell is elsewhere, or has started processes."""
        return None if death.busy_cell is not None and death.busy_cell.waits_for_group_s is None else {}
