"""Keeps the report of a long recording that has ended beside it: a day takes a quarter of a second to read and judge.

It is read like all else in a recording: what is no report counts as none.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from ..recording.decode import number
from ..recording.layout import REPORT
from ..recording.private_files import recording
from . import kept_files
from .documents import Report
from .kept_files import Stamp

_MOST_BYTES = 4 << 20

_LONG_BYTES = 512 << 10
"""The report of what is shorter is made as quickly, and would take more of the disk than its recording."""


def read(path: Path, made_from: list[Any]) -> dict[str, Any] | None:
    """Return the report of a recording; None where there is none that these rules made of this."""
    report: Any = None
    with suppress(OSError), recording(path) as directory:
        report = kept_files.read(directory, REPORT, made_from, _MOST_BYTES)
    return report if is_a(Report, report) and report["recording"] == path.name else None


def write(path: Path, report: dict[str, Any], made_from: list[Any], files: Stamp) -> None:
    """Keep the report of a long recording; where that is not possible, do without."""
    if sum(file[0] for file in files if file) >= _LONG_BYTES:
        kept_files.write(path, REPORT, report, made_from, _MOST_BYTES)


def is_a(kind: Any, value: Any) -> bool:
    """Return whether a JSON value is of a type."""
    return _check(kind)(value)


@cache
def _check(kind: Any) -> Callable[[Any], bool]:
    origin, parts = get_origin(kind), get_args(kind)
    if is_typeddict(kind) or is_dataclass(kind):
        fields = {name: _check(hint) for name, hint in get_type_hints(kind).items()}
        required = getattr(kind, "__required_keys__", fields.keys())
        return lambda value: (
            type(value) is dict
            and required <= value.keys() <= fields.keys()
            and all(fields[name](one) for name, one in value.items())
        )
    if origin in (Union, UnionType):
        options = [_check(part) for part in parts]
        return lambda value: any(fits(value) for fits in options)
    if origin in (list, tuple):
        item = _check(parts[0])
        return lambda value: type(value) is list and all(map(item, value))
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in parts
    if kind is float:
        return lambda value: number(value) is not None
    return lambda value: type(value) is kind and (kind is not int or number(value) is not None)
