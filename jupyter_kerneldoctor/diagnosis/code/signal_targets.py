"""Finds the signals of a cell whose code does not show to which process it sends them."""

import ast
import re
from dataclasses import dataclass

from .ending_calls import SHELLS
from .notebook import Notebook
from .scopes import Scope

_SENDS = re.compile(r"\b(?:kill|killpg|pkill|killall|send_signal|terminate)\b")
_METHODS = {"kill": "SIGKILL", "terminate": "SIGTERM", "killpg": None, "send_signal": None}
_A_CHILD = re.compile(r"(?:subprocess\.Popen|(?:\w+\.)*(?:Process|Pool))\((?:…|apart)?\)")
_SHELLS = frozenset(name.rpartition(".")[2] for name in SHELLS)
_CELL_MAGIC = re.compile(r"\s*%%\w")


@dataclass(frozen=True)
class Sending:
    """A call that sends a signal to a process that the code does not show."""

    line: int
    text: str
    signal: str | None = None
    """None: any."""


def sendings(code: Notebook) -> tuple[Sending, ...]:
    """Return those of the cell that was running; not to a process that the cells themselves started as a child.

    Raises CodeTooLargeError.
    """
    source = "" if code.last < 0 or code.cells[code.last].truncated else code.source(code.last)
    if not _SENDS.search(source):
        return ()
    scopes, lines = code.scopes(code.last), source.split("\n")
    is_shell = not scopes or _CELL_MAGIC.match(source) is not None
    found = [
        Sending(at, line.strip())
        for at, line in enumerate(lines, 1)
        if (is_shell or line.lstrip()[:1] == "!") and _commands(line)
    ]
    if not is_shell:
        judged = (_judge(call, scope, code) for scope in scopes for call in scope.calls)
        found += [one for one in judged if one is not None]
    return tuple(sorted(found, key=lambda one: one.line))


def _commands(line: str) -> bool:
    """Whether it is more than a comment or words on the screen that names such a command."""
    words = line.lstrip(" \t!")
    return not words.startswith(("#", "echo ", "printf ")) and _SENDS.search(words) is not None


def _judge(call: ast.Call, scope: Scope, code: Notebook) -> Sending | None:
    name = code.described(call.func, scope)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else (name or "").split(".")[-1]
    if last in _SHELLS:
        told = [node.value for node in scope.inside(call) if isinstance(node, ast.Constant)]
        words = " ".join(one for one in told if isinstance(one, str))
        return Sending(call.lineno, scope.segment(call)) if _commands(words) else None
    if last not in _METHODS or (name is not None and _A_CHILD.match(name)):
        return None
    if call.args and (code.is_own_process(call.args[0], scope) or _is_of_a_child(call.args[0], scope, code)):
        return None  # it does show
    return Sending(call.lineno, scope.segment(call), None if name == "os.kill" else _METHODS[last])


def _is_of_a_child(target: ast.expr, scope: Scope, code: Notebook) -> bool:
    names = (node for node in scope.inside(target) if isinstance(node, ast.Name))
    return any(_A_CHILD.fullmatch(code.described(node, scope) or "") for node in names)
