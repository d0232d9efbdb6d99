"""Discovers the layout in a child process, so that the modules it takes never fill the sidecar's memory.

The child is a fork of the sidecar, or the kernel's Python where that is another one (`privileges`).
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from .layout import Interpreter, Layout, Runtime
from .privileges import open_interpreter

if TYPE_CHECKING:
    from .privileges import File

_PATIENCE_S = 10.0
_OUTLIVES_S = 20
"""A child ends then by itself: nobody else ends it where the sidecar is killed meanwhile."""
_HIGHEST = 1 << 16  # Linux closes such a range with one call; the sidecar has some dozens open

_OLDEST = (3, 11)
_MOST_BYTES = 64 * 1024
"""The child writes some 2 KiB."""
_LONGEST_PROBLEM = 400
_PROGRAM = os.path.join(os.path.dirname(__file__), "__main__.py")


class DiscoveryProcess:
    """A child at work, for which nothing here waits."""

    def __init__(self, pid: int, interpreter: File | None = None, *, executes: bool = False) -> None:
        """Start it for the process `pid`; `interpreter` is the file that process was started with, if known.

        With `executes`, or where this process has threads, the child executes Python in any case: a fork of such a
        process may do nothing else, as it could wait for ever for what another thread held, such as an import.
        Raises OSError when no child can be started, UnexpectedLayoutError when the interpreter may not be run.
        """
        executes = executes or len(os.listdir("/proc/self/task")) > 1
        is_own = os.path.samestat(os.stat("/proc/self/exe"), os.stat(f"/proc/{pid}/exe"))
        program = None if is_own else open_interpreter(pid, interpreter)
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self._fd: int | None = ours
        self._since = time.monotonic()
        self._said = b""
        try:
            if program is None or interpreter is None:
                self._child = _fork_and_execute(sys.executable, theirs) if executes else _fork(theirs)
            elif executes:
                self._child = _fork_and_execute(interpreter[0], theirs, program)
            else:
                self._child = _spawn(program, interpreter[0], theirs)
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
            if program is not None:
                os.close(program)
        self.is_done = False
        self._lock = _thread.allocate_lock()
        self.layout: Layout | None = None
        self.interpreter: Interpreter | None = None
        """The child's interpreter. A fork has the same addresses as this process."""
        self.problem = ""
        """Why there is no layout."""

    def poll(self) -> None:
        """Check whether the child has finished; end one that takes too long or writes too much."""
        if not self.is_done and self._lock.acquire(blocking=False):
            try:
                self._poll()
            finally:
                self._lock.release()

    def _poll(self) -> None:
        if self._fd is not None:
            try:
                while len(self._said) <= _MOST_BYTES and (piece := os.read(self._fd, _MOST_BYTES)):
                    self._said += piece
            except BlockingIOError:
                if time.monotonic() - self._since < _PATIENCE_S:
                    return
            os.close(self._fd)
            self._fd = None
            os.kill(self._child, signal.SIGKILL)  # it has written everything, or is too slow
        if os.waitpid(self._child, os.WNOHANG)[0] == 0:
            return
        try:
            said = json.loads(self._said)
            runtime, file, start = said["interpreter"]
            self.layout, self.interpreter = Layout(**said["layout"]), Interpreter(Runtime(*runtime), file, start)
        except (ValueError, TypeError, KeyError):
            words = self._said[:_LONGEST_PROBLEM].decode("utf-8", "replace")
            self.problem = words or "the kernel's Python is not understood"
        self.is_done = True


_shared: dict[tuple[int, ...], DiscoveryProcess] = {}


def shared_discovery(pid: int, interpreter: File | None = None) -> DiscoveryProcess:
    """Return the discovery for the program that a process runs, which is the same for all that run it.

    Raises as `DiscoveryProcess` does.
    """
    status = os.stat(f"/proc/{pid}/exe")
    program = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _shared.get(program)
    if known is None or known.problem:
        known = _shared[program] = DiscoveryProcess(pid, interpreter, executes=True)
    return known


def _fork(theirs: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(_OUTLIVES_S)
            # With a copy of the socket open here, the kernel would not notice that its sidecar is gone.
            os.closerange(0, theirs)
            os.closerange(theirs + 1, _HIGHEST)
            os.write(theirs, discovery_result())
        finally:
            os._exit(0)
    return child


def _fork_and_execute(path: str, theirs: int, program: int | None = None) -> int:
    """As `_spawn`, without waiting until the program has been read from its disk, which may not answer."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(_OUTLIVES_S)
            os.dup2(theirs, 1)
            os.execve(path if program is None else f"/proc/self/fd/{program}", *_command(path))  # noqa: S606 - no shell
        finally:
            os._exit(0)
    return child


def _command(path: str) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the environment."""
    environment = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
    return [path, "-I", "-S", _PROGRAM], environment


def _spawn(program: int, path: str, theirs: int) -> int:
    """Run the file that is open as `program`: by now its path may lead to another."""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    says = (os.POSIX_SPAWN_DUP2, theirs, 1)
    return os.posix_spawn(f"/proc/self/fd/{program}", *_command(path), file_actions=[*nowhere, says])


def discovery_result() -> bytes:
    """Return what the child writes: layout and interpreter as JSON, or a few words about what went wrong."""
    if sys.version_info < _OLDEST:
        return b"the kernel's Python is older than 3.11"
    try:
        from .layout_check import check_layout  # noqa: PLC0415
        from .layout_discovery import discover_layout  # noqa: PLC0415 - only the child needs ctypes
        from .own_interpreter import own_runtime  # noqa: PLC0415
        from .relocation import locate_interpreter  # noqa: PLC0415

        layout = discover_layout()
        check_layout(layout)
        return json.dumps({"layout": layout._asdict(), "interpreter": locate_interpreter(own_runtime())}).encode()
    except Exception as error:
        return f"the kernel's Python is not understood ({type(error).__name__}: {error})".encode()
