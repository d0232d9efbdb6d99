"""`%kerneldoctor live`: a gauge and a timeline below the cell, drawn anew while cells run.

It is a widget where anywidget is installed; the page says when it is shown and when it is gone. A thread draws while a
cell runs and a moment longer. Between cells, and once the output is gone, there is neither thread nor timer.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ..recording.tail import RecordingTail
from ..render.live import render_html, render_text
from ..reports.live import document, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell

    from .doctor import Doctor

_WIDTH = 72
_STEP_S = 1.0
_LINGER_S = 10.0
"""How long it goes on after a cell: then the kernel has heard whether anyone looks."""

_UNSEEN = 30
"""Drawn so often without an answer, it is shown nowhere any more: a browser that crashed takes no leave."""

_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"

_ESM = """
function render({ model, el }) {
  let drawn = 0;
  const draw = () => {
    el.innerHTML = model.get('html');
    if (++drawn % 10 === 0) model.send({ kind: 'seen' });
  };
  const leave = () => model.send({ kind: 'gone' });
  draw();
  model.on('change:html', draw);
  addEventListener('pagehide', leave);
  model.send({ kind: 'shown' });
  return () => {
    removeEventListener('pagehide', leave);
    model.off('change:html', draw);
    leave();
  };
}
export default { render };
"""


class LiveView:
    """What is shown below one cell."""

    def __init__(self, shell: InteractiveShell, doctor: Doctor) -> None:
        self._shell = shell
        self._doctor = doctor
        self._tail: RecordingTail | None = None
        self._directory: Path | None = None
        self._widget: Any = None
        self._told: object = None
        self._views = self._unseen = 0
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._hooked = False

    def show(self) -> None:
        """Show it below the cell that runs: live, or as it is now where there is no widget library or no page."""
        doc = self._read()
        if doc is None or getattr(self._shell, "kernel", None) is None:
            print(self._doctor.status() if doc is None else render_text(doc, _WIDTH))  # noqa: T201 - it was asked for
            return
        data = {"text/plain": render_text(doc, _WIDTH), "text/html": render_html(doc)}
        make = _widget_class()
        if make is None:
            data["text/plain"] += "\nFor a view that follows the cells: pip install anywidget"
        else:
            self._widget = make(html=data["text/html"])
            self._widget.on_msg(self._heard)
            bundle = self._widget._repr_mimebundle_()  # what IPython calls
            data[_WIDGET_TYPE] = (bundle[0] if isinstance(bundle, tuple) else bundle)[_WIDGET_TYPE]
            self._follow()
        display(data, raw=True)

    def _heard(self, _: Any, content: dict[str, Any], __: Any = None) -> None:
        self._unseen = 0
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind == "shown":
            self._views += 1
            self._follow()
        elif kind == "gone":
            self._views = max(0, self._views - 1)
            if self._views == 0:
                self._leave()

    def _follow(self) -> None:
        """Draw from now on while cells run."""
        self._stop.clear()
        if not self._hooked:
            self._hooked = True
            self._shell.events.register("pre_run_cell", self._wake)
        self._wake()

    def _leave(self) -> None:
        self._stop.set()
        if self._hooked:
            self._hooked = False
            with suppress(ValueError):  # user code may have cleared IPython's callbacks
                self._shell.events.unregister("pre_run_cell", self._wake)

    def _wake(self, _: object = None) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._draw_while_busy, name="KernelDoctor-live", daemon=True)
            self._thread.start()

    def _draw_while_busy(self) -> None:
        busy_until = time.monotonic() + _LINGER_S
        with suppress(Exception):  # the view may fail, the kernel may not
            while time.monotonic() < busy_until and not self._stop.wait(_STEP_S):
                if self._doctor.hooks is not None and self._doctor.hooks.running():
                    busy_until = time.monotonic() + _LINGER_S
                self._draw()
        if self._views == 0 or self._unseen >= _UNSEEN:
            self._views = 0
            self._leave()

    def _draw(self) -> None:
        doc = self._read()
        told = None if doc is None else fingerprint(doc)
        if doc is not None and told != self._told:
            self._told = told
            self._unseen += 1
            self._widget.html = render_html(doc)

    def _read(self) -> dict[str, Any] | None:
        """Return what there is to show; None where nothing is recorded."""
        directory = self._doctor.directory if self._doctor.is_recording else None
        if directory is None:
            return None
        if self._tail is None or self._directory != directory:
            self._tail, self._directory = RecordingTail(directory), directory
        self._tail.read_on()
        return document(self._tail.recording)


@cache
def _widget_class() -> Any:
    """Return the class of the widget; None where anywidget is not installed."""
    try:
        import anywidget  # noqa: PLC0415 - optional, and nobody pays for it who does not ask
        from traitlets import Unicode  # noqa: PLC0415
    except ImportError:
        return None

    class Widget(anywidget.AnyWidget):
        _esm = _ESM
        html = Unicode().tag(sync=True)

    return Widget
