"""The kernels of this server, each with its current process."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import PurePath
from subprocess import Popen
from typing import Any
from weakref import WeakKeyDictionary

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from jupyter_kerneldoctor.recording.processes import identify, open_pidfd

from .cells import CellTracker
from .launches import Settings
from .messages import Answer, Request, answer_in_frames
from .server_file import Event, ServerFile, start_failed
from .settings import KernelDoctor
from .shared_watchers import SharedWatchers
from .sidecar_link import SidecarLink, record_without_process, resolved, start_event
from .stderr_file import SLOWEST_START_S, StderrFile
from .thread_pool import Tasks, ThreadPool

_DIE_TOGETHER_S = 0.2
"""Linux may end all processes at a memory limit, one after the other. Of such an end nobody would know more."""


class KernelProcess:
    """One process of a kernel."""

    def __init__(self, manager: Any, process: Popen[bytes], command: list[str], link: SidecarLink) -> None:
        self.kernel_id: str = manager.kernel_id
        self.process = process
        self.command = command
        self.stderr: StderrFile | None = None
        self.recorded: asyncio.Task[None] | None = None
        """Done when its recording has started or has failed to start."""
        self.cells = CellTracker(link.send)
        self.is_ready = False
        """Whether it has answered a request."""
        self.link = link
        self._streams: list[Any] = []
        self._started_mono_s = time.monotonic()

    def listen(self, manager: Any) -> None:
        """Listen to what the kernel publishes, as any client does, and ask what it is: it answers once it is ready.

        What it publishes before is no sign: it greets its listeners when it has their sockets, and may fail after that.
        """
        self._streams = [published := manager.connect_iopub(), asked := manager.connect_shell()]
        published.on_recv(self._on_published)
        asked.on_recv(self._on_replied)
        manager.session.send(asked, "kernel_info_request")

    def failed_to_start(self) -> bool:
        """Return whether a process that has ended never became ready."""
        self._read_what_waits()
        return not self.is_ready and time.monotonic() - self._started_mono_s < SLOWEST_START_S

    def close(self) -> None:
        """Stop listening: the process has ended or was replaced."""
        self._read_what_waits()
        streams, self._streams = self._streams, []
        for stream in streams:
            if not stream.closed():
                stream.close(linger=0)
        self.link.close()

    def _read_what_waits(self) -> None:
        """Look for an answer that a busy server has not read yet."""
        for stream in self._streams:
            if not (self.is_ready or stream.closed()):
                stream.flush()

    def _on_replied(self, _: list[bytes]) -> None:
        self.is_ready = True

    def _on_published(self, frames: list[bytes]) -> None:
        try:
            answer = answer_in_frames(frames)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            return  # no message of the protocol: the clients will say so
        if answer is not None:
            self.is_ready = True
            self.cells.answered(answer)


Ended = Callable[[KernelProcess], None]


class Kernels:
    """Starts the recording of each process, and counts failed starts in a row."""

    def __init__(
        self, file: ServerFile, failed: Callable[[Exception], None], settings: KernelDoctor, ended: Ended
    ) -> None:
        """`ended` is called when the recorder of a process has recorded its end, before Jupyter finds it gone."""
        self._file = file
        self._failed = failed
        self._settings = settings
        self._ended = ended
        self._present: dict[str, KernelProcess] = {}
        self._by_process: WeakKeyDictionary[Popen[bytes], KernelProcess] = WeakKeyDictionary()
        self._failures: dict[str, int] = {}
        self._threads = ThreadPool()
        self._watchers = SharedWatchers()
        self._tasks = Tasks(failed)

    def of(self, process: Popen[bytes]) -> KernelProcess | None:
        """Return what is known of a process; None for one that is not recorded."""
        return self._by_process.get(process)

    def living(self) -> list[KernelProcess]:
        """Return those that have not ended, as far as the server knows."""
        return [kernel for kernel in self._present.values() if kernel.process.returncode is None]

    def requested(self, kernel_id: str, request: Request) -> None:
        """Note that a client asked a kernel to run a cell."""
        kernel = self._present.get(kernel_id)
        if kernel is not None:
            kernel.cells.requested(request)

    def replied(self, kernel_id: str, reply: Answer) -> None:
        """Note that the kernel replied to a request."""
        kernel = self._present.get(kernel_id)
        if kernel is not None:
            kernel.cells.answered(reply)

    def failures_in_a_row(self, kernel: KernelProcess) -> int:
        """Count the end of a process; return how many in a row never became ready, this one included."""
        count = self._failures.get(kernel.kernel_id, 0) + 1 if kernel.failed_to_start() else 0
        self._failures[kernel.kernel_id] = count
        return count

    def forget(self, process: Popen[bytes]) -> None:
        """Drop a process whose end has been recorded."""
        kernel = self._by_process.pop(process, None)
        if kernel is None:
            return
        kernel.close()
        if self._present.get(kernel.kernel_id) is kernel:
            del self._present[kernel.kernel_id]

    def before_launch(self, provisioner: LocalProvisioner, settings: Settings) -> None:
        """Record the stderr of a kernel that failed to start before."""
        if not self._failures.get(provisioner.kernel_id) or settings.get("stderr") is not None:
            return
        try:
            settings["stderr"] = StderrFile()
        except Exception as error:
            self._failed(error)

    def started(self, provisioner: LocalProvisioner, command: list[str], settings: Settings) -> None:
        """Start the recording."""
        try:
            self._begin(provisioner, command, settings)
        except Exception as error:
            self._failed(error)

    def not_started(
        self, provisioner: LocalProvisioner, command: list[str], settings: Settings, error: Exception
    ) -> None:
        """Write a recording of why there is no process."""
        try:
            stderr = _stderr_file(settings)
            if stderr is not None:
                stderr.close()
            start = start_event(None, **_facts(provisioner, settings))
            failure = start_failed(command, error=str(error))
            self._tasks.start(self._threads.run(self._record_failure, start, failure))
        except Exception as problem:
            self._failed(problem)

    def _begin(self, provisioner: LocalProvisioner, command: list[str], settings: Settings) -> None:
        process: Popen[bytes] | None = provisioner.process
        identity = None if process is None else identify(process.pid)
        if process is None or identity is None:
            return  # it has ended and its status was read: nothing more can be learned
        facts = {**_facts(provisioner, settings), **_place(command, settings)}
        stacks = self._settings.stacks and facts["language"] == "python"
        interpreter = resolved(command[0], settings.get("env")) if stacks and command else None
        keep = self._settings.keep
        start = start_event(identity, **facts, stacks=stacks, interpreter=interpreter, keep=keep)
        link = SidecarLink(start, self._watchers)
        kernel = KernelProcess(provisioner.parent, process, command, link)
        before = self._present.get(kernel.kernel_id)
        if before is not None:
            before.close()
        self._present[kernel.kernel_id] = self._by_process[process] = kernel
        kernel.recorded = self._tasks.start(self._threads.run(link.spawn, process.pid, open_pidfd(process.pid)))
        kernel.stderr = _stderr_file(settings)
        if kernel.stderr is not None:
            kernel.stderr.follow(identity)
        kernel.listen(provisioner.parent)
        self._listen_to_sidecar(kernel)

    def _listen_to_sidecar(self, kernel: KernelProcess) -> None:
        kernel.link.listen(lambda: self._ended(kernel), lambda: self._tasks.start(self._go_on(kernel)))

    async def _go_on(self, kernel: KernelProcess) -> None:
        """Have another process go on with a recording, if the kernel was not lost as well."""
        await asyncio.sleep(_DIE_TOGETHER_S)
        if kernel.process.poll() is not None:
            self._ended(kernel)
        elif self._present.get(kernel.kernel_id) is kernel and kernel.link.reconnect(kernel.cells):
            pidfd = open_pidfd(kernel.process.pid)
            self._listen_to_sidecar(kernel)
            await self._threads.run(kernel.link.respawn, pidfd)

    def _record_failure(self, start: Event, failure: Event) -> None:
        self._file.append_to(record_without_process(start), failure)


def _facts(provisioner: LocalProvisioner, settings: Settings) -> dict[str, Any]:
    manager = provisioner.parent
    environment = settings.get("env") or {}
    return {
        "kernel_id": provisioner.kernel_id,
        "notebook": environment.get("JPY_SESSION_NAME") or None,
        "kernel_name": getattr(manager, "kernel_name", None),
        "language": getattr(getattr(manager, "kernel_spec", None), "language", None),
    }


def _place(command: list[str], settings: Settings) -> dict[str, Any]:
    """Return where the kernel runs: its interpreter, where no other program starts that, and its directory."""
    path = (settings.get("env") or os.environ).get("PATH")
    is_python = bool(command) and PurePath(command[0]).name.startswith("python")
    return {"executable": shutil.which(command[0], path=path) if is_python else None, "directory": settings.get("cwd")}


def _stderr_file(settings: Settings) -> StderrFile | None:
    stderr = settings.get("stderr")
    return stderr if isinstance(stderr, StderrFile) else None
