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
import builtins
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from jupyter_kerneldoctor.recording.model import Cell

from .cellsource import mask, parsing_cost
from .scopes import Binding, Budget, CellTree, CodeTooLargeError, Function, Position, Scope

__all__ = ["Binding", "Call", "CodeTooLargeError", "Notebook", "Running", "Scope"]

MOST_WORK = 300_000
"""How much of the code may be read, in units of about a microsecond."""
_DEEPEST = 80  # steps from an expression to what it stands for: its parts, and the assignments of its names
_MOST_STEPS = 12  # assignments from a name to a definition
_LONGEST = 200  # characters; a chain beyond that is no name of anything
_END = (1 << 30, 0)

_INJECTED = frozenset({"exit", "quit", "get_ipython", "display", "In", "Out"})
_MAY_BIND = re.compile(r"(?<![\w.])[^\W\d]\w*\b(?![ \t]*[(.])")
"""A name that is neither called nor reached into: a cell may bind it."""
_BINDS = re.compile(r"(?:import|def|class)\b[^\n]*")
"""What a cell imports, and what it defines, it binds as well."""
_WORD = re.compile(r"\w+")

_CALLED_BY_ITSELF = re.compile(r"__|(?:forward|call|(?:training|train|validation|test|predict)_step|on_[a-z_]+)$")
"""Methods that Python, PyTorch, Lightning and Keras call."""

_OWN = (
    *("os.getpid()", "os.getpgrp()", "os.getpgid()", "psutil.Process().pid"),
    *("threading.get_ident()", "threading.main_thread().ident", "threading.current_thread().ident"),
)
_CHILDREN = tuple(f"{call}.pid" for call in ("subprocess.Popen(…)", "multiprocessing.Process(…)"))
"""Processes that stay in the group of the process that started them."""
_APART = ("start_new_session", "process_group", "preexec_fn", None)
"""What makes a child of `subprocess.Popen` leave that group, or may; None: words that are not written out."""
_SAME = ("str", "int")
"""Functions that give back what they are given, as far as a name can tell: `str(os.getpid())`."""


