"""The cells that ran, each parsed once, when something in it is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from jupyter_kerneldoctor.recording.model import Cell

from ..units import cell_name
from .budget import Budget, charged
from .cellsource import mask, parsing_cost
from .scopes import CellTree, Function, Scope

MOST_WORK = 300_000
"""How much of the code may be read, in units of about a microsecond."""


class ParsedCells:
    """The cells that ran up to the death, and their scopes."""

    def __init__(self, cells: Iterable[Cell], last: Cell | None) -> None:
        self.cells = tuple(cells)
        self.last = next((at for at in reversed(range(len(self.cells))) if self.cells[at] is last), -1)
        """The index of the cell that was running; -1 when none was."""
        self._newest = self.last if self.last >= 0 else len(self.cells) - 1
        self._budget = Budget(MOST_WORK)
        self._trees: dict[int, CellTree | None] = {}
        self._anywhere: dict[str, bool] = {}

    def spend(self, units: float) -> None:
        """Take off what work on the code's text costs, in microseconds."""
        self._budget.spend(units)

    def counted(self) -> AbstractContextManager[None]:
        """Let what is looked at in a `with` block by the functions of `trees` be taken off, too."""
        return charged(self._budget)

    def source(self, index: int) -> str:
        """Return the text of a cell."""
        return self.cells[index].source

    def index(self, cell: Cell) -> int:
        """Return the index of a recorded cell, also of one that an edit changed. Raises ValueError for another one."""
        for at in reversed(range(len(self.cells))):
            if self.cells[at] is cell or (cell.seq is not None and self.cells[at].seq == cell.seq):
                return at
        raise ValueError(f"no cell of this notebook: {cell.seq}")

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

    def scopes_of(self, source: str | None) -> Sequence[Scope]:
        """Return all scopes of the last cell with that text; none where there is no such cell."""
        for at in reversed(range(len(self.cells))):
            if self.cells[at].source == source:
                return self.scopes(at)
        return ()

    def module(self, index: int) -> Scope | None:
        """Return the module level of a cell; None for a cell that cannot be read."""
        return next(iter(self.scopes(index)), None)

    def cell_name(self, index: int) -> str:
        """Return what to call a cell in a sentence: "cell [2]"."""
        return cell_name(self.cells[index].execution_count)

    def place_of(self, node: ast.expr | ast.stmt, scope: Scope) -> str:
        """Return where a node stands, for a sentence: "cell [2], line 3"."""
        return f"{self.cell_name(scope.cell)}, line {node.lineno}"

    def mentioning(self, *words: str) -> Iterator[Scope]:
        """Yield the module level of each cell in whose text one of these whole words stands, newest first."""
        for index in self.with_words(*words):
            if (scope := self.module(index)) is not None:
                yield scope

    def scopes_mentioning(self, *words: str) -> Iterator[Scope]:
        """Yield all scopes of each cell in whose text one of these whole words stands, newest cell first."""
        for index in self.with_words(*words):
            yield from self.scopes(index)

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

    def has_words(self, *words: str) -> bool:
        """Whether one of these whole words stands in a cell."""
        return any(True for _ in self.with_words(*words))

    def has_text(self, *texts: str) -> bool:
        """Whether a cell holds one of these texts."""
        return any(True for _ in self.with_text(*texts))

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
        yield from (one for one in self.scopes_mentioning(f"def {name}") if one.function == name)

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


def _whole(word: str) -> re.Pattern[str]:
    """What finds a word that is no part of another. It begins with the word itself, which is quickly looked for."""
    literal = re.escape(word)
    return re.compile(rf"{literal}(?!\w)(?<!\w{literal})")
