"""Watches the kernels of this server: writes down how each process ended, and tells the browser of deaths.

Nothing in here may break the server: what fails is logged, once, and the kernel goes its way.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from typing import TYPE_CHECKING, Any

from .serverfile import ended, request

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from subprocess import Popen

    from jupyter_client.manager import KernelManager
    from jupyter_server.serverapp import ServerApp

    from jupyter_kerneldoctor.archive import Archive

    from .serverfile import Event, ServerFile

DEATH = "https://events.jupyter-kerneldoctor.org/death/v1"
KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"

_PATIENCE_S = 1.0
"""How long a restart or shutdown waits for our note about it, at most: the disk may be a network's."""

_END_PATIENCE_S = 30.0
_STEP_S = 0.05


class DeathWatch:
    """A restarter's callbacks tell of the end of a process before the next one starts: the exit status is exact."""

    def __init__(self, serverapp: ServerApp, archive: Archive, file: ServerFile) -> None:
        self._kernels = serverapp.kernel_manager
        self._events = serverapp.event_logger
        self._log = serverapp.log
        self._archive = archive
        self._file = file
        self._settled: weakref.WeakSet[Popen[bytes]] = weakref.WeakSet()
        """Processes whose end was asked for or is told already. Each ends only once."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_failed = False

    def start(self) -> None:
        """Watch every kernel that is started from now on."""
        self._events.add_listener(schema_id=KERNEL_ACTIONS, listener=self._on_action)

    async def asked(self, kernel_id: str, action: str) -> Popen[bytes] | None:
        """Note that somebody wants this kernel to end, before it does."""
        try:
            process = _process(self._kernels.get_kernel(kernel_id)) if kernel_id in self._kernels else None
            if process is None or process in self._settled:
                return None
            if process.poll() is not None:  # it had died before, unnoticed: no request ended it
                self._ended_by_itself(kernel_id, process)
                return None
            self._settled.add(process)
            await asyncio.wait_for(self._append(kernel_id, process.pid, request(action)), _PATIENCE_S)
        except Exception as error:
            self._failed(error)
            return None
        return process

    async def carried_out(self, kernel_id: str, process: Popen[bytes] | None) -> None:
        """Note how the process ended that somebody asked to end."""
        if process is None:
            return
        waiting = self._spawn(self._note_end(kernel_id, process))
        if process.returncode is not None:  # else the server ends kernels in the background
            await asyncio.wait({waiting}, timeout=_PATIENCE_S)

    async def _on_action(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        if data.get("action") != "start" or data.get("status") != "success":
            return
        try:
            kernel = await self._started(data["kernel_id"])
            for event in ("restart", "dead"):
                kernel.add_restart_callback(functools.partial(self._on_end, kernel), event)
        except Exception as error:
            self._failed(error)

    async def _started(self, kernel_id: str) -> Any:
        """The event comes a moment before the kernel can be found. Raises 404 when it does not appear."""
        for _ in range(100):
            if kernel_id in self._kernels:
                break
            await asyncio.sleep(_STEP_S)
        return self._kernels.get_kernel(kernel_id)

    def _on_end(self, kernel: KernelManager) -> None:
        """Called by the restarter, which has just found the process gone. The server may forget `kernel` now."""
        try:
            process = _process(kernel)
            if process is not None and kernel.kernel_id and process not in self._settled:
                self._ended_by_itself(kernel.kernel_id, process)
        except Exception as error:
            self._failed(error)

    def _ended_by_itself(self, kernel_id: str, process: Popen[bytes]) -> None:
        self._settled.add(process)
        self._spawn(self._tell(kernel_id, process))

    async def _tell(self, kernel_id: str, process: Popen[bytes]) -> None:
        recording_id = await self._note_end(kernel_id, process)
        if recording_id is None:
            return  # a kernel without KernelDoctor
        document = await asyncio.get_running_loop().run_in_executor(None, self._archive.document, recording_id)
        if document["died"]:
            facts = {name: document[name] for name in ("recording", "notebook", "headline", "cause", "confidence")}
            watched = document["loaded_by"] == "startup"
            self._events.emit(schema_id=DEATH, data={**facts, "kernel_id": kernel_id, "watched_after_restart": watched})

    async def _note_end(self, kernel_id: str, process: Popen[bytes]) -> str | None:
        """Write the exit status. It is read from the object the server waits with, so that nobody is robbed of it."""
        for _ in range(int(_END_PATIENCE_S / _STEP_S)):
            if process.returncode is not None:
                return await self._append(kernel_id, process.pid, ended(process.returncode))
            await asyncio.sleep(_STEP_S)
        return None

    async def _append(self, kernel_id: str, pid: int, event: Event) -> str | None:
        return await asyncio.get_running_loop().run_in_executor(None, self._file.append, kernel_id, pid, event)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                self._failed(error)

        task = asyncio.get_running_loop().create_task(guarded())
        self._tasks.add(task)  # the loop holds tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task

    def _failed(self, error: Exception) -> None:
        if not self._has_failed:
            self._log.warning("KernelDoctor could not note the end of a kernel; said only once.", exc_info=error)
        self._has_failed = True


def _process(kernel: KernelManager) -> Popen[bytes] | None:
    """Return the process of a kernel on this machine; None when it has none or runs elsewhere."""
    return getattr(kernel.provisioner, "process", None)
