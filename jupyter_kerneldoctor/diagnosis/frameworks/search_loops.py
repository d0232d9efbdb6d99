"""Loops that train a model in each round, and keep it."""

import ast
from collections.abc import Iterator

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.stores import Store
from ..edits import Changes, replace
from . import keras
from .torch import Kind, Tensors


def models_kept(store: Store, loop: ast.For, code: Notebook) -> Iterator[ast.Name]:
    """Yield the models among the values of a store that were made and trained in this round."""
    inside = {id(one) for one in store.scope.inside(loop)}
    trained = {word for one in store.scope.calls if id(one) in inside and (word := _trained(one))}
    for name in (one for value in store.values for one in kept_names(value)):
        bound = code.lookup(name.id, store.scope, name)
        made = None if bound is None else bound.value
        is_new = isinstance(made, ast.Call) and id(made) in inside
        is_trained = name.id in trained or _is_fitted(made) or Tensors(code).kind(name, store.scope) is Kind.MODULE
        if is_new and is_trained:
            yield name


def kept_names(value: ast.expr) -> Iterator[ast.Name]:
    """Yield the names that are kept as they are: of a list, a tuple or a dict, not what is called with them."""
    match value:
        case ast.Name():
            yield value
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for one in parts:
                yield from kept_names(one)


def _trained(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="fit"):
            return name
    return None


def _is_fitted(value: ast.expr | None) -> bool:
    """Whether a value is what `fit` of scikit-learn gives back: the model, `clone(forest).fit(X, y)`."""
    match value:
        case ast.Call(func=ast.Attribute(attr="fit", value=ast.Call())):
            return True
    return False


def without_model(model: ast.Name, store: Store, code: Notebook) -> Changes:
    """Return the edit that leaves a model out of a dict whose entry nothing reads; none elsewhere.

    What Keras's `fit` returns holds the model, too: its numbers are kept in its place.
    """
    match store.values:
        case (ast.Dict(keys=keys, values=values) as whole,) if model in values:
            entries = [*zip(keys, values, strict=True)]
            holding = [(key, value) for key, value in entries if value is model or _is_history(value, store, code)]
            if any(_is_read(key, code) for key, _ in holding):
                return ()
            segment, parts = store.scope.segment, []
            for key, value in entries:
                if value is not model:
                    text = segment(value) + (".history" if (key, value) in holding else "")
                    parts.append(f"{segment(key)}: {text}" if key else f"**{text}")
            return replace(store.scope, whole, f"{{{', '.join(parts)}}}")
    return ()


def _is_history(value: ast.expr, store: Store, code: Notebook) -> bool:
    """Whether it is what `fit` of Keras returned."""
    made = Origins(code).of(value, store.scope) if keras.is_used(code) else []
    return any(isinstance(one.node, ast.Call) and last_name(one.node.func) == "fit" for one in made)


def _is_read(key: ast.expr | None, code: Notebook) -> bool:
    """Whether a cell mentions the key of an entry in another place, or it is no text."""
    word = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
    nodes = (one for at in range(len(code.cells)) for scope in code.scopes(at) for one in scope.nodes)
    return not word or any(isinstance(one, ast.Constant) and one.value == word and one is not key for one in nodes)
