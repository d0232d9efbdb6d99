"""Deletes what is too old, too much or too big of earlier recordings, beside the watch and not before it."""

from __future__ import annotations

import _thread
import math
import time
from typing import TYPE_CHECKING

from ...recording.retention import Policy, prune
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_AFTER_S = 2.0


class RetentionObserver(Observer):
    """Takes one turn, in a thread of its own: there may be many files, or a disk that does not answer."""

    def __init__(self, watched: Watched, keep: object = None) -> None:
        """Keep what `keep` says (`recording.retention.Policy`), or what is usual."""
        self._what = watched.directory.parent, Policy.of(keep), watched.directory.name
        self._is_done = False
        self.due_mono_s = time.monotonic() + _AFTER_S

    def turn(self, now_mono_s: float) -> None:  # noqa: ARG002 - it is the time
        """Begin."""
        self.due_mono_s = math.inf
        self._is_done = True
        _thread.start_new_thread(prune, self._what)

    def stop(self) -> None:
        """Do it now if the kernel did not live for long enough: a thousand short ones must not fill the disk."""
        if not self._is_done:
            self._is_done = True
            prune(*self._what)
