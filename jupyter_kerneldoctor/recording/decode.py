"""From JSON to the dataclasses of a recording. What does not fit the declared type counts as not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Decoder = Callable[[Any], Any]

_MISFIT = object()


def build(kind: Callable[..., T], values: Any) -> T | None:
    """Make a dataclass from what its fields name; None when something it needs is missing or no object was given."""
    if not isinstance(values, dict):
        return None
    try:
        return kind(**fitting(kind, values))
    except TypeError:
        return None


def build_all(kind: Callable[..., T], values: Any) -> tuple[T, ...]:
    """Make as many as can be made of a list."""
    if not isinstance(values, list | tuple):
        return ()
    return tuple(made for value in values if (made := build(kind, value)) is not None)


def fitting(kind: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Keep the values that are fields of a dataclass and of the type it declares."""
    decoders, known = _decoders(kind), {}
    for name, value in values.items():
        if (decode := decoders.get(name)) is not None and (decoded := decode(value)) is not _MISFIT:
            known[name] = decoded
    return known


def number(value: Any) -> float | None:
    """Return the value if it is a number that can have been counted: no NaN, no infinity, at most 63 bits."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1 << 63:
        return None
    return value


def is_size(value: Any) -> bool:
    """Whether it can be a number of bytes."""
    return type(value) is int and 0 <= value < 1 << 63


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 63


@cache
def _decoders(kind: Callable[..., Any]) -> dict[str, Decoder]:
    return {name: _decoder(hint, name) for name, hint in get_type_hints(kind).items()}


def _decoder(hint: Any, name: str) -> Decoder:
    """Return what turns JSON into a value of the type, or into a misfit; None always is one, as it says nothing."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union([_decoder(option, name) for option in arguments])
    if origin is Literal:
        return _when(lambda value: isinstance(value, str | int) and value in arguments)
    if origin is tuple:
        return _tuple(_decoder(arguments[0], name))
    if origin is dict:
        return _dict(_decoder(arguments[1], name))
    if is_dataclass(hint):
        return lambda value: _MISFIT if (made := build(hint, value)) is None else made  # type: ignore[arg-type]
    if hint is float:
        return lambda value: _MISFIT if number(value) is None else value
    if hint is int:
        return _when(is_size if name.endswith("bytes") else _is_whole)
    return _when(lambda value: isinstance(value, hint))


def _when(fits: Callable[[Any], bool]) -> Decoder:
    return lambda value: value if fits(value) else _MISFIT


def _union(options: list[Decoder]) -> Decoder:
    def decode(value: Any) -> Any:
        if value is not None:
            for option in options:
                if (made := option(value)) is not _MISFIT:
                    return made
        return _MISFIT

    return decode


def _tuple(item: Decoder) -> Decoder:
    def decode(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return _MISFIT
        return tuple(made for entry in value if (made := item(entry)) is not _MISFIT)

    return decode


def _dict(item: Decoder) -> Decoder:
    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            return _MISFIT
        decoded = {key: item(entry) for key, entry in value.items() if isinstance(key, str)}
        return {key: entry for key, entry in decoded.items() if entry is not _MISFIT}

    return decode
