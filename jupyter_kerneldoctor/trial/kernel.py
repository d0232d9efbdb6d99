"""A kernel that is this process's own child, with a client, as under nbclient."""

from __future__ import annotations

import queue
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jupyter_client.manager import KernelManager

from ..recording.private_files import read_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOOK_S = 0.1
_PATIENCE_S = 60.0
_PORT_TAKEN = b"Address already in use"
_MOST_SAID_BYTES = 1 << 16
_LATE_S = 1.0
"""How long after its cell a kernel may end because of it: by `exit()`, or a crash in another thread."""


@dataclass(frozen=True)
class CellRun:
    """How one cell went."""

    how: Literal["ok", "error", "died", "cut off"]
    error: str | None = None
    """The name of the exception's type."""
    message: str = ""


def wait_for_ready(client: Any, patience_s: float, is_vain: Callable[[], bool] = lambda: False) -> None:
    """Wait until a kernel answers, asking again: jupyter_client allows 0.2 s for the message after the answer.

    Raises RuntimeError when it does not.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            client.wait_for_ready(timeout=min(patience_s, 5))
        except RuntimeError:
            if is_vain() or time.monotonic() > deadline:
                raise
        else:
            return


class OwnKernel:
    """A kernel process and a client of it; `close` ends both."""

    def __init__(self, argv: list[str], work: Path) -> None:
        """Prepare it: `argv` with `{connection_file}` starts it, its files go into `work`."""
        self.kernel_id = str(uuid.uuid4())
        self._argv, self._connection_file = argv, str(work / f"kernel-{self.kernel_id}.json")
        self.manager: Any = self._new_manager()
        self.client: Any = None
        self.process: Any = None
        self.pid = 0
        self._log = (work / f"{self.kernel_id}.log").open("wb")

    def start(self, env: Mapping[str, str], directory: Path, patience_s: float = _PATIENCE_S) -> bool:
        """Start it; return whether it became ready. Raises OSError where there is no such program.

        Its ports are free when they are chosen. Where another program has taken one before the kernel does, others are
        chosen, once.
        """
        is_ready = self._start(env, directory, patience_s)
        if is_ready or self.ended() is None or _PORT_TAKEN not in self.said():
            return is_ready
        self._forget()
        self.manager = self._new_manager()
        return self._start(env, directory, patience_s)

    def _new_manager(self) -> Any:
        manager = KernelManager(connection_file=self._connection_file)
        assert manager.kernel_spec is not None
        manager.kernel_spec.argv = self._argv
        return manager

    def _start(self, env: Mapping[str, str], directory: Path, patience_s: float) -> bool:
        self.manager.start_kernel(env=dict(env), cwd=str(directory), stdout=self._log, stderr=self._log)
        self.process = self.manager.provisioner.process
        self.pid = self.process.pid
        self.client = self.manager.client()
        self.client.start_channels()
        try:
            wait_for_ready(self.client, patience_s, lambda: self.ended() is not None)
        except RuntimeError:
            return False
        return True

    def said(self) -> bytes:
        """Return the end of what the kernel has written to its standard output and error."""
        return read_part(Path(self._log.name), -_MOST_SAID_BYTES, _MOST_SAID_BYTES)

    def ended(self) -> int | None:
        """Return the exit status, negative for a signal; None while it lives."""
        status: int | None = self.process.poll()
        return status

    def execute(self, source: str, goes_on: Callable[[], bool], *, waits: bool = False, **options: Any) -> CellRun:
        """Run a cell as long as `goes_on()`, which is asked ten times a second; `options` are those of the client.

        `waits`: wait a second longer for an end that the cell has caused.
        """
        message_id = self.client.execute(source, allow_stdin=False, stop_on_error=False, **options)
        run, over_mono_s = CellRun("ok"), None
        while goes_on():
            if self.ended() is not None:
                return CellRun("died")
            if over_mono_s is not None and time.monotonic() - over_mono_s > (_LATE_S if waits else 0):
                return run
            try:
                message = self.client.get_iopub_msg(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != message_id:
                continue
            content = message["content"]
            if message["msg_type"] == "error":
                run = CellRun("error", content.get("ename"), content.get("evalue") or "")
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                over_mono_s = time.monotonic()
        return run if over_mono_s is not None else CellRun("cut off")

    def close(self) -> None:
        """End it at once, and forget it."""
        self._forget()
        self._log.close()

    def _forget(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
