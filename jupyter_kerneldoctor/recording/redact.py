"""Removes what is the user's own from a recording, so that somebody else may see it.

Of each event only the `public_fields` are kept: numbers, times, words of ours, of Linux and of known
libraries, the files and functions of stacks. Anything else is left out, also what a later version may record, and is
listed. In what is kept the home directory becomes `~` and the user's name `user`, before it is written as JSON, which
would escape it.
"""

import json
import re
from typing import Any

from .journal import values
from .layout import CRASH, GPU, OUTPUT, RECENT, SAMPLES
from .public_fields import EVENTS, GPU_FIELDS, OUTPUT_FIELDS, Fields, Numbered
from .redaction_rules import LEFT_OUT, UserNames, is_number

_CRASH_LINES = re.compile(
    r"Fatal Python error: [\w .,:()+-]*|Current thread 0x[0-9a-f]+|Thread 0x[0-9a-f]+"
    r'|  File ".*", line (\d+|\?\?\?) in .*'
    r"|  <no Python frame>|  Garbage-collecting|  \.\.\.|Python runtime state: [\w ]+|Timeout \([\d:.]+\)!"
)
"""What faulthandler writes. A line of anything else is the user's; a thread's name and what follows a line is, too."""


class Redaction:
    """One export: what the user is called, and what was left out."""

    def __init__(self, home: str) -> None:
        self.left_out: set[str] = set()
        """Names of fields, as `event.field`."""
        self.user = UserNames(home)

    def file(self, name: str, content: bytes) -> bytes:
        """Return the content of a file of a recording, without what is the user's own."""
        if name == CRASH:
            return self._crash_text(content.decode("utf-8", "replace")).encode("utf-8", "replace")
        lines = (self._line(name, value) for value in values(content))
        return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines if line is not None)

    def _crash_text(self, text: str) -> str:
        kept = []
        for line in text.splitlines():
            found = _CRASH_LINES.match(line)
            kept.append(LEFT_OUT if found is None else self.user.hidden_in(found[0]))
            if found is None and line:
                self.left_out.add("text in crash.txt")
        return "".join(f"{line}\n" for line in kept)

    def _line(self, name: str, value: Any) -> Any:
        if name in (SAMPLES, *RECENT):
            return self._row(value)
        if name in OUTPUT:
            return self._object("output", value, OUTPUT_FIELDS)
        if name in GPU:
            return self._object("gpu", value, GPU_FIELDS)
        kind = value.get("event") if isinstance(value, dict) else None
        fields = EVENTS.get(kind) if isinstance(kind, str) else None
        if fields is None:
            self.left_out.add(f"{kind if isinstance(kind, str) and kind.isidentifier() else 'what is no event'}")
            return None
        return self._object(str(kind), value, fields)

    def _row(self, value: Any) -> Any:
        names = isinstance(value, list) and all(isinstance(cell, str) and cell.isidentifier() for cell in value)
        return value if names or (isinstance(value, list) and all(map(is_number, value))) else None

    def _object(self, where: str, value: Any, fields: Fields) -> dict[str, Any] | None:
        """Return the fields of an object that are public; None for what is no object."""
        if not isinstance(value, dict):
            return None
        kept: dict[str, Any] = {}
        for name, entry in value.items():
            place = f"{where}.{name}"
            rule = fields.get(name)
            if entry is None:
                if rule is not None:
                    kept[name] = None
            elif rule is None:
                self.left_out.add(place if name.isidentifier() else f"{where} (a field without a name)")
            else:
                kept[name] = self._value(place, entry, rule)
        return kept

    def _value(self, place: str, value: Any, rule: Any) -> Any:
        if isinstance(rule, dict):
            return self._object(place, value, rule)
        if isinstance(rule, list):
            entries = value if isinstance(value, list) else []
            return [kept for entry in entries if (kept := self._value(place, entry, rule[0])) is not None]
        try:
            if isinstance(rule, Numbered):
                objects = self._value(place, value, [rule.fields])
                kept = [{**one, "name": f"object {number}"} for number, one in enumerate(objects, 1)]
            else:
                kept = rule(value, self.user)
        except (TypeError, ValueError, AttributeError):  # a damaged recording has lists where text belongs
            kept = None
        if kept != value:
            self.left_out.add(place)
        return kept
