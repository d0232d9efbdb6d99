"""Whether the program that started the kernel outlives it: a kernel that finds itself alone leaves by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...recording.processes import identify, is_alive, stat_fields
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_INIT = 1


class ParentObserver(Observer):
    """Remembers who the parent was. It never takes a turn."""

    def __init__(self, watched: Watched) -> None:
        fields = stat_fields(watched.kernel.pid)
        pid = int(fields[1]) if fields is not None else _INIT
        self._parent = identify(pid) if pid > _INIT else None

    def at_end(self) -> dict[str, Any]:
        """Whether it is gone; nothing where there was none from the start, as with a kernel in the background."""
        return {} if self._parent is None else {"parent_gone": not is_alive(self._parent)}
