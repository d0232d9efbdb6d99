from ...fix import Advice, Case, Death

_LOADER = "import torch\nfrom torch.utils.data import DataLoader\nnet = build().to('cuda')\n"


class CudaAfterFork(Advice):
    """Keep the card out of worker processes, or start them with spawn.

    What it does: A process that used the card cannot be copied: in the copy CUDA raises "Cannot re-initialize CUDA in
    forked subprocess", or waits for ever. Workers of a `DataLoader` should give tensors of the processor's memory,
    which the loop then moves to the card.

    When it is offered: Workers were copied from a kernel in which cells use CUDA.

    What it costs: Spawned workers take seconds to start, and what they run must stand in a file.
    """

    id, title, causes = "cuda-after-fork", "Keep the card out of copied workers: spawn, or move later", ("fork-unsafe",)
    functions = ("torch.utils.data.DataLoader", "torch.multiprocessing.*", "multiprocessing.*")
    unless = ("spawn",)
    why = "{call} copies the kernel, in which the card is in use already. CUDA does not work in such a copy."
    snippet = (
        "# the data set gives tensors of the processor's memory, and the loop moves them:\n"
        "for x, y in loader:\n    x, y = x.to('cuda', non_blocking=True), y.to('cuda', non_blocking=True)\n\n"
        "# or: DataLoader(..., num_workers=4, multiprocessing_context='spawn')  # with the data set in a .py file"
    )

    FIRES = [
        Case(
            _LOADER + "ds = OnCard()",
            "for x in DataLoader(ds, num_workers=4): net(x)",
            says=("num_workers=4", "multiprocessing_context='spawn'"),
        )
    ]
    SILENT = [
        Case("import multiprocessing as mp", "mp.Pool(4).map(f, x)"),
        Case(_LOADER, "for x in DataLoader(ds, multiprocessing_context='spawn'): net(x)"),
        Case(_LOADER, "for x in DataLoader(ds, num_workers=4): net(x)", cause="hang"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Look for the card in the cells."""
        return {} if death.code.has_text("cuda") else None
