"""Plays one case with a real kernel and asks for its post-mortem."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .conditions import conditions, temporary_directory
from .hosts import Alone, UnderServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .case import Case
    from .hosts import Host
    from .recordings import Recordings

_ACTION_AFTER_S = 2.0
_READY_S = 60.0
_OBEYS_S = 10.0
"""An exit() is obeyed after the cell, and a busy machine takes its time for that."""


@dataclass
class Played:
    """How it went."""

    ended: str
    """As in `Case.ends`."""
    reports: list[dict[str, Any]] = field(default_factory=list)
    """A death has one; of a kernel that lives or hangs: while it runs, and after an orderly shutdown."""
    took_s: float = 0.0
    error: str | None = None
    """The exception that the last cell which ran ended with."""

    def best(self, case: Case) -> dict[str, Any]:
        """The report that counts: the better one, and of a benign case the worse one."""
        right = [report for report in self.reports if report.get("cause") in case.cause]
        wrong = [report for report in self.reports if report not in right]
        order = [*wrong, *right] if case.benign else [*right, *wrong]
        return order[0] if order else {}


def play(
    case: Case,
    python: str = sys.executable,
    after: Callable[[Path], None] | None = None,
    recordings: Recordings | None = None,
) -> Played:
    """Run a case in the environment of `python`. Raises CannotRunHereError.

    `after` gets the run's directory; in `recordings` those are kept that the reports are about.
    """
    began = time.monotonic()
    if recordings is not None:
        recordings.clear()
    work = Path(tempfile.mkdtemp(prefix="kerneldoctor-case-"))
    temporary_directory(work).mkdir()
    try:
        if case.prepare:
            subprocess.run([python, "-c", case.prepare], cwd=work, check=True, capture_output=True)
        with conditions(case, work) as prefix:
            interpreter = python if case.interpreter is None else case.interpreter.replace("{work}", str(work))
            launch = [interpreter, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            argv = launch if case.interpreter else [*prefix, *launch]
            host: Host = UnderServer(argv, work) if case.via == "server" else Alone(argv, work)
            try:
                played = _play(case, host, recordings)
            finally:
                host.close()
        if after is not None:
            after(work)
    finally:
        _remove(work)
        _remove(temporary_directory(work))
    played.took_s = time.monotonic() - began
    return played


def _remove(directory: Path) -> None:
    """Remove it; a recorder ends later than its kernel, and may write meanwhile."""
    deadline = time.monotonic() + 5
    while directory.exists() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.02)


def _play(case: Case, host: Host, recordings: Recordings | None) -> Played:
    if not host.start(_READY_S):
        return Played("never starts", [_report(host, recordings)])
    ended, error = _run_cells(case, host)
    if ended == "lives" and case.then == "restart":
        host.restart()
        ended = "restarted"
    if ended not in ("lives", "hangs"):
        return Played(ended, [_report(host, recordings)], error=error)
    running = _report(host, recordings)
    host.shutdown()
    return Played(ended, [running, _report(host, recordings)], error=error)


def _run_cells(case: Case, host: Host) -> tuple[str, str | None]:
    """Return how the kernel ended, and the exception of the last cell that ran."""
    error = None
    for number, source in enumerate(("%load_ext kerneldoctor", *case.cells)):
        last = number == len(case.cells)
        message_id = host.client.execute(source)
        if last:
            _act(case, host)
        obeys_s = _OBEYS_S if last and case.ends.startswith("exit") else 1.0
        ended, error = _wait(host, message_id, case.patience_s if number else _READY_S, obeys_s)
        if ended != "lives":
            return "restarted" if case.then == "restart while busy" and ended != "hangs" else ended, error
    return "lives", error


def _act(case: Case, host: Host) -> None:
    """What somebody does from outside while the last cell runs."""
    actions = {"interrupt while busy": host.interrupt, "restart while busy": host.restart}
    action = actions.get(case.then or "")
    if case.send is not None:
        number = signal.Signals[case.send]

        def action() -> None:
            with suppress(ProcessLookupError):  # it has ended otherwise
                os.kill(host.pid, number)

    if action is not None:
        timer = threading.Timer(_ACTION_AFTER_S, action)
        timer.daemon = True
        timer.start()


def _wait(host: Host, message_id: str, patience_s: float, obeys_s: float) -> tuple[str, str | None]:
    """Wait for the end of a cell, and `obeys_s` for that of the kernel; return it, and the cell's exception."""
    deadline = time.monotonic() + patience_s
    idle_since: float | None = None
    error: str | None = None
    while time.monotonic() < deadline:
        if (ended := host.ended()) is not None:
            return ended, error
        if idle_since is not None and time.monotonic() - idle_since > obeys_s:
            return "lives", error
        try:
            message = host.client.get_iopub_msg(timeout=0.2)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != message_id:
            continue
        if message["msg_type"] == "error":
            error = message["content"]["ename"]
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            idle_since = time.monotonic()
    return "lives" if idle_since is not None else "hangs", error


def _report(host: Host, recordings: Recordings | None) -> dict[str, Any]:
    """What the command line says about the process that ran the cells: after a restart its kernel has another one."""
    for _ in range(10):
        rows = _ask(host, "list") or []
        mine = [row["recording"] for row in rows if host.pid in (0, row["pid"])]
        document = _ask(host, "report", *mine[:1]) if mine else None
        if document is not None:
            if recordings is not None:
                recordings.add(Path(host.env["KERNELDOCTOR_DATA_DIR"]), mine[0])
            return dict(document)
        time.sleep(0.5)
    return {"cause": None, "confidence": 0.0, "headline": "There is no report.", "fixes": [], "cell": None}


def _ask(host: Host, *words: str) -> Any:
    command = [sys.executable, "-m", "jupyter_kerneldoctor", *words, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=host.env)
    return json.loads(result.stdout or "null")
