"""Sends the biggest variables at the end of a cell, if memory has changed since the last time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import messages

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .link import Link
    from .memory import Stretch

_STEP_BYTES = 5 << 20
"""The change of memory that is worth examining the variables again."""


class NamespaceWatch:
    """Examines the variables when the memory has changed since the last time."""

    def __init__(self) -> None:
        self._rss_bytes: int | None = None
        self._sent: list[tuple[Any, ...]] = []
        self._looks_again = False
        """Whether the last look had too little time, as may happen on a busy machine, and was the first such."""

    def look(self, shell: InteractiveShell, link: Link, seq: int, stretch: Stretch) -> None:
        """Send the biggest variables, unless the same were sent before, and whether these are all."""
        now_bytes = stretch.after_bytes
        if now_bytes is None:
            return
        if self._rss_bytes is None:
            self._rss_bytes = stretch.before_bytes or now_bytes
        if abs(now_bytes - self._rss_bytes) <= _STEP_BYTES and not self._looks_again:
            return
        self._rss_bytes = now_bytes
        from .largest_variables import biggest  # noqa: PLC0415 - many kernels never need it

        objects, complete = biggest(shell.user_ns, shell.user_ns_hidden)
        self._looks_again = not complete and not self._looks_again
        brief: list[tuple[Any, ...]] = [(found["name"], found["bytes"] // _STEP_BYTES) for found in objects]
        brief.append((complete,))
        if brief != self._sent:
            self._sent = brief
            link.send(messages.message("namespace", time.monotonic(), cell_seq=seq, objects=objects, complete=complete))
