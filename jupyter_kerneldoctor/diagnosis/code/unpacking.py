"""Names that got a part of what a call gave: `out, (h, c) = net(x)`."""

import ast

from .bound_names import Position
from .notebook import Notebook
from .scopes import Binding, Scope


def unpacked(code: Notebook, binding: Binding) -> ast.expr | None:
    """Return what a name of the binding's scope got a part of: `net(x)` for `h` of `out, (h, c) = net(x)`."""
    node = _unpackings(code, binding.scope).get(binding.position)
    return None if node is None else node.value


def unpacked_from(code: Notebook, name: str, binding: Binding) -> tuple[int, ast.Call] | None:
    """Return the call whose results several names of the binding's scope got, and which of them this name got."""
    node = _unpackings(code, binding.scope).get(binding.position)
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call() as call):
            places = [at for at, one in enumerate(names) if isinstance(one, ast.Name) and one.id == name]
            return (places[-1], call) if places else None
    return None


def assigned_beside(code: Notebook, name: str, binding: Binding) -> ast.expr | None:
    """Return what a name of the binding's scope got alone beside others: `y` for `b` of `a, b = x, y`."""
    node = _unpackings(code, binding.scope).get(binding.position)
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            found = [value for one, value in zip(names, values, strict=True) if getattr(one, "id", None) == name]
            return found[-1] if found and not any(isinstance(one, ast.Starred) for one in names) else None
    return None


def part_of_call(name: ast.Name, scope: Scope, code: Notebook) -> tuple[int, ast.Call, Scope] | None:
    """Return the call that a name got one of several results of, which of them, and the scope of the call."""
    binding = code.lookup(name.id, scope, name)
    part = None if binding is None or binding.value is not None else unpacked_from(code, name.id, binding)
    return None if binding is None or part is None else (*part, binding.scope)


def _unpackings(code: Notebook, scope: Scope) -> dict[Position, ast.Assign]:
    """Return the assignments of a scope to several names, by where they end."""
    known: dict[Scope, dict[Position, ast.Assign]] = code.answers.setdefault(_unpackings, {})
    if scope not in known:
        known[scope] = {
            (node.end_lineno or 0, node.end_col_offset or 0): node
            for node in scope.nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
        }
    return known[scope]
