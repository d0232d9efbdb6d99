"""What C's printf and its like are given: which conversion of the format takes which value, and which cannot."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..code.literals import number
from ..code.loop_changes import called_name
from ..code.notebook import Call, Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope

_FORMAT_AT = {
    **dict.fromkeys(("printf", "wprintf"), 0),
    **dict.fromkeys(("fprintf", "dprintf", "sprintf", "asprintf", "syslog"), 1),
    **dict.fromkeys(("snprintf", "swprintf"), 2),
}
"""Functions of C that take as many values as their format says, and where the format is."""
_CONVERSION = re.compile(
    r"%[-+ #0']{0,5}(?P<width>\*|\d{0,5})(?:\.(?P<digits>\*|\d{0,5}))?(?:hh|ll|[hlLzjtq])?(?P<kind>[a-zA-Z%])"
)
_ADDRESSES = frozenset({"s", "n"})
"""Conversions that take their value for an address, and go there."""
_TEXTS = frozenset({"encode", "c_char_p", "create_string_buffer", "bytes", "str", "join", "format", "read"})


class CFormat(NamedTuple):
    """A call of printf or the like."""

    call: Call
    name: str
    place: ast.expr
    """The format, as it is given."""
    text: str | None
    """What it says, where the code tells."""
    values: list[ast.expr]

    @property
    def conversions(self) -> list[str]:
        """What each value is taken for: `s`, `d`; a `*` takes one for a width."""
        found = list[str]()
        for one in _CONVERSION.finditer(self.text or ""):
            found += ["*"] * ((one["width"] == "*") + (one["digits"] == "*"))
            found += [one["kind"]] if one["kind"] != "%" else []
        return found

    @property
    def takes_addresses(self) -> bool:
        """Whether a value may be taken for an address."""
        return self.text is None or any(one in _ADDRESSES for one in self.conversions)

    @property
    def is_open(self) -> bool:
        """Whether the values are not written out: `*values`."""
        return any(isinstance(one, ast.Starred) for one in self.values)


def c_format(call: Call, code: Notebook) -> CFormat | None:
    """Return what a call of a native library formats; None where it is none of C's printf."""
    at = _FORMAT_AT.get(call.name)
    if at is None or len(call.node.args) <= at or any(isinstance(one, ast.Starred) for one in call.node.args[: at + 1]):
        return None
    place = call.node.args[at]
    texts = [text for one in all_origins(place, call.scope, code) if (text := _text(one.node)) is not None]
    return CFormat(call, call.name, place, texts[0] if len(set(texts)) == 1 else None, call.node.args[at + 1 :])


def wrong_address(found: CFormat, code: Notebook) -> tuple[str, ast.expr | None] | None:
    """Return the first conversion that goes to an address, and the number it gets; None for nothing it can be."""
    if found.is_open:
        return None
    for at, kind in enumerate(found.conversions):
        if kind in _ADDRESSES and at >= len(found.values):
            return kind, None
        if kind in _ADDRESSES and _is_number(found.values[at], found.call.scope, code):
            return kind, found.values[at]
    return None


def unclear_address(found: CFormat, code: Notebook) -> ast.expr | None:
    """Return the first value that goes to an address and of which the code does not tell that it is a text."""
    kinds = found.conversions
    for at, value in enumerate(found.values):
        if isinstance(value, ast.Starred):
            return value
        goes = found.text is None or (at < len(kinds) and kinds[at] in _ADDRESSES)
        if goes and not any(_is_text(one.node) for one in all_origins(value, found.call.scope, code)):
            return value
    return None


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=bytes() as data):
            return data.decode("latin-1")
    return None


def _is_text(node: ast.expr) -> bool:
    return _text(node) is not None or called_name(node) in _TEXTS or isinstance(node, ast.JoinedStr)


def _is_number(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    found = [*_ends(node, scope, code)]
    return bool(found) and all(number(one) is not None or called_name(one) in ("int", "len", "c_int") for one in found)


def _ends(node: ast.expr, scope: Scope, code: Notebook) -> Iterator[ast.expr]:
    """Yield where a value comes from at last."""
    origins = [one.node for one in all_origins(node, scope, code)]
    yield from (one for one in origins if not isinstance(one, ast.Name | ast.Attribute))
    if all(isinstance(one, ast.Name | ast.Attribute) for one in origins):
        yield node
