"""A cell taken apart: its scopes, which names each binds, and the statement and the loops that a node stands in.

All of it is worked out in one pass over the cell's syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from .bound_names import BINDERS, Position, bound_names
from .budget import Budget, CodeTooLargeError
from .cellsource import segment
from .executed_nodes import FUNCTIONS, Definition, children, executed_nodes

Function: TypeAlias = Definition | ast.Lambda
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
T = TypeVar("T")

_LEAVES = (ast.Name, ast.Constant)
_OPERANDS = (
    *(*_LEAVES, ast.Attribute, ast.Subscript, ast.Call, ast.JoinedStr, ast.Tuple),
    *(ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp),
)
"""What an operator or a method may follow as it is written."""
_DEEPEST = 200
"""More parts in parts nobody writes; to follow them takes long, and then fails."""


class Binding(NamedTuple):
    """One place where a name is bound."""

    scope: Scope
    """Where it stands: what its value names is looked up from there."""
    position: Position
    """Line and column from which on it holds."""
    value: ast.expr | None = None
    """What was assigned, or a lambda's default; None when that is no expression: a loop's target, a parameter."""
    imported: str | None = None
    """Full dotted name of what was imported."""
    definition: Definition | ast.ClassDef | None = None

    @property
    def cell(self) -> int:
        """The cell it stands in, as an index of `Notebook.cells`."""
        return self.scope.cell


@dataclass(eq=False)
class Scope:
    """The module level of an executed cell, or a function or lambda in one; a class's body is part of what is around.

    What functions hold that are defined inside of it does not run in it, so it is not among its nodes.
    """

    cell: int
    """Which cell, as an index of `Notebook.cells`."""
    node: ast.Module | Function
    tree: CellTree = field(repr=False)
    """The cell it is a part of."""
    parent: Scope | None = None
    """The scope around; None for a cell."""
    owner: str | None = None
    """The class that a method belongs to."""
    _nodes: list[ast.AST] = field(default_factory=list, repr=False)
    _calls: list[ast.Call] = field(default_factory=list, repr=False)
    _names: list[ast.Name | ast.Attribute] = field(default_factory=list, repr=False)
    bindings: dict[str, list[Binding]] = field(default_factory=dict, repr=False)
    """By name, in the order of the text. What a class's body binds is not among them."""
    outside: dict[str, Scope] = field(default_factory=dict, repr=False)
    """By name, the scope in which a name is bound that is declared `global` or `nonlocal`."""

    def take(self, node: ast.AST, top: Scope, *, is_in_class: bool) -> None:
        """Take in the next of the nodes; `top` is the cell's module level."""
        self._nodes.append(node)
        if isinstance(node, ast.Name | ast.Attribute):
            self._names.append(node)
        elif isinstance(node, ast.Call):
            self._calls.append(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.outside |= dict.fromkeys(node.names, top if isinstance(node, ast.Global) else self.parent or top)
        elif isinstance(node, BINDERS) and not is_in_class:
            for one in bound_names(node):
                bound = Binding(self, one.position, one.value, one.imported, one.definition)
                self.outside.get(one.name, self).bindings.setdefault(one.name, []).append(bound)

    @property
    def nodes(self) -> list[ast.AST]:
        """All that runs in it, in the order of the text. Raises CodeTooLargeError, as `calls` and `names` do."""
        return self._to_be_read(self._nodes)

    @property
    def calls(self) -> list[ast.Call]:
        """The calls among the nodes."""
        return self._to_be_read(self._calls)

    @property
    def names(self) -> list[ast.Name | ast.Attribute]:
        """The names and attributes among the nodes."""
        return self._to_be_read(self._names)

    def named(self, name: str | None) -> list[ast.Name]:
        """Return where a name stands in it, bound or read."""
        return [one for one in self.names if isinstance(one, ast.Name) and one.id == name]

    def assigned_by(self, node: ast.AST) -> set[str]:
        """Return the names that the statement of a node gives its value: {"a", "b"} of `a = b = f()`."""
        statement = self.tree.statements.get(node)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return {one.id for one in targets if isinstance(one, ast.Name)}

    def _to_be_read(self, nodes: list[T]) -> list[T]:
        self.tree.budget.spend(0.5 + len(nodes) / 10)
        return nodes

    @property
    def is_cell(self) -> bool:
        """Whether this is the module level of a cell."""
        return self.parent is None

    @property
    def function(self) -> str:
        """The function's own name; "" for a cell and a lambda."""
        return getattr(self.node, "name", "")

    @property
    def name(self) -> str:
        """What a reader calls it: `Walker.visit`, or "" for a cell."""
        return f"{self.owner}.{self.function}" if self.owner else self.function

    @property
    def arguments(self) -> ast.arguments:
        """What the function is declared to take; nothing for a cell."""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return nothing if isinstance(self.node, ast.Module) else self.node.args

    @property
    def parameters(self) -> list[str]:
        """The names of the function's parameters, in order; none for a cell."""
        given = self.arguments
        rest = [one for one in (given.vararg, given.kwarg) if one is not None]
        return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)]

    @property
    def defaults(self) -> dict[str, ast.expr | None]:
        """What parameters stand for that a call does not give, by name."""
        given = self.arguments
        plain = [one.arg for one in (*given.posonlyargs, *given.args)]
        names = (*plain[len(plain) - len(given.defaults) :], *(one.arg for one in given.kwonlyargs))
        return dict(zip(names, (*given.defaults, *given.kw_defaults), strict=True))

    @property
    def decorators(self) -> list[ast.expr]:
        """The function's decorators."""
        return getattr(self.node, "decorator_list", [])

    @property
    def body(self) -> list[ast.stmt]:
        """The statements at its top level; none for a lambda."""
        return [] if isinstance(self.node, ast.Lambda) else self.node.body

    def inside(self, node: ast.AST) -> list[ast.AST]:
        """Return what runs in a statement or an expression of this scope, itself included, in the order of the text."""
        nodes = list(executed_nodes(node))
        self.tree.budget.spend(3 * len(nodes))
        return nodes

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that a node stands in; None for a node that is not the cell's."""
        return self.tree.statements.get(node)

    def around(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield the statements of this scope around the one that a node stands in, innermost first."""
        statement = self.statement_of(node)
        while statement is not None and (statement := self.tree.outer[statement]) is not None:
            yield statement

    def loops_around(self, node: ast.AST) -> tuple[Loop, ...]:
        """Return the loops that repeat the statement that a node stands in, innermost first."""
        return tuple(one for one in self.around(node) if isinstance(one, ast.For | ast.AsyncFor | ast.While))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the user's own text of a node."""
        return segment(self.tree.source, node)

    def operand(self, node: ast.expr) -> str:
        """Return the user's own text of an expression as an operator or a method may follow it: `(x / 2)`."""
        text = self.segment(node)
        return text if isinstance(node, _OPERANDS) else f"({text})"


class CellTree:
    """The scopes of a cell, and where in it each node stands."""

    def __init__(self, cell: int, source: str, tree: ast.Module, budget: Budget) -> None:
        """Look at each node once; `cell` is the cell's index."""
        self.source = source
        self.budget = budget
        self.scopes: list[Scope] = []
        """The module level first, then each function and lambda, in the order of the text."""
        self.of_function: dict[Function, Scope] = {}
        self.statements: dict[ast.AST, ast.stmt] = {}
        """By node, the innermost statement that it stands in; a statement stands in itself."""
        self.outer: dict[ast.stmt, ast.stmt | None] = {}
        """By statement, the one around it; None at the top level of a cell or a function."""
        self._cell = cell
        self._read(tree)

    def _read(self, tree: ast.Module) -> None:
        top = self._scope(tree, None, None)
        # Still to be looked at: a node, its scope, the statement and the class around it, and how deep.
        waiting: list[tuple[ast.AST, Scope, ast.stmt | None, str | None, int]]
        waiting = [(one, top, None, None, 0) for one in reversed(tree.body)]
        while waiting:
            node, scope, around, owner, depth = waiting.pop()
            if depth > _DEEPEST:
                raise CodeTooLargeError
            if isinstance(node, ast.stmt):
                self.outer[node] = around
                around = node
            if around is not None:
                self.statements[node] = around
            scope.take(node, top, is_in_class=owner is not None)
            if isinstance(node, _LEAVES):
                continue
            if isinstance(node, FUNCTIONS):
                inner = self._scope(node, scope, owner)
                body, first = ([node.body], around) if isinstance(node, ast.Lambda) else (node.body, None)
                waiting += [(one, inner, first, None, depth + 1) for one in reversed(body)]
            held = node.name if isinstance(node, ast.ClassDef) else owner
            waiting += [(one, scope, around, held, depth + 1) for one in reversed(children(node))]
        for scope in self.scopes:
            for bound in scope.bindings.values():
                bound.sort(key=lambda one: one.position)

    def _scope(self, node: ast.Module | Function, parent: Scope | None, owner: str | None) -> Scope:
        scope = Scope(self._cell, node, self, parent, owner)
        self.scopes.append(scope)
        if not isinstance(node, ast.Module):
            self.of_function[node] = scope
            defaults = scope.defaults if isinstance(node, ast.Lambda) else {}
            for name in scope.parameters:
                scope.bindings[name] = [Binding(scope, (0, 0), defaults.get(name))]
        return scope
