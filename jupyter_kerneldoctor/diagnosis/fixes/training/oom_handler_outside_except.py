import ast

from ...code.calls import last_name
from ...fix import Advice, Case, Death

_CLEANS = frozenset({"empty_cache", "collect", "print", "zero_grad", "synchronize", "warning", "info"})


class OomHandlerOutsideExcept(Advice):
    """Try again after the `except` block, not in it.

    What it does: While an `except` block runs, the exception holds the stack of what failed, with all its tensors. What
    is tried inside the block finds the card as full as before. After the block they are free.

    When it is offered: The graphics card was full in a cell that calls something in an `except` of an out-of-memory
    error.

    What it costs: Nothing.
    """

    id, title, causes = "oom-handler-outside-except", "Try again after the except block, not in it", ("gpu-oom",)
    why = (
        "The `except` in {where_it_is} goes on with the work while the exception still holds the tensors of "
        "what failed. Set a flag there, and try again behind it."
    )
    snippet = (
        "try:\n"
        "    step(batch)\n"
        "    failed = False\n"
        "except torch.OutOfMemoryError:\n"
        "    failed = True\n"
        "if failed:\n"
        "    torch.cuda.empty_cache()\n"
        "    …  # try again here"
    )

    FIRES = [
        Case(
            "import torch",
            "try:\n    step(x)\nexcept torch.cuda.OutOfMemoryError:\n    step(x[:9])",
            says=("cell [2]",),
        )
    ]
    SILENT = [
        Case("import torch", "try:\n    step(x)\nexcept RuntimeError:\n    failed = True"),
        Case("import torch", "try:\n    step(x)\nexcept KeyError:\n    step(y)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find such a block in what ran."""
        for node, scope in death.code.running.nodes(ast.ExceptHandler):
            if node.type is not None:
                calls = [one for one in node.body if any(_works(part) for part in scope.inside(one))]
                if calls and scope.segment(node.type).endswith(("RuntimeError", "OutOfMemoryError")):
                    return {"where_it_is": death.code.cell_name(scope.cell)}
        return None


def _works(node: ast.AST) -> bool:
    """Whether a node is a call of more than what cleans up."""
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    return bool(name) and name not in _CLEANS
