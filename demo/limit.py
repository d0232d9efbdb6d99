"""The memory limit of the demo: that of a group of processes where this account may set one, else of one process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.trial.memory_limit import Limit, NoMemoryLimitError, memory_limit

if TYPE_CHECKING:
    from contextlib import ExitStack

ONE_PROCESS_BYTES = 400 << 20
"""More than the group has: RLIMIT_DATA also counts what is reserved, 120 MiB for the stacks of a kernel's threads."""


def set_limit(stack: ExitStack, limit_bytes: int) -> Limit:
    """Return the limit in force until the stack is closed, and say what it is; of the kind `none` off Linux."""
    try:
        limit = stack.enter_context(memory_limit(limit_bytes))
    except NoMemoryLimitError:
        if sys.platform != "linux":
            print("On this system no memory limit can be set for the kernel.")
            return Limit("none", [])
        print("Your account may not limit memory as a container does: no control group, no systemd session.")
        # Each thread reserves memory: with one per processor, what is left for data would differ between machines.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        limit_bytes = ONE_PROCESS_BYTES
        print(f"So the kernel may have {limit_bytes >> 20} MiB (ulimit -d). Pandas crashes when it is refused more.")
        shell = ["/bin/sh", "-c", 'ulimit -d "$0" && exec "$@"', str(limit_bytes >> 10)]
        return Limit("ulimit -d", shell, refuses_bytes=limit_bytes)
    print(f"The kernel runs under a limit of {limit_bytes >> 20} MiB, set by {limit.kind}.")
    return limit
