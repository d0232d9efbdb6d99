from ...fix import OUT_OF_MEMORY, Advice, Case, Death
from ...frameworks.gradients import backward_calls
from ...frameworks.torch import Tensors
from ...frameworks.training_step import NoStepError, find_step
from ...sizing import batch_to_blame

_LOAD = "import torch\nnet = torch.nn.Linear(9, 9)\nloader = torch.utils.data.DataLoader(data, 1024)\n"
_STEP = (
    "for batch in loader:\n    opt.zero_grad()\n    out = net(batch['x'])\n    loss = out.mean()\n"
    "    loss.backward()\n    opt.step()\n"
)


class GradientAccumulation(Advice):
    """Take smaller batches, and make a step of the optimizer every few of them.

    What it does: Gradients add up from one `backward()` to the next. With batches of a quarter of the size, and a step
    after every four of them, the optimizer sees as many samples as before, while memory holds a quarter.

    When it is offered: Memory ran out in a PyTorch training step that cannot be taken in parts of its batch as it
    stands: its batch is a dict, or it uses a gradient scaler.

    What it costs: Time. BatchNorm sees the smaller batches, and the learning rate's schedule counts fewer rounds.
    """

    id, title, causes = "gradient-accumulation", "Accumulate the gradient of smaller batches", OUT_OF_MEMORY
    share = 9 / 10  # the smaller batch alone does as much
    why = (
        "{reason} With {small} in place of {now}, a step of the optimizer after every {steps} batches sees as"
        " many samples as before."
    )
    snippet = (
        "optimizer.zero_grad()\n"
        "for i, batch in enumerate(loader, start=1):  # batch_size={small}\n"
        "    loss = …\n"
        "    (loss / {steps}).backward()\n"
        "    if i % {steps} == 0 or i == len(loader):\n"
        "        optimizer.step()\n"
        "        optimizer.zero_grad()"
    )

    FIRES = [Case(_LOAD, _STEP, says=("batch_size=64", "loss / 16"))]
    SILENT = [
        Case(_LOAD, _STEP.replace("batch['x']", "batch")),
        Case(_LOAD, _STEP, before_mib=1900),
        Case(_LOAD, _STEP + "    other.backward()\n"),  # a game of two networks
        Case(_LOAD + "seen = []", _STEP + "    seen.append(out.detach())"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Return the numbers, where the step cannot be split."""
        batch = batch_to_blame(death)
        if batch is None or batch.written is None or not death.code.imports("torch"):
            return None
        if sum(len(backward_calls(scope.node, scope)) for scope in death.code.running) != 1:
            return None
        try:
            find_step(death.code, Tensors(death.code))
        except NoStepError:
            now, small = batch.written.value, batch.choice.value
            return {"reason": batch.reason, "now": str(now), "small": str(small), "steps": str(-(-now // small))}
        return None
