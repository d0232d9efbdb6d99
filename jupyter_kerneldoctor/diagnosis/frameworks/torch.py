"""Which expressions are PyTorch networks and tensors, and which tensors hold on to a graph."""

import ast
from collections.abc import Iterable, Iterator
from enum import IntEnum

from ..code.notebook import Binding, Call, Notebook, Scope
from ..code.origins import Origins
from ..code.unpacking import part_of_call
from . import torch_names as known
from .gradients import graph_is_off, graph_is_off_at, iterated
from .parameters import asked_for_parameters, is_parameter

_DEEPEST = 25  # steps from an expression to what it stands for


class Kind(IntEnum):
    """What an expression gives; unknown is OTHER, never a guess."""

    OTHER = 0
    TENSOR = 1
    GRAPH = 2
    """A tensor with the graph of all that made it behind it."""
    MODULE = 3


TENSOR_METHODS = frozenset({"item", "detach", "cpu", "numpy", "tolist", "mean", "sum", "to"})
"""What only tensors have done to them, of what is done to values that were collected."""


def is_module_class(binding: Binding, code: Notebook, depth: int = 0) -> bool:
    """Whether a class of the user's is a network: derived from `nn.Module`, also through another class."""
    if not isinstance(binding.definition, ast.ClassDef) or depth > _DEEPEST:
        return False
    for base in binding.definition.bases:
        full, own = code.qualified(base, binding.scope), code.definition(base, binding.scope)
        if full in known.MODULE_CLASSES or (full or "").endswith(".LightningModule"):
            return True
        if own is not None and own.definition is not binding.definition and is_module_class(own, code, depth + 1):
            return True
    return False


