"""Which expressions are PyTorch tensors that hold on to a graph, as far as the executed cells tell."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope

_DEEPEST = 25


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
    "torch.optim.",
    "torch.utils.",
    "torch.cuda.",
    "torch.distributed.",
    "torch.backends.",
    "torch.manual_seed",
)
_REDUCTIONS = frozenset({"mean", "sum", "norm", "nansum", "nanmean", "max", "min", "logsumexp"})


@dataclass
class Tensors:
    """Answers for the code of one notebook."""

    code: Notebook
    _parameters: dict[int, dict[str, Kind]] = field(default_factory=dict)
    _known: dict[int, Kind] = field(default_factory=dict)

    @property
    def in_use(self) -> bool:
        """Whether a cell imported PyTorch."""
        return self.code.imports("torch")

    def kind(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Kind:
        """What an expression gives."""
        if node is None or depth > _DEEPEST:
            return Kind.OTHER
        self.code.spend(4)
        if id(node) in self._known:
            return self._known[id(node)]
        if depth == 0 or not self._parameters:
            self._known[id(node)] = Kind.OTHER  # a name that leads back to itself
        found = self._kind(node, scope, depth + 1)
        if not self._parameters:
            self._known[id(node)] = found
        return found

    def _kind(self, node: ast.expr, scope: Scope, depth: int) -> Kind:
        if isinstance(node, ast.Name):
            return self._name(node, scope, depth)
        if isinstance(node, ast.Call):
            return self._call(node, scope, depth)
        if isinstance(node, ast.BinOp):
            return self._joined([node.left, node.right], scope, depth)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.kind(node.operand, scope, depth)
        if isinstance(node, ast.IfExp):
            return self._joined([node.body, node.orelse], scope, depth)
        if isinstance(node, ast.Subscript):
            return self.kind(node.value, scope, depth)
        if isinstance(node, ast.Attribute):
            base = self.kind(node.value, scope, depth)
            return base if base in (Kind.TENSOR, Kind.GRAPH) and node.attr not in _PLAIN_ATTRIBUTES else Kind.OTHER
        return Kind.OTHER

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> Kind:
        given = self._parameters.get(id(scope.node), {})
        binding = self.code.lookup(node.id, scope, node)
        if node.id in given and (binding is None or binding.value is None):
            return given[node.id]
        return Kind.OTHER if binding is None else self.kind(binding.value, binding.scope, depth)

    def _joined(self, nodes: list[ast.expr], scope: Scope, depth: int) -> Kind:
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
        inputs = [element for argument in node.args for element in _elements(argument)]
        joined = self._joined([*inputs, *(word.value for word in node.keywords)], scope, depth)
        return max(Kind.TENSOR, joined)

    def _method_call(self, func: ast.Attribute, node: ast.Call, scope: Scope, depth: int) -> Kind:
        base = self.kind(func.value, scope, depth)
        if base is Kind.MODULE:
            return _module_method(func.attr)
        if base is Kind.OTHER or func.attr in _PLAIN_METHODS:
            return Kind.OTHER
        if func.attr in _CUT_METHODS:
            return Kind.TENSOR
        if func.attr == "requires_grad_":
            return Kind.GRAPH
        return max(base, self._joined(node.args, scope, depth))

    def _own_call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        """A call of what the user defined: a module class gives a module, a function what it returns."""
        if not isinstance(node.func, ast.Name):
            return Kind.OTHER
        binding = self.code.lookup(node.func.id, scope, node)
        if binding is None or binding.definition is None:
            return Kind.OTHER
        if isinstance(binding.definition, ast.ClassDef):
            bases = [self.code.qualified(base, binding.scope) for base in binding.definition.bases]
            return Kind.MODULE if "torch.nn.Module" in bases or "torch.nn.Sequential" in bases else Kind.OTHER
        if graph_is_off(binding.definition.decorator_list, binding.scope, self.code):
            return Kind.TENSOR
        inner = self.code.function_scope(binding.definition, binding.cell)
        names = [one.arg for one in (*binding.definition.args.posonlyargs, *binding.definition.args.args)]
        given = {name: self.kind(value, scope, depth) for name, value in zip(names, node.args, strict=False)}
        given |= {word.arg: self.kind(word.value, scope, depth) for word in node.keywords if word.arg}
        if id(inner.node) in self._parameters:
            return Kind.OTHER  # it calls itself
        self._parameters[id(inner.node)] = given
        try:
            returned = [one.value for one in inner.walk() if isinstance(one, ast.Return) and one.value is not None]
            return self._joined(returned, inner, depth)
        finally:
            del self._parameters[id(inner.node)]

    def is_scalar(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a tensor expression surely has one element, so that `.item()` works."""
        if depth > _DEEPEST:
            return False
        self.code.spend(4)
        if isinstance(node, ast.Name):
            binding = self.code.lookup(node.id, scope, node)
            return (
                binding is not None
                and binding.value is not None
                and self.is_scalar(binding.value, binding.scope, depth + 1)
            )
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            scalar = [self.is_scalar(side, scope, depth + 1) for side in sides]
            plain = [isinstance(side, ast.Constant) or self.kind(side, scope) is Kind.OTHER for side in sides]
            return any(scalar) and all(a or b for a, b in zip(scalar, plain, strict=True))
        return isinstance(node, ast.Call) and self._gives_scalar(node, scope)

    def _gives_scalar(self, node: ast.Call, scope: Scope) -> bool:
        full = self.code.qualified(node.func, scope)
        if full is not None:
            last = full.rsplit(".", 1)[-1]
            if full.startswith("torch.nn.functional.") and (last.endswith("_loss") or "cross_entropy" in last):
                return not _keeps_elements(node)
            return full.startswith("torch.") and last in _REDUCTIONS and len(node.args) == 1 and not node.keywords
        if isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS:
            return not node.args and not node.keywords
        if isinstance(node.func, ast.Call):  # nn.CrossEntropyLoss()(out, y)
            return self._is_criterion(node.func, scope)
        if isinstance(node.func, ast.Name):
            binding = self.code.lookup(node.func.id, scope, node)
            made = None if binding is None else binding.value
            return isinstance(made, ast.Call) and binding is not None and self._is_criterion(made, binding.scope)
        return False

    def _is_criterion(self, made: ast.Call, scope: Scope) -> bool:
        full = self.code.qualified(made.func, scope) or ""
        return full.startswith("torch.nn.") and full.endswith("Loss") and not _keeps_elements(made)


def _module_method(name: str) -> Kind:
    if name == "forward":
        return Kind.GRAPH
    return Kind.MODULE if name in _MODULE_METHODS else Kind.OTHER


def graph_is_off(expressions: list[ast.expr], scope: Scope, code: Notebook) -> bool:
    """Whether one of these (decorators, or what a `with` enters) is torch's no_grad or inference_mode."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in expressions]
    names = {"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"}
    return any(code.qualified(call, scope) in names for call in calls)


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else [node]


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _keeps_elements(node: ast.Call) -> bool:
    return any(
        word.arg in ("reduction", "reduce")
        and not (isinstance(word.value, ast.Constant) and word.value.value in ("mean", "sum"))
        for word in node.keywords
    )
