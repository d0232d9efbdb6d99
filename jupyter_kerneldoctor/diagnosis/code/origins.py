"""Where values come from, through assignments, arguments, attributes and settings, across cells.

origins = Origins(code)
origins.of(node, scope)         # the expressions that a name or attribute was given, one step back
origins.number(node, scope)     # the number that is written at the end of that chain, and where
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .attributes import Origin, class_of_self, derived_from, in_settings, set_in_class, set_on
from .comprehensions import is_in_comprehension
from .literals import number
from .notebook import Notebook
from .scopes import Binding, Scope
from .trees import does_nothing
from .unpacking import unpacked_from

_MOST_STEPS = 8
_MOST_ORIGINS = 60
_MOST_CALLERS = 4
_RUN_BY_CALL = ("forward", "__call__")
_GIVE_THEMSELVES = frozenset({"to", "cuda", "cpu", "float", "half", "double", "eval", "train", "requires_grad_"})
_MOST_CALLS = 6  # of a function: beyond that its arguments are not followed


def all_origins(node: ast.expr, scope: Scope, code: Notebook, *, parts: bool = False) -> list[Origin]:
    """Return all expressions that an object may have come from, nearest first; with `parts`, what it was made of, too.

    Beside what Origins knows it follows methods and entries to the object they belong to: `df[rows].assign(…)` to `df`.
    The list ends where the code does not tell, and after some sixty steps.
    """
    origins, found, seen = Origins(code), [Origin(node, scope)], {id(node)}
    for one in found:  # it grows meanwhile
        for before in _before(*one, origins, parts=parts):
            if id(before.node) not in seen and len(found) < _MOST_ORIGINS:
                seen.add(id(before.node))
                found.append(before)
    return found


def _before(node: ast.expr, scope: Scope, origins: Origins, *, parts: bool) -> Iterator[Origin]:
    """Yield what an expression takes its object from."""
    yield from (given := origins.of(node, scope))
    inner: list[ast.expr] = []
    match node:
        case ast.Attribute(value=base) | ast.Subscript(value=base) | ast.Await(value=base) | ast.NamedExpr(value=base):
            inner = [] if given else [base]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            inner = [one, other]
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if parts:
            inner = elements
        case ast.Call(func=function, args=arguments, keywords=words):
            yield from origins.returned(node, scope)
            inner = [function.value] if isinstance(function, ast.Attribute) else []
            inner += [*arguments, *(word.value for word in words)] if parts else []
    yield from (Origin(one, scope) for one in inner)


class Origins:
    """Answers for the code of one notebook. Every method raises CodeTooLargeError."""

    def __init__(self, code: Notebook) -> None:
        """Take the code that ran."""
        self.code = code
        self._calls: dict[Scope, list[tuple[ast.Call, Scope]]]
        self._methods: dict[str, Scope | None]
        self._calls, self._methods = code.answers.setdefault(Origins, ({}, {}))
        self._asked: set[ast.expr] = set()

    def of(self, node: ast.expr, scope: Scope) -> list[Origin]:
        """Return what a name, an attribute or an entry was given; of a function's parameter, in each of its calls."""
        self.code.spend(3)
        match node:
            case ast.Name():
                return list(self._name(node, scope))
            case ast.Attribute(value=base, attr=key) | ast.Subscript(value=base, slice=ast.Constant(value=str(key))):
                return list(self._entry(base, key, scope))
        return []

    def number(self, node: ast.expr, scope: Scope, *, now: bool = False) -> tuple[int, Origin] | None:
        """Return the number that an expression stood for, and where; None for several; `now`: of the last cell."""
        for _ in range(_MOST_STEPS):
            if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                value = None if isinstance(node, ast.Call) else number(node)
                return None if value is None else (value, Origin(node, scope))
            found = {one.node: one for one in self.of(node, scope)}
            if now and len(found) > 1:
                found = {at: one for at, one in found.items() if one.scope.cell == self.code.last}
            if len(found) != 1:
                return None
            ((node, scope),) = found.values()
        return None

    def calls_of(self, function: Scope) -> list[tuple[ast.Call, Scope]]:
        """Return the calls of a function or method that may have run; of `__init__`, those of its class in any cell."""
        if function not in self._calls:
            self._calls[function] = []  # for a call whose arguments lead back to it
            self._calls[function] = list(self._find_calls(function))
        return self._calls[function]

    def is_repeated(self, node: ast.AST, scope: Scope, depth: int = 0) -> bool:
        """Return whether a loop runs a node again and again, also around its function; or what does is not seen."""
        if scope.is_cell or scope.loops_around(node) or is_in_comprehension(node, scope):
            return bool(scope.loops_around(node)) or is_in_comprehension(node, scope)
        calls = self.calls_of(scope) if depth < _MOST_CALLERS else []
        return not calls or any(self.is_repeated(call, caller, depth + 1) for call, caller in calls)

    def _find_calls(self, function: Scope) -> Iterator[tuple[ast.Call, Scope]]:
        name, owner, code = function.function, function.owner, self.code
        makes, by_itself = name == "__init__" and owner is not None, name in _RUN_BY_CALL and owner is not None
        words = derived_from(code, owner or "") if makes else {name}
        modules = list(code.scopes_mentioning(*words)) if words - {""} else []
        for scope in dict.fromkeys((*code.running, *modules)):
            for call in scope.calls:
                match call.func:
                    case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))) if makes:
                        if scope.name in words:
                            yield call, scope
                    case ast.Attribute(attr=attribute, value=base) if owner and not makes and attribute == name:
                        if self._is_of(base, scope, function):
                            yield call, scope
                    case ast.Attribute() | ast.Name() if by_itself and self._run_by_call(call.func, scope) is function:
                        yield call, scope
                    case ast.Name(id=called) if called in words and (makes or not owner):
                        yield call, scope

    def _is_of(self, base: ast.expr, scope: Scope, method: Scope) -> bool:
        """Whether an object is known to be of the class of a method."""
        if isinstance(base, ast.Name) and scope.owner is not None and base.id in scope.parameters[:1]:
            return scope.owner == method.owner
        made = self._class_of(base, scope)
        if made is None:
            return self._only_method(method.function) is method
        return getattr(made.definition, "name", None) == method.owner

    def _only_method(self, name: str) -> Scope | None:
        """Return the one method of the notebook's classes that has a name of several words, as `on_batch_end` has.

        No object of a library has such a method, as a rule. One that does nothing, of a base class, does not count.
        """
        if "_" not in name.strip("_"):
            return None
        if name not in self._methods:
            found = [one for one in self.code.scopes_mentioning(name) if one.owner and one.function == name]
            found = [one for one in found if not all(map(does_nothing, getattr(one.node, "body", ())))]
            self._methods[name] = found[0] if len(found) == 1 else None
        return self._methods[name]

    def arguments(self, call: ast.Call, function: Scope) -> dict[str, ast.expr]:
        """Return what a call gives for the parameters of a function or method."""
        names = function.parameters[1:] if function.owner is not None else function.parameters
        given = dict(zip(names, (one for one in call.args if not isinstance(one, ast.Starred)), strict=False))
        return given | {word.arg: word.value for word in call.keywords if word.arg}

    def _name(self, node: ast.Name, scope: Scope) -> Iterator[Origin]:
        binding = self.code.lookup(node.id, scope, node)
        if binding is None:
            return
        home = binding.scope
        if binding.position == (0, 0) and node.id in home.parameters:
            yield from self._given(node.id, home)
        elif binding.value is not None:
            yield Origin(binding.value, home)
        elif binding.definition is None:
            yield from self._unpacked(node.id, binding)

    def _given(self, name: str, function: Scope) -> Iterator[Origin]:
        calls = self.calls_of(function)
        is_default = not calls
        for call, caller in calls if len(calls) <= _MOST_CALLS else ():
            given = self.arguments(call, function).get(name)
            is_default |= given is None
            if given is not None and not (isinstance(given, ast.Name) and given.id == name and caller is function):
                yield Origin(given, caller)
        default = function.defaults.get(name)
        if is_default and default is not None:
            yield Origin(default, function.parent or function)

    def _unpacked(self, name: str, binding: Binding) -> Iterator[Origin]:
        """Follow one of several names into the tuple that a function of a cell returns."""
        found = unpacked_from(self.code, name, binding)
        if found is None:
            return
        at, call = found
        for returned, inner in self.returned(call, binding.scope):
            if isinstance(returned, ast.Tuple) and len(returned.elts) > at:
                yield Origin(returned.elts[at], inner)

    def called(self, function: ast.expr, scope: Scope) -> Scope | None:
        """Return the scope of the user's function or method that an expression stands for, `make` or `self.step`."""
        binding = self.code.definition(function, scope)
        if binding is not None:
            if not isinstance(binding.definition, ast.FunctionDef):
                return None
            return self.code.function_scope(binding.definition, binding.cell)
        if not isinstance(function, ast.Attribute):
            return self._run_by_call(function, scope)
        owner = class_of_self(self.code, function.value, scope) or self._class_of(function.value, scope)
        if owner is None and (only := self._only_method(function.attr)) is not None:
            return only
        method = None if owner is None else self._method(owner, function.attr)
        return method or self._run_by_call(function, scope)

    def _run_by_call(self, function: ast.expr, scope: Scope) -> Scope | None:
        """Return the method that runs when an object is called, as `forward` of the user's network."""
        if function in self._asked or not isinstance(function, ast.Name | ast.Attribute | ast.Call):
            return None
        self._asked.add(function)
        try:
            given = [Origin(function, scope)] if isinstance(function, ast.Call) else self.of(function, scope)
            if any(self.code.definition(*one) is not None for one in given):
                return None  # a class that is called makes an object
            owner = self._common_class(given) if given else None
        finally:
            self._asked.remove(function)
        return None if owner is None else next(filter(None, (self._method(owner, one) for one in _RUN_BY_CALL)), None)

    def _method(self, owner: Binding, name: str) -> Scope | None:
        """Return a method of a class, or of what it is derived from."""
        for one, definition in self.code.with_bases(owner):
            for method in self.code.scopes(one.cell):
                if method.owner == definition.name and method.function == name:
                    return method
        return None

    def _class_of(self, node: ast.expr, scope: Scope) -> Binding | None:
        """Return the class of a cell that an object is of: `Net()`, a name for it, or `Net().fit()`, if that is it."""
        if node in self._asked:  # `x = x.next()` leads back to itself
            return None
        self._asked.add(node)
        try:
            return self._find_class(node, scope)
        finally:
            self._asked.remove(node)

    def _find_class(self, node: ast.expr, scope: Scope) -> Binding | None:
        for _ in range(_MOST_STEPS):
            made = self.code.definition(node.func if isinstance(node, ast.Call) else node, scope, made=True)
            if made is not None:
                return made if isinstance(made.definition, ast.ClassDef) else None
            match node:
                case ast.Name() | ast.Attribute():
                    found = list({one.node: one for one in self.of(node, scope)}.values())
                    if len(found) != 1:
                        return self._common_class(found)
                    node, scope = found[0]
                case ast.Call(func=ast.Attribute(value=ast.Call() | ast.Name() as owner) as method):
                    if not self._gives_itself(method, scope):
                        return None
                    node = owner
                case _:
                    return None
        return None

    def _gives_itself(self, method: ast.Attribute, scope: Scope) -> bool:
        called = self.called(method, scope)
        if called is None:
            return method.attr in _GIVE_THEMSELVES
        results = [one.value for one in called.nodes if isinstance(one, ast.Return)]
        return [getattr(one, "id", None) for one in results] == called.parameters[:1]

    def _common_class(self, found: list[Origin]) -> Binding | None:
        """Return the class that several objects are all of, as two networks that a function is called with."""
        classes = [self._class_of(*one) for one in found[:_MOST_CALLS]]
        names = {getattr(one and one.definition, "name", None) for one in classes}
        return classes[0] if len(names) == 1 and len(classes) == len(found) else None

    def returned(self, call: ast.Call, scope: Scope) -> Iterator[Origin]:
        """Yield what a function or method of a cell gives back."""
        inner = self.called(call.func, scope)
        if inner is not None:
            yield from (Origin(one.value, inner) for one in inner.nodes if isinstance(one, ast.Return) and one.value)

    def _entry(self, base: ast.expr, key: str, scope: Scope) -> Iterator[Origin]:
        owner = class_of_self(self.code, base, scope)
        if owner is not None:
            yield from set_on(self.code, owner, key)
            return
        found = [Origin(base, scope)]
        for _ in range(_MOST_STEPS):
            if found and isinstance(made := found[-1].node, ast.Call):
                results = list(self.returned(made, found[-1].scope))  # a function that makes the settings
                if len(results) == 1:
                    found = results
                    continue
            if not found or not isinstance(found[-1].node, ast.Name | ast.Attribute | ast.Subscript):
                break
            definition = self.code.definition(found[-1].node, found[-1].scope)
            if definition is not None and isinstance(definition.definition, ast.ClassDef):
                yield from set_in_class(definition.definition, definition.scope, key)
                return
            found = self.of(*found[-1])[-1:]
            if found and (owner := class_of_self(self.code, *found[-1])) is not None:  # `self` was handed on
                yield from set_on(self.code, owner, key)
                return
        if found:
            yield from in_settings(self.code, *found[-1], key)
