"""Loops that do not end: nothing in them changes what their condition asks.

    loop = endless_loop(code, cell, line)     # around a line of a cell, innermost first
    loop.kind, loop.why                       # "halved", "`lo = mid` changes nothing where ..."

Only what is written in the loop itself is judged. A loop that may be left otherwise, or whose condition calls what is
not known, is not said to be endless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .endless_reads import endless_read
from .endless_steps import halved, missed
from .notebook import Notebook
from .scopes import Scope

_PURE = frozenset({"len", "abs", "int", "float", "min", "max", "sum", "bool", "isinstance", "round"})
_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_EXISTS = frozenset({"exists", "isfile", "is_file", "isdir", "is_dir"})

_MAKERS = ("open", "touch", "mkdir", "makedirs", "write_text", "write_bytes")
_CONCURRENT = ("Thread", "Timer(", "Executor", "asyncio", "signal.", "ctypes", "Manager(", "Value(", "observe", "on_")
_OF_TEXTS = frozenset({"startswith", "endswith", "strip", "lower", "upper", "isdigit", "isspace", "isalpha"})

Kind = Literal["unchanged", "skipped", "halved", "missed", "polled", "file", "read"]


class EndlessLoop(NamedTuple):
    """A loop, and why it does not end."""

    scope: Scope
    node: ast.While
    kind: Kind
    """`skipped`: `continue` comes before the step; `halved`: a bisection that keeps its bounds; `missed`: a sum of
    fractions that is to be equal; `polled`: it sleeps until others change something; `file`: until a file is gone;
    `read`: it reads on where there is nothing more."""
    why: str
    at: ast.stmt | ast.expr | None = None
    """What an edit changes."""
    text: str | None = None
    """What is written there instead, or in front."""

    @property
    def only_sleeps(self) -> bool:
        """Whether it does nothing itself: others may be at work meanwhile."""
        return self.kind in ("polled", "file")

    @property
    def least_s(self) -> float:
        """How long a cell is in the loop before it is said to be endless: of some of these values decide that."""
        return 15.0 if self.kind in ("skipped", "halved") else 8.0

    @property
    def head(self) -> str:
        """The first line of the loop."""
        return f"while {self.scope.segment(self.node.test)}"


def endless_loop(code: Notebook, cell: Cell, line: int) -> EndlessLoop | None:
    """Return the innermost loop around a line that does not end; None where each of them may."""
    scopes = [one for one in code.scopes(code.index(cell)) if one.is_cell or _holds(one.node, line)]
    for scope in scopes[-1:]:
        loops = [one for one in scope.nodes if isinstance(one, ast.While) and _holds(one, line)]
        for loop in reversed(loops):
            code.spend(len(loop.body))
            if (found := next(_judged(code, scope, loop), None)) is not None:
                return found
    return None


def makes_file(code: Notebook, loop: EndlessLoop) -> bool:
    """Whether the cells make the file that a loop waits for to be gone: `open(self.path, "x")`."""
    path = ast.unparse(loop.at) if isinstance(loop.at, ast.expr) else ""
    return any(
        ast.unparse(given) == path
        for module in code.mentioning(*_MAKERS)
        for scope in code.scopes(module.cell)
        for call in scope.calls
        if getattr(call.func, "attr", getattr(call.func, "id", "")) in _MAKERS
        for given in (*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else []))
    )


def _judged(code: Notebook, scope: Scope, loop: ast.While) -> Iterator[EndlessLoop]:
    inner = [node for one in loop.body for node in _walk(one)]
    yield from (EndlessLoop(scope, loop, *one) for one in halved(loop, inner))
    yield from (EndlessLoop(scope, loop, *one) for one in missed(code, scope, loop, inner))
    if (read := endless_read(loop.test, inner)) is not None:
        text = scope.segment(read.statement)
        why = f"at the end of the data `{text}` reads nothing, at once and each time, and nothing asks for that"
        yield EndlessLoop(scope, loop, "read", why, read.statement, None if read.adds else read.name)
    is_left = any(isinstance(one, _LEAVES) for one in inner) or _breaks(loop.body)
    names = _asked(loop.test)
    if names and not _changes(code, loop, names, inner):
        if not is_left and _only_sleeps(loop) and all(_is_plain(code, one) for one in names):
            yield EndlessLoop(scope, loop, "polled", "it sleeps until something else changes what it asks")
        elif not (is_left or _only_sleeps(loop) or _is_meant(code, scope, loop)) and not _is_changed_elsewhere(
            code, scope, names
        ):
            told = " or ".join(f"`{one}`" for one in sorted(names))
            yield EndlessLoop(scope, loop, "unchanged", f"nothing in the loop changes {told}")
    elif names:
        yield from _skipped(code, scope, loop, names)
    if not is_left and _only_sleeps(loop) and (path := _awaited_file(loop.test)) is not None:
        yield EndlessLoop(scope, loop, "file", f"it sleeps until the file {ast.unparse(path)} is gone", path)


def _is_changed_elsewhere(code: Notebook, scope: Scope, names: frozenset[str]) -> bool:
    """Whether a thread, a callback or a signal may change what the loop asks: not a function's own number."""
    is_own = not scope.is_cell and all("." not in one and one in scope.bindings for one in names)
    return not is_own and any(True for _ in code.with_text(*_CONCURRENT))


