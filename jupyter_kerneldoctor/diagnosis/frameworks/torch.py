"""Which expressions are PyTorch tensors that hold on to a graph, and where the backward pass frees it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from ..edits import insert_before, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..code.notebook import Notebook, Scope
    from ..edits import Changes

_DEEPEST = 25  # steps from an expression to what it stands for


class Kind(IntEnum):
    """What an expression gives; unknown is OTHER, never a guess."""

    OTHER = 0
    TENSOR = 1
    GRAPH = 2
    """A tensor with the graph of all that made it behind it."""
    MODULE = 3


_PLAIN_METHODS = frozenset(
    {"item", "tolist", "numpy", "size", "dim", "backward", "numel", "data_ptr", "stride", "is_contiguous", "get_device"}
)
_CUT_METHODS = frozenset(
    {"detach", "argmax", "argmin", "argsort", "long", "int", "bool", "eq", "ne", "gt", "lt", "detach_"}
)
_MODULE_METHODS = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16", "requires_grad_"}
)
_PLAIN_ATTRIBUTES = frozenset({"shape", "dtype", "device", "data", "grad", "ndim", "requires_grad", "is_leaf"})
_MODULE_MAKERS = ("torch.hub.load", "torch.compile", "torchvision.models.")
_NO_TENSOR = (
    *("torch.optim.", "torch.utils.", "torch.cuda.", "torch.distributed.", "torch.backends.", "torch.manual_seed"),
)
_REDUCTIONS = frozenset({"mean", "sum", "norm", "nansum", "nanmean", "max", "min", "logsumexp"})
_GRAPH_OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})
_ASK_FOR_GRADIENTS = frozenset({"backward", "manual_backward", "grad", "requires_grad_", "fit", "train_on_batch"})
_GRADIENTS = ("torch.autograd.grad", "torch.autograd.functional.", "torch.func.")
TENSOR_METHODS = frozenset({"item", "detach", "cpu", "numpy", "tolist", "mean", "sum", "to"})
"""What only tensors have done to them, of what is done to values that were collected."""


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


class Tensors:
    """What the expressions of one notebook give, as far as its cells tell."""

    def __init__(self, code: Notebook) -> None:
        """Take the code that ran."""
        self.code = code
        self._given: dict[Scope, dict[str, Kind]] = {}  # what the parameters of functions are that are looked into
        self._called: dict[Scope, dict[str, Kind]] = {}
        self._known: dict[ast.expr, Kind] = {}

    @property
    def in_use(self) -> bool:
        """Whether a cell imported PyTorch."""
        return self.code.imports("torch")

    def kind(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Kind:
        """Return what an expression gives."""
        if node is None or depth > _DEEPEST:
            return Kind.OTHER
        if node in self._known:
            return self._known[node]
        if depth == 0 or not self._given:
            self._known[node] = Kind.OTHER  # for a name that leads back to itself
        found = self._kind(node, scope, depth + 1)
        if not self._given:
            self._known[node] = found
        return found

    def _kind(self, node: ast.expr, scope: Scope, depth: int) -> Kind:
        match node:
            case ast.Name():
                return self._name(node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                return self._joined([one, other], scope, depth)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=inner) | ast.Subscript(value=inner):
                return self.kind(inner, scope, depth)
            case ast.Attribute(value=inner, attr=name) if name not in _PLAIN_ATTRIBUTES:
                base = self.kind(inner, scope, depth)
                return base if base in (Kind.TENSOR, Kind.GRAPH) else Kind.OTHER
        return Kind.OTHER

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> Kind:
        binding = self.code.lookup(node.id, scope, node)
        if binding is not None and binding.value is not None:
            return self.kind(binding.value, binding.scope, depth)
        given = self._given[scope] if scope in self._given else self._called_with(scope, depth)
        return given.get(node.id, Kind.OTHER)

    def _called_with(self, function: Scope, depth: int) -> dict[str, Kind]:
        """Return what the parameters of a function are, where one call of it stands in the code that ran."""
        if function not in self._called:
            self._called[function] = {}  # for a call whose arguments lead back to it
            calls = [] if function.owner else self._calls_by_name.get(function.function, [])
            binding = self.code.definition(calls[0][0].func, calls[0][1]) if len(calls) == 1 else None
            if binding is not None and binding.definition is function.node:
                self._called[function] = self._kinds(*calls[0], function, depth)
        return self._called[function]

    @cached_property
    def _calls_by_name(self) -> dict[str, list[tuple[ast.Call, Scope]]]:
        found: dict[str, list[tuple[ast.Call, Scope]]] = {}
        for scope in self.code.running:
            for call in scope.calls:
                if isinstance(call.func, ast.Name):
                    found.setdefault(call.func.id, []).append((call, scope))
        return found

    def _kinds(self, call: ast.Call, caller: Scope, function: Scope, depth: int) -> dict[str, Kind]:
        """Return what a call gives for the parameters of a function."""
        given = dict(zip(function.parameters, call.args, strict=False))
        given |= {word.arg: word.value for word in call.keywords if word.arg}
        return {name: self.kind(value, caller, depth) for name, value in given.items()}

    def _joined(self, nodes: Iterable[ast.expr], scope: Scope, depth: int) -> Kind:
        kinds = [kind for kind in (self.kind(node, scope, depth) for node in nodes) if kind is not Kind.MODULE]
        return max(kinds, default=Kind.OTHER)

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        full = self.code.qualified(node.func, scope)
        if full is not None:
            return self._library_call(full, node, scope, depth)
        if isinstance(node.func, ast.Attribute):
            return self._method_call(node.func, node, scope, depth)
        if self.kind(node.func, scope, depth) is Kind.MODULE:
            return Kind.GRAPH
        return self._own_call(node, scope, depth)

    def _library_call(self, full: str, node: ast.Call, scope: Scope, depth: int) -> Kind:
        last = full.rsplit(".", 1)[-1]
        if full.startswith(_MODULE_MAKERS) or (full.startswith("transformers.") and last == "from_pretrained"):
            return Kind.MODULE
        if not full.startswith("torch.") or full.startswith(_NO_TENSOR):
            return Kind.OTHER
        if full.startswith("torch.nn.") and last[0].isupper():
            return Kind.GRAPH if last == "Parameter" else Kind.MODULE
        if last in _PLAIN_METHODS:
            return Kind.OTHER
        if any(word.arg == "requires_grad" and _is_true(word.value) for word in node.keywords):
            return Kind.GRAPH
        inputs = [
            one for given in node.args for one in (given.elts if isinstance(given, ast.List | ast.Tuple) else [given])
        ]
        return max(Kind.TENSOR, self._joined([*inputs, *(word.value for word in node.keywords)], scope, depth))

    def _method_call(self, func: ast.Attribute, node: ast.Call, scope: Scope, depth: int) -> Kind:
        base = self.kind(func.value, scope, depth)
        if base is Kind.MODULE:
            return Kind.GRAPH if func.attr == "forward" else Kind.MODULE if func.attr in _MODULE_METHODS else Kind.OTHER
        if base is Kind.OTHER or func.attr in _PLAIN_METHODS:
            return Kind.OTHER
        if func.attr in _CUT_METHODS:
            return Kind.TENSOR
        return Kind.GRAPH if func.attr == "requires_grad_" else max(base, self._joined(node.args, scope, depth))

    def _own_call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        """A call of what the user defined: a module class gives a module, a function what it returns."""
        binding = self.code.definition(node.func, scope)
        if binding is None or binding.definition is None:
            return Kind.OTHER
        if isinstance(binding.definition, ast.ClassDef):
            bases = [self.code.qualified(base, binding.scope) for base in binding.definition.bases]
            return Kind.MODULE if "torch.nn.Module" in bases or "torch.nn.Sequential" in bases else Kind.OTHER
        if graph_is_off(binding.definition.decorator_list, binding.scope, self.code):
            return Kind.TENSOR
        inner = self.code.function_scope(binding.definition, binding.cell)
        if inner in self._given:
            return Kind.OTHER  # it calls itself
        self._given[inner] = self._kinds(node, scope, inner, depth)
        try:
            return self._joined(
                (one.value for one in inner.walk() if isinstance(one, ast.Return) and one.value), inner, depth
            )
        finally:
            del self._given[inner]

    def is_scalar(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a tensor expression surely has one element, so that `.item()` works."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Name(id=name):
                binding = self.code.lookup(name, scope, node)
                value = None if binding is None else binding.value
                return binding is not None and value is not None and self.is_scalar(value, binding.scope, depth + 1)
            case ast.BinOp(left=left, right=right):
                scalar = [self.is_scalar(side, scope, depth + 1) for side in (left, right)]
                plain = [
                    isinstance(side, ast.Constant) or self.kind(side, scope) is Kind.OTHER for side in (left, right)
                ]
                return any(scalar) and all(a or b for a, b in zip(scalar, plain, strict=True))
            case ast.Call():
                return self._gives_scalar(node, scope)
        return False

    def _gives_scalar(self, node: ast.Call, scope: Scope) -> bool:
        full = self.code.qualified(node.func, scope)
        if full is not None:
            last = full.rsplit(".", 1)[-1]
            if full.startswith("torch.nn.functional.") and (last.endswith("_loss") or "cross_entropy" in last):
                return not _keeps_elements(node)
            return full.startswith("torch.") and last in _REDUCTIONS and len(node.args) == 1 and not node.keywords
        match node.func:
            case ast.Attribute(attr=name):
                return name in _REDUCTIONS and not node.args and not node.keywords
            case ast.Call() as made:  # nn.CrossEntropyLoss()(out, y)
                return self._is_criterion(made, scope)
            case ast.Name(id=name):
                binding = self.code.lookup(name, scope, node)
                made_by = None if binding is None else binding.value
                return (
                    isinstance(made_by, ast.Call) and binding is not None and self._is_criterion(made_by, binding.scope)
                )
        return False

    def _is_criterion(self, made: ast.Call, scope: Scope) -> bool:
        full = self.code.qualified(made.func, scope) or ""
        return full.startswith("torch.nn.") and full.endswith("Loss") and not _keeps_elements(made)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_not_false(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and not node.value)


def _keeps_elements(node: ast.Call) -> bool:
    return any(
        word.arg in ("reduction", "reduce")
        and not (isinstance(word.value, ast.Constant) and word.value.value in ("mean", "sum"))
        for word in node.keywords
    )
