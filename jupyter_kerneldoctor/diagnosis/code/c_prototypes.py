"""What the functions of C that the cells themselves write take and return, as ctypes calls it."""

import re
from typing import NamedTuple

from .notebook import Notebook, once

LONGEST = 50_000  # characters of a cell
FUNCTION = re.compile(
    r"^[ \t]*(?:extern[ \t]+(?:\"C\"[ \t]+)?)?(?P<type>\w[\w \t]{0,60}?[ \t*]+)(?P<name>\w{1,80})[ \t]*"
    r"\((?P<arguments>[^(){};]{0,600})\)\s*\{",
    re.MULTILINE,
)
_TYPES = {
    **{name: f"ctypes.c_{name}" for name in ("int", "long", "short", "float", "double", "char", "bool", "size_t")},
    **{f"{sign}int{bits}_t": f"ctypes.c_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "unsigned": "ctypes.c_uint",
    "unsigned int": "ctypes.c_uint",
    "unsigned long": "ctypes.c_ulong",
    "unsigned char": "ctypes.c_ubyte",
    "long long": "ctypes.c_longlong",
    "ssize_t": "ctypes.c_ssize_t",
    "void": "None",
}
_QUALIFIERS = re.compile(r"\b(?:const|static|inline|struct|volatile|restrict|__restrict)\b")
_NAME = re.compile(r"\b\w{1,80}\s{0,9}(?:\[\s{0,9}\w{0,80}\s{0,9}\])?$")


class Prototype(NamedTuple):
    """What a function of C takes and returns."""

    result: str
    """`ctypes.c_void_p` for a pointer, `None` for nothing."""
    arguments: tuple[str, ...]
    pointers: tuple[str, ...]
    """By argument, the type that a pointer points to, `double`; "" for what is no pointer."""


@once
def prototypes(code: Notebook) -> dict[str, Prototype]:
    """Return what is known of the C functions that are written in the cells, by name."""
    found = dict[str, Prototype]()
    for at in code.with_text("{"):
        source = code.source(at)
        if "ctypes" not in source and not re.search(r"\.c(?:c|pp)?\b|#include", source):
            continue
        code.spend(len(source) / 5)
        for one in FUNCTION.finditer(source[:LONGEST]):
            given = [part.strip() for part in one["arguments"].split(",") if part.strip() not in ("", "void")]
            result, arguments = _type_of(one["type"]), [_type_of(_NAME.sub(_as_pointer, part)) for part in given]
            if result is not None and None not in arguments:
                known = tuple(filter(None, arguments))
                found.setdefault(one["name"], Prototype(result, known, tuple(map(_pointee, given))))
    return found


def _as_pointer(name: re.Match[str]) -> str:
    return "*" if name[0].endswith("]") else ""


def _type_of(text: str) -> str | None:
    """Return what ctypes calls a type of C; None where it is neither a number nor a pointer."""
    plain = " ".join(_QUALIFIERS.sub("", text).split())
    if "*" in plain:
        return "ctypes.c_char_p" if "const" in text and re.fullmatch(r"char ?\*", plain) else "ctypes.c_void_p"
    return _TYPES.get(plain)


def _pointee(argument: str) -> str:
    found = re.match(r"([\w \t]{1,90}?)[ \t]{0,9}(?:\*|\w{1,80}\s{0,9}\[)", _QUALIFIERS.sub("", argument).strip())
    return "" if found is None else found[1]