@dataclass(frozen=True)
class Call:
    """A call of a function whose full name is known."""

    node: ast.Call
    scope: Scope
    name: str
    """The function's full name: `pandas.read_csv`."""

    @property
    def cell(self) -> int:
        """The cell it stands in, as an index of `Notebook.cells`."""
        return self.scope.cell

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement it stands in."""
        return self.scope.tree.statements[self.node]

    @property
    def text(self) -> str:
        """The call as the user wrote it."""
        return self.scope.segment(self.node)

    @property
    def is_written_out(self) -> bool:
        """Whether it hides no arguments in `*args` or `**options`."""
        starred = any(isinstance(one, ast.Starred) for one in self.node.args)
        return not starred and all(word.arg is not None for word in self.node.keywords)

    def argument(self, *names: str | int) -> ast.expr | None:
        """Return what is given under the first of these keywords or positions that is given: `argument("dtype", 1)`.

        None where none is, or not in so many words: `*args`, `**options`.
        """
        for name in names:
            if isinstance(name, str):
                given = [word.value for word in self.node.keywords if word.arg == name]
            else:
                given = self.node.args[: name + 1]
                given = [] if any(isinstance(one, ast.Starred) for one in given) else given[name:]
            if given:
                return given[0]
        return None


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

    def calls(self, *names: str) -> Iterator[Call]:
        """Yield the calls of functions with these full names, as `Notebook.calls` does for all cells."""
        return self.notebook.calls_in(self.scopes, *names)


class _Meaning(NamedTuple):
    """What an expression stands for."""

    name: str
    origin: Literal["imported", "defined", "unbound"]
    """Where its first part comes from."""


class Notebook:
    """The cells that ran up to the death, and what their names stood for then.

    Every method raises CodeTooLargeError when more code would have to be read than a diagnosis has time for.
    """

    def __init__(self, cells: Iterable[Cell], last: Cell | None = None, line: int | None = None) -> None:
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
        """
        self.cells = tuple(cells)
        self.line = line
        self.last = next((at for at in reversed(range(len(self.cells))) if self.cells[at] is last), -1)
        """The index of the cell that was running; -1 when none was."""
        self._newest = self.last if self.last >= 0 else len(self.cells) - 1
        self._budget = Budget(MOST_WORK)
        self._trees: dict[int, CellTree | None] = {}
        self._bound: dict[int, set[str]] = {}
        self._lines: dict[str, set[str]] = {}
        self._binders: dict[str, tuple[list[int], Iterator[int]]] = {}
        self._imports: dict[str, bool] = {}
        self._anywhere: dict[str, bool] = {}
        self._meanings: dict[ast.expr, _Meaning | None] = {}
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
        other = Notebook(cells, cells[self.last] if self.last >= 0 else None, self.line)
        if self.last in sources and sources[self.last].count("\n") != self.source(self.last).count("\n"):
            other.line = None
        other._budget = self._budget
        other._trees = {at: tree for at, tree in self._trees.items() if at not in sources}
        return other

    def spend(self, units: float) -> None:
        """Take off what work on the code's text costs, in microseconds."""
        self._budget.spend(units)

    def source(self, index: int) -> str:
        """Return the text of a cell."""
        return self.cells[index].source

    def index(self, cell: Cell) -> int:
        """Return the index of a recorded cell. Raises ValueError when it is not one of these."""
        return next(at for at in reversed(range(len(self.cells))) if self.cells[at] is cell)

    # Scopes

    def scopes(self, index: int) -> Sequence[Scope]:
        """Return all scopes of a cell, the module level first; none of a cell that cannot be read."""
        if index not in self._trees:
            cell, masked = self.cells[index], None
            if not cell.truncated:
                self._budget.spend(2 * parsing_cost(cell.source))  # to parse it, and to look at each node
                masked = mask(cell.source)
            found = None if masked is None else CellTree(index, cell.source, masked.tree, self._budget)
            self._trees[index] = found
        tree = self._trees[index]
        return () if tree is None else tree.scopes

    def module(self, index: int) -> Scope | None:
        """Return the module level of a cell; None for a cell that cannot be read."""
        return next(iter(self.scopes(index)), None)

    def mentioning(self, *words: str) -> Iterator[Scope]:
        """Yield the module level of each cell in whose text one of these whole words stands, newest first."""
        for index in self.with_words(*words):
            if (scope := self.module(index)) is not None:
                yield scope

    def with_words(self, *words: str) -> Iterator[int]:
        """Yield the index of each cell in whose text one of these whole words stands, newest first; none is parsed."""
        for index in self.with_text(*words):
            source = self.source(index)
            self._budget.spend(len(source) / 300)
            if any(word in source and _whole(word).search(source) for word in words):
                yield index

    def with_text(self, *texts: str) -> Iterator[int]:
        """Yield the index of each cell that holds one of these texts, newest first; none is parsed."""
        texts = tuple(filter(self._is_anywhere, texts))
        for index in range(self._newest, -1, -1) if texts else ():
            source = self.source(index)
            self._budget.spend(len(texts) * (0.1 + len(source) / 1000))
            if any(text in source for text in texts):
                yield index

    def _is_anywhere(self, text: str) -> bool:
        """Whether any cell holds a text; asked of all at once, as most that is looked for is in none."""
        if text not in self._anywhere:
            self._budget.spend(len(self._all_cells) / 3000)
            self._anywhere[text] = text in self._all_cells
        return self._anywhere[text]

    @cached_property
    def _all_cells(self) -> str:
        return "\n".join(one.source for one in self.cells)

    def function_scope(self, node: Function, cell: int) -> Scope:
        """Return the scope of a function or lambda that stands in a cell."""
        self.scopes(cell)
        tree = self._trees[cell]
        assert tree is not None
        return tree.of_function[node]

    def functions_named(self, name: str) -> Iterator[Scope]:
        """Yield the functions and methods of this name that the cells define, newest cell first."""
        for module in self.mentioning(f"def {name}"):
            yield from (one for one in self.scopes(module.cell) if one.function == name)

    @cached_property
    def running(self) -> Running:
        """The cell that was running, and what it may have called."""
        cell = self.module(self.last) if self.last >= 0 else None
        reached: list[Scope] = [] if cell is None else [cell]
        seen: set[ast.AST] = set()
        used: set[str] = set()
        methods: dict[str, list[Scope]] = {}
        for scope in reached:  # it grows meanwhile
            for node in scope.names:
                if isinstance(node, ast.Attribute):
                    used.add(node.attr)
                    reached += methods.pop(node.attr, ())
                    continue
                binding = self.definition(node, scope, made=True)
                if binding is None or binding.definition is None or binding.definition in seen:
                    continue
                seen.add(binding.definition)
                if not isinstance(binding.definition, ast.ClassDef):
                    reached.append(self.function_scope(binding.definition, binding.cell))
                    continue
                for owner, definition in self._with_bases(binding):
                    seen.add(definition)
                    for one in definition.body:
                        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                            method, by_itself = one.name, _CALLED_BY_ITSELF.match(one.name) is not None
                            waiting = reached if by_itself or method in used else methods.setdefault(method, [])
                            waiting.append(self.function_scope(one, owner.cell))
        return Running(self, tuple(reached))

    def _with_bases(self, binding: Binding) -> list[tuple[Binding, ast.ClassDef]]:
        """Return a class and what it is derived from, as far as cells define it."""
        found: list[tuple[Binding, ast.ClassDef]] = []
        waiting: list[Binding | None] = [binding]
        for one in waiting:  # it grows meanwhile
            definition = None if one is None else one.definition
            if one is None or not isinstance(definition, ast.ClassDef) or any(definition is old for _, old in found):
                continue
            found.append((one, definition))
            waiting += [self.definition(base, one.scope) for base in definition.bases]
        return found

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

    def statement_at(self, index: int, line: int) -> tuple[str, int, int] | None:
        """Return the function, the first and the last line of the innermost statement at a line of a cell.

        Of a statement that holds others only what is in front of them counts: `for x in xs:`. The function is "" at the
        top level; None where no statement stands at the line.
        """
        best: tuple[str, int, int] | None = None
        for scope in self.scopes(index):
            self.spend(len(scope.nodes) / 10)
            for node in scope.nodes:
                if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                    body = getattr(node, "body", None)
                    last = (node.end_lineno or node.lineno) if not body else max(node.lineno, body[0].lineno - 1)
                    if line <= last and (best is None or last - node.lineno <= best[2] - best[1]):
                        best = (scope.name, node.lineno, last)
        return best

    # Names

    def lookup(self, name: str, scope: Scope, at: ast.AST | None = None) -> Binding | None:
        """Return what a name was bound to last before a node of the scope ran; None where no cell binds it.

        What a function does not bind itself is what the module held at the death. Without a node, the scope has ended.
        """
        self._budget.spend(1)
        limit = (getattr(at, "lineno", _END[0]), getattr(at, "col_offset", 0))
        newest = scope.cell
        while scope.parent is not None:
            if local := scope.bindings.get(name):
                return local[bisect_left(local, limit, key=_position) - 1]  # before the first one: in an earlier round
            scope, limit, newest = scope.parent, _END, self._newest
        for index in self._binding_cells(name, min(newest, self._newest)):
            bound = self.scopes(index)[0].bindings[name]
            place = bisect_left(bound, limit, key=_position) if index == scope.cell else len(bound)
            if place:
                return bound[place - 1]
        return None

    def definition(self, node: ast.expr, scope: Scope, *, made: bool = False) -> Binding | None:
        """Return the binding of the function or class that a name stands for, also through assignments; None without.

        With `made`, of an object that was made by a call, the one of what was called.
        """
        for _ in range(_MOST_STEPS):
            binding = self.lookup(node.id, scope, node) if isinstance(node, ast.Name) else None
            if binding is None or binding.definition is not None or binding.value is None:
                return binding if binding is not None and binding.definition is not None else None
            node, scope = binding.value, binding.scope
            if made and isinstance(node, ast.Call):
                node = node.func
        return None

    def imports(self, package: str) -> bool:
        """Whether a cell imports this package or something out of it."""
        if package not in self._imports:
            self._imports[package] = any(
                one.imported is not None and one.imported.split(".")[0] == package
                for scope in self.mentioning(package)
                for bound in scope.bindings.values()
                for one in bound
            )
        return self._imports[package]

    def qualified(self, node: ast.expr, scope: Scope) -> str | None:
        """Return the full name of what was imported, `pandas.read_csv`, or is built in, `builtins.exit`.

        None for all else: what a cell defines, a method of an object, what nobody imported.
        """
        meaning = self._meaning(node, scope)
        if meaning is None or "(" in meaning.name or meaning.origin == "defined":
            return None
        if meaning.origin == "imported":
            return meaning.name
        root = meaning.name.partition(".")[0]
        return f"builtins.{meaning.name}" if hasattr(builtins, root) or root in _INJECTED else None

    def described(self, node: ast.expr, scope: Scope) -> str | None:
        """Return what an expression stands for, calls included: `subprocess.Popen(…).kill`. None: that is not known.

        What nobody bound, and a function of a cell, stands for its own name. A call is its function with `()`, or with
        `(…)` where it is given anything but this process itself: `psutil.Process()` is the same as
        `psutil.Process(os.getpid())`, `psutil.Process(42)` is another.
        """
        meaning = self._meaning(node, scope)
        return None if meaning is None else meaning.name

    def is_own_process(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression stands for the id of the kernel's process, its group, or its thread (0 is short)."""
        return self._is_own(node, scope)

    def _meaning(self, node: ast.expr, scope: Scope, depth: int = 0) -> _Meaning | None:
        if node not in self._meanings:
            self._meanings[node] = None  # for what leads back to itself
            if depth < _DEEPEST:
                self._meanings[node] = self._work_out(node, scope, depth + 1)
        return self._meanings[node]

    def _work_out(self, node: ast.expr, scope: Scope, depth: int) -> _Meaning | None:
        if isinstance(node, ast.Name):
            binding = self.lookup(node.id, scope, node)
            if binding is None:
                return _Meaning(node.id, "unbound")
            if binding.imported is not None:
                return _Meaning(binding.imported, "imported")
            if binding.definition is not None:
                return _Meaning(node.id, "defined")
            return None if binding.value is None else self._meaning(binding.value, binding.scope, depth)
        inner = node.value if isinstance(node, ast.Attribute) else node.func if isinstance(node, ast.Call) else None
        whole = None if inner is None else self._meaning(inner, scope, depth)
        if whole is None or len(whole.name) > _LONGEST:
            return None
        if isinstance(node, ast.Call):
            if whole.name in _SAME and len(node.args) == 1 and not node.keywords:
                return self._meaning(node.args[0], scope, depth)
            return whole._replace(name=whole.name + self._given(node, whole.name, scope, depth))
        return whole._replace(name=f"{whole.name}.{node.attr}") if isinstance(node, ast.Attribute) else None

    def _given(self, call: ast.Call, function: str, scope: Scope, depth: int) -> str:
        """What stands for a call's arguments."""
        if function == "subprocess.Popen" and any(word.arg in _APART for word in call.keywords):
            return "(apart)"
        if call.keywords or not all(self._is_own(one, scope, depth, function) for one in call.args):
            return "(…)"
        return "()"

    def _is_own(self, node: ast.expr, scope: Scope, depth: int = 0, asked_by: str = "") -> bool:
        if isinstance(node, ast.Constant):
            return bool(node.value == 0)
        meaning = self._meaning(node, scope, depth)
        return meaning is not None and (
            meaning.name in _OWN or (asked_by == "os.getpgid" and meaning.name in _CHILDREN)
        )

    def _binding_cells(self, name: str, newest: int) -> Iterator[int]:
        """The cells that bind a name at their top level, the newest first, from this one on; each is searched once."""
        if name not in self._binders:
            self._binders[name] = [], self._search(name)
        found, rest = self._binders[name]
        place = bisect_left(found, -newest, key=lambda index: -index)
        while True:
            if place == len(found):
                found += islice(rest, 1)
            if place == len(found):
                return
            if found[place] <= newest:
                yield found[place]
            place += 1

    def _search(self, name: str) -> Iterator[int]:
        for index in range(self._newest, -1, -1) if self._is_anywhere(name) else ():
            source = self.source(index)
            self._budget.spend(0.1 + len(source) / 1000)
            if name in source and name in self._may_bind(index):
                module = self.module(index)
                if module is not None and name in module.bindings:
                    yield index

    def _may_bind(self, index: int) -> set[str]:
        """The names that a cell may bind, told without parsing it."""
        if index not in self._bound:
            source = self.source(index)
            # By lines: the cells of a day are mostly those of before, with a line or two changed.
            self._bound[index] = set().union(*map(self._bound_by, source.split("\n")))
        return self._bound[index]

    def _bound_by(self, line: str) -> set[str]:
        if line not in self._lines:
            self._budget.spend(len(line) / 5)  # no more than a quarter of what parsing it would cost
            self._lines[line] = set(_MAY_BIND.findall(line)).union(*map(_WORD.findall, _BINDS.findall(line)))
        return self._lines[line]


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


def _whole(word: str) -> re.Pattern[str]:
    """What finds a word that is no part of another. It begins with the word itself, which is quickly looked for."""
    literal = re.escape(word)
    return re.compile(rf"{literal}(?!\w)(?<!\w{literal})")


def _position(binding: Binding) -> Position:
    return binding.position
