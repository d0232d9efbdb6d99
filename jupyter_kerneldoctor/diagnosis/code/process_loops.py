"""Finds the loops that send a signal to all processes of some kind, where nothing spares the kernel itself."""

import ast
import re

from ..units import signal_name
from .notebook import Notebook
from .scopes import Scope

_METHODS = {"kill": "SIGKILL", "terminate": "SIGTERM", "send_signal": ""}
_LISTS = re.compile(r"psutil\.(?:process_iter|pids)\b")
_ASKS = re.compile(r"\b(?:pgrep|pidof)\b")
_SPARES = re.compile(r"\b(?:getpid|parents?|children|ppid)\b|\bpsutil\.Process\(\)|\bcurrent_process\b")
"""Words by which code tells its own process from the others, or takes only processes below some other."""


def goes_through_processes(call: ast.Call, scope: Scope, code: Notebook) -> str | None:
    """Return the signal that a call sends to each process of a list of processes, "" for any; None for others.

    `for p in psutil.process_iter(): p.kill()`, also where a function of a cell makes the list.
    """
    is_os_kill = code.qualified(call.func, scope) == "os.kill"
    match call:
        case ast.Call(args=[target, sent]) if is_os_kill:
            names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name) and one.id != "int"]
            name = names[0] if len(names) == 1 else ""
            number = sent.value if isinstance(sent, ast.Constant) else None
            named = (code.described(sent, scope) or "").rpartition(".")[2]
            signal = signal_name(number) if isinstance(number, int) else named
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _METHODS:
            signal = _METHODS[method]
        case _:
            return None
    for loop in scope.loops_around(call):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == name:
            return signal if _lists_processes(loop, scope, code) else None
    return None


def _lists_processes(loop: ast.For, scope: Scope, code: Notebook) -> bool:
    texts = [scope.segment(loop)]
    for node in ast.walk(loop.iter):
        made = code.definition(node, scope) if isinstance(node, ast.Name) else None
        if made is not None and isinstance(made.definition, ast.FunctionDef):
            texts.append(made.scope.segment(made.definition))
        elif isinstance(node, ast.Name) and (bound := code.lookup(node.id, scope, node)) and bound.value is not None:
            texts.append(bound.scope.segment(bound.value))
    text = "\n".join(texts)
    code.spend(len(text) / 20)
    return bool(_LISTS.search(text) or _ASKS.search(text)) and not _SPARES.search(text)
