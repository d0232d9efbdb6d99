"""What names and expressions stood for when the kernel died: a number, or an array's shape, type and size.

    values = Values(code, recording.namespaces)
    values.of(node, scope)      # Value(type="numpy.ndarray", shape=(400, 1000000), dtype="float64", bytes=3200000000)
    values.made_in(index, 7)    # the largest object that line 7 of that cell makes

What was recorded of a variable comes first, then what the code says: numbers, NumPy's and PyTorch's makers of arrays,
arithmetic on known shapes, lists and comprehensions, data frames of known arrays. Nothing is run. What depends on a
branch or a loop is not known, and None: a value is never a guess.
"""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from .arrays import (
    ARRAY,
    FRAME,
    TENSOR,
    Value,
    array,
    container,
    elementwise,
    indexed,
    lengths,
    made,
    method,
    number,
    operation,
    repeated,
    whole,
)
from .builtin_functions import BUILT_IN
from .combinations import combined, combined_method, taken
from .notebook import Notebook
from .origins import Origins
from .scopes import Binding, Scope

_DEEPEST = 40
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
_MAKERS = (ast.Call, ast.BinOp, ast.ListComp, ast.Compare)
"""Expressions that make an object; a name or an attribute only gives one that was there."""


_TYPES = {"ndarray": ARRAY, "Tensor": TENSOR, "DataFrame": FRAME}


class Made(NamedTuple):
    """An object that a line makes."""

    text: str
    """The expression as the user wrote it."""
    value: Value


@dataclass(frozen=True)
class _Place:
    """Where an expression stands, and what is known there."""

    scope: Scope
    given: Mapping[str, Value]
    """What the parameters of the function stand for in this call."""
    depth: int = 0


