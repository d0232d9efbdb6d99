"""What the kernel tells the sidecar, as JSON. The two messages of a cell are on the user's time: they are templates."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING, Any

from ..recording.cell_source import WHOLE_CHARACTERS, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .memory import Stretch

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode

_CELL_START = '{"event":"cell_start","seq":%d,"mono_s":%.6f,"execution_count":%s,"cell_id":%s,"rss_before_bytes":%s%s}'
_CELL_END = '{"event":"cell_end","seq":%d,"mono_s":%.6f,"rss_after_bytes":%s,"peak_bytes":%s,"peak_basis":%s%s}'


def message(event: str, mono_s: float, **fields: Any) -> bytes:
    """Any event; fields that are None are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    return _encode({"event": event, "mono_s": mono_s, **known}).encode("ascii")


def cell_start(
    seq: int,
    stretch: Stretch,
    count: int | None,
    cell_id: str | None,
    source: str,
    *,
    beside: Sequence[int] = (),
    longest: int = WHOLE_CHARACTERS,
) -> bytes:
    """A cell begins, beside others. Of a source of more than `longest` characters head and tail are told."""
    text = f',"source":{quote(source)}' if len(source) <= longest else "," + _encode(shortened(source, longest))[1:-1]
    if beside:
        text += f',"beside":{[*beside]}'
    values = (
        seq,
        stretch.started_mono_s,
        _number(count),
        "null" if cell_id is None else quote(cell_id),
        _number(stretch.before_bytes),
        text,
    )
    return (_CELL_START % values).encode("ascii")


def cell_end(seq: int, stretch: Stretch, error: BaseException | None, *, asked_exit: bool) -> bytes:
    """A cell has ended. Of an error only the type is told: its message may hold the user's data."""
    more = "" if error is None else f',"error":{quote(type(error).__name__)}'
    if asked_exit:
        more += ',"asked_exit":true'
    values = (
        seq,
        stretch.ended_mono_s,
        _number(stretch.after_bytes),
        _number(stretch.peak_bytes),
        '"exact"' if stretch.exact else "null",
        more,
    )
    return (_CELL_END % values).encode("ascii")


def _number(value: int | None) -> int | str:
    return "null" if value is None else value
