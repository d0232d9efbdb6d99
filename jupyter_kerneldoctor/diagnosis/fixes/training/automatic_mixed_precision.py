from ...fix import Advice, Case, Death
from ...frameworks.gradients import goes_backward
from ...frameworks.step_growth import grows_by_the_step

_STEP = "import torch\nfor x, y in loader:\n    loss = crit(net(x), y)\n    loss.backward()\n    opt.step()"


class AutomaticMixedPrecision(Advice):
    """Calculate in 16 bits where that is enough: autocast.

    What it does: Under `torch.autocast` matrix products and convolutions give numbers of 16 bits, so that what is kept
    of them for the backward pass takes half the memory. Weights, gradients and the optimizer's numbers stay as they
    are.

    When it is offered: The graphics card was full in a training with PyTorch that does not use autocast.

    What it costs: Precision. `bfloat16` needs a card of 2020 or later; `float16` needs a `torch.amp.GradScaler` as
    well.
    """

    id, title = "automatic-mixed-precision", "Keep intermediate results in 16 bits: torch.autocast"
    causes, general = ("gpu-oom",), True
    unless = ("autocast", "bfloat16", ".half()")
    share = 1 / 3  # what is kept is not all that the step needs
    why = "What the network keeps for the backward pass is in 32 bits. Under autocast most of it takes half."
    snippet = (
        'with torch.autocast("cuda", dtype=torch.bfloat16):\n    output = model(x)\n    loss = criterion(output, y)\n'
        "loss.backward()  # outside of it"
    )

    FIRES = [Case(_STEP, says=("torch.bfloat16",))]
    SILENT = [
        Case(_STEP.replace("    loss = crit", "    with torch.autocast('cuda'): loss = crit")),
        Case("import torch\ny = net(x)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Keep silent where nothing is trained, or each step leaves memory behind."""
        trains = goes_backward(death.code)
        return {} if trains and not grows_by_the_step(death.code) else None
