"""What the sidecar needs to read this process's Python stacks from outside: addresses and, under Yama, a permission."""

from __future__ import annotations

import ctypes
import sys
import types
from pathlib import Path

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_ONLY_DESCENDANTS = "1"
_PR_SET_PTRACER = 0x59616D61  # prctl(2)


def runtime() -> list[int] | None:
    """Where the interpreter and the types of what a stack is made of lie; None where stacks are not read anyway.

    The order is that of `sidecar.stacks.layout.Runtime`.
    """
    if sys.platform != "linux" or sys.implementation.name != "cpython":
        return None
    # An object of our own: the result type of `ctypes.pythonapi` is everybody's.
    function = ctypes.PyDLL(None).PyInterpreterState_Get
    function.restype = ctypes.c_void_p
    return [function(), id(types.CodeType), id(str), id(bytes), id(None)]


def permit(sidecar_pid: int | None) -> None:
    """Let the sidecar read this process's memory where Yama lets only ancestors do so (ptrace_scope 1 in ptrace(2)).

    The sidecar is no ancestor. Nothing else is permitted to it, and nothing to other processes.
    """
    try:
        scope = _YAMA.read_text().strip()
    except OSError:
        return
    if scope == _ONLY_DESCENDANTS and sidecar_pid is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(sidecar_pid), 0, 0, 0)
