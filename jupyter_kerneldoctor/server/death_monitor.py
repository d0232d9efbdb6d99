"""Records how each kernel process of this server ended, and publishes an event for each death.

Nothing here may break the server: the first failure is logged, and the kernel is unaffected.
"""

import asyncio
import functools
import weakref
from subprocess import Popen
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_server.serverapp import ServerApp

from jupyter_kerneldoctor.diagnosis import load_rules
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

from .kernels import KernelProcess, Kernels
from .server_file import Event, ServerFile, event, start_failed
from .settings import KernelDoctor
from .thread_pool import Tasks, ThreadPool

DEATH = "https://events.jupyter-kerneldoctor.org/death/v1"
KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"

_NOTE_TIMEOUT_S = 1.0
"""A restart or shutdown waits for our note at most this long: the disk may be a slow network disk."""

_PATIENCE_S = 10.0
"""How long a sidecar may take to write an end down before it is told without: the machine may be busy."""
_LAST_MESSAGES_S = 0.1
"""What a kernel sent before its end may reach us later than its recorder's message that it has ended."""

_REPORTED_FAILURE = 2

_BRIEF_LINE = 50
"""Characters of the line in a notification, which holds 140 in all."""

_END_TIMEOUT_S = 30.0
_STEP_S = 0.05


