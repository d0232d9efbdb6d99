"""The machine and the process at a moment: limits, file systems, threads."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jupyter_kerneldoctor.recording.events import FileSystem, Incident, Rlimit, SystemState
from jupyter_kerneldoctor.recording.model import Recording

_RECENT_S = 10.0
_SOON_S = 2.0

FULL = 0.002
"""A file system with less than this share left is full: what is left is less than a write wants."""

NEARLY_FULL = 0.02

_A_PAGE = 64 * 1024  # bytes; the largest page Linux uses by default anywhere


@dataclass(frozen=True)
class Environment:
    """What was recorded of the machine and the process up to a moment, oldest first."""

    system_states: tuple[SystemState, ...]
    moment_s: float | None = None

    @cached_property
    def known(self) -> SystemState:
        """The newest known value of each field: one record need not hold all of them."""
        merged: dict[str, Any] = {}
        for one in reversed(self.system_states):
            for name, value in vars(one).items():
                if value not in (None, (), {}) and name not in merged:
                    merged[name] = value
        return SystemState(**{"mono_s": 0.0, "when": "end", **merged})

    def soft_limit(self, name: str) -> int | None:
        """Return the limit that is in force; None when there is none, or it is not known."""
        return self.known.rlimits.get(name, Rlimit()).soft

    @cached_property
    def filesystems(self) -> tuple[FileSystem, ...]:
        """Each file system at its fullest in the last moments.

        The unnamed files of a process disappear with it, so that there can be more room after its death.
        """
        fullest: dict[str, FileSystem] = {}
        for filesystem in (one for around in self._last_moments for one in around.filesystems):
            known = fullest.get(filesystem.path)
            if known is None or _fullness(filesystem) >= _fullness(known):
                fullest[filesystem.path] = filesystem
        return tuple(fullest.values())

    @cached_property
    def full(self) -> tuple[FileSystem, ...]:
        """The file systems on which nothing more could be written, fullest first."""
        return tuple(sorted((one for one in self.filesystems if is_full(one)), key=lambda one: one.free_bytes or 0))

    @cached_property
    def shrunk(self) -> tuple[str, ...]:
        """Files that are mapped and have become shorter than their mapping."""
        return tuple(
            dict.fromkeys(
                file for around in self._last_moments for one in around.filesystems for file in one.shrunk_files
            )
        )

    @property
    def _last_moments(self) -> tuple[SystemState, ...]:
        """What was recorded in the last seconds, and the newest record before them."""
        if self.moment_s is None:
            return self.system_states[-1:]
        begin_s = self.moment_s - _RECENT_S
        recent = tuple(one for one in self.system_states if one.mono_s >= begin_s)
        earlier = tuple(one for one in self.system_states if one.mono_s < begin_s)
        return (*earlier[-1:], *recent)


def at_the_end(recording: Recording) -> Environment:
    """Return the machine and the process at the end of the recording."""
    ordered = sorted(recording.system_states, key=lambda one: one.mono_s)
    return Environment(tuple(ordered), None if recording.end is None else recording.end.mono_s)


def at_incident(recording: Recording, incident: Incident) -> Environment:
    """Return the machine and the process when an incident happened."""
    seen = (one for one in recording.system_states if one.mono_s <= incident.mono_s or _is_about(one, incident))
    own = () if incident.surroundings is None else (incident.surroundings,)
    return Environment((*sorted(seen, key=lambda one: one.mono_s), *own), incident.mono_s)


def _is_about(around: SystemState, incident: Incident) -> bool:
    """Return whether it was recorded because of the incident, which takes a moment."""
    return around.when == "incident" and around.mono_s <= incident.mono_s + _SOON_S


def is_full(filesystem: FileSystem, share: float = FULL) -> bool:
    """Return whether nothing more can be written to it by this user."""
    if filesystem.free_bytes is None:
        return False
    return filesystem.free_bytes <= max(_A_PAGE, share * (filesystem.total_bytes or 0))


def _fullness(filesystem: FileSystem) -> float:
    return -1.0 if filesystem.free_bytes is None else 1 / (1 + filesystem.free_bytes)
