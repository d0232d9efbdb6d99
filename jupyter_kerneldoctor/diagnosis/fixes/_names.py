"""What the names in a cell stand for, over all cells in the order in which they ran."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.diagnosis.code.cellsource import mask

from ._bindings import Binding, Function, bindings_of, parameters, walk_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.recording.model import Cell

_MOST_CELLS = 400
"""Only this many executions before the death are read: names older than that are hardly what it hangs on."""
_DEEPEST = 12
_DEFINING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If)
_INJECTED = frozenset({"exit", "quit", "get_ipython", "display", "In", "Out"})


@dataclass(frozen=True)
class Scope:
    """The module level of an executed cell, or a function in one."""

    cell: int
    node: ast.Module | Function
    owner: str | None = None
    """The class a method belongs to."""
    bindings: dict[str, list[Binding]] = field(default_factory=dict, compare=False)
    nodes: tuple[ast.AST, ...] = field(default=(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """What a reader calls it: `Walker.visit`, or "" for a cell."""
        if isinstance(self.node, ast.Module):
            return ""
        return f"{self.owner}.{self.node.name}" if self.owner else self.node.name

    def walk(self) -> Iterator[ast.AST]:
        """All that runs in this scope, in the order of the text; what is defined inside does not run."""
        return iter(self.nodes)


class Executed:
    """The cells that ran up to the death, and what their names stood for then.

    A cell is parsed when something in it is asked for: a name is only looked for where its letters occur.
    """

    def __init__(self, context: FixContext) -> None:
        """Take the cells; those in another language or cut short by the recording will be passed over."""
        self.cells: tuple[Cell, ...] = context.cells
        self.death = self._place(context)
        self.line = context.culprit.line if context.culprit is not None else None
        self._first = max(0, self.death + 1 - _MOST_CELLS)
        self._modules: dict[int, Scope | None] = {}
        self._functions: dict[int, Scope] = {}
        self._globals: dict[tuple[str, int], list[Binding]] = {}

    def _place(self, context: FixContext) -> int:
        for index in reversed(range(len(self.cells))):
            if self.cells[index] is context.cell:
                return index
        return -1  # between cells: nothing was running, so no code is to blame

    def module(self, index: int) -> Scope | None:
        """The module level of a cell; None for one that cannot be read."""
        if index not in self._modules:
            cell = self.cells[index]
            masked = None if cell.truncated else mask(cell.source)
            self._modules[index] = None if masked is None else _scope(index, masked.tree)
        return self._modules[index]

    def mentioning(self, *words: str) -> Iterator[Scope]:
        """The cells that ran, newest first, in whose text one of these words occurs."""
        for index in range(self.death, self._first - 1, -1):
            source = self.cells[index].source
            if any(word in source for word in words) and (scope := self.module(index)) is not None:
                yield scope

    def source(self, cell: int) -> str:
        """The text of an executed cell."""
        return self.cells[cell].source

    def lookup(self, name: str, scope: Scope, at: ast.AST | None = None) -> Binding | None:
        """What was bound to `name` last before `at` ran; in a function, what the module held when it was called."""
        position = _position(at)
        if not isinstance(scope.node, ast.Module):
            local = scope.bindings.get(name)
            if local is not None:
                before = [one for one in local if one.position < position]
                return (before or local)[-1]
            position = _position(None)
        limit = (scope.cell, position) if isinstance(scope.node, ast.Module) else (self.death, position)
        for index in range(min(limit[0], self.death), self._first - 1, -1):
            found = next((one for one in reversed(self._bound(name, index)) if (one.cell, one.position) < limit), None)
            if found is not None:
                return found
        return None

    def _bound(self, name: str, index: int) -> list[Binding]:
        """All places where a cell binds a name, in the order they run."""
        if (name, index) not in self._globals:
            module = self.module(index) if _may_bind(name, self.cells[index].source) else None
            self._globals[name, index] = [] if module is None else module.bindings.get(name, [])
        return self._globals[name, index]

    def home(self, binding: Binding, scope: Scope) -> Scope:
        """The scope in which a binding that was looked up from `scope` stands."""
        if binding.local:
            return scope
        return self.module(binding.cell) or scope

    def qualified(self, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
        """The full dotted name of an imported thing, `pandas.read_csv`; None for all that was not imported."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Attribute):
            base = self.qualified(node.value, scope, depth + 1)
            return None if base is None else f"{base}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        binding = self.lookup(node.id, scope, node)
        if binding is None:
            return f"builtins.{node.id}" if hasattr(builtins, node.id) or node.id in _INJECTED else None
        if binding.imported is not None:
            return binding.imported
        if isinstance(binding.value, ast.Name | ast.Attribute):
            return self.qualified(binding.value, self.home(binding, scope), depth + 1)
        return None

    def imports(self, package: str) -> bool:
        """Whether a cell imported this package or something out of it."""
        return any(
            one.imported is not None and one.imported.split(".")[0] == package
            for module in self.mentioning(package)
            for bound in module.bindings.values()
            for one in bound
        )

    def function_scope(self, node: Function, cell: int, owner: str | None = None) -> Scope:
        """The scope of a function."""
        if id(node) not in self._functions:
            scope = _scope(cell, node, owner)
            for name in parameters(node):
                scope.bindings.setdefault(name, []).insert(0, Binding(cell, local=True))
            self._functions[id(node)] = scope
        return self._functions[id(node)]

    def functions_named(self, name: str) -> Iterator[Scope]:
        """The functions and methods of this name that the executed cells define, newest first."""
        for module in self.mentioning(f"def {name}"):
            for node in ast.walk(module.node):
                owner = node.name if isinstance(node, ast.ClassDef) else None
                for one in getattr(node, "body", None) or () if isinstance(node, _DEFINING) else ():
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name:
                        yield self.function_scope(one, module.cell, owner)

    @cached_property
    def running(self) -> tuple[Scope, ...]:
        """The cell that died, and each function it may have called, directly or through others.

        A method counts when its class is in use and something of its name is, or Python calls it by itself.
        """
        start = self.module(self.death) if self.death >= 0 else None
        if start is None:
            return ()
        reached, seen, classes = [start], set[int](), list[tuple[ast.ClassDef, int]]()
        attributes: set[str] = set()
        position = 0
        while position < len(reached):
            scope = reached[position]
            position += 1
            for node in scope.walk():
                if isinstance(node, ast.Attribute):
                    attributes.add(node.attr)
                elif isinstance(node, ast.Name):
                    self._follow(node, scope, reached, classes, seen)
            if position == len(reached):
                reached += self._methods(classes, attributes, seen)
        return tuple(reached)

    def _follow(
        self,
        name: ast.Name,
        scope: Scope,
        reached: list[Scope],
        classes: list[tuple[ast.ClassDef, int]],
        seen: set[int],
    ) -> None:
        """Add what a name stands for: a function, a class, or through an assignment the class of an object."""
        binding = self.lookup(name.id, scope, name)
        for _ in range(_DEEPEST):
            if binding is None:
                return
            if binding.definition is None:
                value = binding.value.func if isinstance(binding.value, ast.Call) else binding.value
                if not isinstance(value, ast.Name):
                    return
                scope = self.home(binding, scope)
                binding = self.lookup(value.id, scope, value)
                continue
            if id(binding.definition) not in seen:
                seen.add(id(binding.definition))
                cell = scope.cell if binding.local else binding.cell
                if isinstance(binding.definition, ast.ClassDef):
                    classes.append((binding.definition, cell))
                else:
                    reached.append(self.function_scope(binding.definition, cell))
            return

    def _methods(self, classes: list[tuple[ast.ClassDef, int]], used: set[str], seen: set[int]) -> list[Scope]:
        found = []
        for kind, cell in classes:
            for node in kind.body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or id(node) in seen:
                    continue
                if node.name in used or node.name.startswith("__") or node.name == "forward":
                    seen.add(id(node))
                    found.append(self.function_scope(node, cell, kind.name))
        return found