def _is_meant(code: Notebook, scope: Scope, loop: ast.While) -> bool:
    """Whether a loop is to go on until an exception ends it: `while running`, or one within a `try`."""
    bound = code.lookup(loop.test.id, scope, loop) if isinstance(loop.test, ast.Name) else None
    is_true = bound is not None and isinstance(bound.value, ast.Constant) and bound.value.value in (True, 1)
    return is_true or any(isinstance(one, ast.Try) and one.handlers for one in scope.around(loop))


def _is_plain(code: Notebook, name: str) -> bool:
    """Whether asking for a name only looks: an attribute that the cells set, and no property that asks a server."""
    _, dot, attribute = name.partition(".")
    if not dot:
        return True
    scopes = (scope for module in code.mentioning(attribute) for scope in code.scopes(module.cell))
    stored = (
        one for scope in scopes for one in scope.names if isinstance(one, ast.Attribute) and one.attr == attribute
    )
    is_set = any(isinstance(one.ctx, ast.Store) for one in stored)
    return is_set and not any(True for _ in code.functions_named(attribute))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what runs in it; functions are not entered."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, _FUNCTIONS):
            waiting += ast.iter_child_nodes(one)


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a `break` leaves the loop of this body."""
    for one in body:
        if isinstance(one, ast.Break):
            return True
        parts = [getattr(one, name, []) for name in ("body", "orelse", "finalbody")]
        parts += [part.body for part in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]]
        if isinstance(one, _LOOPS):
            parts = [one.orelse]
        if not isinstance(one, _FUNCTIONS) and any(map(_breaks, parts)):
            return True
    return False


def _asked(test: ast.expr) -> frozenset[str]:
    """Return the names, and attributes of `self`, that a condition asks; none where it asks anything else."""
    found = set[str]()
    waiting: list[ast.AST] = [test]
    while waiting:
        match waiting.pop():
            case ast.Name(id=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                found.add(f"{name}.{attr}")
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _PURE:
                waiting += args
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.BinOp() as inner:
                waiting += [one for one in ast.iter_child_nodes(inner) if isinstance(one, ast.expr)]
            case ast.Constant():
                pass
            case _:
                return frozenset()
    return frozenset(found)


def _changes(code: Notebook, loop: ast.While, names: frozenset[str], inner: list[ast.AST]) -> bool:
    """Whether something in the loop may change what a name stands for, or the object itself."""
    roots = {one.partition(".")[0] for one in names}
    told = [f"{word} {name}" for name in roots for word in ("global", "nonlocal")]
    if any(True for _ in code.with_text(*told, "exec(", "eval(", "globals()")):
        return True
    is_number = isinstance(loop.test, ast.Compare) and not any(isinstance(one, ast.Call) for one in _walk(loop.test))
    entries = {id(one.value) for one in inner if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load)}
    attributes = {id(one.value) for one in inner if isinstance(one, ast.Attribute)} if _only_sleeps(loop) else set()
    calls = any(isinstance(one, ast.Call) for one in inner) and not _only_sleeps(loop)
    if calls and any("." in one for one in names):
        return True  # whatever it calls may set an attribute
    for node in inner:
        match node:
            case ast.Name(id=name) if name in roots:
                is_read = (is_number and name in names) or id(node) in entries or id(node) in attributes
                if not isinstance(node.ctx, ast.Load) or not is_read:
                    return True
            case ast.Attribute() if ast.unparse(node) in names and not isinstance(node.ctx, ast.Load):
                return True
    return False


def _skipped(code: Notebook, scope: Scope, loop: ast.While, names: frozenset[str]) -> Iterator[EndlessLoop]:
    """Find a `continue` before the step of the loop."""
    steps = [one for one in loop.body if isinstance(one, ast.AugAssign) and ast.unparse(one.target) in names]
    for at, one in enumerate(loop.body):
        parts = list(_walk(one))
        stored = any(
            isinstance(part, ast.Name) and part.id in names and isinstance(part.ctx, ast.Store) for part in parts
        )
        calls = any(isinstance(part, ast.Call) and not _is_method_of_data(part) for part in parts)
        match one:
            case ast.If(test=test, body=[*first, ast.Continue() as left], orelse=[]) if not stored and len(steps) == 1:
                asked = frozenset(part.id for part in _walk(test) if isinstance(part, ast.Name))
                is_fixed = all(_changes_nothing(part, asked) for part in first) and not any(
                    _changes_when_asked(part) for part in _walk(test)
                )
                if is_fixed and loop.body.index(steps[0]) > at and not _is_changed_elsewhere(code, scope, asked):
                    told = " or ".join(f"`{name}`" for name in sorted(names))
                    why = f"at `continue` nothing has changed {told}, so that the next round is the same"
                    yield EndlessLoop(scope, loop, "skipped", why, left, scope.segment(steps[0]))
                    return
        if stored or calls:
            return


def _changes_nothing(statement: ast.stmt, asked: frozenset[str]) -> bool:
    """Whether a statement leaves what a condition asks as it is: it prints, or counts something else."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
            return True
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant()):
            return name not in asked
    return False


def _changes_when_asked(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not _is_method_of_data(node)


def _is_method_of_data(call: ast.Call) -> bool:
    """Whether a call asks a value that does not change: `line.startswith("#")`, `isinstance(x, str)`."""
    match call.func:
        case ast.Name(id=name):
            return name in _PURE
        case ast.Attribute(attr=attr):
            return attr in _OF_TEXTS
    return False


def _only_sleeps(loop: ast.While) -> bool:
    """Whether a loop does nothing but sleep and tell so."""
    calls = [one.value if isinstance(one, ast.Expr) else None for one in loop.body if not isinstance(one, ast.Pass)]
    names = [
        getattr(one.func, "attr", getattr(one.func, "id", "")) if isinstance(one, ast.Call) else "" for one in calls
    ]
    return "sleep" in names and all(one in ("sleep", "print") for one in names)


def _awaited_file(test: ast.expr) -> ast.expr | None:
    """Return the path that a condition asks to be there."""
    match test:
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=args) if attr in _EXISTS and len(args) < 2:
            return args[0] if args else owner
    return None


def _holds(node: ast.AST, line: int) -> bool:
    return bool(getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", 0) or 0))
