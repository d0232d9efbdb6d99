"""The fix `restart-from-the-menu`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.code.cellsource import segment
from jupyter_kerneldoctor.diagnosis.units import quote

from ._examples import Example
from ._rule import Draft, FixRule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_KILLS = frozenset({"os.kill", "os.killpg", "signal.raise_signal", "os.abort", "signal.pthread_kill"})


class RestartFromTheMenu(FixRule[str]):
    """Restart the kernel by its menu, not by a signal.

    What it does
    ------------
    Says how to restart a kernel in order: files are closed, code registered to run at the end runs, and Jupyter knows
    that it was wanted.

    When it is offered
    ------------------
    The cell sent the kernel the signal that ended it, as is often done to make a new package visible.

    What it costs
    -------------
    Nothing.

    Example
    -------
    Kernel > Restart Kernel, in place of `os.kill(os.getpid(), 9)`.
    """

    id = "restart-from-the-menu"
    title = "Use Kernel > Restart Kernel in place of a signal"
    causes = ("self-kill",)
    applicability: ClassVar[Applicability] = "advice"

    def detect(self, context: FixContext, code: Notebook) -> str | None:  # noqa: ARG002 - same for all rules
        """The call that sent the signal, or "" where it cannot be told."""
        for scope in code.running:
            for node in scope.walk():
                if isinstance(node, ast.Call) and code.qualified(node.func, scope) in _KILLS:
                    return segment(code.source(scope.cell), node)
        return ""

    def fix(self, context: FixContext, code: Notebook, found: str) -> Draft:  # noqa: ARG002 - same for all rules
        """Name the menu, and the call for those who need one."""
        what = quote(found) if found else "The signal"
        return Draft(
            f"{what} ends the kernel at once, without closing its files. The menu does it in order; where code must do "
            "it, so does the line below, after the cell has ended.",
            snippet="get_ipython().kernel.do_shutdown(restart=True)",
        )

    examples = (
        Example(
            cells=("%pip install humanize\nimport os\nos.kill(os.getpid(), 9)",),
            cause="self-kill",
            growth="none",
            says=("Restart Kernel", "os.kill(os.getpid(), 9)"),
        ),
        Example(cells=("!kill -9 $PPID",), cause="self-kill", growth="none", says=("The signal",)),
        Example(cells=("import os\nos.kill(child, 9)",), cause="killed-externally", growth="none", fires=False),
    )
