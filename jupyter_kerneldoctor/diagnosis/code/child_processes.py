"""What of a notebook runs in other processes."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from .calls import last_name
from .notebook import Notebook, Scope
from .trees import unparse

FORKS = ("os.fork", "os.forkpty", "pty.fork")
_STARTS = ("submit", "apply_async", "map_async", "starmap", "imap", "imap_unordered", "Process")
_PROCESSES = ("multiprocessing.", "torch.multiprocessing.", "concurrent.futures.ProcessPoolExecutor")


def run_in_children(code: Notebook) -> set[Scope]:
    """Return what runs in other processes: what forks or is given to one, run() of one, and what only these call."""
    scopes = list(code.running)
    given: set[str] = set()
    called: dict[Scope, set[str]] = {}
    for scope in dict.fromkeys((*scopes, *code.mentioning(*_STARTS))):
        for call in scope.calls:
            name = last_name(call.func)
            called.setdefault(scope, set()).add(name)
            made = code.described(call.func, scope) or ""
            if made.startswith(_PROCESSES) or name in _STARTS:
                words = [word.value for word in call.keywords]
                given |= {one for part in (*call.args, *words) for one in _functions(part)}
    own = _classes_of_processes(scopes)
    waiting = [
        scope
        for scope in scopes
        if (scope.function and scope.function in given)
        or (scope.function == "run" and scope.owner in own)
        or any(code.calls_in([scope], *FORKS))
    ]
    callers = Counter(name for names in called.values() for name in names)
    named: dict[str, list[Scope]] = {}
    for scope in scopes:
        named.setdefault(scope.function, []).append(scope)
    found: set[Scope] = set()
    while waiting:
        if (scope := waiting.pop()) in found:
            continue
        found.add(scope)
        for name in called.get(scope, ()):
            callers[name] -= 1
            waiting += named.get(name, ()) if name and not callers[name] else ()
    return found


def _classes_of_processes(scopes: Sequence[Scope]) -> set[str]:
    """Return the names of the processes' classes that the scopes, or what is around their methods `run`, define."""
    around = [scope.parent for scope in scopes if scope.function == "run" and scope.owner and scope.parent]
    classes = (
        one for scope in dict.fromkeys((*scopes, *around)) for one in scope.nodes if isinstance(one, ast.ClassDef)
    )
    return {one.name for one in classes if any("Process" in unparse(base) for base in one.bases)}


def _functions(node: ast.expr) -> Iterator[str]:
    """Yield the names of the functions in an argument: `work`, `self.work`, `partial(work, 1)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Call(args=[first, *_]):
            yield from _functions(first)
