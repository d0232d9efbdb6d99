"""Real kernels for tests: start one, run cells in it, watch it die, read what was recorded."""

from __future__ import annotations

import os
import queue
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording import newest_cell
from jupyter_kerneldoctor.recording.processes import is_alive
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.trial.kernel import OwnKernel

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_kerneldoctor.recording.model import Recording

PATIENCE_S = 60


@dataclass
class Outcome:
    """What a client sees of one cell."""

    reply: dict[str, Any]
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def shown(self) -> list[dict[str, Any]]:
        """What was displayed, by MIME type."""
        return [o["content"]["data"] for o in self.outputs if o["msg_type"] == "display_data"]

    @property
    def text(self) -> str:
        """What was printed, and the text of what was displayed."""
        return self.stdout + "".join(data["text/plain"] + "\n" for data in self.shown)

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    @property
    def result(self) -> str | None:
        found = [o["content"]["data"]["text/plain"] for o in self.outputs if o["msg_type"] == "execute_result"]
        return found[0] if found else None

    @property
    def traceback(self) -> str:
        return "\n".join(self.reply.get("traceback", []))

    def _stream(self, name: str) -> str:
        streams = [o["content"] for o in self.outputs if o["msg_type"] == "stream"]
        return "".join(s["text"] for s in streams if s["name"] == name)


class LiveKernel:
    """A kernel process with a client. `prefix` is put before its command line: a memory limit, for example."""

    def __init__(self, data_root: Path, work: Path, prefix: list[str] | None = None, **environment: str) -> None:
        self.data_root = data_root
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JPY_", "PYTEST_"))}
        own = {"KERNELDOCTOR_DATA_DIR": str(data_root), "IPYTHONDIR": str(work / "ipython")}
        for _ in range(3):  # now and then another program takes a port that was free when it was chosen
            self._kernel = OwnKernel([*(prefix or []), *launch], work)
            if self._kernel.start({**kept, **own, **environment}, work, PATIENCE_S):
                break
            self._kernel.close()
        else:
            raise AssertionError("the kernel did not start")
        self.kernel_id, self.manager = self._kernel.kernel_id, self._kernel.manager
        self.process, self.pid, self.client = self._kernel.process, self._kernel.pid, self._kernel.client

    def run(self, source: str, **metadata: Any) -> Outcome:
        """Run a cell to its end, as a notebook would."""
        message = self.client.session.msg("execute_request", _request(source), metadata=metadata)
        self.client.shell_channel.send(message)
        return self._outcome(message["header"]["msg_id"])

    def load(self) -> Outcome:
        """Run `%load_ext kerneldoctor`."""
        return self.run("%load_ext kerneldoctor")

    def run_and_die(self, source: str) -> int:
        """Run a cell that ends the kernel; return the exit status as `subprocess` gives it."""
        self.client.execute(source)
        return self.wait_dead()

    def wait_dead(self) -> int:
        return self.process.wait(timeout=PATIENCE_S)

    def recording(self) -> Recording:
        """The newest recording of this kernel process."""
        return self.recordings()[0]

    def recordings(self) -> list[Recording]:
        store = Store(self.data_root)
        found = [store.open(recording_id) for recording_id in store.ids()]
        mine = [recording for recording in found if recording.kernel.process.pid == self.pid]
        return sorted(mine, key=lambda recording: recording.started_mono_s, reverse=True)

    def wait_recorded(self, predicate: Any = lambda recording: True) -> Recording:
        """Wait until the recording says so: the sidecar writes a moment after the kernel speaks.

        A predicate may look at the last cell before there is one.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = self.recordings()
            with suppress(IndexError):
                if found and predicate(found[0]):
                    return found[0]
            assert time.monotonic() < deadline, found
            time.sleep(0.02)

    def sidecar_pid(self) -> int:
        recording = self.wait_recorded(lambda recording: recording.sidecar is not None)
        assert recording.sidecar is not None
        return recording.sidecar.pid

    def wait_sidecar_gone(self) -> None:
        sidecar = self.wait_recorded(lambda recording: recording.sidecar is not None).sidecar
        deadline = time.monotonic() + PATIENCE_S
        while is_alive(sidecar):
            assert time.monotonic() < deadline, "the sidecar still runs"
            time.sleep(0.02)

    def close(self) -> None:
        self._kernel.close()
        leave_no_cell(self.data_root)

    def _outcome(self, msg_id: str) -> Outcome:
        outputs: list[dict[str, Any]] = []
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                assert self.process.poll() is None, "the kernel died"
                continue
            if message["parent_header"].get("msg_id") != msg_id:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
            outputs.append(message)
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE_S)
            if reply["parent_header"].get("msg_id") == msg_id:
                return Outcome(reply["content"], outputs)


def leave_no_cell(data_root: Path) -> None:
    """Delete what is kept in memory of the newest cells, of which the next reader would be long after the test."""
    for recording_id in Store(data_root).ids():
        newest_cell.discard(recording_id)


def _request(source: str) -> dict[str, Any]:
    return {
        "code": source,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
