"""Has a forked child learn the layout, so that what it needs for that leaves the sidecar's memory with it."""

from __future__ import annotations

import json
import os
import signal
import time

from .layout import Layout, Runtime

_PATIENCE_S = 10.0
_HIGHEST = 1 << 16  # Linux closes such a range with one call; the sidecar has some dozens open


class Learner:
    """A child at work. Nothing here waits for it."""

    def __init__(self) -> None:
        """Start it. Raises OSError when there can be no further process."""
        self._fd, theirs = os.pipe()
        os.set_blocking(self._fd, False)
        self._since = time.monotonic()
        self._said = b""
        self._child = os.fork()
        if self._child == 0:
            try:
                # A copy of the socket to the kernel would let it believe in a sidecar that is gone.
                os.closerange(0, theirs)
                os.closerange(theirs + 1, _HIGHEST)
                os.write(theirs, _learnt())
            finally:
                os._exit(0)
        os.close(theirs)
        self.is_done = False
        self.layout: Layout | None = None
        self.own: Runtime | None = None
        """Where this process's interpreter is; the child's lies at the same place."""
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
            self.layout, self.own = Layout(**said["layout"]), Runtime(*said["runtime"])
        except (ValueError, TypeError, KeyError):
            self.problem = self._said.decode("utf-8", "replace") or "looking at the own interpreter failed"


def _learnt() -> bytes:
    """What the child says: layout and runtime as JSON, or a few words about what went wrong."""
    try:
        from .learn import learn  # noqa: PLC0415 - only the child needs ctypes
        from .own import own_runtime  # noqa: PLC0415
        from .trial import try_out  # noqa: PLC0415

        layout = learn()
        try_out(layout)
        return json.dumps({"layout": layout._asdict(), "runtime": own_runtime()}).encode()
    except Exception as error:
        return f"{type(error).__name__}: {error}".encode()
