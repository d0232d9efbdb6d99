"""How many processes and threads the kernel's control groups hold, and may hold.

The files are called alike in both versions (Documentation/admin-guide/cgroup-v1/pids.rst, cgroup-v2.rst).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .procfs import ProcFile

if TYPE_CHECKING:
    from .cgroup_membership import Membership


class PidsMeter:
    """The nearest control group with a limit of processes."""

    def __init__(self, membership: Membership) -> None:
        places = membership.places("pids", 1) or membership.places("pids", 2)
        self._levels = [
            (ProcFile(f"{at.directory}/pids.current"), ProcFile(f"{at.directory}/pids.max")) for at in places
        ]

    def amounts(self) -> dict[str, int | None]:
        """How many there are and may be; None for both where nothing limits them."""
        for current, most in self._levels:
            limit = most.number()
            if limit is not None:
                return {"pids_current": current.number(), "pids_limit": limit}
        return {"pids_current": None, "pids_limit": None}

    def close(self) -> None:
        """Close the files."""
        for files in self._levels:
            for file in files:
                file.close()
