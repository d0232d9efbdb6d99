"""What the attributes of objects and the options of a program were set to, wherever that stands."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .notebook import Notebook
from .scopes import Binding, Scope

_MOST_STEPS = 8  # from a class to those it is derived from


class Origin(NamedTuple):
    """An expression, and the scope whose names it uses."""

    node: ast.expr
    scope: Scope


def parsed_arguments(code: Notebook, key: str) -> Iterator[Origin]:
    """Yield the default of an option that `argparse` reads, unless a cell passes the option itself."""
    flag = key.replace("_", "-")
    if _is_given(code, f"--{flag}") or _is_given(code, f"--{key}"):
        return
    for scope in code.scopes_mentioning("add_argument"):
        for call in scope.calls:
            names = [one.value for one in call.args if isinstance(one, ast.Constant)]
            if getattr(call.func, "attr", "") == "add_argument" and {f"--{flag}", f"--{key}", key} & {*names}:
                yield from (Origin(word.value, scope) for word in call.keywords if word.arg == "default")


def _is_given(code: Notebook, flag: str) -> bool:
    """Whether a cell passes an option itself, `parse_args(["--lr", "1"])`: the default does not hold then."""
    scopes = [scope for cell in code.with_text(flag) for scope in code.scopes(cell)]
    names = {
        id(one)
        for scope in scopes
        for call in scope.calls
        if getattr(call.func, "attr", "") == "add_argument"
        for one in call.args
    }
    texts = (one for scope in scopes for one in scope.nodes if isinstance(one, ast.Constant) and id(one) not in names)
    return any(isinstance(one.value, str) and flag in re.split(r"[\s=]", one.value) for one in texts)


def class_of_self(code: Notebook, node: ast.expr, scope: Scope) -> Binding | None:
    """Return the class whose method a scope is, if the node is the method's `self`; None otherwise."""
    inner: Scope | None = scope
    while inner is not None and inner.owner is None:
        inner = inner.parent
    if inner is None or inner.owner is None:
        return None
    if not isinstance(node, ast.Name) or node.id not in inner.parameters[:1]:
        return None
    found = code.lookup(inner.owner, inner.parent or inner)
    return found if found is not None and isinstance(found.definition, ast.ClassDef) else None


def set_on(code: Notebook, owner: Binding, key: str, depth: int = 0) -> Iterator[Origin]:
    """Yield what methods of a class set an attribute of `self` to; else its bases do, or what is derived from it."""
    definition = owner.definition
    assert isinstance(definition, ast.ClassDef)
    methods = [one for one in code.scopes(owner.cell) if one.owner == definition.name and one.parameters]
    found = [one for method in methods for one in _set_in(method, key)]
    yield from found or set_in_class(definition, owner.scope, key)
    for base in definition.bases if not found and depth < _MOST_STEPS else ():
        inherited = code.definition(base, owner.scope)
        if inherited is not None and isinstance(inherited.definition, ast.ClassDef):
            found = list(set_on(code, inherited, key, depth + 1))
            yield from found
    for derived in _derived(code, definition.name) if not found and depth == 0 else ():
        methods = [one for one in code.scopes(derived.cell) if one.owner == derived.name and one.parameters]
        yield from (one for method in methods for one in _set_in(method, key))


class _Derived(NamedTuple):
    name: str
    cell: int


def _derived(code: Notebook, owner: str) -> Iterator[_Derived]:
    """Yield the classes that are derived from one."""
    for top in code.mentioning(owner):
        for node in top.nodes:
            if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == owner for base in node.bases):
                yield _Derived(node.name, top.cell)


def set_in_class(definition: ast.ClassDef, home: Scope, key: str) -> Iterator[Origin]:
    """Yield what the body of a class sets an attribute to."""
    for statement in definition.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name == key:
                yield Origin(_default_of_field(value), home)


def _default_of_field(value: ast.expr) -> ast.expr:
    """Return what a dataclass gives a field that is `field(default=64)`, or makes with its `default_factory`."""
    match value:
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), args=[], keywords=words):
            given = {word.arg: word.value for word in words}
            factory = given.get("default_factory")
            made = ast.copy_location(ast.Call(factory, [], []), value) if isinstance(factory, ast.Name) else factory
            return given.get("default", made) or value
    return value


def _set_in(method: Scope, key: str) -> Iterator[Origin]:
    """Yield what a method sets an attribute of its object to."""
    for node in method.nodes:
        match node:
            case ast.Assign(targets=targets, value=given):
                pairs = [pair for target in targets for pair in _pairs(target, given)]
            case ast.AnnAssign(target=one, value=ast.expr() as given):
                pairs = [(one, given)]
            case _:
                continue
        for target, value in pairs:
            match target:
                case ast.Attribute(value=ast.Name(id=me), attr=name) if me == method.parameters[0] and name == key:
                    yield Origin(value, method)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return list(zip(targets, values, strict=True))
    return [(target, value)]


def in_settings(code: Notebook, made: ast.expr, scope: Scope, key: str) -> Iterator[Origin]:
    """Follow a key of a dict, or an attribute of what a call made: a dataclass, a namespace, argparse's answer."""
    match made:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            yield from (
                Origin(value, scope) for name, value in pairs if isinstance(name, ast.Constant) and name.value == key
            )
        case ast.Lambda(body=body):
            yield from in_settings(code, body, scope, key)
        case ast.Call(func=ast.Attribute(attr="parse_args" | "parse_known_args")):
            yield from parsed_arguments(code, key)
        case ast.Call(func=function, keywords=words):
            given = [Origin(word.value, scope) for word in words if word.arg == key]
            yield from given
            definition = code.definition(function, scope)
            if definition is None or not isinstance(definition.definition, ast.ClassDef):
                return
            if not given:
                yield from set_in_class(definition.definition, definition.scope, key)
            yield from set_on(code, definition, key)


def derived_from(code: Notebook, owner: str) -> set[str]:
    """Return the name of a class, and those of the classes that take their `__init__` from it, or call it."""
    found = {owner}
    for top in code.mentioning(owner):
        for node in top.nodes:
            if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == owner for base in node.bases):
                own = any(getattr(one, "name", "") == "__init__" for one in node.body)
                found |= {f"{node.name}.__init__"} if own else {node.name}
    return found
