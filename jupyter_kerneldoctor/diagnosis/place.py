"""Where memory grew, as far as the recording shows that: whether in a piece of the code, and in which statement."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from jupyter_kerneldoctor.recording.events import Frame, StatementGrowth

from .analysis.guilty_statement import guilty_statement
from .analysis.user_frames import UserFrame, user_frames
from .code.origins import Origins
from .code.scopes import Scope
from .death import Death
from .frameworks.kept import Kept

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
_LONGEST = 80
_DEEPEST = 4  # calls within calls
_LEAST = 0.25  # of the growth that could be charged to statements


def grew_in(death: Death, node: ast.stmt | ast.expr, scope: Scope) -> bool | None:
    """Return whether memory grew while a statement or an expression ran; None where nothing shows it.

    What grew in which statement says it best, then the stack at the end, then the line.
    """
    charged = [(one.bytes, _frames(death, one.frames)) for one in _statements(death)]
    total = sum(amount for amount, frames in charged if frames)
    if total:
        return sum(amount for amount, frames in charged if _is_in(frames, death, node, scope)) >= _LEAST * total
    if death.user_frames and death.user_frames[0].cell is not None:
        return _is_in(death.user_frames, death, node, scope)
    if death.code.line is not None and scope.is_cell and scope.cell == death.code.last:
        return death.code.is_at_line(node, scope)
    return None


def may_have_run(death: Death, scope: Scope, depth: int = 0) -> bool:
    """Whether a function may have run at the line that was running: false where all its calls stand in other lines."""
    if death.user_frames or scope.is_cell or depth > _DEEPEST:
        return True
    calls = Origins(death.code).calls_of(scope)
    return not calls or any(
        death.code.is_at_line(call, caller) and may_have_run(death, caller, depth + 1) for call, caller in calls
    )


def grew_around(death: Death, kept: Kept) -> bool:
    """Whether memory may have grown in the loop that keeps a value; a hook is run wherever its network is called."""
    loop = kept.loops[-1] if kept.loops else None
    return not isinstance(loop, ast.stmt | ast.expr) or grew_in(death, loop, kept.caller) is not False


def _statements(death: Death) -> Iterable[StatementGrowth]:
    seq = None if death.cell is None else death.cell.seq
    found = [one for one in death.recording.growths if one.cell_seq == seq]
    return found[-1].statements if found and death.incident is None else ()


def _frames(death: Death, frames: Iterable[Frame]) -> tuple[UserFrame, ...]:
    return user_frames(frames, death.frames, death.recording.kernel.notebook)


def _is_in(frames: Iterable[UserFrame], death: Death, node: ast.stmt | ast.expr, scope: Scope) -> bool:
    cell, first, last = death.code.cells[scope.cell], node.lineno, node.end_lineno or node.lineno
    return any(one.cell is not None and one.cell.source == cell.source and first <= one.line <= last for one in frames)


class Place(NamedTuple):
    """A statement, and the function or cell that it stands in."""

    node: ast.stmt
    scope: Scope

    @property
    def text(self) -> str:
        """Its text on one line, cut where it is long."""
        text = " ".join(self.scope.segment(self.node).split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def guilty_place(death: Death, kinds: tuple[type[ast.stmt], ...] = _SIMPLE) -> Place | None:
    """Return the simple statement that the cell's memory is blamed on; None where none is, or it is in a file.

    `kinds` are other statements to look for: `(ast.For,)` for the head of a loop.
    """
    line = death.causes[0].line if death.line is None else death.line
    found = guilty_statement(death.growth, death.statement_at(line)) if death.is_of_this_cell else None
    if found is None:
        return None
    for scope in death.code.scopes_of(found.cell_source):
        for node in scope.nodes:
            if isinstance(node, kinds) and node.lineno == found.line:
                return Place(node, scope)
    return None
