"""Pipelines of `tf.data` that repeat before they cache: the cache takes every round anew."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import given_to, plain_names
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from ..edits import Changes, insert_after, remove, replace
from .kept_items import lines_of
from .keras import Step, pipeline_steps

_ONE_TO_ONE = frozenset({"map", "filter", "prefetch", "with_options"})
"""Steps that do the same to each element, whenever it comes."""
_CHANCE = re.compile(r"rand|augment|noise|dropout|cutout|mixup|jitter", re.IGNORECASE)
"""What stands in a function that gives another result each time: a cache would keep one of them for all epochs."""
_ORDER = frozenset({"shuffle", "repeat"})
_FINITE = frozenset({"take", "cache"})


class CachedRepeat(NamedTuple):
    """A `cache()`, and the `repeat()` before it."""

    cache: Step
    repeat: ast.Call
    scope: Scope
    """The scope of the `repeat()`."""
    edits: Changes
    """What puts them the other way round; none where more stands between them."""

    @property
    def is_endless(self) -> bool:
        """Whether it repeats without end."""
        return _is_endless(self.repeat)


def cached_repeats(code: Notebook) -> Iterator[CachedRepeat]:
    """Yield the caches of pipelines that were repeated before."""
    for cache in pipeline_steps(code, "cache"):
        for one, where in all_origins(cache.owner, cache.scope, code):
            match one:
                case ast.Call(func=ast.Attribute(attr=method)) if method in _FINITE:
                    break
                case ast.Call(func=ast.Attribute(attr="repeat")) if _is_more_than_once(one):
                    if where is cache.scope and one.lineno > cache.call.lineno:
                        continue  # it comes later, under the same name
                    yield CachedRepeat(cache, one, where, _other_way_round(cache, one, where, code))
                    break


def _is_endless(repeat: ast.Call) -> bool:
    match given_to(repeat):
        case [] | [ast.Constant(value=None)] | [ast.UnaryOp(op=ast.USub())]:
            return True
    return False


def _is_more_than_once(repeat: ast.Call) -> bool:
    return not any(isinstance(one, ast.Constant) and one.value in (0, 1) for one in given_to(repeat))


def _other_way_round(cache: Step, repeat: ast.Call, scope: Scope, code: Notebook) -> Changes:
    """Return what moves `shuffle` and `repeat` behind the cache; nothing where other steps would change by that."""
    if scope is not cache.scope:
        return ()
    base, order = _without_order(repeat)
    steps, inner = list[ast.Call](), cache.owner
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner is not repeat:
        steps, inner = [inner, *steps], inner.func.value
    segment = scope.segment
    if not order or not all(_is_same_each_time(one, scope, code) for one in steps):
        return ()
    if not segment(repeat).startswith(segment(base)):
        return ()  # it stands in parentheses
    moved = segment(repeat)[len(segment(base)) :]
    if inner is repeat:
        between = segment(cache.call)[len(segment(repeat)) :]
        return replace(scope, cache.call, segment(base) + between + moved)
    first, last = _statement_of_name(repeat, base, scope), scope.statement_of(cache.call)
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is cache.call and _root(value) == name:
            pass
        case _:
            return ()
    for block in _blocks(scope):
        if first in block and last in block:
            rest = block[block.index(first) + 1 : block.index(last)]
            if all(_is_one_to_one(one, name, scope, code) for one in rest) and _root(base) == name:
                return remove(scope, first) + insert_after(scope, last, *lines_of(first, scope).splitlines())
    return ()


def _without_order(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """Return what `shuffle` and `repeat` are called on, and which of them are."""
    order = list[str]()
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ORDER:
        order = [node.func.attr, *order]
        node = node.func.value
    return node, order


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else None


def _statement_of_name(repeat: ast.Call, base: ast.expr, scope: Scope) -> ast.stmt | None:
    """Return `ds = ds.shuffle(99).repeat()`, or the `if` that has nothing but this; None for another statement."""
    statement = scope.statement_of(repeat)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is repeat and isinstance(base, ast.Name):
            if base.id != name:
                return None
        case _:
            return None
    for one in scope.nodes:
        if isinstance(one, ast.If) and one.body == [statement] and not one.orelse:
            return one
    return statement


def _is_same_each_time(step: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether a step does the same to each element, and what it maps by has nothing to do with chance."""
    if not isinstance(step.func, ast.Attribute) or step.func.attr not in _ONE_TO_ONE:
        return False
    given = [scope.segment(one) for one in step.args]
    for one in (each for part in step.args for each in walk(part) if isinstance(each, ast.Name)):
        made = code.definition(one, scope)
        given += [made.scope.segment(made.definition)] if made is not None and made.definition is not None else []
    return not any(map(_CHANCE.search, given))


def _is_one_to_one(statement: ast.stmt, name: str, scope: Scope, code: Notebook) -> bool:
    """Whether a statement does the same to each element, `ds = ds.map(f)`, or has nothing to do with the pipeline."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner)), args=given) as step,
        ) if target == owner == name and name not in plain_names(*given):
            return _is_same_each_time(step, scope, code)
    return not any(isinstance(one, ast.Name) and one.id == name for one in walk(statement))


def _blocks(scope: Scope) -> Iterator[list[ast.stmt]]:
    for node in (scope.node, *scope.nodes):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block
