"""The recorder inside one kernel: starts and stops together what records, and says what state it is in."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from traitlets import Bool
from traitlets.config import Configurable

from ..recording import layout
from . import crash
from .cells import CellHooks
from .facts import start_facts
from .link import Link
from .messages import message

if TYPE_CHECKING:
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell


class KernelDoctor(Configurable):
    """Settings, for example `c.KernelDoctor.exact_peak = False` in ipython_kernel_config.py."""

    exact_peak = Bool(
        default_value=True,
        help="""Reset the process's VmHWM at the start of each cell, for the exact peak of every cell. Then
        `resource.getrusage().ru_maxrss` in your own code speaks of the present cell only.""",
    ).tag(config=True)


class Doctor:
    """One recording of this kernel, or none."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._link: Link | None = None
        self.hooks: CellHooks | None = None
        self.directory: Path | None = None
        self.problem: str | None = None
        """Why nothing is recorded, in a sentence; None while all is well."""

    @property
    def is_recording(self) -> bool:
        """Whether the sidecar was there when it was last spoken to."""
        return self._link is not None and self._link.is_open

    def start(self) -> None:
        """Begin a recording. What goes wrong is said once, in one line, and the kernel runs on without."""
        if self.is_recording:
            return
        self.problem = None
        if sys.platform == "win32":
            self._give_up("KernelDoctor records on Linux and macOS only; nothing is recorded.")
            return
        try:
            self.directory = layout.create(layout.new_id(os.getpid()))
            crash.aim_at(self.directory)
            self._link = Link(self.directory, self._lost)
            loaded_by = "magic" if self._inside_cell() else "startup"
            self._link.send(message("start", time.monotonic(), wall_s=time.time(), **start_facts(loaded_by)))
            self.hooks = CellHooks(self._shell, self._link, exact_peak=KernelDoctor(parent=self._shell).exact_peak)
            self.hooks.install()
        except Exception as error:
            self._stop_quietly()
            place = f" in {layout.recordings_dir()}" if isinstance(error, OSError) else ""
            self._give_up(
                f"KernelDoctor cannot record{place}: {error}. Your kernel is not affected. "
                f"Set {layout.ROOT_VARIABLE} to a directory you can write to, then `%kerneldoctor on`."
            )

    def stop(self) -> None:
        """End the recording, and with it the sidecar; the kernel is as it was before."""
        if self._link is not None:
            self._link.send(message("off", time.monotonic()))
        self._stop_quietly()

    def status(self) -> str:
        """What a user wants to know, in a line or two."""
        if self.is_recording:
            return f"KernelDoctor is recording this kernel.\nRecording: {self.directory}"
        reason = self.problem or "The recording was switched off."
        return f"KernelDoctor is not recording this kernel. {reason}\nTo switch it on: %kerneldoctor on"

    def _stop_quietly(self) -> None:
        hooks, self.hooks = self.hooks, None
        link, self._link = self._link, None
        if hooks is not None:
            hooks.remove()
        if link is not None:
            link.close()
        crash.aim_at_nothing()

    def _lost(self) -> None:
        self._stop_quietly()
        self._give_up(
            "KernelDoctor stopped recording: its sidecar process is gone. Your kernel is not affected. "
            "`%kerneldoctor on` starts a new recording."
        )

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        print(problem, file=sys.stderr)  # noqa: T201 - the one line that the user gets

    def _inside_cell(self) -> bool:
        kernel = getattr(self._shell, "kernel", None)
        message = {} if kernel is None else kernel.get_parent("shell") or {}
        return bool(message.get("header", {}).get("msg_type") == "execute_request")