def _may_bind(name: str, source: str) -> bool:
    """Whether it is worth parsing a cell for a name: it stands there other than as what is called or reached into."""
    if name not in source:
        return False
    if f"def {name}" in source or f"class {name}" in source:
        return True
    letters = re.escape(name)  # the name itself comes first in the pattern: that is what makes the search fast
    if "import " in source and ("import (" in source or re.search(rf"import [^\n]*\b{letters}\b", source)):
        return True
    return re.search(rf"{letters}(?<![\w.]{letters})(?!\w|\s*[(.])", source) is not None


def _position(node: ast.AST | None) -> tuple[int, int]:
    if node is None:
        return (1 << 30, 0)
    return getattr(node, "lineno", 1 << 30), getattr(node, "col_offset", 0)


def _scope(cell: int, node: ast.Module | Function, owner: str | None = None) -> Scope:
    nodes = tuple(walk_scope(node))
    return Scope(cell, node, owner, bindings_of(nodes, cell, local=not isinstance(node, ast.Module)), nodes)


def at_line(node: ast.AST, scope: Scope, code: Executed) -> bool:
    """Whether a node can be what ran at the death: true unless the line is known, and is another one of this cell."""
    if code.line is None or scope.cell != code.death or not isinstance(scope.node, ast.Module):
        return True
    first = getattr(node, "lineno", None)
    last = getattr(node, "end_lineno", None)
    return first is None or last is None or first <= code.line <= last
