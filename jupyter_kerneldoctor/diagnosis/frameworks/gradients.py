"""Where PyTorch records a graph, where the backward pass uses it up, and what that pass starts from."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..edits import insert_before, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..code.notebook import Notebook, Scope
    from ..edits import Changes

_GRADIENTS = ("torch.autograd.grad", "torch.autograd.functional.", "torch.func.")
_ASK_FOR_GRADIENTS = frozenset({"backward", "manual_backward", "grad", "requires_grad_", "fit", "train_on_batch"})
_GRAPH_OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})


@dataclass(frozen=True)
class Backward:
    """A call that runs the backward pass."""

    node: ast.Call
    target: ast.expr
    """Where it starts: the loss."""
    keeps_graph: bool


def backward_calls(node: ast.AST, scope: Scope) -> list[Backward]:
    """Return `loss.backward()`, `accelerator.backward(loss)` and the like among what runs in a node of the scope."""
    found = []
    for one in scope.calls if node is scope.node else scope.inside(node):
        match one:
            case ast.Call(func=ast.Attribute(attr="backward", value=owner), args=given, keywords=words):
                keeps = any(word.arg == "retain_graph" and _is_not_false(word.value) for word in words)
                target = given[0] if given and isinstance(given[0], ast.Name) else owner
                found.append(Backward(one, target, keeps))
    return found


def starts_of_backward(scope: Scope, code: Notebook) -> Iterator[ast.expr]:
    """Yield the expressions whose gradients something in the scope works out."""
    yield from (call.target for call in backward_calls(scope.node, scope))
    for call in code.calls_in([scope], *_GRADIENTS[:1], *(f"{name}*" for name in _GRADIENTS[1:])):
        yield from call.node.args[:1]


def works_out_gradients(code: Notebook) -> bool:
    """Whether something that runs asks for gradients, itself or through a trainer's method."""
    names = (node for scope in code.running for node in scope.names)
    asks = any(isinstance(node, ast.Attribute) and node.attr in _ASK_FOR_GRADIENTS for node in names)
    return asks or any(True for scope in code.running for _ in starts_of_backward(scope, code))


def without_gradients(statement: ast.stmt, scope: Scope, code: Notebook) -> Changes:
    """Put a statement under `torch.no_grad()`; import PyTorch at the top of its cell where no cell did by name."""
    name = _name_of_torch(code)
    top, wrapped = code.module(scope.cell), wrap(scope, [statement], f"with {name or 'torch'}.no_grad():")
    if name is not None or top is None:
        return wrapped
    first = next((one for one in top.body if getattr(one, "module", "") != "__future__"), statement)
    return insert_before(top, first, "import torch") + wrapped


def _name_of_torch(code: Notebook) -> str | None:
    for scope in code.mentioning("torch"):
        for name, bound in scope.bindings.items():
            if bound[-1].imported == "torch":
                return name
    return None


def graph_is_off(expressions: Iterable[ast.expr], scope: Scope, code: Notebook) -> bool:
    """Whether one of these (decorators, or what a `with` enters) is torch's no_grad or inference_mode."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in expressions]
    return any(code.qualified(call, scope) in _GRAPH_OFF for call in calls)


def records_graph(node: ast.AST, scope: Scope, code: Notebook) -> bool:
    """Whether PyTorch remembers how tensors come about where a node runs, as far as its own scope tells."""
    entered = [
        item.context_expr
        for one in scope.around(node)
        if isinstance(one, ast.With | ast.AsyncWith)
        for item in one.items
    ]
    return not graph_is_off([*scope.decorators, *entered], scope, code)


def _is_not_false(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and not node.value)
