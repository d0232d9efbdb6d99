"""The parts of the sidecar's loop: observers, each with one subject, and what they share."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from .journal import current_traceback

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..recording.processes import ProcessIdentity
    from ..recording.samples import Sample
    from .journal import Journal


class Watched:
    """The kernel that is watched, and what more than one observer needs to know of it."""

    def __init__(self, directory: Path, journal: Journal, kernel: ProcessIdentity) -> None:
        self.directory = directory
        self.journal = journal
        self.kernel = kernel
        self.running: list[int] = []
        """The cells that run, by number; more than one where threads run cells beside each other (subshells)."""
        self.sample: Sample | None = None
        """The newest sample; None before the first, and once the process is being killed."""
        self.limits: list[dict[str, Any]] = []
        """The memory limits in force, as `recording.model.Limit`."""
        self.groups: list[dict[str, Any]] = []
        """The control groups at the newest sample, the kernel's own first (`meters.cgroup.Level.reading`)."""
        self.under_oom: bool | None = None
        """Whether a limit of these groups is reached and nobody is killed; None where that is not known."""
        self.children: list[int] = []
        """The living processes below the kernel that have been found."""
        self.tree_bytes: int | None = None
        """Memory of the kernel and its children (`recording.samples.Sample`)."""
        self.children_bytes = 0
        """What of it the children hold."""
        self.look_thread: int | None = None
        """The thread of ours in the kernel (`kernel.look_thread`), by the system's number; it is none of the user's."""
        self.after_sample: list[Callable[[float], None]] = []
        """Called with the time after each sample, for what is not worth a wakeup of its own."""
        self.record_system_state: Callable[[str], None] = _record_nothing
        """Records the state of machine and process now; takes the reason (`recording.events.SystemState.when`)."""

    @property
    def is_busy(self) -> bool:
        """Whether a cell runs."""
        return bool(self.running)

    def run_after_sample(self, now_mono_s: float) -> None:
        """Call what is in `after_sample`. A callback that fails is dropped; the others go on."""
        for callback in list(self.after_sample):
            try:
                callback(now_mono_s)
            except Exception:
                self.note("fault", traceback=current_traceback())
                self.after_sample.remove(callback)

    def note(self, event: str, **fields: Any) -> bool:
        """Write an event into the journal, with the time; return whether it is in the file."""
        stamps = {"mono_s": time.monotonic(), "wall_s": time.time()}
        return self.journal.write({"event": event, **stamps, **fields})


def _record_nothing(_why: str) -> None:
    pass


class Observer:
    """One subject. It is given a turn when it is due, hears what the kernel says, and has a last word at the end.

    All of it on the loop's time: a turn that takes long delays the next sample. Nothing here may block.
    """

    due_mono_s: float = math.inf
    """When it wants its next turn."""

    def turn(self, now_mono_s: float) -> None:
        """Look, and say when to look again by `due_mono_s`."""

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """The kernel said something (`recording` names the events)."""

    def at_end(self) -> dict[str, Any]:
        """The kernel has ended. Return fields for the `end` event; write own events before."""
        return {}

    def stop(self) -> None:
        """The recording is switched off, or over."""
