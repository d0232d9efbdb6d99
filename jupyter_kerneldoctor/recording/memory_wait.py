"""Looks whether Linux has stopped a kernel at its memory limit: its recorder may have been stopped with it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from .events import SystemState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Limit

_GROUPS = "/sys/fs/cgroup/"
_MOST_BYTES = 4096


def waits_for_memory(limits: Iterable[Limit], now_mono_s: float) -> SystemState | None:
    """Return what memory.oom_control says of a limit that is reached with the killer switched off; else None.

    Control groups of version 1 have that file. A recording may name any file, so only theirs is read.
    """
    for limit in limits:
        group = PurePath(limit.source).parent
        if limit.kind != "cgroup" or not limit.source.startswith(_GROUPS) or ".." in group.parts:
            continue
        try:
            with open(group / "memory.oom_control", encoding="ascii") as file:
                lines = file.read(_MOST_BYTES).splitlines()
        except (OSError, ValueError):
            continue
        if "under_oom 1" in lines and "oom_kill_disable 1" in lines:
            return SystemState(now_mono_s, "stuck", under_oom=True, oom_killer_disabled=True)
    return None
