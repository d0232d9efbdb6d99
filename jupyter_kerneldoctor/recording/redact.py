"""Removes the user's code and names from a recording, so that somebody else may see it.

Removed are the sources of the cells, what the program printed, the names of variables, of the notebook and of the
machine; the home directory becomes `~`. Numbers, times, types, and the files and functions of stacks are kept.
"""

from __future__ import annotations

import json
from typing import Any

from .journal import values
from .layout import CRASH

_LEFT_OUT = "left out"

_PRIVATE: dict[str, Any] = {
    "notebook": None,
    "hostname": None,
    "stderr": _LEFT_OUT,
    "text": _LEFT_OUT,
    "shrunk_files": [],
}
"""What replaces the value of a field, wherever it is in an event."""


def redacted(name: str, content: bytes, home: str) -> bytes:
    """Return the content of one file of a recording, redacted."""
    if name == CRASH:
        return _without_home(content.decode("utf-8", "replace"), home).encode()
    lines = (json.dumps(_redact(line), separators=(",", ":")) for line in values(content))
    return _without_home("".join(f"{line}\n" for line in lines), home).encode("utf-8", "replace")


def _redact(value: Any) -> Any:
    if isinstance(value, list):
        return [_redact(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    hidden = {name: _PRIVATE[name] for name in value if name in _PRIVATE}
    if isinstance(value.get("source"), str) and value.get("event") == "cell_start":
        hidden["source"] = _blank(value["source"])
        hidden |= {"cell_id": None} if "source_sha256" not in value else {"cell_id": None, "source_sha256": None}
    if value.get("event") == "namespace":
        hidden["objects"] = [
            {**_redact(entry), "name": f"object {number}"} if isinstance(entry, dict) else None
            for number, entry in enumerate(value.get("objects") or [], 1)
        ]
    return {name: hidden[name] if name in hidden else _redact(entry) for name, entry in value.items()}


def _blank(source: str) -> str:
    """Return a source with as many lines, so that line numbers stay valid."""
    return "# code left out" + "\n#" * source.count("\n")


def _without_home(text: str, home: str) -> str:
    return text.replace(home, "~") if len(home) > 1 else text
