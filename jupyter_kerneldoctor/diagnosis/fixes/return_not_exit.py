"""The fix `return-not-exit`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.code.cellsource import segment
from jupyter_kerneldoctor.diagnosis.units import cell_name, quote

from ._edits import Replacement, replace_node
from ._examples import Example
from ._rule import CellEdit, Draft, FixRule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_ASKS = frozenset({"builtins.exit", "builtins.quit"})
_ENDS_AT_ONCE = frozenset({"os._exit", "posix._exit"})
_STOPPED = '"Stopped here"'  # with a text, IPython prints it and nothing else; without, a warning


@dataclass(frozen=True)
class Exit:
    """A place in the running code that ends the kernel."""

    node: ast.expr
    scope: Scope
    full: str
    replacement: str | None
    """What stands there after the edit; None where no statement can stand."""


class ReturnNotExit(FixRule[list[Exit]]):
    """Stop the cell, not the kernel.

    What it does
    ------------
    In a script `exit()` ends the program; in a notebook the program is the kernel, and everything in memory goes with
    it. What was called first in a cell also does not stop the cell: the lines below still run. The edit raises
    `SystemExit` with a text instead: the cell (and a "Run All") stops there and the kernel lives on. In a function that
    is the last thing the cell calls, a plain `return` does the same without an error.

    When it is offered
    ------------------
    The kernel ended because the program asked for it, and the cell that ran, or a function it calls, has `exit()`,
    `quit()` or `os._exit()`. Not for `sys.exit()`, which IPython catches, and not in a forked child, which must end so.

    What it costs
    -------------
    The notebook shows `SystemExit: Stopped here` below the cell. An exit status gets lost; nobody reads it here.

    Example
    -------
    `if not rows: exit()` becomes `if not rows: raise SystemExit("Stopped here")`.
    """

    id = "return-not-exit"
    title = "Stop the cell, not the kernel: return, or raise SystemExit"
    causes = ("exit-call",)
    applicability: ClassVar[Applicability] = "suggested"

    def detect(self, context: FixContext, code: Notebook) -> list[Exit] | None:
        """Calls that end the kernel in the code that ran; where it lives, it was a worker process that left."""
        if context.recording.alive:
            return None
        found = [one for scope in code.running if not _forks(scope, code) for one in _exits(scope, code)]
        return found if any(code.is_at_line(one.node, one.scope) for one in found) else None

    def fix(self, context: FixContext, code: Notebook, found: list[Exit]) -> Draft:  # noqa: ARG002 - same for all rules
        """Replace each call by a statement that stops the cell."""
        first = found[0]
        source = code.source(first.scope.cell)
        where = f"{cell_name(code.cells[first.scope.cell].execution_count)}, line {first.node.lineno}"
        what = quote(segment(source, first.node))
        why = (
            f"{what} ({where}) ends the kernel and everything in its memory at once. "
            if first.full in _ENDS_AT_ONCE
            else f"{what} ({where}) lets the rest of the cell run, then ends the kernel and everything in its memory. "
        )
        if any(one.replacement is None for one in found):
            why += (
                "Use an if statement with raise SystemExit in its place: that stops the cell and the kernel lives on."
            )
            return Draft(why, snippet=f"if …:  # what {what} depends on\n    raise SystemExit({_STOPPED})")
        new = next(one.replacement for one in found if one.replacement is not None)
        why += f"{quote(new)} stops only the {'function' if new == 'return' else 'cell'}; the kernel lives on."
        edits: dict[int, list[Replacement]] = {}
        for one in found:
            assert one.replacement is not None
            edits.setdefault(one.scope.cell, []).append(
                replace_node(code.source(one.scope.cell), one.node, one.replacement)
            )
        return Draft(why, tuple(CellEdit(cell, tuple(all_)) for cell, all_ in edits.items()))

    examples = (
        Example(
            cells=("rows = []", "if not rows: exit()\nprint('ready')"),
            cause="exit-call",
            changed={2: "if not rows: raise SystemExit(\"Stopped here\")\nprint('ready')"},
        ),
        Example(
            cells=("import os as system", "!ls\nsystem._exit(3)  # über"),
            cause="exit-call",
            changed={2: "!ls\nraise SystemExit(3)  # über"},
        ),
        Example(
            cells=("from os import _exit\ndef main():\n\tif not data:\n\t\t_exit(0)\n\tplot()", "data = []\nmain()"),
            cause="exit-call",
            changed={1: "from os import _exit\ndef main():\n\tif not data:\n\t\treturn\n\tplot()"},
        ),
        Example(  # what comes after the call must not run, so a return is not enough
            cells=("def check(rows):\n    if not rows:\n        quit()", "check([])\nprint('going on')"),
            cause="exit-call",
            changed={1: 'def check(rows):\n    if not rows:\n        raise SystemExit("Stopped here")'},
        ),
        Example(cells=("x = 0", "x or exit()"), cause="exit-call", says=("raise SystemExit",)),
        Example(cells=("from sys import exit", "exit()"), cause="exit-call", fires=False),
        Example(cells=("def exit(): print('bye')", "exit()"), cause="exit-call", fires=False),
        Example(
            cells=("import os", "if os.fork() == 0:\n    os._exit(0)\nos.wait()"),
            cause="exit-call",
            fires=False,
        ),
        Example(cells=("x = 1", "if x: exit()"), cause="oom-cgroup", fires=False),
    )


def _exits(scope: Scope, code: Notebook) -> list[Exit]:
    statements = {id(one.value) for one in scope.walk() if isinstance(one, ast.Expr)}
    found = []
    for node in scope.walk():
        if isinstance(node, ast.Call):
            full = code.qualified(node.func, scope)
        elif isinstance(node, ast.Name) and id(node) in statements and scope.is_cell:
            full = code.qualified(node, scope)  # IPython calls a bare `exit`
            full = full if full in _ASKS else None
        else:
            continue
        if full in _ASKS or full in _ENDS_AT_ONCE:
            new = _replacement(node, scope, code) if id(node) in statements else None
            found.append(Exit(node, scope, full, new))
    return found


def _replacement(node: ast.expr, scope: Scope, code: Notebook) -> str:
    if not scope.is_cell and _is_called_last(scope, code):
        return "return"
    status = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    if isinstance(status, ast.Constant) and isinstance(status.value, int | str) and status.value:
        return f"raise SystemExit({segment(code.source(scope.cell), status)})"
    return f"raise SystemExit({_STOPPED})"


def _is_called_last(scope: Scope, code: Notebook) -> bool:
    """Whether the only call of a function is the last statement of the cell, so that nothing runs after it returns."""
    name = scope.function
    uses = [
        node
        for reached in code.running
        for node in reached.walk()
        if (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
    ]
    body = code.running.scopes[0].body
    last = body[-1] if body else None
    return (
        len(uses) == 1
        and isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and last.value.func is uses[0]
    )


def _forks(scope: Scope, code: Notebook) -> bool:
    return any(code.calls_in([scope], "os.fork", "os.forkpty", "pty.fork"))
