from ...fix import Advice, Case, Death
from ...frameworks.training import find_batch_size, trains

_STEP = "import torch\nbs = 512\nfor x in torch.utils.data.DataLoader(d, bs): net(x).mean().backward()"


class FindExecutableBatchSize(Advice):
    """Let a function find the largest batch that fits.

    What it does: `find_executable_batch_size` of accelerate calls your training function again with a smaller batch
    each time the card is full. In Lightning, `Tuner(trainer).scale_batch_size(model)` does the same.

    When it is offered: The graphics card was full in a cell that trains with PyTorch.

    What it costs: Each try starts from the beginning. The function must make model and loader itself. It is no help
    against the machine's memory, where the kernel is killed.
    """

    id, title = "find-executable-batch-size", "Let accelerate find the batch size that fits"
    causes, general = ("gpu-oom",), True
    why = (
        "The card was full, and the kernel lives: so a program can find the largest batch by trying. The "
        "function below is called again with a smaller one until it fits."
    )
    snippet = (
        "from accelerate.utils import find_executable_batch_size\n"
        "\n"
        "@find_executable_batch_size(starting_batch_size={batch})\n"
        "def train(batch_size):\n"
        "    …  # make loader, model and optimizer here\n"
        "\n"
        "train()"
    )

    FIRES = [Case(_STEP, says=("=512",))]
    SILENT = [Case("import torch", "x = torch.ones(9)")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Return the batch size that is written now."""
        code = death.code
        batch = find_batch_size(code) if trains(code) and code.imports("torch") else None
        return None if batch is None else {"batch": str(batch.value)}
