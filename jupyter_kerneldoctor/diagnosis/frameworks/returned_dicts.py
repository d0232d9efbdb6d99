"""Dicts that a step returns and a loop keeps: which entries are read, and which are tensors that nothing reads."""

import ast
from collections.abc import Iterator

from ..code.notebook import Notebook, Scope
from ..code.origins import Origins, all_origins
from ..code.stores import container_name, stores
from .gradients import CUTS, is_cut, iterated, reached_by_gradients
from .torch import Kind, Tensors

_READS_ALL = frozenset({"items", "values", "keys"})
_COUNTS = ("len", "enumerate", "zip", "range", "reversed")
_NAMES = (ast.Name, ast.Attribute)


def returned_to(container: str, code: Notebook) -> Iterator[tuple[ast.Dict, Scope]]:
    """Yield the dicts that functions return whose results a container keeps."""
    word, origins = container.rpartition(".")[2], Origins(code)
    for store in stores(code.running):
        if store.container.rpartition(".")[2] == word and len(store.values) == 1:
            value = store.values[0]
            made = origins.of(value, store.scope) if isinstance(value, ast.Name) else [(value, store.scope)]
            for node, scope in made:
                for one in origins.returned(node, scope) if isinstance(node, ast.Call) else ():
                    if isinstance(one.node, ast.Dict):
                        yield one.node, one.scope


def is_read_whole(word: str, returned: ast.Dict, code: Notebook) -> bool:
    """Whether all entries may be read at once, `pd.DataFrame(log)`, `show(**out)`, or one whose key is worked out."""

    def is_one(node: ast.expr, scope: Scope) -> bool:
        """Whether an expression is, or may be, what the function returned: also as an item of the container."""
        item = iterated(node, scope) if isinstance(node, ast.Name) else getattr(node, "value", None)
        is_item = item is not None and container_name(item).rpartition(".")[2] == word
        return is_item or any(one.node is returned for one in all_origins(node, scope, code))

    for node, scope in code.running.nodes(ast.AST):
        match node:
            case ast.Call(func=function, args=given, keywords=words):
                parts = [*given, *(one.value for one in words if one.arg is not None)]
                names = {container_name(one).rpartition(".")[2] for one in parts if isinstance(one, _NAMES)}
                if word in names and getattr(function, "id", "") not in _COUNTS:
                    return True
                if any(is_one(one.value, scope) for one in words if one.arg is None):
                    return True
            case ast.Subscript(value=owner, slice=ast.Name() | ast.Attribute()) if is_one(owner, scope):
                return True
    return False


def without_unread_tensors(returned: ast.Dict, scope: Scope, tensors: Tensors) -> tuple[str | None, list[str]]:
    """Return the dict without the tensors that nothing reads, and these; None where it may be read as a whole."""
    code, kept, left = tensors.code, [], []
    attributes = (node for one in code.scopes_mentioning(*_READS_ALL) for node in one.names)
    if any(getattr(node, "attr", "") in _READS_ALL for node in attributes) or reached_by_gradients(code) & {returned}:
        return None, []
    for key, value in zip(returned.keys, returned.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None, []
        text = scope.segment(value)
        is_given = isinstance(value, ast.Name) and value.id in scope.parameters
        is_tensor = is_given or tensors.kind(value, scope) in (Kind.TENSOR, Kind.GRAPH)
        whole = _uncut(value)
        if is_tensor and not tensors.is_scalar(whole, scope) and not _is_read(key, code):
            left.append(text)
            continue
        cut = tensors.kind(value, scope) is Kind.GRAPH
        kept.append(f"{scope.segment(key)}: {scope.operand(value) + '.detach()' if cut else text}")
    return (f"{{{', '.join(kept)}}}" if kept else None), left


def _uncut(node: ast.expr) -> ast.expr:
    """Return `loss` of `loss.detach()`."""
    cut = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_cut(node, CUTS)
    return node.func.value if cut else node  # type: ignore[attr-defined]


def _is_read(key: ast.Constant, code: Notebook) -> bool:
    """Whether another place of the cells has the same text."""
    nodes = (node for scope in code.scopes_mentioning(str(key.value)) for node in scope.nodes)
    return any(isinstance(node, ast.Constant) and node.value == key.value and node is not key for node in nodes)
