"""A cell as Python: IPython's own syntax masked with text of equal length, so that lines and columns stay true.

`%magic`, `!command`, `name?` and the like become `0###…`, a statement that does nothing. Edits found in the masked
text are then made in the user's own text; nothing is ever generated back from a transformed cell. IPython is not
imported: a recording may be diagnosed where there is none, and its import costs more than all the rest.
"""

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from .budget import spend

PYTHON_CELL_MAGICS = frozenset({"capture", "debug", "lprun", "memit", "memwatch", "mprun", "prun", "time", "timeit"})
"""Cell magics whose body is Python that this kernel runs. A body of any other is not ours to read."""

_CELL_MAGIC = re.compile(r"[ \t]*%%(\w+)")
_PYTHON_MAGIC = re.compile(r"[ \t]*(%(?:memwatch|time)[ \t]+)(?=[^\s-])")
_ESCAPE = re.compile(r"[ \t]*(?=[%!?,;/])")
_ASSIGNMENT = re.compile(r"[ \t]*[A-Za-z_][\w.,\[\]'\"* \t()]*?=[ \t]*(?=[%!])")
_HELP = re.compile(r"[ \t]*(?=%{0,2}(?!\d)[\w*]+(?:\.\w+|\[[^\]]*\])*\?\??[ \t]*$)")
_TOKEN = re.compile(r"""#.*|\"\"\"|'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\\.?|[()\[\]{}]""")
_WORD = re.compile(r"\w+")
_FORMATTED = re.compile(r"""\b(?:[fF][rR]?|[rR][fF])["']""")
_LONG_NUMBER = re.compile(r"0[xXoObB][\da-fA-F_]{3000}")
_MOST_BITS = 14_000  # Python writes down no number of more than 4300 digits
_MARKS = "([{,;:<\"'"
_MOST_COSTLY = 400_000
LINE_END = re.compile(r"\r\n|\r|\n")  # what Python's tokenizer takes for one
_COMPILE_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # IPython lets a cell await


@dataclass(frozen=True)
class MaskedCell:
    """A cell's text with all that is not Python masked, and its syntax tree."""

    text: str
    """As long as the source; every line and column is where it was."""
    spans: tuple[tuple[int, int], ...]
    """The masked parts, as (start, end) offsets in code points. An edit must not touch them."""
    tree: ast.Module
    """Shared by all who ask for this source: read it, do not change it."""


def mask(source: str) -> MaskedCell | None:
    """Mask what is IPython's; None for a cell in another language (`%%bash`) and for one that does not parse."""
    tree = _parse(source)
    if tree is not None:
        return MaskedCell(source, (), tree)
    return _mask_magics(source)


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell, positions as the user sees them; None where `mask` gives None."""
    masked = mask(source)
    return None if masked is None else masked.tree


def is_same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two syntax trees say the same, wherever it stands."""
    pairs: list[tuple[object, object]] = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST) and isinstance(b, ast.AST):
            pairs += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


@lru_cache(maxsize=8)
def lines_of(source: str) -> list[str]:
    """Return the lines of a text, for those who ask for one after the other; nobody changes the list."""
    return source.split("\n")


@lru_cache(maxsize=64)
def header_magics(source: str) -> dict[int, str]:
    """Return the cell magics that the cell begins with: line number (from 1) to name, without the percent signs."""
    found: dict[int, str] = {}
    for number, line in enumerate(source.split("\n"), 1):
        if magic := _CELL_MAGIC.match(line):
            found[number] = magic[1]
        elif line.strip():
            break
    return found


def sole_statement(source: str) -> ast.stmt | None:
    """Return the one top-level statement of a cell; None when there are more, or the cell cannot be read."""
    masked = mask(source)
    if masked is None:
        return None
    starts = [start for start, _ in _lines(masked.text)]
    magics = {bisect_right(starts, start) for start, _ in masked.spans}
    # `%time x = f()` is one statement, of which the magic's name is masked as another one.
    body = [node for node in masked.tree.body if not (_is_mask(node) and node.lineno in magics)] or masked.tree.body
    is_on_one_line = len({node.lineno for node in masked.tree.body}) == 1
    return body[0] if len(body) == 1 and is_on_one_line else None


def enclosing_loop(source: str, line: int) -> int | None:
    """Return the line where the innermost loop of several statements begins that repeats this line; None without one.

    In such a loop, one look at the line tells the loop, but not which of its statements did most.
    """
    tree = parse(source)
    loops = [
        node
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        and node.lineno <= line <= (node.body[-1].end_lineno or 0)
        and (len(node.body) > 1 or any(isinstance(part, ast.stmt) for part in islice(ast.walk(node.body[0]), 1, None)))
    ]
    return max((node.lineno for node in loops), default=None)


@lru_cache(maxsize=64)
def _lines(source: str) -> tuple[tuple[int, str], ...]:
    """Each line's offset and its text."""
    starts = [0, *(found.end() for found in LINE_END.finditer(source))]
    return tuple((start, source[start:end]) for start, end in zip(starts, [*starts[1:], len(source)], strict=True))


def offset(source: str, line: int, byte_column: int) -> int:
    """The offset in code points of a position as `ast` gives it: lines from 1, columns in UTF-8 bytes."""
    start, text = _lines(source)[line - 1]
    is_plain = text.isascii()
    spend(0.5 + (0 if is_plain else byte_column / 300))
    if is_plain:
        return start + byte_column
    return start + len(text.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "surrogatepass"))


