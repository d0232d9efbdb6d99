"""Who a kernel belongs to: to us, as under nbclient, or to a real Jupyter server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import psutil
from jupyter_client import BlockingKernelClient

from jupyter_kerneldoctor.trial.kernel import OwnKernel, wait_for_ready

if TYPE_CHECKING:
    from pathlib import Path


_SECOND_ATTEMPT_S = 12.0
"""A server looks after its kernels every 3 s, and starts again what has ended."""


class Host(Protocol):
    """A kernel and a client of it."""

    kernel_id: str | None
    pid: int
    client: Any
    env: dict[str, str]

    def start(self, patience_s: float) -> bool:
        """Start the kernel; return whether it became ready."""

    def ended(self) -> str | None:
        """How the kernel ended, as in `Case.ends`; None while it lives."""

    def interrupt(self) -> None: ...

    def restart(self) -> None: ...

    def shutdown(self) -> None: ...

    def close(self) -> None: ...


class Alone:
    """The kernel is our own child."""

    def __init__(self, argv: list[str], work: Path) -> None:
        self._kernel = OwnKernel(argv, work)
        self.kernel_id: str | None = self._kernel.kernel_id
        self.env = _environment(work)
        self._work = work

    @property
    def pid(self) -> int:
        return self._kernel.pid

    @property
    def client(self) -> Any:
        return self._kernel.client

    def start(self, patience_s: float) -> bool:
        return self._kernel.start(self.env, self._work, patience_s)

    def ended(self) -> str | None:
        code = self._kernel.ended()
        if code is None:
            return None
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def interrupt(self) -> None:
        self._kernel.manager.interrupt_kernel()

    def restart(self) -> None:
        self._kernel.manager.restart_kernel(now=False)

    def shutdown(self) -> None:
        self._kernel.manager.shutdown_kernel(now=False)

    def close(self) -> None:
        self._kernel.close()


class UnderServer:
    """The kernel belongs to a Jupyter server with the extension; it restarts what dies."""

    def __init__(self, argv: list[str], work: Path) -> None:
        spec = work / "data" / "kernels" / "case" / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": argv, "display_name": "case", "language": "python"}))
        self.kernel_id: str | None = None
        self.pid = 0
        self.client: Any = None
        own = {"JUPYTER_DATA_DIR": str(work / "data"), "JUPYTER_RUNTIME_DIR": str(work / "runtime")}
        self.env = {**_environment(work), **own}
        self._runtime = work / "runtime"
        options = ["--ServerApp.ip=127.0.0.1", "--port=0", "--no-browser", f"--ServerApp.root_dir={work}"]
        command = [sys.executable, "-m", "jupyter_server", "--allow-root", "--IdentityProvider.token=t", *options]
        enabled = "--ServerApp.jpserver_extensions={'jupyter_kerneldoctor': True}"
        place = work / "server"  # what lies in the directory of the notebook is the kernel's, not the server's
        place.mkdir()
        with (place / "log").open("wb") as log:
            self._server = subprocess.Popen([*command, enabled], env=self.env, cwd=place, stdout=log, stderr=log)
        self.server_pid = self._server.pid

    def start(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while not (found := list(self._runtime.glob("jpserver-*.json"))) or not self._answers(found[0]):
            if time.monotonic() > deadline:
                raise TimeoutError("the Jupyter server did not come up")
            time.sleep(0.2)
        try:
            self.kernel_id = self._call("POST", "", {"name": "case"})["id"]
        except urllib.error.HTTPError:
            return False
        self.client = BlockingKernelClient(connection_file=str(self._runtime / f"kernel-{self.kernel_id}.json"))
        self.client.load_connection_file()
        self.client.start_channels()
        try:
            wait_for_ready(self.client, min(patience_s, 20))
        except RuntimeError:
            time.sleep(_SECOND_ATTEMPT_S)
            return False
        self.pid = self._kernel_pid()
        return True

    def ended(self) -> str | None:
        with suppress(psutil.Error):
            if psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE:
                return None
        return "gone"

    def interrupt(self) -> None:
        self._call("POST", f"/{self.kernel_id}/interrupt", {})

    def restart(self) -> None:
        self._call("POST", f"/{self.kernel_id}/restart", {})

    def shutdown(self) -> None:
        self._call("DELETE", f"/{self.kernel_id}")

    def close(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
        self._server.terminate()
        try:
            self._server.wait(20)
        except subprocess.TimeoutExpired:
            self._server.kill()

    def _answers(self, info: Path) -> bool:
        try:
            self._url = json.loads(info.read_text())["url"]
            self._call("GET", "")
        except (OSError, ValueError):
            return False
        return True

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        address = f"{self._url}api/kernels{path}"
        request = urllib.request.Request(address, method=method, data=data, headers={"Authorization": "token t"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def _kernel_pid(self) -> int:
        for process in psutil.Process(self._server.pid).children():
            with suppress(psutil.Error):
                command = " ".join(process.cmdline())
                if str(self.kernel_id) in command and "kerneldoctor" not in command.replace("kerneldoctor-case", ""):
                    return process.pid
        raise LookupError("the kernel's process was not found")


def _environment(work: Path) -> dict[str, str]:
    left_out = ("JPY_", "JUPYTER", "KERNELDOCTOR", "PYTEST_", "PYTHONFAULTHANDLER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    own = {"KERNELDOCTOR_DATA_DIR": str(work / "doctor"), "IPYTHONDIR": str(work / "ipython"), "MPLBACKEND": "agg"}
    return {**kept, **own}
