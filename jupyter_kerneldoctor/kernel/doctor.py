"""Starts and stops all that records inside a kernel, and reports whether it does."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from traitlets import Bool

from ..recording import layout
from ..recording.disk_reserve import storage_problem
from ..recording.journal import JsonLines
from ..recording.remote_disk import append_line, check_answers, is_remote
from ..recording.retention_settings import RetentionSettings
from . import crash_file, look_thread, memory, stack_access
from .cells import CellHooks, execute_request
from .joining import join
from .kernel_info import control_groups, start_fields
from .link import Link
from .messages import message
from .newest_cell import NewestCell
from .output_capture import OutputCapture
from .thread_errors import ThreadErrors

if TYPE_CHECKING:
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell


class KernelDoctor(RetentionSettings):
    """Settings, for example `c.KernelDoctor.exact_peak = False` in ipython_kernel_config.py."""

    exact_peak = Bool(
        default_value=True,
        help="""Reset the process's VmHWM at the start of each cell, for the exact peak of every cell. Then
        `resource.getrusage().ru_maxrss` in your own code covers the present cell only.""",
    ).tag(config=True)

    stacks = Bool(
        default_value=True,
        help="""Let the recorder read this process's Python stacks from outside, without stopping it: while memory nears
        a limit, while a cell does nothing, and when you run `jupyter kerneldoctor inspect`.""",
    ).tag(config=True)

    namespace = Bool(
        default_value=True,
        help="""Record the biggest variables: names, types, shapes and sizes, never values. At the end of a cell that
        changed the memory, and a few times while a cell grows, also those of its functions. It takes 3 to 5 ms.""",
    ).tag(config=True)

    last_words = Bool(
        default_value=True,
        help="""Record the newest text written to the file descriptors 1 and 2, such as the message of a native library
        that calls abort(). What Python prints is not recorded.""",
    ).tag(config=True)


class Doctor:
    """The recording of this kernel, if there is one."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._loaded_by = "magic" if self._user_sees_output() else "startup"
        self._link: Link | None = None
        self.hooks: CellHooks | None = None
        self._output_capture: OutputCapture | None = None
        self._thread_errors: ThreadErrors | None = None
        self.directory: Path | None = None
        self._is_remote = False
        """Whether the recording lies on a file system that may stop answering, where the kernel itself does nothing."""
        self.problem: str | None = None
        """Why nothing is recorded, in a sentence; None without a problem."""

    @property
    def is_recording(self) -> bool:
        """Whether the sidecar was there at the last message."""
        return self._link is not None and self._link.is_open

    def start(self) -> None:
        """Begin a recording. If that fails, say so once, in one line, and leave the kernel as it is."""
        if self.is_recording:
            return
        self.problem = None
        if sys.platform == "win32":
            self._give_up("KernelDoctor records on Linux and macOS only; nothing is recorded.")
            return
        try:
            self._is_remote = is_remote(layout.recordings_dir())
            if self._is_remote:
                check_answers(layout.recordings_dir())
            joined = join()
            self.directory = joined.directory if joined else layout.create(layout.new_id(os.getpid()))
            crash_memory = crash_file.write_to(self.directory, in_memory=self._is_remote)
            settings = self._settings()
            fields = {**start_fields(self._loaded_by), "cgroup": control_groups()}
            if settings.stacks:
                fields["runtime"] = stack_access.runtime()
            if joined is None:
                fields["keep"] = settings.keep
            greeting = message("start", time.monotonic(), wall_s=time.time(), **fields)
            self._link = Link(self.directory, greeting, self._lost, joined.link if joined else None)
            if not self._link.is_open:
                self._link = None
                return  # the user has been told
            if crash_memory is not None:
                self._link.send(message("crash_memory", time.monotonic()), [crash_memory])
            if settings.stacks:
                stack_access.permit(self._link.sidecar_pid)
            newest = NewestCell(self.directory.name)
            self.hooks = CellHooks(
                self._shell, self._link, newest, exact_peak=settings.exact_peak, namespace=settings.namespace
            )
            self.hooks.install()
            self._thread_errors = ThreadErrors(self._link)
            self._start_threads(settings, self._link, self.hooks)
        except Exception as error:
            self._stop_quietly()
            place = f" in {layout.recordings_dir()}" if isinstance(error, OSError) else ""
            self._give_up(
                f"KernelDoctor cannot record{place}: {error}. Your kernel is not affected. "
                f"Set {layout.ROOT_VARIABLE} to a directory you can write to, then `%kerneldoctor on`."
            )

    def _settings(self) -> KernelDoctor:
        """Return the settings, and say in a line which there are none of: what is misspelled would do nothing."""
        with warnings.catch_warnings(record=True) as unknown:
            warnings.simplefilter("always")
            settings = KernelDoctor(parent=self._shell)
        if unknown:
            self._say(" ".join(" ".join(str(one.message).split()) for one in unknown))
        return settings

    def _start_threads(self, settings: KernelDoctor, link: Link, hooks: CellHooks) -> None:
        if settings.namespace:
            look_thread.start(link, hooks, self._shell)
        if settings.last_words and sys.platform == "linux":
            self._output_capture = OutputCapture(link)

    def stop(self) -> None:
        """End the recording and the sidecar, and leave the kernel as it was before."""
        if self._link is not None:
            self._link.send(message("off", time.monotonic()))
        self._stop_quietly()

    def status(self) -> str:
        """Return whether and where this kernel is recorded, in a line or two."""
        if self.is_recording:
            why_not = None if self.directory is None or self._is_remote else storage_problem(self.directory)
            but = f", but {why_not}: most of what happens now is lost" if why_not else ""
            return f"KernelDoctor is recording this kernel{but}.\nRecording: {self.directory}"
        reason = self.problem or "The recording is switched off. To switch it on: %kerneldoctor on"
        return f"KernelDoctor is not recording this kernel. {reason}"

    def _stop_quietly(self) -> None:
        hooks, self.hooks = self.hooks, None
        link, self._link = self._link, None
        capture, self._output_capture = self._output_capture, None
        errors, self._thread_errors = self._thread_errors, None
        if hooks is not None:
            hooks.remove()
        if errors is not None:
            errors.remove()
        if capture is not None:
            capture.restore()
        if link is not None:
            link.close()
        crash_file.stop()
        memory.close_files()

    def _lost(self) -> None:
        self._stop_quietly()
        if self.directory is not None:  # without this event it would seem that the kernel died just now
            with suppress(OSError):
                lost = {"event": "lost", "mono_s": time.monotonic(), "wall_s": time.time()}
                if self._is_remote:
                    append_line(self.directory / layout.KERNEL, json.dumps(lost))
                else:
                    file = JsonLines(self.directory / layout.KERNEL)
                    file.write(lost)
                    file.close()
        self._give_up(
            "KernelDoctor stopped recording: its sidecar process is gone. Your kernel is not affected. "
            "`%kerneldoctor on` starts a new recording."
        )

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        self._say(problem)

    def _say(self, words: str) -> None:
        """Print a line in the cell that runs, or in the first cell: at a kernel's start nobody would see it."""
        if self._user_sees_output():
            print(words, file=sys.stderr)  # noqa: T201 - the one line that the user gets
            return

        def say_once(_: object) -> None:
            self._shell.events.unregister("pre_run_cell", say_once)
            print(words, file=sys.stderr)  # noqa: T201

        self._shell.events.register("pre_run_cell", say_once)

    def _user_sees_output(self) -> bool:
        """Return whether a cell runs, or this is a terminal: at a kernel's start nobody sees what is printed."""
        return execute_request(self._shell) is not None or not hasattr(self._shell, "kernel")
