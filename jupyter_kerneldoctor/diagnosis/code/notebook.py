"""The code that ran: the cells up to the death, and what their names stood for then. It is read, never run.

    code = Notebook(recording.cells, last=cell, line=3)
    for call in code.running.calls("pandas.read_csv", "pandas.read_table"):
        ...  # in the cell that ran or a function that it may have called, in whichever cell that stands

A cell is parsed when something in it is asked for, once, and only if the letters of a wanted name stand in it: so a day
of cells costs what the few of interest cost. IPython's syntax is masked (`cellsource`); a cell in another language, or
cut short by the recording, has no scope.

How much is read is bounded, whatever stands in the cells: beyond about a second's worth, every question raises
CodeTooLargeError. Whoever asks has no answer then, and says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

from jupyter_kerneldoctor.recording.model import Cell

from .budget import CodeTooLargeError
from .calls import Call
from .name_resolution import NameResolution
from .scopes import Binding, Scope
from .trees import holds

__all__ = ["Binding", "Call", "CodeTooLargeError", "Notebook", "Running", "Scope"]


N = TypeVar("N", bound=ast.AST)

_MOST_STEPS = 4  # from an object to its class
_CALLED_BY_ITSELF = re.compile(r"__|(?:forward|call|(?:training|train|validation|test|predict)_step|on_[a-z_]+)$")
"""Methods that Python, PyTorch, Lightning and Keras call."""


@dataclass(frozen=True)
class Running:
    """The cell that ran at the death, and each function or method it may have called, in whichever cell that stands.

    A method counts when its class is in use and something of its name is, or Python calls it by itself.
    """

    notebook: Notebook
    scopes: tuple[Scope, ...]
    """The cell first. Empty when nothing ran, or what ran cannot be read."""

    def __iter__(self) -> Iterator[Scope]:
        return iter(self.scopes)

    def __len__(self) -> int:
        return len(self.scopes)

    @property
    def functions(self) -> tuple[Scope, ...]:
        """The functions and methods, without the cell itself."""
        return self.scopes[1:]

    @cached_property
    def used_names(self) -> frozenset[str]:
        """The names that stand in the cell, and in what it may have called."""
        return frozenset(node.id for scope in self.scopes for node in scope.names if isinstance(node, ast.Name))

    def nodes(self, *kinds: type[N]) -> Iterator[tuple[N, Scope]]:
        """Yield the nodes of these kinds, each with its scope."""
        for scope in self.scopes:
            found = scope.calls if kinds == (ast.Call,) else scope.nodes
            yield from ((one, scope) for one in found if isinstance(one, kinds))

    def calls(self, *names: str) -> Iterator[Call]:
        """Yield the calls of functions with these full names, as `Notebook.calls` does for all cells."""
        return self.notebook.calls_in(self.scopes, *names)


class Notebook(NameResolution):
    """The cells that ran up to the death, and what their names stood for then.

    Every method raises CodeTooLargeError when more code would have to be read than a diagnosis has time for.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        last: Cell | None = None,
        line: int | None = None,
        executing: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Take the recorded cells, in the order in which they ran.

        Parameters
        ----------
        cells
            All of them.
        last
            The one of them that was running at the death; those behind it count for nothing. None when none was: then
            no code is to blame, and all of them count.
        line
            The line of that cell which was being executed, from 1; None when that is not known.
        executing
            The calls that led there, each as the index of a cell and a line in it.
        """
        super().__init__(cells, last)
        self.line, self.executing = line, executing
        self.answers: dict[object, Any] = {}
        """What functions and classes found out about this notebook, by themselves: see `once`."""

    def at(self, last: Cell | None, line: int | None = None) -> Notebook:
        """Return the notebook as it was when another cell or line was running. What was parsed stays parsed."""
        if last is not None and self.last >= 0 and self.cells[self.last] is last:
            other = copy(self)
            other.line = line
            return other
        other = Notebook(self.cells, last, line)
        other._budget, other._trees = self._budget, self._trees
        other._bound, other._lines = self._bound, self._lines
        return other

    def edited(self, sources: Mapping[int, str]) -> Notebook:
        """Return the notebook as it would be with another text in some cells, by index. The others stay parsed.

        Which line was running is no longer known where the edit gives that cell more or fewer lines.
        """
        cells = [replace(one, source=sources[at]) if at in sources else one for at, one in enumerate(self.cells)]
        kept = {at for at, one in enumerate(cells) if one.source.count("\n") == self.source(at).count("\n")}
        executing = [one for one in self.executing if one[0] in kept]
        other = Notebook(cells, cells[self.last] if self.last >= 0 else None, self.line, executing)
        if self.last in sources and sources[self.last].count("\n") != self.source(self.last).count("\n"):
            other.line = None
        other._budget = self._budget
        other._trees = {at: tree for at, tree in self._trees.items() if at not in sources}
        return other

    @property
    def running_module(self) -> Scope | None:
        """The module level of the cell that was running; None where none was, or it cannot be read."""
        return self.module(self.last) if self.last >= 0 else None

    @cached_property
    def running(self) -> Running:
        """The cell that was running, and what it may have called."""
        reached = [] if self.running_module is None else [self.running_module, *self._executed]
        seen: set[ast.AST] = {one.node for one in reached}
        used: set[str] = set()
        methods: dict[str, list[Scope]] = {}
        for scope in reached:  # it grows meanwhile
            for node in scope.names:
                if isinstance(node, ast.Attribute):
                    used.add(node.attr)
                    reached += methods.pop(node.attr, ())
                    continue
                binding = self.definition(node, scope, made=True) or self._class_behind(node, scope)
                if binding is None or binding.definition is None or binding.definition in seen:
                    continue
                seen.add(binding.definition)
                if not isinstance(binding.definition, ast.ClassDef):
                    reached.append(self.function_scope(binding.definition, binding.cell))
                    continue
                for owner, definition in self.with_bases(binding):
                    if definition in seen and owner is not binding:
                        continue
                    seen.add(definition)
                    for one in definition.body:
                        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one not in seen:
                            method, by_itself = one.name, _CALLED_BY_ITSELF.match(one.name) is not None
                            waiting = reached if by_itself or method in used else methods.setdefault(method, [])
                            waiting.append(self.function_scope(one, owner.cell))
        return Running(self, tuple(reached))

    @property
    def _executed(self) -> list[Scope]:
        """The functions that were being executed, also where the code does not show who called them: `m[0] = 1`."""
        found = []
        for at, line in dict.fromkeys(self.executing):
            around = [one for one in self.scopes(at) if not one.is_cell and holds(one.node, line)]
            found += around[-1:]
        return list({one.node: one for one in found}.values())

    def _class_behind(self, node: ast.expr, scope: Scope) -> Binding | None:
        """Return the class that an object most likely is of: of `Loader(p).load()`, or of what a function returns."""
        for _ in range(_MOST_STEPS):
            binding = self.lookup(node.id, scope, node) if isinstance(node, ast.Name) else None
            if binding is not None and isinstance(binding.definition, ast.ClassDef):
                return binding
            if binding is not None and isinstance(binding.definition, ast.FunctionDef):
                scope = self.function_scope(binding.definition, binding.cell)
                returned = [one.value for one in scope.nodes if isinstance(one, ast.Return)]
                found = returned[0] if len(returned) == 1 else None
            else:
                found = None if binding is None else binding.value
                scope = scope if binding is None else binding.scope
            while isinstance(found, ast.Call | ast.Attribute):
                found = found.func if isinstance(found, ast.Call) else found.value
            if found is None or isinstance(binding.value if binding else None, ast.Attribute):
                return None
            node = found
        return None

    def with_bases(self, binding: Binding) -> list[tuple[Binding, ast.ClassDef]]:
        """Return a class and what it is derived from, as far as cells define it."""
        found: dict[ast.ClassDef, Binding] = {}
        waiting: list[Binding | None] = [binding]
        for one in waiting:  # it grows meanwhile
            definition = None if one is None else one.definition
            if one is None or not isinstance(definition, ast.ClassDef) or definition in found:
                continue
            self.spend(3)
            found[definition] = one
            waiting += [self.definition(base, one.scope) for base in definition.bases]
        return [(one, definition) for definition, one in found.items()]

    def calls(self, *names: str) -> Iterator[Call]:
        """Yield the calls of functions with these full names in all cells that ran, newest cell first.

        A name stands for what was imported under whichever name, or is built in: `pandas.read_csv`, `builtins.exit`.
        `torch.optim.*` stands for all that begins so. Without names, all calls of which the full name is known.
        """
        words = {name.removeprefix("builtins.").split(".")[0] for name in names}
        for scope in self.mentioning(*words):
            for name, bound in scope.bindings.items():
                if any(one.imported is not None and one.imported.split(".")[0] in words for one in bound):
                    words = words | {name}
        for scope in self.mentioning(*words):
            yield from self.calls_in(self.scopes(scope.cell), *names)

    def calls_in(self, scopes: Iterable[Scope], *names: str) -> Iterator[Call]:
        """Yield the calls of functions with these full names in some scopes, in the order of the text."""
        begins = tuple(name[:-1] for name in names if name.endswith("*")) or ("" if not names else ())
        for scope in scopes:
            for node in scope.calls:
                name = self.qualified(node.func, scope)
                if name is not None and (name in names or name.startswith(begins)):
                    yield Call(node, scope, name)

    def is_at_line(self, node: ast.AST, scope: Scope) -> bool:
        """Whether a node may be what was running: false only where the line is known and is another one of the cell."""
        if self.line is None or scope.cell != self.last or not scope.is_cell:
            return True
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        return first is None or last is None or first <= self.line <= last


T = TypeVar("T")


def once(question: Callable[[Notebook], T]) -> Callable[[Notebook], T]:
    """Keep what a function answers about a notebook, however many fixes ask. It must not depend on the running line."""

    @wraps(question)
    def ask(code: Notebook) -> T:
        if question not in code.answers:
            code.answers[question] = question(code)
        answer: T = code.answers[question]
        return answer

    return ask
