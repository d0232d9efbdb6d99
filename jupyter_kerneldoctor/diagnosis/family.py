"""The families of causes: what the rest of the diagnosis asks, in place of a cause's id."""

from enum import Enum


class Family(str, Enum):
    """What kind of end a cause speaks of. The values are part of the public JSON."""

    __str__ = str.__str__

    MEMORY = "memory"
    """The machine, a container or a process limit had no memory left."""
    NATIVE_CRASH = "native-crash"
    """Native code crashed or gave up."""
    GPU = "gpu"
    """A graphics card, its driver or its memory."""
    LIMIT = "limit"
    """Something else ran out: threads, open files, disk space, shared memory, processor time."""
    STUCK = "stuck"
    """The kernel lives and does nothing, and nobody is left who could wake it."""
    OWN_END = "own-end"
    """The code that ran ended the kernel."""
    OUTSIDE = "outside"
    """Another process ended the kernel; the cell may be innocent."""
    START = "start"
    """The kernel never started."""
    ALIVE = "alive"
    """The kernel lives, and nothing is wrong with it."""
    ORDINARY_END = "ordinary-end"
    """The kernel ended as it was asked to."""
    UNKNOWN = "unknown"
    """No cause fits."""
