"""Loops each round of which is the same: what decides about their end is worked out anew from what never changes.

`while True: r = page(n); if r["last"]: break` ends in its first round, or never, where `page` only works out something
and the loop leaves `n` as it is.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .calls import plain_names
from .loop_changes import BY_NAME, FUNCTIONS, called_name, is_number, is_plain, number_names
from .notebook import Notebook
from .plain_calls import LOOKS, READS, TELLS, free_names, is_of_values, works_out
from .scopes import Scope
from .trees import unparse, walk

_NOT_PLAIN = (ast.With, ast.Match, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
_GIVES_UP = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Delete, ast.Global, ast.Nonlocal)
_LEAVING = frozenset({"next", "exit", "quit", "_exit", "abort", "kill", "throw", "input"})
_OF_NUMBERS = frozenset({"abs", "int", "float", "bool", "isinstance", "round", "range"})

Values = dict[str, list[ast.expr]]
"""What is assigned to each name in a loop, and what is asked before that."""


class SameRounds(NamedTuple):
    """What the end of a loop depends on, and no round changes."""

    names: frozenset[str]
    from_the_second: bool
    """Whether the first round may be another one: something is worked out in it that decides about the end."""


def same_rounds(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> SameRounds | None:
    """Return what the end of a loop depends on, where no round changes it; None where one may, or it never ends."""
    if any(isinstance(one, _GIVES_UP) or called_name(one) in _LEAVING for one in inner):
        return None
    exits = [*_exits(loop.body, (), in_loop=False)]
    asked = [loop.test, *(test for tests in exits for test in tests)]
    is_left_for_sure = any(not tests for tests in exits)
    if is_left_for_sure or (isinstance(loop.test, ast.Constant) and not exits):
        return None
    if not all(works_out(code, scope, one) for one in asked):
        return None
    given = _given(loop.body, ())
    if given is None:
        return None
    fresh = _fresh(loop.body)
    relevant = _settled(code, scope, asked, given, fresh)
    if relevant is None:
        return None
    roots = frozenset(relevant - given.keys())
    read = [*asked, *(value for name in relevant & given.keys() for value in given[name])]
    free, changes = set(free_names(code, read, 0)), _changes_objects(code, scope, inner)
    if (
        free & given.keys()
        or (free and changes)
        or not roots
        or code.has_text(*BY_NAME, *(f"{word} {one}" for one in roots for word in ("global", "nonlocal")))
    ):
        return None
    attributes = {unparse(one) for value in read for one in walk(value) if _is_value(one)}
    stored = {unparse(one) for one in inner if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)}
    if attributes & stored or not all(is_plain(code, one) for one in attributes):
        return None
    if changes and (attributes or not _are_numbers(read, set(roots))):
        return None
    if not all(is_number(code, scope, loop, one) for one in roots) or _are_filled(inner, roots):
        return None
    names = {*attributes, *(one for one in roots if not any(at.startswith(f"{one}.") for at in attributes))}
    return SameRounds(frozenset(names), bool(exits or relevant & given.keys()))


def _is_value(node: ast.AST) -> bool:
    """Whether a node reads an attribute that is no method: `player.pos`."""
    return isinstance(node, ast.Attribute) and node.attr not in READS | LOOKS and isinstance(node.value, ast.Name)


def _parts(one: ast.stmt) -> list[tuple[Iterable[ast.stmt], tuple[ast.expr, ...], bool]]:
    """Return the bodies of a statement, each with what is asked before it, and whether it is a loop's."""
    match one:
        case ast.If(test=test):
            return [((*one.body, *one.orelse), (test,), False)]
        case ast.While(test=asked) | ast.For(iter=asked):
            return [(one.body, (asked,), True), (one.orelse, (asked,), False)]
        case ast.Try():  # how far it comes depends on all that it does
            done = tuple(part for stmt in one.body for part in ast.iter_child_nodes(stmt) if isinstance(part, ast.expr))
            handled = (part for handler in one.handlers for part in handler.body)
            return [((*one.body, *handled, *one.orelse), done, False), (one.finalbody, (), False)]
        case ast.With():
            return [(one.body, (), False)]
        case ast.Match():
            return [(case.body, (one.subject,), False) for case in one.cases]
    return []