class Values:
    """Answers for the code of one notebook. Every method raises CodeTooLargeError."""

    def __init__(self, code: Notebook, looks: Sequence[Namespace] = (), held: Iterable[NamedObject] = ()) -> None:
        """Take the code, what was recorded of the variables after cells, oldest first, and in the cell that grew."""
        self._code = code
        self._origins = Origins(code)
        self._recorded = _newest(code, looks)
        self._held = {((one.function or "").rpartition(".")[2], one.name): _recorded(one) for one in held}
        """Variables of the running cell, local ones of functions, and attributes that these reached, `self.centres`."""
        self._plain: dict[ast.expr, Value | None] = {}
        self._known: dict[int, tuple[Mapping[str, Value], dict[ast.expr, Value | None]]] = {}
        """What was worked out in one call of a function, by the identity of its arguments."""
        self._calls: dict[Scope, Mapping[str, Value]] = {}

    def of(self, node: ast.expr | None, scope: Scope) -> Value | None:
        """Return what an expression stood for when the scope ran last; None where that is not known, or for None."""
        return None if node is None else self._of(node, _Place(scope, self._called_with(scope)))

    def rows(self, node: ast.expr | None, scope: Scope) -> int | None:
        """Return how many rows, or items, an expression stood for; None where it has none, or not known how many."""
        found = self.of(node, scope)
        return None if found is None else found.rows

    def number(self, node: ast.expr | None, scope: Scope) -> int | None:
        """Return the whole number that an expression stood for; None where it is no number, or not known."""
        return whole(self.of(node, scope))

    def made_in(self, cell: int, line: int) -> Made | None:
        """Return the largest object that an expression in a line of a cell makes; None where no size is known."""
        found = [
            Made(scope.segment(node), value)
            for scope in self._code.scopes(cell)
            for node in scope.nodes
            if isinstance(node, _MAKERS) and node.lineno <= line <= (node.end_lineno or node.lineno)
            if (value := self.of(node, scope)) is not None and value.bytes is not None
        ]
        return max(found, key=lambda one: one.value.bytes or 0, default=None)

    def _called_with(self, scope: Scope) -> Mapping[str, Value]:
        if scope not in self._calls:
            self._calls[scope] = {}  # for a call whose arguments lead back to it
            self._calls[scope] = self._arguments(scope)
        return self._calls[scope]

    def _arguments(self, scope: Scope) -> Mapping[str, Value]:
        """Return what a function was called with, where one call of it stands in the code that ran."""
        if not isinstance(scope.node, ast.FunctionDef):
            return {}
        if scope.owner is not None:
            calls = self._origins.calls_of(scope)
            return self._given_once(*calls[0], scope) if len(calls) == 1 else {}
        called = [
            (call, caller)
            for caller in self._code.running
            for call in caller.calls
            if isinstance(call.func, ast.Name) and call.func.id == scope.function and caller is not scope
        ]
        binding = self._code.definition(called[0][0].func, called[0][1]) if len(called) == 1 else None
        if binding is None or binding.definition is not scope.node:
            return {}
        return self._given_once(*called[0], scope)

    def _given_once(self, call: ast.Call, caller: Scope, function: Scope) -> dict[str, Value]:
        return self._given(call, function, _Place(caller, self._called_with(caller), _DEEPEST // 2))

    def _given(self, call: ast.Call, function: Scope, at: _Place) -> dict[str, Value]:
        """Return what the parameters of a function stand for in a call of it."""
        arguments = function.arguments
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        nodes = self._origins.arguments(call, function)
        found = {name: self._of(node, at) for name, node in nodes.items()}
        for name, default in zip(reversed(names), reversed(arguments.defaults), strict=False):
            if name not in nodes:
                found[name] = self._of(default, _Place(function, {}, at.depth))
        return {name: value for name, value in found.items() if value is not None}

    def _of(self, node: ast.expr, at: _Place) -> Value | None:
        if at.depth > _DEEPEST:
            return None
        deeper = replace(at, depth=at.depth + 1)
        known = self._known.setdefault(id(at.given), (at.given, {}))[1] if at.given else self._plain
        if node not in known:
            known[node] = None  # for what leads back to itself
            with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # what raises has no value
                known[node] = self._work_out(node, deeper)
        return known[node]

    def _work_out(self, node: ast.expr, at: _Place) -> Value | None:  # noqa: C901 - one case for each kind of node
        self._code.spend(8)
        match node:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as known):
                return number(known)
            case ast.Constant(value=str() | bytes() as text):
                return Value(type(text).__name__, len(text), (len(text),))
            case ast.Name():
                return self._name(node, at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._of(operand, at)
                return number(-value.number) if value is not None and value.number is not None else value
            case ast.BinOp():
                return operation(node.op, self._of(node.left, at), self._of(node.right, at))
            case ast.Compare(left=left, comparators=[right]):
                value = elementwise(self._of(left, at), self._of(right, at))
                return value and array(value.type, value.shape, "bool", recorded=value.recorded)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return container(type(node).__name__.lower(), [self._of(one, at) for one in elements])
            case ast.ListComp(elt=element, generators=[ast.comprehension(iter=iterated, ifs=[])]):
                rounds, item = self._of(iterated, at), self._of(element, at)
                return repeated(item, rounds.shape[0]) if item and rounds and rounds.shape else None
            case ast.Subscript(value=inner, slice=index):
                value = self._of(inner, at)
                return value and (indexed(value, index) or taken(value, self._of(index, at)))
            case ast.Attribute():
                return self._attribute(node, at)
            case ast.Call():
                return self._call(node, at)
        return None

    def _name(self, node: ast.Name, at: _Place) -> Value | None:
        if not at.scope.is_cell and node.id in at.scope.parameters:
            is_bound_once = len(at.scope.bindings.get(node.id, ())) == 1
            return at.given.get(node.id) or (self._held_as(node, at) if is_bound_once else None)
        binding, recorded = self._code.lookup(node.id, at.scope, node), self._recorded.get(node.id)
        if recorded is not None and (binding is None or (binding.scope.is_cell and binding.cell <= recorded[0])):
            known = recorded[1]
            if known.type != "list" or binding is None or binding.value is None or _depends(binding, node.id):
                return known
            written = self._of(binding.value, _Place(binding.scope, {}, at.depth))  # it tells what the items are
            return written if written is not None and written.shape[:1] == known.shape else known
        if binding is None or binding.value is None or _depends(binding, node.id):
            return None
        found = self._of(binding.value, _Place(binding.scope, at.given if binding.scope is at.scope else {}, at.depth))
        is_running = binding.scope.is_cell and binding.cell == self._code.last and recorded is None
        return self._held.get(("", node.id)) if found is None and is_running else found

    def _attribute(self, node: ast.Attribute, at: _Place) -> Value | None:
        """Return the `T` and `shape` of an array; else what an attribute was recorded as, or set to in one place."""
        value = self._of(node.value, at) if node.attr in ("T", "shape") else None
        if value is not None and value.dtype:
            if node.attr == "T":
                return replace(value, shape=value.shape[::-1])
            return Value("tuple", None, (len(value.shape),), numbers=value.shape)
        if (held := self._held_as(node, at)) is not None:
            return held
        found = {id(one.node): one for one in self._origins.of(node, at.scope)}
        for given, scope in found.values() if len(found) == 1 else ():
            if not any(isinstance(one, _BRANCHES) for one in scope.around(given)):
                return self._of(given, _Place(scope, self._called_with(scope), at.depth))
        return None

    def _held_as(self, node: ast.expr, at: _Place) -> Value | None:
        """Return what was recorded under this name of the function while the cell grew."""
        return self._held.get((at.scope.function, at.scope.segment(node)))

    def _call(self, call: ast.Call, at: _Place) -> Value | None:
        words = {one.arg: one.value for one in call.keywords if one.arg}
        if any(isinstance(one, ast.Starred) for one in call.args) or "like" in words or "out" in words:
            return None
        function, values = self._code.described(call.func, at.scope) or "", [self._of(one, at) for one in call.args]
        if function.startswith(("numpy.", "torch.")):
            result = made(function, call, values, {word: self._of(value, at) for word, value in words.items()})
            if result is not None:
                return result
        if (result := combined(function, call, values)) is not None:
            return result
        if function in ("pandas.DataFrame", "pandas.Series"):
            return values[0] and replace(values[0], type=FRAME) if values else None
        if function in BUILT_IN and values and values[0] is not None:
            return BUILT_IN[function](values)
        called = self._origins.called(call.func, at.scope)
        if called is not None:
            return self._returned(called, call, at)
        if not isinstance(call.func, ast.Attribute) or (owner := self._of(call.func.value, at)) is None:
            return None
        return method(owner, call, values) or combined_method(owner, call.func.attr, values)

    def _returned(self, function: Scope, call: ast.Call, at: _Place) -> Value | None:
        """Return what a function of a cell gives back, where it has one `return`, and that at its end."""
        returns = [one for one in function.nodes if isinstance(one, ast.Return)]
        if at.depth > _DEEPEST // 2 or len(returns) != 1 or function.body[-1] is not returns[0]:
            return None
        given = self._given(call, function, at) or {"": Value("int")}  # not empty: it holds for this call only
        return None if returns[0].value is None else self._of(returns[0].value, _Place(function, given, at.depth + 1))


def _newest(code: Notebook, looks: Sequence[Namespace]) -> dict[str, tuple[int, Value]]:
    """Return what was recorded last of each variable, and after which cell."""
    last = code.cells[code.last].started_mono_s if code.last >= 0 else math.inf
    look = next((one for one in reversed(looks) if one.mono_s <= last), None)
    if look is None:
        return {}
    after = max((at for at, cell in enumerate(code.cells) if cell.started_mono_s <= look.mono_s), default=-1)
    return {one.name: (after, _recorded(one)) for one in look.objects if not one.hidden}


def _recorded(one: NamedObject) -> Value:
    shape = lengths(one.shape or (() if one.items is None else (one.items,)))
    return Value(_TYPES.get(one.type.rpartition(".")[2], one.type), one.bytes, shape, one.dtype, recorded=True)


def _depends(binding: Binding, name: str) -> bool:
    """Return whether what a name stands for depends on a branch or a loop."""
    all_bound = binding.scope.bindings.get(name, ())
    binding.scope.tree.budget.spend(3 * len(all_bound))
    for bound in all_bound:
        if bound.value is None:
            if bound.position >= binding.position:
                return True
        elif any(isinstance(one, _BRANCHES) for one in binding.scope.around(bound.value)):
            return True
    return False