def span(source: str, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
    """Where a node stands, as offsets in code points."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return offset(source, node.lineno, node.col_offset), offset(source, node.end_lineno, node.end_col_offset)


def segment(source: str, node: ast.expr | ast.stmt) -> str:
    """The user's own text of a node."""
    start, end = span(source, node)
    return source[start:end]


def line_of(source: str, number: int) -> str:
    """Return a line of the text, counted from 1 as `ast` does, with its end."""
    return _lines(source)[number - 1][1]


def _is_mask(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value == 0


@lru_cache(maxsize=64)
def parsing_cost(source: str) -> float:
    """Return about how many microseconds it takes to parse a text; a word costs some 5, whatever it is, a mark 3."""
    braces = source.count("{") if _FORMATTED.search(source) else 0
    tokens = max(5 * len(_WORD.findall(source)), 3 * sum(map(source.count, _MARKS)))
    return tokens + source.count("\n") / 2 + braces * braces / 250  # CPython 3.11 looks for each part from the start


@lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module | None:
    if parsing_cost(text) > _MOST_COSTLY:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings are no news of ours
            tree: ast.Module = compile(text, "<cell>", "exec", flags=_COMPILE_FLAGS, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return None if _LONG_NUMBER.search(text) and _has_a_huge_number(tree) else tree


def _has_a_huge_number(tree: ast.Module) -> bool:
    """Whether a number is in it that has no text: to look at it would raise ValueError in every rule."""
    numbers = (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, int))
    return any(one.bit_length() > _MOST_BITS for one in numbers)


@lru_cache(maxsize=64)
def _mask_magics(source: str) -> MaskedCell | None:
    for mask_line in (_mask_name, _mask_line):  # `%time for x in y: …` is Python, but none that may follow a `;`
        text = _mask_text(source, mask_line)
        tree = None if text is None else _parse(text)
        if text is not None and tree is not None:
            return MaskedCell(text, _spans(source, text), tree)
    return None


def _mask_text(source: str, mask_line: Callable[[str], str]) -> str | None:
    scanner = _Scanner()
    lines: list[str] = []
    continued = False  # the line before was a magic that ended in a backslash
    at_head = True  # nothing but blank lines and cell magics so far
    for line in source.split("\n"):
        if continued:
            masked = "#" * len(line)
            continued = line.rstrip("\r").endswith("\\")
        elif at_head and (magic := _CELL_MAGIC.match(line)):
            if magic[1] not in PYTHON_CELL_MAGICS:
                return None
            masked = "#" * len(line)
        else:
            masked = mask_line(line) if scanner.at_start else line
            continued = masked != line and line.rstrip("\r").endswith("\\")
            if not continued:
                scanner.feed(masked)
            at_head = at_head and not line.strip()
        lines.append(masked)
    return "\n".join(lines)


def _mask_name(line: str) -> str:
    """Like `_mask_line`, but of `%time x = f()`, which runs Python, mask only the name, as a statement of its own."""
    found = _PYTHON_MAGIC.match(line)
    if found is None:
        return _mask_line(line)
    start, end = found.span(1)
    return line[:start] + "0" + " " * (end - start - 2) + ";" + line[end:]


def _mask_line(line: str) -> str:
    """Mask one line that starts a statement, if it holds IPython's syntax."""
    for pattern in (_HELP, _ESCAPE, _ASSIGNMENT):
        if found := pattern.match(line):
            start = found.end()
            return line[:start] + "0" + "#" * (len(line) - start - 1)
    return line


def _spans(source: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where two texts of equal length differ; neighbouring differences are one span, also over kept line ends."""
    spans: list[tuple[int, int]] = []
    position = 0
    for line, masked in zip(source.split("\n"), text.split("\n"), strict=True):
        if line != masked:
            differing = [column for column, (a, b) in enumerate(zip(line, masked, strict=True)) if a != b]
            spans.append((position + differing[0], position + differing[-1] + 1))
        position += len(line) + 1
    return tuple(spans)


class _Scanner:
    """Knows whether the next line begins a statement: not inside brackets, a long string, or after a backslash."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""  # the open triple quote
        self._continued = False

    @property
    def at_start(self) -> bool:
        return not (self._depth or self._quote or self._continued)

    def feed(self, line: str) -> None:
        """Take one line in."""
        self._continued = False
        position = 0
        while position < len(line):
            position = self._close_quote(line, position) if self._quote else self._take(line, position)

    def _close_quote(self, line: str, position: int) -> int:
        closing = re.compile(r"\\.|" + self._quote).search(line, position)
        while closing is not None and closing[0] != self._quote:
            closing = re.compile(r"\\.|" + self._quote).search(line, closing.end())
        if closing is None:
            return len(line)
        self._quote = ""
        return closing.end()

    def _take(self, line: str, position: int) -> int:
        token = _TOKEN.search(line, position)
        if token is None:
            return len(line)
        text = token[0]
        if text in ('"""', "'''"):
            self._quote = text
        elif text in "([{":
            self._depth += 1
        elif text in ")]}":
            self._depth = max(0, self._depth - 1)
        elif text in ("\\", "\\\r"):
            self._continued = True
        return token.end()
