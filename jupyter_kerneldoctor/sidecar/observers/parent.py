"""Observes whether the program that started the kernel still runs: a kernel whose parent is gone ends by itself.

It records when that program was last seen, too: one that ended long before has nothing to do with the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...recording.processes import identify, is_alive, stat_fields
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_INIT = 1
_LOOK_S = 1.0
"""As often as the kernel itself checks (ipykernel's parent poller)."""


class ParentObserver(Observer):
    """Checks after a sample whether the parent still runs; never takes a turn of its own."""

    def __init__(self, watched: Watched) -> None:
        fields = stat_fields(watched.kernel.pid)
        pid = int(fields[1]) if fields is not None else _INIT
        self._parent = identify(pid) if pid > _INIT else None
        self._seen_mono_s: float | None = None
        self._due_mono_s = 0.0
        watched.after_sample.append(self._after_sample)

    def _after_sample(self, now_mono_s: float) -> None:
        if self._parent is not None and now_mono_s >= self._due_mono_s:
            self._due_mono_s = now_mono_s + _LOOK_S
            if is_alive(self._parent):
                self._seen_mono_s = now_mono_s

    def at_end(self) -> dict[str, Any]:
        """Return whether it is gone; nothing where there was none from the start, as for a kernel in the background."""
        if self._parent is None:
            return {}
        return {"parent_gone": not is_alive(self._parent), "parent_seen_mono_s": self._seen_mono_s}
