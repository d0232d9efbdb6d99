"""How a value is cut off from its graph: `out.detach()`, or each tensor of a tuple or a dict."""

import ast
from enum import Enum

from ..code.scopes import Scope
from ..code.unpacking import part_of_call
from ..edits import Changes, EditRefusedError, append, replace
from .gradients import name_of_torch
from .torch import Kind, Tensors

_DEEPEST = 6
_RECURRENT = ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.LSTMCell", "torch.nn.MultiheadAttention")
_PAIRS = ("torch.nn.LSTM",)


class _Form(Enum):
    TENSOR = "{0}.detach()"
    TUPLE = "tuple(one.detach() for one in {0})"
    SOME_OF_TUPLE = "tuple(one.detach() if {torch}.is_tensor(one) else one for one in {0})"
    DICT = "{{key: one.detach() for key, one in {0}.items()}}"
    SOME_OF_DICT = "{{key: one.detach() if {torch}.is_tensor(one) else one for key, one in {0}.items()}}"
    OTHER = ""


def without_graph(value: ast.expr, scope: Scope, tensors: Tensors) -> tuple[Changes, str]:
    """Return the edit that cuts a value off from its graph, and what then stands there.

    Raises EditRefusedError for an object of a library, and for tuples within tuples.
    """
    form, torch = _form(value, scope, tensors), name_of_torch(tensors.code)
    if form is _Form.OTHER or (torch is None and "torch" in form.value):
        raise EditRefusedError(f"{scope.segment(value)} is no tensor")
    text = form.value.format(scope.operand(value), torch=torch)
    return append(scope, value, ".detach()") if form is _Form.TENSOR else replace(scope, value, text), text


def _form(node: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> _Form:
    """Return what an expression is; what the code does not show is taken for a tensor."""
    if depth > _DEEPEST:
        return _Form.TENSOR
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            pass
        case ast.DictComp(value=part):
            parts = [part]
        case _:
            return _library_form(node, scope, tensors) or _own_form(node, scope, tensors, depth)
    if any(_form(one, scope, tensors, depth + 1) is not _Form.TENSOR for one in parts):
        return _Form.OTHER
    are_tensors = all(tensors.kind(one, scope) in (Kind.TENSOR, Kind.GRAPH) for one in parts)
    if isinstance(node, ast.Tuple | ast.List):
        return _Form.TUPLE if are_tensors else _Form.SOME_OF_TUPLE
    return _Form.DICT if are_tensors else _Form.SOME_OF_DICT


def _own_form(node: ast.expr, scope: Scope, tensors: Tensors, depth: int) -> _Form:
    """Return the form of what a name was given, or of what a function of a cell returns."""
    called = tensors.origins.returned(node, scope) if isinstance(node, ast.Call) else ()
    found = (*tensors.origins.of(node, scope), *called)
    forms = {_form(one.node, one.scope, tensors, depth + 1) for one in found}
    return forms.pop() if len(forms) == 1 else _Form.OTHER if forms else _Form.TENSOR


def _library_form(node: ast.expr, scope: Scope, tensors: Tensors) -> _Form | None:
    """Return what a network of a library gives, or a part of that; None for anything else."""
    match node:
        case ast.Attribute(attr="hidden_states" | "attentions"):  # of a result of transformers
            return _Form.TUPLE
        case ast.Attribute(attr="past_key_values"):
            return _Form.OTHER
        case ast.Name() if (part := part_of_call(node, scope, tensors.code)) is not None:
            made = _made_by(part[1], part[2], tensors)
            return None if not made else _Form.TUPLE if part[0] and made & {*_PAIRS} else _Form.TENSOR
        case ast.Call() if tensors.kind(node.func, scope) is Kind.MODULE and (made := _made_by(node, scope, tensors)):
            is_other = made & {*_RECURRENT} or any(one.startswith("transformers.") for one in made)
            return _Form.OTHER if is_other else _Form.TENSOR
    return None


def _made_by(call: ast.Call, scope: Scope, tensors: Tensors) -> set[str]:
    """Return the full names of the library classes that the called network may be of."""
    made = [one for one in tensors.origins.of(call.func, scope) if isinstance(one.node, ast.Call)]
    names = (tensors.code.qualified(one.node.func, one.scope) for one in made if isinstance(one.node, ast.Call))
    return {name for name in names if name is not None}
