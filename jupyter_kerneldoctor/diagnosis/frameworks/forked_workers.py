"""Pools and processes of multiprocessing that are made by a fork, and how they are made otherwise."""

import ast
from collections.abc import Iterator

from ..code.notebook import Call, Notebook, Scope
from ..edits import Changes, import_as, replace, set_argument

_MODULES = ("multiprocessing", "torch.multiprocessing", "multiprocess")
_MAKERS = {
    **{f"{module}.Pool": "Pool" for module in _MODULES},
    **{f"{module}.Process": "Process" for module in _MODULES},
    "concurrent.futures.ProcessPoolExecutor": "ProcessPoolExecutor",
    "concurrent.futures.process.ProcessPoolExecutor": "ProcessPoolExecutor",
}
_THREADS = {
    "Pool": ("multiprocessing.pool.ThreadPool", "ThreadPool", {"processes", "initializer", "initargs"}),
    "Process": ("threading.Thread", "Thread", {"target", "args", "kwargs", "name", "daemon"}),
    "ProcessPoolExecutor": ("concurrent.futures.ThreadPoolExecutor", "ThreadPoolExecutor", {"max_workers"}),
}
_GIVEN = {"map", "imap", "imap_unordered", "starmap", "apply", "apply_async", "map_async", "starmap_async", "submit"}


def forked_workers(code: Notebook) -> Iterator[tuple[Call, str]]:
    """Yield what makes workers by a fork: `mp.Pool(4)`, `mp.get_context('fork').Pool(4)`, `ctx.Process(...)`."""
    for call in code.running.calls(*_MAKERS):
        context = call.argument("mp_context", 1) if _MAKERS[call.name] == "ProcessPoolExecutor" else None
        if context is None:
            yield call, _MAKERS[call.name]
    for node, scope in code.running.nodes(ast.Call):
        match node.func:
            case ast.Attribute(value=maker, attr="Pool" | "Process" as kind) if _is_fork(maker, scope, code):
                yield Call(node, scope, f"multiprocessing.{kind}"), kind


def _context(node: ast.expr, scope: Scope, code: Notebook) -> tuple[ast.Call, Scope] | None:
    """Return the call of get_context that an expression stands for, and its scope."""
    if isinstance(node, ast.Name):
        binding = code.lookup(node.id, scope, node)
        if binding is None or binding.value is None:
            return None
        node, scope = binding.value, binding.scope
    if isinstance(node, ast.Call) and (code.qualified(node.func, scope) or "").endswith("multiprocessing.get_context"):
        return node, scope
    return None


def _is_fork(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    found = _context(node, scope, code)
    return found is not None and (not found[0].args or getattr(found[0].args[0], "value", None) in ("fork", None))


def given_to_workers(code: Notebook) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield what workers are given to run."""
    for node, scope in code.running.nodes(ast.Call):
        given = [word.value for word in node.keywords if word.arg == "target"]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GIVEN:
            given += node.args[:1]
        yield from ((one, scope) for one in given)


def functions_given(code: Notebook) -> list[tuple[str, bool]]:
    """Return the names of the functions that workers are given, and whether cells define them."""
    found = []
    for one, scope in given_to_workers(code):
        if isinstance(one, ast.Name):
            found.append((one.id, code.definition(one, scope) is not None))
        elif isinstance(one, ast.Lambda):
            found.append(("lambda", True))
    return found


def in_threads(call: Call, kind: str, code: Notebook) -> Changes:
    module, name, known = _THREADS[kind]
    if any(word.arg not in known for word in call.node.keywords) or len(call.node.args) > 1:
        return ()
    made, imported = import_as(call.scope, code, module, name)
    return imported + replace(call.scope, call.node.func, made)


def spawned(call: Call, kind: str, code: Notebook) -> Changes:
    function = call.node.func
    if isinstance(function, ast.Attribute) and (found := _context(function.value, call.scope, code)):
        node, scope = found
        if node.args:
            return replace(scope, node.args[0], "'spawn'")
        return replace(scope, node, f"{scope.segment(node.func)}('spawn')")
    if kind == "ProcessPoolExecutor":
        name, imported = import_as(call.scope, code, "multiprocessing", "multiprocessing")
        return imported + set_argument(call, "mp_context", f'{name}.get_context("spawn")')
    if isinstance(function, ast.Attribute):
        return replace(call.scope, function, f'{call.scope.segment(function.value)}.get_context("spawn").{kind}')
    name, imported = import_as(call.scope, code, "multiprocessing", "multiprocessing")
    return imported + replace(call.scope, function, f'{name}.get_context("spawn").{kind}')
