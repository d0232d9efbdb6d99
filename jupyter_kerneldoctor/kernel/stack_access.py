"""Gives the sidecar what it needs to read this process's Python stacks: addresses and, under Yama, permission."""

import ctypes
import sys
import types
from pathlib import Path

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_ONLY_DESCENDANTS = "1"
_PR_SET_PTRACER = 0x59616D61  # prctl(2)


def runtime() -> list[int] | None:
    """Return the addresses of the interpreter and of the types in a stack, in the order of `layout.Runtime`.

    None where stacks cannot be read: on other systems than Linux, and in other interpreters than CPython.
    """
    if sys.platform != "linux" or sys.implementation.name != "cpython":
        return None
    # A library object of our own: all code shares the result types of `ctypes.pythonapi`.
    function = ctypes.PyDLL(None).PyInterpreterState_Get
    function.restype = ctypes.c_void_p
    return [function(), id(types.CodeType), id(str), id(bytes), id(None)]


def permit(sidecar_pid: int | None) -> None:
    """Let the sidecar read this process's memory where Yama allows only ancestors (ptrace_scope 1 in ptrace(2)).

    The sidecar is no ancestor. Other processes get no permission.
    """
    try:
        scope = _YAMA.read_text().strip()
    except OSError:
        return
    if scope == _ONLY_DESCENDANTS and sidecar_pid is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(sidecar_pid), 0, 0, 0)
