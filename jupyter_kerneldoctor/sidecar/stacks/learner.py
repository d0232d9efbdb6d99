"""Has a child learn the layout, so that what it needs for that leaves the sidecar's memory with it.

The child is a fork, or, when the kernel runs another Python than the sidecar, that Python.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time

from .layout import Interpreter, Layout, NotUnderstoodError, Runtime

_PATIENCE_S = 10.0
_HIGHEST = 1 << 16  # Linux closes such a range with one call; the sidecar has some dozens open

_OLDEST = (3, 11)
_PYTHON = re.compile(r"python\d*(\.\d+)?t?")
_PROGRAM = os.path.join(os.path.dirname(__file__), "__main__.py")


class Learner:
    """A child at work. Nothing here waits for it."""

    def __init__(self, pid: int) -> None:
        """Start it for this process. Raises OSError when there can be no child, NotUnderstoodError."""
        program = f"/proc/{pid}/exe"
        is_own = os.path.samestat(os.stat("/proc/self/exe"), os.stat(program))
        python = None if is_own else os.readlink(program)
        if python is not None and not _PYTHON.fullmatch(os.path.basename(python)):
            raise NotUnderstoodError(
                "the kernel runs another program than the recorder, and not one that is called Python"
            )
        self._fd, theirs = os.pipe()
        os.set_blocking(self._fd, False)
        self._since = time.monotonic()
        self._said = b""
        try:
            self._child = _fork(theirs) if python is None else _spawn(python, theirs)
        except OSError:
            os.close(self._fd)
            raise
        finally:
            os.close(theirs)
        self.is_done = False
        self.layout: Layout | None = None
        self.interpreter: Interpreter | None = None
        """In the child. Of a fork all addresses are those of this process."""
        self.problem = ""
        """Why there is no layout."""

    def look(self) -> None:
        """See whether the child has finished; one that takes too long is ended."""
        try:
            while piece := os.read(self._fd, 65536):
                self._said += piece
        except BlockingIOError:
            if time.monotonic() - self._since < _PATIENCE_S:
                return
            os.kill(self._child, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._child, 0)
        self.is_done = True
        try:
            said = json.loads(self._said)
            runtime, file, start = said["interpreter"]
            self.layout, self.interpreter = Layout(**said["layout"]), Interpreter(Runtime(*runtime), file, start)
        except (ValueError, TypeError, KeyError):
            self.problem = self._said.decode("utf-8", "replace") or "the kernel's Python is not understood"


def _fork(theirs: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            # A copy of the socket to the kernel would let it believe in a sidecar that is gone.
            os.closerange(0, theirs)
            os.closerange(theirs + 1, _HIGHEST)
            os.write(theirs, learnt())
        finally:
            os._exit(0)
    return child


def _spawn(python: str, theirs: int) -> int:
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    says = (os.POSIX_SPAWN_DUP2, theirs, 1)
    return os.posix_spawn(python, [python, "-I", "-S", _PROGRAM], os.environ, file_actions=[*nowhere, says])


def learnt() -> bytes:
    """What a child says: layout and interpreter as JSON, or a few words about what went wrong."""
    if sys.version_info < _OLDEST:
        return b"the kernel's Python is older than 3.11"
    try:
        from .learn import learn  # noqa: PLC0415 - only the child needs ctypes
        from .own import own_runtime  # noqa: PLC0415
        from .trial import try_out  # noqa: PLC0415
        from .twin import located  # noqa: PLC0415

        layout = learn()
        try_out(layout)
        return json.dumps({"layout": layout._asdict(), "interpreter": located(own_runtime())}).encode()
    except Exception as error:
        return f"the kernel's Python is not understood ({type(error).__name__}: {error})".encode()
