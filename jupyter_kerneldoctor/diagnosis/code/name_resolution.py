"""What the names in the cells stood for at the death."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .bound_names import Position
from .parsed_cells import ParsedCells
from .scopes import Binding, Scope

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


class _Meaning(NamedTuple):
    """What an expression stands for."""

    name: str
    origin: Literal["imported", "defined", "unbound"]
    """Where its first part comes from."""


class NameResolution(ParsedCells):
    """Follows names to what they were bound to, across cells."""

    def __init__(self, cells: Iterable[Cell], last: Cell | None) -> None:
        super().__init__(cells, last)
        self._bound: dict[int, set[str]] = {}
        self._lines: dict[str, set[str]] = {}
        self._binders: dict[str, tuple[list[int], Iterator[int]]] = {}
        self._imports: dict[str, bool] = {}
        self._meanings: dict[ast.expr, _Meaning | None] = {}

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

    def class_around(self, method: Scope) -> Binding | None:
        """Return the class that a method belongs to; None for other functions, and where no cell binds its name."""
        return self.lookup(method.owner, method.parent or method) if method.owner else None

    def bases_of(self, method: Scope) -> list[str]:
        """Return the full names of what the class of a method is derived from, as far as they are known."""
        bases = getattr(getattr(self.class_around(method), "definition", None), "bases", ())
        return [name for base in bases if (name := self.qualified(base, method.parent or method)) is not None]

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


def _position(binding: Binding) -> Position:
    return binding.position
