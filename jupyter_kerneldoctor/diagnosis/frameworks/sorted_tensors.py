"""Tensors that are sorted along their last axis."""

import ast

from ..code.notebook import Call
from ..code.scopes import Scope
from ..code.trees import unparse
from .torch import Kind, Tensors


def sorted_tensor(node: ast.expr, scope: Scope, tensors: Tensors) -> tuple[ast.expr, str, str] | None:
    """Return what is sorted along its last axis, the arguments of `topk`, and the part of its result; None for else."""
    part = "indices"
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=0 | 1 as at)):
            node, part, is_pair = inner, "indices" if at else "values", True
        case ast.Attribute(value=inner, attr="values" | "indices" as part):
            node, is_pair = inner, True
        case _:
            is_pair = False
    if not isinstance(node, ast.Call):
        return None
    name = tensors.code.qualified(node.func, scope)
    method = name.removeprefix("torch.") if name else getattr(node.func, "attr", "")
    if method != ("sort" if is_pair else "argsort") or not {one.arg for one in node.keywords} <= {"dim", "descending"}:
        return None
    call = Call(node, scope, method)
    given = [*node.args] if name else [node.func.value, *node.args] if isinstance(node.func, ast.Attribute) else []
    if not given or (name is None and tensors.kind(given[0], scope) not in (Kind.TENSOR, Kind.GRAPH)):
        return None
    dim = call.argument("dim") or next(iter(given[1:2]), None)
    descending = call.argument("descending") or next(iter(given[2:3]), None)
    axis = "-1" if dim is None else unparse(dim)
    if axis not in ("1", "-1") or (descending is not None and not isinstance(descending, ast.Constant)):
        return None
    return given[0], f"dim={axis}" + ("" if getattr(descending, "value", False) else ", largest=False"), part
