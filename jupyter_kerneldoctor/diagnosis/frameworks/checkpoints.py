"""Checkpoints of PyTorch that are loaded into a network."""

import ast
from collections.abc import Iterable, Iterator

from ..code.notebook import Call, Notebook, Scope
from .torch import Kind, Tensors


def loads(code: Notebook, scopes: Iterable[Scope]) -> Iterator[tuple[Call, Call]]:
    """Yield the `torch.load(path)` whose weights `net.load_state_dict(...)` takes, and that call, where it stands."""
    tensors = Tensors(code)
    for scope in scopes if tensors.in_use else ():
        for node in scope.calls:
            match node:
                case ast.Call(func=ast.Attribute(attr="load_state_dict", value=owner), args=[given, *_]):
                    if tensors.kind(owner, scope) is not Kind.MODULE:
                        continue
                case _:
                    continue
            made = _made_by(given, tensors, scope)
            if made is not None and made.node.args and not isinstance(made.node.args[0], ast.Call):
                yield made, Call(node, scope, "load_state_dict")


def _made_by(node: ast.expr, tensors: Tensors, scope: Scope, depth: int = 0) -> Call | None:
    if depth > 4:
        return None
    match node:
        case ast.Call() if tensors.code.qualified(node.func, scope) == "torch.load":
            return Call(node, scope, "torch.load")
        case ast.Subscript(value=inner):
            return _made_by(inner, tensors, scope, depth + 1)
        case ast.Name() | ast.Attribute():
            found = [_made_by(one.node, tensors, one.scope, depth + 1) for one in tensors.origins.of(node, scope)]
            return found[0] if len(found) == 1 else None
    return None
