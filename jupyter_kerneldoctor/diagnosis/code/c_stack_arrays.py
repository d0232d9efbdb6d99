"""Local arrays of C functions that are written in the cells: they lie on the stack, which has a few megabytes."""

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from .c_prototypes import FUNCTION, LONGEST
from .notebook import Notebook, once

STACK_BYTES = 8 << 20
"""What Linux gives the main thread, unless it is told otherwise."""
_LARGE_BYTES = STACK_BYTES // 4
_NO_FUNCTION = frozenset({"if", "for", "while", "switch", "return", "sizeof"})
_LINE_COMMENT = re.compile(r"//[^\n]*")
_BYTES = {"char": 1, "bool": 1, "short": 2, "int": 4, "unsigned": 4, "float": 4, "double": 8, "long": 8, "size_t": 8}
_BYTES |= {f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}
_DECLARED = re.compile(
    rf"(?P<words>(?:(?:const|signed|unsigned|long)\s{{1,9}}){{0,3}})(?P<type>{'|'.join(_BYTES)})\s{{1,9}}(?P<names>[^()=]{{1,300}})"
)
"""What a statement declares; not what begins with `static` or sets values, and no pointer to an array."""
_ARRAY = re.compile(r"(?<!\*)(?P<name>\b\w{1,80})\s*(?P<sizes>(?:\[[^\[\]]{1,120}\]\s*)+)")
"""An array, but none of pointers."""
_ALLOCA = re.compile(
    r"(?P<name>\b\w{1,80})\s*=\s*(?:\([^()]{1,60}\)\s*)?(?:__builtin_)?alloca\s*\((?P<size>[^;]{1,120})\)\s*;"
)
_DEFINED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w{1,80})[ \t]+\(?(\d[\d' ]*(?:\*\s*\d+\s*)*)\)?"
    r"|\bconst(?:expr)?\s+\w+\s+(\w{1,80})\s*=\s*(\d+)\s*;",
    re.MULTILINE,
)
_CALLED = re.compile(r"\b(\w{1,80})\s*\(")


class StackArray(NamedTuple):
    """A local array."""

    function: str
    cell: int
    line: int
    kind: str
    """Its type, `double`; "" where it is `alloca` that makes it."""
    name: str
    sizes: tuple[str, ...]
    """How many it has in each direction, as it is written; of `alloca` how many bytes."""
    bytes: int | None
    """None for a length that is known only when it runs."""
    begins: bool = False
    """Whether it is given values where it is declared, `= {0}`: what is left out is zero."""
    is_measured: bool = False
    """Whether the function asks for its `sizeof`, which of a pointer is another."""

    @property
    def declared(self) -> str:
        """How it is written: `double row[n]`."""
        return f"{self.kind} {self.name}[{']['.join(self.sizes)}]" if self.kind else f"alloca({self.sizes[0]})"

    @property
    def taken(self) -> str:
        """How it is taken from the heap."""
        if not self.kind:
            return f"{self.name} = malloc({self.sizes[0]});"
        rest = "".join(f"[{one}]" for one in self.sizes[1:])
        pointer = f"(*{self.name}){rest}" if rest else f"*{self.name}"
        many = self.sizes[0] if re.fullmatch(r"\w+", self.sizes[0]) else f"({self.sizes[0]})"
        taken = f"calloc({many}, sizeof *{self.name})" if self.begins else f"malloc({many} * sizeof *{self.name})"
        told = f"  // sizeof({self.name}) is that of a pointer then" if self.is_measured else ""
        return f"{self.kind} {pointer} = {taken};{told}"


class _Function(NamedTuple):
    cell: int
    line: int
    body: str


def large_stack_arrays(code: Notebook, function: str) -> list[StackArray]:
    """Return the local arrays that may not fit on the stack, of a C function in the cells and of those it calls."""
    known, waiting, found = _functions(code), [function], list[StackArray]()
    for name in waiting:  # it grows meanwhile
        if (one := known.get(name)) is not None:
            found += [array for array in _arrays(code, name, one) if array.bytes is None or array.bytes >= _LARGE_BYTES]
            waiting += [other for other in _CALLED.findall(one.body) if other in known and other not in waiting]
    return found


@once
def _functions(code: Notebook) -> dict[str, _Function]:
    found = dict[str, _Function]()
    for at in code.with_text("[", "alloca"):
        source = code.source(at)[:LONGEST]
        if "ctypes" not in source and not re.search(r"\.c(?:c|pp)?\b|#include|\bvoid\b|\bdouble\b", source):
            continue
        code.spend(len(source) / 5)
        for one in FUNCTION.finditer(source):
            if one["name"] not in _NO_FUNCTION:
                line = source.count("\n", 0, one.start("name")) + 1
                found[one["name"]] = _Function(at, line, _without_comments(_body(source, one.end())))
    return found


def _body(source: str, start: int) -> str:
    """Return what stands between a brace, which ends at `start`, and the one that closes it."""
    depth = 1
    for at in range(start, len(source)):
        depth += (source[at] == "{") - (source[at] == "}")
        if depth == 0:
            return source[start:at]
    return source[start:]


def _without_comments(text: str) -> str:
    first, *parts = text.split("/*")
    return _LINE_COMMENT.sub("", first + "".join(part.partition("*/")[2] for part in parts))


def _arrays(code: Notebook, name: str, function: _Function) -> Iterator[StackArray]:
    numbers = dict(_defined(code.source(function.cell)[:LONGEST]))
    for statement in re.split(r"[;{}]", function.body):
        one = _DECLARED.fullmatch(statement.strip("= \t\r\n")) if "[" in statement else None
        begins = statement.rstrip().endswith("=")
        if one is None:
            continue
        for array in _ARRAY.finditer(one["names"]):
            sizes = [size.strip() for size in re.findall(r"\[([^\[\]]+)\]", array["sizes"])]
            lengths = [_length(size, numbers) for size in sizes]
            if all(length is not None or _is_variable(size) for size, length in zip(sizes, lengths, strict=True)):
                known = [length for length in lengths if length is not None]
                kind = " ".join(word for word in (*one["words"].split(), one["type"]) if word != "const")
                item = 16 if kind == "long double" else _BYTES[one["type"]]
                is_measured = re.search(rf"\bsizeof[\s(]{{0,9}}{array['name']}\b", function.body) is not None
                total = prod(known) * item if len(known) == len(sizes) else None
                at = (name, function.cell, function.line)
                yield StackArray(*at, kind, array["name"], tuple(sizes), total, begins, is_measured)
    for one in _ALLOCA.finditer(function.body):
        yield StackArray(name, function.cell, function.line, "", one["name"], (one["size"].strip(),), None)


def _defined(source: str) -> Iterator[tuple[str, int]]:
    for one in _DEFINED.finditer(source):
        name, text = (one[1], one[2]) if one[1] else (one[3], one[4])
        yield name, prod(int(part.replace("'", "")) for part in text.split("*"))


def _length(size: str, numbers: dict[str, int]) -> int | None:
    """Return a length that is written as a number, or as a product of numbers and names of them."""
    parts = [part.strip(" ()") for part in size.split("*")]
    known = [int(part) if part.isdigit() else numbers.get(part) for part in parts]
    return prod(one for one in known if one is not None) if None not in known else None


def _is_variable(size: str) -> bool:
    """Whether a length is worked out when the function runs: macros are written in capitals."""
    return any(not one.isupper() for one in re.findall(r"\b[A-Za-z_]\w*", size))