class DeathMonitor:
    """Uses the restarter's callbacks, which come before the next process starts: the exit status is exact."""

    def __init__(
        self,
        serverapp: ServerApp,
        post_mortems: PostMortems,
        file: ServerFile,
        settings: KernelDoctor,
        *,
        watches_all: bool = False,
    ) -> None:
        self._kernels = serverapp.kernel_manager
        self._events = serverapp.event_logger
        self._log = serverapp.log
        self._post_mortems = post_mortems
        self._file = file
        self._explained: weakref.WeakSet[Popen[bytes]] = weakref.WeakSet()
        """Processes whose end was requested or is already reported. Each ends only once."""
        self._seen_early: weakref.WeakSet[Popen[bytes]] = weakref.WeakSet()
        """Those of them whose recorder was faster than Jupyter, which may restart them yet."""
        self._first_failures: dict[str, str] = {}
        """Recordings of kernels that failed to start once, by kernel: the second failure says the same, and more."""
        self._threads = ThreadPool()
        self._tasks = Tasks(self._failed)
        self._has_failed = self._has_rules = False
        self._watches_all = watches_all
        self.kernels = Kernels(file, self._failed, settings, self._on_recorded_end)
        """The processes for which this server has started a sidecar."""

    def start(self) -> None:
        """Watch every kernel that is started from now on."""
        self._events.add_listener(schema_id=KERNEL_ACTIONS, listener=self._on_action)

    async def requested(self, kernel_id: str, action: str, by: str) -> Popen[bytes] | None:
        """Record a request to end a kernel before it is carried out; return its process, if it has one."""
        process = None
        try:
            process = _process(self._kernels.get_kernel(kernel_id)) if kernel_id in self._kernels else None
            if process is None or process in self._explained:
                return None
            if process.poll() is not None:  # it had died before: no request ended it
                self._on_unrequested_end(kernel_id, process)
                return None
            self._explained.add(process)
            events = [event("request", action=action, by=by), *([event("server_end")] if by == "server" else [])]
            await asyncio.wait_for(self._append(kernel_id, process, *events), _NOTE_TIMEOUT_S)
        except Exception as error:
            self._failed(error)
        return process

    async def completed(self, kernel_id: str, process: Popen[bytes] | None) -> None:
        """Record how a process ended whose end was requested."""
        if process is None:
            return
        waiting = self._tasks.start(self._note_requested_end(kernel_id, process))
        if process.returncode is not None:  # otherwise the server ends kernels in the background
            await asyncio.wait({waiting}, timeout=_NOTE_TIMEOUT_S)

    async def _note_requested_end(self, kernel_id: str, process: Popen[bytes]) -> None:
        """Record the requested end. Where none comes the request failed, and a later end has another reason."""
        await self._note_end(kernel_id, process)
        if process.poll() is None:
            self._explained.discard(process)
            await self._append(kernel_id, process, event("request_failed"))

    async def _on_action(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        if data.get("action") != "start" or data.get("status") != "success":
            return
        try:
            if not self._has_rules:
                self._has_rules = True
                self._tasks.start(self._threads.run(load_rules))
            kernel = await self._started(data["kernel_id"])
            for end in ("restart", "dead"):
                kernel.add_restart_callback(functools.partial(self._on_death, kernel, restarts=end == "restart"), end)
        except Exception as error:
            self._failed(error)

    async def _started(self, kernel_id: str) -> Any:
        """Return the kernel, which can be found a moment after the event. Raises 404 when it does not appear."""
        for _ in range(100):
            if kernel_id in self._kernels:
                break
            await asyncio.sleep(_STEP_S)
        return self._kernels.get_kernel(kernel_id)

    def _on_recorded_end(self, kernel: KernelProcess) -> None:
        """Report an end at once that the sidecar has recorded: Jupyter looks every 3 s only.

        A kernel that did not start is left to Jupyter, which starts it a few more times.
        """
        try:
            process = kernel.process
            if process in self._explained or process.poll() is None or kernel.failed_to_start():
                return
            self._seen_early.add(process)
            self._on_unrequested_end(kernel.kernel_id, process)
        except Exception as error:
            self._failed(error)

    def _on_death(self, kernel: KernelManager, *, restarts: bool) -> None:
        """Report the end of a process that the restarter just found gone. The server may now forget `kernel`."""
        try:
            process = _process(kernel)
            if process is None or not kernel.kernel_id:
                return
            if process not in self._explained:
                self._on_unrequested_end(kernel.kernel_id, process, restarts=restarts)
            elif restarts and process in self._seen_early:
                self._tasks.start(self._append(kernel.kernel_id, process, event("restarted", automatic=True)))
        except Exception as error:
            self._failed(error)

    def _on_unrequested_end(self, kernel_id: str, process: Popen[bytes], *, restarts: bool = False) -> None:
        self._explained.add(process)
        known = self.kernels.of(process)
        failures = 0 if known is None else self.kernels.failures_in_a_row(known)
        self._tasks.start(self._report_end(kernel_id, process, restarts=restarts, failures=failures))

    async def _report_end(self, kernel_id: str, process: Popen[bytes], *, restarts: bool, failures: int) -> None:
        """Record how a process ended, and publish an event if that was a death.

        Jupyter starts a kernel that cannot start a few more times. It is reported once, after the second failure, when
        its stderr is known; the recordings of the other attempts would say the same.
        """
        more = [event("restarted", automatic=True)] if restarts else []
        known = self.kernels.of(process)
        if known is not None:
            await asyncio.sleep(_LAST_MESSAGES_S)
            more += known.cells.newest_events()
        if known is not None and failures:
            stderr = "" if known.stderr is None else await self._threads.run(known.stderr.text)
            more.append(start_failed(known.command, stderr=stderr))
        recording_id = await self._note_end(kernel_id, process, *more)
        if recording_id is None:
            return  # it is not recorded
        first = self._first_failures.pop(kernel_id, None)
        if failures > _REPORTED_FAILURE:
            await self._threads.run(self._file.remove, recording_id)
        elif restarts and 0 < failures < _REPORTED_FAILURE and process.returncode >= 0:
            self._first_failures[kernel_id] = recording_id
        else:
            await self._report_if_death(kernel_id, recording_id)
            if first is not None and failures == _REPORTED_FAILURE:
                await self._threads.run(self._file.remove, first)

    async def _report_if_death(self, kernel_id: str, recording_id: str) -> None:
        document = await self._threads.run(self._post_mortems.document, recording_id, _PATIENCE_S)
        if document["died"]:
            facts = {name: document[name] for name in ("recording", "notebook", "headline", "cause", "confidence")}
            watched = self._watches_all or document["loaded_by"] == "startup"
            more = {"kernel_id": kernel_id, "watched_after_restart": watched, "brief": brief(document)}
            self._events.emit(schema_id=DEATH, data={**facts, **more})

    async def _note_end(self, kernel_id: str, process: Popen[bytes], *more: Event) -> str | None:
        """Record the exit status from the server's own object: waiting for the process would take it away."""
        for _ in range(int(_END_TIMEOUT_S / _STEP_S)):
            if process.returncode is not None:
                end = event("exit", returncode=process.returncode)
                recording_id = await self._append(kernel_id, process, end, *more)
                self.kernels.forget(process)
                return recording_id
            await asyncio.sleep(_STEP_S)
        return None

    async def _append(self, kernel_id: str, process: Popen[bytes], *events: Event) -> str | None:
        known = self.kernels.of(process)
        if known is not None and known.recorded is not None:
            await asyncio.wait({known.recorded})
        return await self._threads.run(self._file.append, kernel_id, process.pid, *events)

    def _failed(self, error: Exception) -> None:
        if not self._has_failed:
            self._log.warning(
                "KernelDoctor could not record the end of a kernel. This is logged only once.", exc_info=error
            )
        self._has_failed = True


def brief(document: dict[str, Any]) -> str | None:
    """Return "Out of memory in cell [3]: `pd.read_csv(...)`", for a notification; None where only the headline says it.

    The cause comes without what stands behind a colon, the line without its end.
    """
    cause = next((one for one in document["causes"] if one["id"] == document["cause"]), None)
    if cause is None or cause["id"] == "unknown":
        return None
    said = cause["title"].partition(":")[0]
    cell, statement = document.get("cell"), document.get("statement")
    place = statement or cell
    if place is None or place["execution_count"] is None:
        return str(said)
    said += f" in cell [{place['execution_count']}]"
    said += "".join(f" or [{other['execution_count']}]" for other in document["other_cells"])
    source = (statement or {}).get("source") or (cell or {}).get("line_source") or ""
    line = next((text.strip() for text in source.splitlines() if text.strip()), "").replace("`", "'")
    if len(line) > _BRIEF_LINE:
        line = line[:_BRIEF_LINE].rstrip() + "…"
    return f"{said}: `{line}`" if line else said


def _process(kernel: KernelManager) -> Popen[bytes] | None:
    """Return the process of a kernel on this machine; None when it has none or runs elsewhere."""
    return getattr(kernel.provisioner, "process", None)