def _exits(body: Iterable[ast.stmt], tests: tuple[ast.expr, ...], *, in_loop: bool) -> Iterator[tuple[ast.expr, ...]]:
    """Yield what is asked before each way out of a loop."""
    for one in body:
        match one:
            case ast.Return() | ast.Raise():
                yield tests
            case ast.Break() if not in_loop:
                yield tests
            case ast.Assert(test=test):
                yield (*tests, test)
        for part, asked, is_loop in _parts(one):
            yield from _exits(part, (*tests, *asked), in_loop=in_loop or is_loop)


def _given(body: Iterable[ast.stmt], tests: tuple[ast.expr, ...]) -> Values | None:
    """Return what each name of a loop's body is given, and what decides about that; None where that is not plain."""
    found: Values = {}
    for one in body:
        if isinstance(one, _NOT_PLAIN) or any(isinstance(part, ast.NamedExpr) for part in walk(one)):
            return None
        for name, values in _sets(one):
            found.setdefault(name, []).extend((*values, *tests))
        for part, asked, _ in _parts(one):
            if (more := _given(part, (*tests, *asked))) is None:
                return None
            for name, given in more.items():
                found.setdefault(name, []).extend(given)
    return found


def _sets(one: ast.stmt) -> Iterator[tuple[str, tuple[ast.expr, ...]]]:
    """Yield the names that a statement sets, each with what its value depends on."""
    match one:
        case ast.Assign(targets=targets, value=value):
            yield from ((name, (value,)) for target in targets for name in _bound(target))
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            yield name, (ast.Name(name, ast.Load()), value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, (value,)
        case ast.For(target=target, iter=items):
            yield from ((name, (items,)) for name in _bound(target))


def _bound(target: ast.expr) -> set[str]:
    return {one.id for one in walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _fresh(body: list[ast.stmt]) -> set[str]:
    """Return the names that each round begins anew: `count = 0` at the top, before anything reads it."""
    found, read = set[str](), set[str]()
    for one in body:
        if isinstance(one, ast.Assign) and not any(isinstance(part, FUNCTIONS) for part in walk(one.value)):
            read |= plain_names(one.value)
            found |= {name for target in one.targets for name in _bound(target)} - read
        else:
            read |= plain_names(one)
    return found


def _settled(code: Notebook, scope: Scope, asked: list[ast.expr], given: Values, fresh: set[str]) -> set[str] | None:
    """Return all that some expressions depend on; None where that is carried on from one round to the next."""
    done = set[str]()
    open_ones = set[str]()

    def follow(name: str) -> bool:
        if name in open_ones:
            return False
        if name in done:
            return True
        open_ones.add(name)
        values = given.get(name, [])
        settled = all(works_out(code, scope, one) for one in values) and all(
            follow(other) for one in values for other in _needs(one) if other != name or name not in fresh
        )
        open_ones.discard(name)
        done.add(name)
        return settled

    return done if all(follow(name) for one in asked for name in _needs(one)) else None


def _needs(node: ast.AST) -> set[str]:
    """Return the names an expression depends on: not those that it binds itself, nor what it calls."""
    called = {id(one.func) for one in walk(node) if isinstance(one, ast.Call)}
    names = [one for one in walk(node) if isinstance(one, ast.Name) and id(one) not in called]
    return {one.id for one in names} - {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _changes_objects(code: Notebook, scope: Scope, inner: list[ast.AST]) -> bool:
    """Whether a loop may change an object: it calls what does more than work something out, or stores into one."""
    for one in inner:
        match one:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return True
            case ast.AugAssign(value=ast.List() | ast.Set() | ast.Dict()):
                return True
            case ast.Call(func=ast.Name(id=name)) if name in TELLS:
                pass
            case ast.Call() if not is_of_values(code, scope, one, 0):
                return True
    return False


def _are_filled(inner: list[ast.AST], names: frozenset[str]) -> bool:
    """Whether a call writes its result into one of these: `np.abs(a, out=error)`."""
    return any(isinstance(one, ast.keyword) and one.arg == "out" and plain_names(one) & names for one in inner)


def _are_numbers(read: list[ast.expr], names: set[str]) -> bool:
    """Whether names are only used as numbers are, which nothing can change in place."""
    numbers = set[str]()
    for one in (node for value in read for node in walk(value)):
        parts: list[ast.expr] = []
        match one:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=others):
                parts = others
            case ast.Compare():
                numbers |= number_names(one)
            case ast.BinOp():
                numbers |= plain_names(one)
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.comprehension(iter=inner):
                parts = [inner]
            case ast.Call(func=ast.Name(id=name), args=args) if name not in _OF_NUMBERS:
                parts = args
        if any(plain_names(part) & names for part in parts):
            return False
    return names <= numbers
