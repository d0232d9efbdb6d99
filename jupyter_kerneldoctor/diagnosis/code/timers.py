"""Finds the statements that start a timer, and those after which nobody handles a signal: it then ends the process."""

import ast
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.model import Cell

from .notebook import Call, Notebook
from .scopes import Scope
from .trees import unparse

_STARTERS = {"signal.alarm": "SIGALRM", "signal.setitimer": None}
_KINDS = {"ITIMER_REAL": "SIGALRM", "ITIMER_VIRTUAL": "SIGVTALRM", "ITIMER_PROF": "SIGPROF"}
"""The signal of each timer (getitimer(2))."""


@dataclass(frozen=True)
class Timer:
    """A call that starts a timer."""

    cell: Cell
    line: int
    text: str
    """The call as the user wrote it."""
    signal: str | None


def timers(code: Notebook) -> tuple[Timer, ...]:
    """Return the calls that start a timer, in the order in which the cells ran. Raises CodeTooLargeError."""
    scopes = (scope for index in reversed([*code.with_words("alarm", "setitimer")]) for scope in code.scopes(index))
    return tuple(
        _timer(call, name, scope, code)
        for scope in scopes
        for call in scope.calls
        if (name := code.described(call.func, scope)) in _STARTERS
    )


def _timer(call: ast.Call, name: str, scope: Scope, code: Notebook) -> Timer:
    kind = (code.described(call.args[0], scope) or "") if call.args else ""
    signal = _STARTERS[name] or _KINDS.get(kind.rpartition(".")[2])
    return Timer(code.cells[scope.cell], call.lineno, scope.segment(call), signal)


def lost_handlers(code: Notebook, signal: str) -> tuple[Call, ...]:
    """Return the calls of `signal.signal` that give a signal its default action again, newest cell first.

    They name `SIG_DFL`, or what an earlier such call had returned. Raises CodeTooLargeError.
    """
    calls = [
        one
        for one in code.calls("signal.signal")
        if len(one.node.args) == 2 and (code.described(one.node.args[0], one.scope) or "").endswith(f".{signal}")
    ]
    kept = {
        unparse(target)
        for one in calls
        if isinstance(one.statement, ast.Assign) and one.statement.value is one.node
        for target in one.statement.targets
    }
    given = ((one, one.node.args[1]) for one in calls)
    return tuple(
        one
        for one, handler in given
        if code.qualified(handler, one.scope) == "signal.SIG_DFL" or unparse(handler) in kept
    )
