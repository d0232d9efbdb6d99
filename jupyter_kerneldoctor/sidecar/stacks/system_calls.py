"""Tells which system call a thread waits in: whether that has a time limit, and on whom it waits.

The call and its arguments are in /proc/PID/task/TID/syscall (proc_pid_syscall(5)), which takes the permission to attach
as a debugger. What is not permitted, or not known of this processor, is left out.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from typing import Any

from ..meters.procfs import link_target, list_directory, read_file
from .memory import Memory, UnreadableError

_CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        0: "read", 7: "poll", 23: "select", 43: "read", 45: "read", 47: "read", 61: "wait", 72: "fcntl", 73: "lock",
        202: "futex", 232: "epoll", 247: "wait", 270: "select", 271: "ppoll", 281: "epoll", 288: "read",
    },
    "aarch64": {
        22: "epoll", 25: "fcntl", 32: "lock", 63: "read", 72: "select", 73: "ppoll", 95: "wait", 98: "futex",
        202: "read", 207: "read", 212: "read", 242: "read", 260: "wait",
    },
}  # fmt: skip
"""Numbers of system calls; `read`, `accept` and `recv` all wait on the descriptor that is their first argument."""
_LIMIT_IS_ARGUMENT = {"epoll": 3, "poll": 2}  # in milliseconds, negative: none
_LIMIT_IS_POINTED_AT = {"futex": 3, "select": 4, "ppoll": 2}  # null: none
_WITHOUT_LIMIT = ("read", "wait", "lock")
_WAITS_FOR_A_LOCK = (7, 38)  # F_SETLKW and F_OFD_SETLKW of fcntl(2)
_MOST_DESCRIPTORS = 64
_LOCK_FILE = re.compile(r"(?:^|[._-])(?:lock|lck)$")
_NOT_ACCEPTED = "0"  # the socket of a connection that waits for accept()
_LISTENS = "0A"  # of the states in include/net/tcp_states.h


def call_facts(pid: int, thread: int, *, wakers: bool) -> dict[str, Any]:
    """Return `has_limit`, and if asked `wakers` of a wait on descriptors; nothing of what is not known."""
    words = read_file(f"/proc/{pid}/task/{thread}/syscall").split()
    if len(words) < 7 or not words[0].isdigit():
        return {}
    name = _CALLS.get(os.uname().machine, {}).get(int(words[0]))
    arguments = [int(word, 16) for word in words[1:7]]
    if name == "fcntl" and arguments[1] in _WAITS_FOR_A_LOCK:
        name = "lock"
    if name in _WITHOUT_LIMIT:
        found: dict[str, Any] = {"has_limit": False}
    elif name in _LIMIT_IS_ARGUMENT:
        found = {"has_limit": not arguments[_LIMIT_IS_ARGUMENT[name]] & 1 << 31}
    elif name in _LIMIT_IS_POINTED_AT:
        found = {"has_limit": arguments[_LIMIT_IS_POINTED_AT[name]] != 0}
    else:
        return {}
    if name == "lock":
        holders = _holders(pid) if wakers else None
        return found if holders is None else {**found, "wakers": holders}
    descriptors = _descriptors(pid, name or "", arguments) if wakers else None
    return found if descriptors is None else {**found, "wakers": _wakers(pid, descriptors)}


def _holders(pid: int) -> list[str] | None:
    """Return who holds the file's lock that a process waits for: not the process itself. None where that is not told.

    A lock and those that wait for it have the same number in /proc/locks, these behind an arrow (proc_locks(5)).
    """
    rows = [line.split() for line in read_file("/proc/locks").decode("utf-8", "replace").split("\n")]
    waits = {row[0] for row in rows if len(row) > 5 and row[1] == "->" and row[5] == str(pid)}
    held = {row[4] for row in rows if len(row) > 4 and row[1] != "->" and row[0] in waits}
    return sorted(f"process {one}" for one in held if one != str(pid)) if held else None


def _descriptors(pid: int, name: str, arguments: list[int]) -> list[int] | None:
    """Return the descriptors it waits on; None where it waits on none, or they are not known."""
    if name == "read":
        return arguments[:1]
    if name == "epoll":
        lines = read_file(f"/proc/{pid}/fdinfo/{arguments[0]}").split(b"\n")
        return [int(line.split()[1]) for line in lines if line.startswith(b"tfd:")] if lines[0] else None
    if name in ("poll", "ppoll"):
        return _polled(pid, arguments[0], min(arguments[1], _MOST_DESCRIPTORS))
    return None


def _polled(pid: int, address: int, count: int) -> list[int] | None:
    try:
        memory = Memory(pid)
    except OSError:
        return None
    try:
        data = memory.read(address, 8 * count)
    except UnreadableError:
        return None
    finally:
        memory.close()
    return [descriptor for descriptor, _ in struct.iter_unpack("=ii", data) if descriptor >= 0]


def _wakers(pid: int, descriptors: list[int]) -> list[str]:
    """Return who can end the wait from outside, in a few words each: not the process itself."""
    links = [link_target(f"/proc/{pid}/fd/{name}") or "" for name in list_directory(f"/proc/{pid}/fd")]
    tables: dict[str, list[list[str]]] = {}
    found: set[str | None] = set()
    for descriptor in descriptors[:_MOST_DESCRIPTORS]:
        link = link_target(f"/proc/{pid}/fd/{descriptor}") or ""
        kind, _, inode = link.partition(":")
        if kind == "socket":
            for name in () if tables else ("tcp", "tcp6", "unix"):
                lines = read_file(f"/proc/{pid}/net/{name}").decode("utf-8", "replace").split("\n")
                tables[name] = [line.split() for line in lines[1:]]
            found.add(_of_socket(inode[1:-1], tables, links))
        elif kind == "pipe":
            found.add("a pipe" if links.count(link) == 1 else None)
        elif link.startswith(("/dev/pts/", "/dev/tty")):
            found.add("the keyboard")
        elif "[eventfd]" not in link:  # a number within the process
            found.add("an event" if link.startswith("anon_inode") else "a file")
    return sorted(waker for waker in found if waker)


def _of_socket(inode: str, tables: dict[str, list[list[str]]], links: list[str]) -> str | None:
    """Return who is at the other end; None where it is the process itself."""
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        rows = [row for row in tables[table] if len(row) > 9]
        row = next((row for row in rows if row[9] == inode), None)
        if row is None:
            continue
        if row[3] == _LISTENS:
            return f"whoever connects to port {int(row[1].rpartition(':')[2], 16)}"
        other = next((one[9] for one in rows if (one[1], one[2]) == (row[2], row[1])), None)
        if other == _NOT_ACCEPTED:
            other = next((one[9] for one in rows if (one[1], one[3]) == (row[2], _LISTENS)), None)
        return None if f"socket:[{other}]" in links else _address(family, row[2])
    local = next((row for row in tables["unix"] if len(row) > 6 and row[6] == inode), None)
    if local is None:
        return "a connection"
    # An unnamed one is half of a pair, as an event loop has to wake itself; a child may have the other half.
    return f"whoever connects to {local[7]}" if len(local) > 7 else None


def _address(family: int, written: str) -> str:
    """Return "10.0.0.1:443" for what the table has: 32-bit words in the byte order of the machine, in hexadecimal."""
    host, _, port = written.partition(":")
    words = [struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8)]
    name = socket.inet_ntop(family, b"".join(words))
    return f"{name}:{int(port, 16)}" if family == socket.AF_INET else f"[{name}]:{int(port, 16)}"


def reads_terminal(pid: int) -> bool:
    """Whether a process waits for a key, as a program that asks for an answer does."""
    words = read_file(f"/proc/{pid}/syscall").split()
    if words and words[0].isdigit():
        is_read = _CALLS.get(os.uname().machine, {}).get(int(words[0])) == "read"
        descriptor = int(words[1], 16) if is_read and len(words) > 1 else -1
    else:  # not permitted: a read of the terminal waits in these
        descriptor = 0 if read_file(f"/proc/{pid}/wchan") in (b"wait_woken", b"n_tty_read") else -1
    return os.path.basename(os.path.dirname(link_target(f"/proc/{pid}/fd/{descriptor}") or "")) == "pts"


def open_lock_files(kernel_pid: int) -> list[str]:
    """Return the lock files that other processes have open, as far as these may be looked at."""
    found: set[str] = set()
    for pid in list_directory("/proc"):
        if pid.isdigit() and int(pid) != kernel_pid:
            links = (link_target(f"/proc/{pid}/fd/{name}") or "" for name in list_directory(f"/proc/{pid}/fd"))
            found.update(link for link in links if _LOCK_FILE.search(os.path.basename(link)))
    return sorted(found)[:_MOST_DESCRIPTORS]
