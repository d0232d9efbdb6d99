"""Loops that train a model in each round, and keep it."""

import ast
from collections.abc import Iterator

from ..code.notebook import Notebook
from ..code.stores import Store
from ..edits import Changes, replace
from .torch import Kind, Tensors


def models_kept(store: Store, loop: ast.For, code: Notebook) -> Iterator[ast.Name]:
    """Yield the models among the values of a store that were made and trained in this round."""
    inside = {id(one) for one in store.scope.inside(loop)}
    trained = {word for one in store.scope.calls if id(one) in inside and (word := _trained(one))}
    for name in (one for value in store.values for one in _kept(value)):
        bound = code.lookup(name.id, store.scope, name)
        is_new = bound is not None and id(bound.value) in inside and isinstance(bound.value, ast.Call)
        if is_new and (name.id in trained or Tensors(code).kind(name, store.scope) is Kind.MODULE):
            yield name


def _kept(value: ast.expr) -> Iterator[ast.Name]:
    """Yield the names that are kept as they are: of a list, a tuple or a dict, not what is called with them."""
    match value:
        case ast.Name():
            yield value
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for one in parts:
                yield from _kept(one)


def _trained(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="fit"):
            return name
    return None


def without_model(model: ast.Name, store: Store, code: Notebook) -> Changes:
    """Return the edit that leaves a model out of a dict whose entry nothing reads; none elsewhere."""
    match store.values:
        case (ast.Dict(keys=keys, values=values) as whole,) if model in values:
            key = keys[values.index(model)]
            word = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
            same = (one for at in range(len(code.cells)) for scope in code.scopes(at) for one in scope.nodes)
            if word and not any(isinstance(one, ast.Constant) and one.value == word and one is not key for one in same):
                segment = store.scope.segment
                kept = [(one, value) for one, value in zip(keys, values, strict=True) if value is not model]
                parts = (f"{segment(one)}: {segment(value)}" if one else f"**{segment(value)}" for one, value in kept)
                return replace(store.scope, whole, f"{{{', '.join(parts)}}}")
    return ()
