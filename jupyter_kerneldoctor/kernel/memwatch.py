"""Measures a cell or a line for `%%memwatch` and `%memwatch`, and prints the result."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from IPython.display import display

from .memory import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from .doctor import Doctor
    from .memwatch_report import Recorded


class MemWatch:
    """Measures a cell or a line, and prints the result."""

    def __init__(self, shell: InteractiveShell, doctor: Doctor) -> None:
        self._shell = shell
        self._doctor = doctor
        self._recorded: Recorded | None = None

    @contextmanager
    def watch(self, *, timeline: bool) -> Iterator[None]:
        """Measure the block, and print the result even if it raises."""
        stretch = Stretch()
        try:
            yield
        finally:
            self._print(stretch.end(), timeline)

    def watch_cell(self, *, timeline: bool) -> None:
        """Measure to the end of the running cell, and print the result then. Where it is recorded, it is measured."""
        recorded = None if self._doctor.hooks is None else self._doctor.hooks.stretch()
        stretch = recorded if recorded is not None and recorded.exact else Stretch()
        within = 0  # cells that run inside this one, as with `%%capture`

        def begun(_: Any) -> None:
            nonlocal within
            within += 1

        def ended(_: Any) -> None:
            nonlocal within
            if within:
                within -= 1
                return
            self._shell.events.unregister("pre_run_cell", begun)
            self._shell.events.unregister("post_run_cell", ended)
            self._print(stretch.end() if stretch.ended_mono_s is None else stretch, timeline)

        self._shell.events.register("pre_run_cell", begun)
        self._shell.events.register("post_run_cell", ended)

    def _print(self, stretch: Stretch, timeline: bool) -> None:
        from .memwatch_report import Recorded, as_html, report  # noqa: PLC0415 - loading the extension needs none

        directory = self._doctor.directory if self._doctor.is_recording else None
        if directory is None:
            self._recorded = None
        elif self._recorded is None or self._recorded.directory != directory:
            self._recorded = Recorded(directory)
        text, drawn = report(stretch, self._recorded, timeline=timeline)
        if drawn is None or getattr(self._shell, "kernel", None) is None:
            print(text)  # noqa: T201 - this is what the user asked for
        else:
            display({"text/plain": text, "text/html": as_html(text, drawn)}, raw=True)
