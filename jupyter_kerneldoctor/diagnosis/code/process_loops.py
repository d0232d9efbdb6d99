"""Finds the signals sent to processes that were looked for, where nothing spares the kernel itself."""

import ast
import re

from ..units import signal_name
from .notebook import Notebook
from .scopes import Scope
from .trees import walk

_METHODS = {"kill": "SIGKILL", "terminate": "SIGTERM", "send_signal": ""}
_LISTS = re.compile(r"psutil\.(?:process_iter|pids|net_connections)\b|listdir\(['\"]/proc/?['\"]\)|['\"]/proc/\*")
_ASKS = re.compile(r"\b(?:pgrep|pidof|lsof|fuser|nvidia-smi)\b")
_OF_A_PORT = re.compile(r"\b(?:net_connections|lsof|fuser|laddr)\b")
_SPARES = re.compile(r"\b(?:getpid|parents?|children|ppid)\b|\bpsutil\.Process\(\)|\bcurrent_process\b")
"""Words by which code tells its own process from the others, or takes only processes below some other."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sent_to_found(call: ast.Call, scope: Scope, code: Notebook) -> str | None:
    """Return the signal that a call sends to processes which were looked for, "" for any; None for others.

    `for p in psutil.process_iter(): p.kill()`, or `os.kill(pid, 9)` of what `lsof` says, also where a function of a
    cell makes the list.
    """
    match call:
        case ast.Call(args=[_, sent]) if code.qualified(call.func, scope) == "os.kill":
            number = sent.value if isinstance(sent, ast.Constant) else None
            named = (code.described(sent, scope) or "").rpartition(".")[2]
            signal = signal_name(number) if isinstance(number, int) else named
        case ast.Call(func=ast.Attribute(attr=method)) if method in _METHODS:
            signal = _METHODS[method]
        case _:
            return None
    target = target_of(call, scope, code)
    names = [one.id for one in walk(target) if isinstance(one, ast.Name) and one.id not in ("int", "psutil")]
    if len(names) != 1:
        return None
    text = how_found(call, names[0], scope, code)
    found = bool(_LISTS.search(text) or _ASKS.search(text)) and not _SPARES.search(text)
    return signal if found else None


def target_of(call: ast.Call, scope: Scope, code: Notebook) -> ast.expr:
    """Return what names the process that a signal is sent to: `conn.pid` of `psutil.Process(conn.pid).kill()`."""
    if not isinstance(call.func, ast.Attribute) or code.qualified(call.func, scope) == "os.kill":
        return call.args[0] if call.args else call.func
    owner = call.func.value
    bound = code.lookup(owner.id, scope, owner) if isinstance(owner, ast.Name) else None
    for made in (owner, None if bound is None else bound.value):
        match made:
            case ast.Call(func=function, args=[pid, *_]) if code.qualified(function, scope) == "psutil.Process":
                return pid
    return owner


def is_of_a_port(call: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether it is the process that holds a port which a signal is sent to."""
    names = (one.id for one in walk(target_of(call, scope, code)) if isinstance(one, ast.Name))
    return any(_OF_A_PORT.search(how_found(call, name, scope, code)) for name in names)


def how_found(call: ast.Call, name: str, scope: Scope, code: Notebook) -> str:
    """Return the code that gives a name its processes: the loop over them, what it goes through, what it calls."""
    loops = [one for one in scope.loops_around(call) if isinstance(one, ast.For)]
    loop = next((one for one in loops if isinstance(one.target, ast.Name) and one.target.id == name), None)
    texts, nodes = [] if loop is None else [scope.segment(loop)], [] if loop is None else [*walk(loop.iter)]
    statement, listed = scope.statement_of(call), _listed(call, name, scope)
    if statement is not None and listed is not None:
        texts, nodes = [scope.segment(statement)], [*walk(listed)]
    bound = None if texts else code.lookup(name, scope, call)
    if bound is not None and bound.value is not None:
        texts, nodes = [bound.scope.segment(bound.value)], [*walk(bound.value)]
    for node in nodes:
        made = code.definition(node, scope) if isinstance(node, ast.Name) else None
        if made is not None and isinstance(made.definition, _FUNCTIONS):
            texts.append(made.scope.segment(made.definition))
        elif isinstance(node, ast.Name) and (one := code.lookup(node.id, scope, node)) and one.value is not None:
            texts.append(one.scope.segment(one.value))
    text = "\n".join(texts)
    code.spend(len(text) / 20)
    return text


def _listed(call: ast.Call, name: str, scope: Scope) -> ast.expr | None:
    """Return what a comprehension around a call goes through under a name: `[p.kill() for p in processes()]`."""
    statement = scope.statement_of(call)
    for node in () if statement is None else scope.inside(statement):
        match node:
            case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
                if any(one is call for one in walk(node)):
                    for part in parts:
                        if isinstance(part.target, ast.Name) and part.target.id == name:
                            return part.iter
    return None
