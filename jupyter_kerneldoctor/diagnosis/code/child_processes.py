"""What of a notebook runs in other processes."""

import ast
from collections.abc import Iterator

from .calls import last_name
from .notebook import Notebook, Scope

FORKS = ("os.fork", "os.forkpty", "pty.fork")
_STARTS = ("submit", "apply_async", "map_async", "starmap", "imap", "imap_unordered", "Process")
_PROCESSES = ("multiprocessing.", "torch.multiprocessing.", "concurrent.futures.ProcessPoolExecutor")


def run_in_children(code: Notebook) -> set[Scope]:
    """Return what runs in other processes: what forks or is given to one, run() of one, and what only these call."""
    scopes = list(code.running)
    given: set[str] = set()
    called: dict[str, set[Scope]] = {}
    for scope in dict.fromkeys((*scopes, *code.mentioning(*_STARTS))):
        for call in scope.calls:
            name = last_name(call.func)
            called.setdefault(name, set()).add(scope)
            made = code.described(call.func, scope) or ""
            if made.startswith(_PROCESSES) or name in _STARTS:
                words = [word.value for word in call.keywords]
                given |= {one for part in (*call.args, *words) for one in _functions(part)}
    own = {
        node.name
        for scope in scopes
        for node in scope.nodes
        if isinstance(node, ast.ClassDef) and any("Process" in ast.unparse(base) for base in node.bases)
    }
    found = {
        scope
        for scope in scopes
        if (scope.function and scope.function in given)
        or (scope.function == "run" and scope.owner is not None and (scope.owner in own or _is_process(scope)))
        or any(True for _ in code.calls_in([scope], *FORKS))
    }
    for _ in scopes:
        more = {one for one in scopes if one.function and (by := called.get(one.function)) and by <= found} - found
        if not more:
            break
        found |= more
    return found


def _is_process(scope: Scope) -> bool:
    """Whether a method belongs to a class of processes that a cell defines."""
    classes = (node for node in (scope.parent or scope).nodes if isinstance(node, ast.ClassDef))
    return any(one.name == scope.owner and any("Process" in ast.unparse(base) for base in one.bases) for one in classes)


def _functions(node: ast.expr) -> Iterator[str]:
    """Yield the names of the functions in an argument: `work`, `self.work`, `partial(work, 1)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Call(args=[first, *_]):
            yield from _functions(first)
