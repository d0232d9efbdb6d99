import ast
from collections.abc import Iterator
from typing import Any

from ...code.origins import Origins
from ...fix import Call, Case, Death, SetArgument

_OPT = "import torch\nnet = torch.nn.Linear(9, 9)\nopt = torch.optim.AdamW(net.parameters(){})"
_FULL: dict[str, Any] = {"cause": "gpu-oom", "line": 1}


class OptimizerForeachOff(SetArgument):
    """Let the optimizer go through the parameters one by one.

    What it does: On a graphics card PyTorch's optimizers work on all parameters at once (`foreach`), with intermediate
    results as large as the parameters. With `foreach=False` these are as large as one parameter. `fused=True` needs
    none either.

    When it is offered: The graphics card was full in the `step()` of an optimizer that was told neither.

    What it costs: A slower step. The numbers may differ in the last digits.
    """

    id, title = "optimizer-foreach-off", "Let the optimizer go through the parameters one by one: foreach=False"
    causes = ("gpu-oom",)
    argument, value = "foreach", "False"
    why = "works on all parameters at once, with intermediate results as large as all of them."

    FIRES = [Case(_OPT.format(""), "opt.step()", becomes={1: _OPT.format(", foreach=False")}, **_FULL)]
    SILENT = [
        Case(_OPT.format(", fused=True"), "opt.step()", **_FULL),
        Case(_OPT.format(", foreach=True"), "opt.step()", **_FULL),
        Case(_OPT.format(""), "net(x).mean().backward()\nopt.step()", **_FULL),
    ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the calls that made the optimizers whose `step()` was running."""
        for node, scope in death.code.running.nodes(ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "step" and death.was_running(node, scope):
                for made, home in Origins(death.code).of(node.func.value, scope):
                    name = death.code.qualified(made.func, home) if isinstance(made, ast.Call) else None
                    if isinstance(made, ast.Call) and (name or "").startswith("torch.optim."):
                        call = Call(made, home, name or "")
                        if call.argument("fused") is None:
                            yield call

    def saves(self, call: Call, death: Death) -> int | None:
        """Count half of what was missing: how large the parameters are is not known."""
        missing = super().saves(call, death)
        return None if missing is None else (missing + 1) // 2