class Tensors:
    """What the expressions of one notebook give, as far as its cells tell."""

    def __init__(self, code: Notebook) -> None:
        """Take the code that ran."""
        self.code = code
        self.origins = Origins(code)
        self._given: dict[Scope, dict[str, Kind]] = {}  # what the parameters of functions are that are looked into
        self._known: dict[ast.expr, Kind] = code.answers.setdefault(Tensors, {})

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
                return self._origin(node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                return self._joined([one, other], scope, depth)
            case ast.Dict(values=values):
                return self._joined(values, scope, depth)
            case ast.DictComp(value=value):
                return self.kind(value, scope, depth)
            case ast.List() | ast.ListComp():  # of networks
                kinds = {self.kind(one, scope, depth) for one in _items(node)}
                return Kind.MODULE if kinds == {Kind.MODULE} else Kind.OTHER
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=inner) | ast.Subscript(value=inner):
                return self.kind(inner, scope, depth)
            case ast.Attribute(value=inner, attr=name) if name not in known.PLAIN_ATTRIBUTES:
                base = self.kind(inner, scope, depth)
                return base if base in (Kind.TENSOR, Kind.GRAPH) else self._origin(node, scope, depth)
        return Kind.OTHER

    def _origin(self, node: ast.Name | ast.Attribute, scope: Scope, depth: int) -> Kind:
        """Return what a name or an attribute was given; of a parameter, what all calls agree on."""
        if isinstance(node, ast.Name) and scope in self._given and node.id in self._given[scope]:
            return self._given[scope][node.id]
        if isinstance(node, ast.Name) and self._is_unpacked_without_graph(node, scope):
            return Kind.TENSOR
        origins = self.origins.of(node, scope)
        if len(origins) > 1 and any(self.code.qualified(*one) is not None for one in origins):
            return Kind.OTHER  # once a network, once a function
        kinds = {self.kind(one.node, one.scope, depth) for one in origins} - {Kind.OTHER}
        if not kinds and isinstance(node, ast.Name):
            kinds = self._of_several(node, scope, depth)
        if not kinds and self.code.qualified(node, scope) is None and self._has_parameters(node, scope):
            return Kind.MODULE
        return min(kinds, default=Kind.OTHER)

    def _is_unpacked_without_graph(self, name: ast.Name, scope: Scope) -> bool:
        """Whether a name got one of the results of a call under `torch.no_grad()`."""
        part = part_of_call(name, scope, self.code)
        return part is not None and graph_is_off_at(part[1], part[2], self.code)

    def _of_several(self, name: ast.Name, scope: Scope, depth: int) -> set[Kind]:
        """Return what a name is that got one of several results, or stands for each item in turn."""
        kinds: set[Kind] = {Kind.GRAPH} if is_parameter(name, scope) else set()
        if (part := part_of_call(name, scope, self.code)) is not None:
            at, call, home = part
            are_indices = at and getattr(call.func, "attr", "") in known.GIVE_INDICES
            kinds |= {Kind.TENSOR if are_indices else self.kind(call, home, depth)} - {Kind.OTHER, Kind.MODULE}
        gone_through = None if kinds else iterated(name, scope)
        return kinds | ({self.kind(gone_through, scope, depth)} - {Kind.OTHER})

    def _has_parameters(self, node: ast.expr, scope: Scope) -> bool:
        """Whether the code asks something of this name for its parameters, which only a network has."""
        return self.in_use and scope.segment(node) in asked_for_parameters(self.code)

    def _joined(self, nodes: Iterable[ast.expr], scope: Scope, depth: int) -> Kind:
        kinds = [kind for kind in (self.kind(node, scope, depth) for node in nodes) if kind is not Kind.MODULE]
        return max(kinds, default=Kind.OTHER)

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        full = self.code.qualified(node.func, scope)
        if full is not None:
            return self._library_call(full, node, scope, depth)
        if self.kind(node.func, scope, depth) is Kind.MODULE:
            return Kind.TENSOR if graph_is_off_at(node, scope, self.code) else Kind.GRAPH
        if isinstance(node.func, ast.Attribute):
            return self._method_call(node.func, node, scope, depth)
        return self._own_call(node, scope, depth)

    def _library_call(self, full: str, node: ast.Call, scope: Scope, depth: int) -> Kind:
        last = full.rsplit(".", 1)[-1]
        if full.startswith("transformers.") and known.MAKES_NETWORK.search(last):
            return Kind.OTHER if known.NO_NETWORK.search(full) else Kind.MODULE
        if full.startswith(known.MODULE_MAKERS):
            return Kind.MODULE
        if full in known.SAME_AS_GIVEN and node.args:
            return self.kind(node.args[0], scope, depth)
        if not full.startswith("torch.") or full.startswith(known.NO_TENSOR):
            return Kind.OTHER
        if full.startswith("torch.nn.") and last[0].isupper():
            return Kind.GRAPH if last == "Parameter" else Kind.MODULE
        if last in known.PLAIN_METHODS:
            return Kind.OTHER
        if last.endswith("_like") or last in known.CUT_METHODS:
            return Kind.TENSOR  # of the same shape, and nothing else of it; or indices
        if any(word.arg == "requires_grad" and getattr(word.value, "value", None) is True for word in node.keywords):
            return Kind.GRAPH
        inputs = [one for given in node.args for one in _items(given)]
        return max(Kind.TENSOR, self._joined([*inputs, *(word.value for word in node.keywords)], scope, depth))

    def _method_call(self, func: ast.Attribute, node: ast.Call, scope: Scope, depth: int) -> Kind:
        base = self.kind(func.value, scope, depth)
        if base in (Kind.OTHER, Kind.MODULE) and (inner := self.origins.called(func, scope)) is not None:
            return self._returned(node, inner, scope, depth)
        if base is Kind.MODULE:
            same = Kind.MODULE if func.attr in known.MODULE_METHODS else Kind.OTHER
            return Kind.GRAPH if func.attr == "forward" else same
        if base is Kind.OTHER or func.attr in known.PLAIN_METHODS:
            return Kind.OTHER
        if func.attr in known.CUT_METHODS:
            return Kind.TENSOR
        return Kind.GRAPH if func.attr == "requires_grad_" else max(base, self._joined(node.args, scope, depth))

    def _own_call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        """A call of what the user defined: a module class gives a module, a function what it returns."""
        binding = self.code.definition(node.func, scope)
        if binding is None or binding.definition is None:
            return Kind.OTHER
        if isinstance(binding.definition, ast.ClassDef):
            return Kind.MODULE if is_module_class(binding, self.code) else Kind.OTHER
        return self._returned(node, self.code.function_scope(binding.definition, binding.cell), scope, depth)

    def _returned(self, node: ast.Call, inner: Scope, scope: Scope, depth: int) -> Kind:
        """What a function or method of the user's gives back in this call."""
        if graph_is_off(inner.decorators, inner.parent or inner, self.code) or graph_is_off_at(node, scope, self.code):
            return Kind.TENSOR
        if inner in self._given:
            return Kind.OTHER  # it calls itself
        self.code.spend(25)  # as what it gives depends on the call, none is known from another one
        given = self.origins.arguments(node, inner)
        self._given[inner] = {name: self.kind(value, scope, depth) for name, value in given.items()}
        try:
            found = [one.value for one in inner.nodes if isinstance(one, ast.Return) and one.value]
            kinds = {self.kind(one, inner, depth) for one in found}
            return Kind.MODULE if kinds == {Kind.MODULE} else max(kinds - {Kind.MODULE}, default=Kind.OTHER)
        finally:
            del self._given[inner]

    def is_scalar(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a tensor expression surely has one element, so that `.item()` works."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Attribute(value=made, attr="loss") if self.kind(made, scope) is Kind.GRAPH:
                return True
            case ast.Name() | ast.Attribute():
                origins = self.origins.of(node, scope)
                return bool(origins) and all(self.is_scalar(one.node, one.scope, depth + 1) for one in origins)
            case ast.BinOp(left=left, right=right):
                scalar = [self.is_scalar(side, scope, depth + 1) for side in (left, right)]
                plain = [
                    isinstance(side, ast.Constant) or self.kind(side, scope) is Kind.OTHER for side in (left, right)
                ]
                return any(scalar) and all(a or b for a, b in zip(scalar, plain, strict=True))
            case ast.Call():
                return self._gives_scalar(node, scope, depth)
        return False

    def _gives_scalar(self, node: ast.Call, scope: Scope, depth: int) -> bool:
        full = self.code.qualified(node.func, scope)
        if full is not None:
            last = full.rsplit(".", 1)[-1]
            if full.startswith("torch.nn.functional.") and (last.endswith("_loss") or "cross_entropy" in last):
                return not _keeps_elements(node)
            return full.startswith("torch.") and last in known.REDUCTIONS and len(node.args) == 1 and not node.keywords
        match node.func:
            case ast.Attribute(attr=name) if name in known.REDUCTIONS:
                return not node.args and not node.keywords
            case ast.Call() as made:  # nn.CrossEntropyLoss()(out, y)
                return self._is_criterion(made, scope)
        made_by = self.origins.of(node.func, scope)
        if made_by:
            return all(isinstance(one.node, ast.Call) and self._is_criterion(one.node, one.scope) for one in made_by)
        returned = list(self.origins.returned(node, scope))
        return bool(returned) and all(self.is_scalar(one.node, one.scope, depth + 1) for one in returned)

    def _is_criterion(self, made: ast.Call, scope: Scope) -> bool:
        full = self.code.qualified(made.func, scope) or ""
        return full.startswith("torch.nn.") and full.endswith("Loss") and not _keeps_elements(made)


def loaded_networks(code: Notebook) -> Iterator[Call]:
    """Yield the calls of `from_pretrained` in what ran that load a network."""
    tensors = Tensors(code)
    for call in code.running.calls("transformers.*"):
        if call.name.endswith(".from_pretrained") and tensors.kind(call.node, call.scope) is Kind.MODULE:
            yield call


def _items(node: ast.expr) -> list[ast.expr]:
    """Return the items that are written out in a list, or what a comprehension makes each from; else the node."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return items
        case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
            return [item]
    return [node]


def _keeps_elements(node: ast.Call) -> bool:
    return any(
        word.arg in ("reduction", "reduce")
        and not (isinstance(word.value, ast.Constant) and word.value.value in ("mean", "sum"))
        for word in node.keywords
    )
