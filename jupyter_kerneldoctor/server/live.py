"""Sends what running kernels use to the pages that show it: one websocket a page, and nothing while nothing changes.

A page names the kernel of the notebook in front, and whether its panel is open; without it gets the summary only. One
loop for all pages reads on the recordings of these kernels once a second, and only what was added. Without a page
there is no loop.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_kerneldoctor.recording.store import UnknownRecordingError
from jupyter_kerneldoctor.recording.tail import RecordingTail
from jupyter_kerneldoctor.render import jsontext
from jupyter_kerneldoctor.reports.live import Document, document, fingerprint, summary
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

from .thread_pool import Tasks, ThreadPool

Extent = Literal["summary", "cells", "all"]
"""What a page shows: what is left, the peaks of the cells as well, or all there is."""

_Made = tuple[list[tuple[str, int]], Document]

_STEP_S = 1.0

_LONGEST_WAIT_S = 60.0

_OTHERS_STEPS = 5
"""The other kernels are looked at every 5 s where a page shows them, and at once when one begins to."""


class LiveRecordings:
    """The newest recording of each kernel that is asked for, read on as it grows. To be used from one thread."""

    def __init__(self, post_mortems: PostMortems) -> None:
        self._post_mortems = post_mortems
        self._tails: dict[str, RecordingTail] = {}
        self._kernels: dict[str, str] = {}
        """The kernel of each recording: its first line, which does not change."""
        self._without: dict[str, tuple[float, float]] = {}
        """Recordings that name no kernel yet: when each is read again, and after how long then."""
        self._listed_ns: int | None = None
        self._newest: dict[str, str] = {}

    def read_on(self, kernel_id: str) -> RecordingTail | None:
        """Read what was added to the recording of a kernel; None for one that is not recorded."""
        self._list()
        recording_id = self._newest.get(kernel_id)
        if recording_id is None:
            return None
        if recording_id not in self._tails:
            try:
                self._tails[recording_id] = RecordingTail(self._post_mortems.store.path(recording_id))
            except UnknownRecordingError:
                return None
        self._tails[recording_id].read_on()
        return self._tails[recording_id]

    def known(self, kernel_id: str) -> RecordingTail | None:
        """Return what was last read of a kernel."""
        return self._tails.get(self._newest.get(kernel_id, ""))

    def keep_only(self, kernel_ids: set[str]) -> None:
        """Forget the recordings of other kernels."""
        wanted = {self._newest.get(kernel_id) for kernel_id in kernel_ids}
        self._tails = {name: tail for name, tail in self._tails.items() if name in wanted}

    def _list(self) -> None:
        """Find the newest recording of each kernel, if one was made or deleted since."""
        store = self._post_mortems.store
        try:
            listed_ns = store.directory.stat().st_mtime_ns
        except OSError:
            return
        if listed_ns == self._listed_ns:
            return
        ids, newest, is_complete = store.ids(), {}, True
        for recording_id in reversed(ids):
            kernel_id = self._kernels.get(recording_id) or self._read_kernel(recording_id)
            if kernel_id is None:
                is_complete = False  # its first line may not be there yet
            else:
                self._kernels[recording_id], newest[kernel_id] = kernel_id, recording_id
        self._kernels = {name: self._kernels[name] for name in ids if name in self._kernels}
        self._without = {name: self._without[name] for name in ids if name in self._without}
        self._newest, self._listed_ns = newest, listed_ns if is_complete else None

    def _read_kernel(self, recording_id: str) -> str | None:
        """Return the kernel that a recording names. One that names none is read again less and less often."""
        now = time.monotonic()
        due, wait_s = self._without.get(recording_id, (now, _STEP_S))
        kernel_id = None
        if now >= due:
            with suppress(Exception):  # a damaged one must not keep the others from being found
                kernel_id = self._post_mortems.header(recording_id, 0.0).kernel_id
            self._without[recording_id] = now + wait_s, min(2 * wait_s, _LONGEST_WAIT_S)
        return kernel_id


class LivePages:
    """The open pages, with the kernel that each shows."""

    def __init__(self, recordings: LiveRecordings, kernels: Any, failed: Callable[[Exception], None]) -> None:
        self._recordings = recordings
        self._kernels = kernels
        self._wanted: dict[LiveWebsocket, tuple[str, Extent]] = {}
        self._sent: dict[LiveWebsocket, object] = {}
        self._neighbours: set[str] = set()
        self._made: dict[tuple[str, Extent], _Made] = {}
        """What was made of the recordings as they were."""
        self._failed = failed
        self._unread: set[str] = set()
        """The kernels whose failure was told: a recording that cannot be shown costs the others nothing."""
        self._threads = ThreadPool(1)
        self._tasks = Tasks(failed)
        self._loop: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()

    def show(self, page: "LiveWebsocket", kernel_id: str | None, *, detail: bool, cells: bool = False) -> None:
        """Send this page what the kernel uses from now on; None: nothing."""
        self._sent.pop(page, None)
        self._wanted.pop(page, None)
        if kernel_id is not None:
            self._wanted[page] = kernel_id, "all" if detail else "cells" if cells else "summary"
        self._asked.set()
        if self._wanted and (self._loop is None or self._loop.done()):
            self._loop = self._tasks.start(self._send_changes())

    async def _send_changes(self) -> None:
        step, showed_others = 0, False
        while self._wanted:
            self._asked.clear()
            wanted = dict(self._wanted)
            shows_others = any(extent == "all" for _, extent in wanted.values())
            running = None
            if step % _OTHERS_STEPS == 0 or shows_others > showed_others:  # who begins to look does not wait for them
                running, showed_others = set(self._kernels.list_kernel_ids() if shows_others else ()), shows_others
            with suppress(OSError):
                documents = await self._threads.run(self._read, set(wanted.values()), running)
                for page, subject in wanted.items():
                    if self._wanted.get(page) == subject:
                        self._send(page, subject[0], documents.get(subject))
            step += 1
            with suppress(asyncio.TimeoutError):  # a page that has just asked need not wait
                await asyncio.wait_for(self._asked.wait(), _STEP_S)

    def _read(self, subjects: set[tuple[str, Extent]], running: set[str] | None) -> dict[tuple[str, Extent], Document]:
        if running is not None:
            self._neighbours = running
            self._recordings.keep_only({kernel_id for kernel_id, _ in subjects} | self._neighbours)
            for kernel_id in self._neighbours:
                with self._apart(kernel_id):
                    self._recordings.read_on(kernel_id)
        self._made = {subject: made for subject, made in self._made.items() if subject in subjects}
        for subject in subjects:
            was = self._made.pop(subject, None)
            with self._apart(subject[0]):
                made = self._make(*subject, was)
                if made is not None:
                    self._made[subject] = made
        return {subject: made for subject, (_, made) in self._made.items()}

    def _make(self, kernel_id: str, extent: Extent, was: _Made | None) -> _Made | None:
        tail = self._recordings.read_on(kernel_id)
        if tail is None:
            return was
        known = [self._recordings.known(one) for one in self._neighbours - {kernel_id}] if extent == "all" else []
        others = [other for other in known if other is not None]
        versions = [(one.recording.id, one.version) for one in (tail, *others)]
        if was is not None and was[0] == versions:
            return was
        if extent == "all":
            return versions, document(tail.recording, [other.recording for other in others])
        return versions, summary(tail.recording, with_cells=extent == "cells")

    @contextmanager
    def _apart(self, kernel_id: str) -> Iterator[None]:
        """Pass over whatever a recording raises, and tell it once."""
        try:
            yield
        except Exception as error:
            if kernel_id not in self._unread:
                self._unread.add(kernel_id)
                self._failed(error)

    def _send(self, page: "LiveWebsocket", kernel_id: str, found: Document | None) -> None:
        print_of = None if found is None else fingerprint(found)
        if page in self._sent and self._sent[page] == print_of:
            return
        self._sent[page] = print_of
        with suppress(WebSocketClosedError):
            page.write_message(jsontext.render(found or {"kernel_id": kernel_id, "is_recorded": False}))


class LiveWebsocket(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """`kerneldoctor/live`: a page sends `{"kernel_id": ..., "detail": ..., "cells": ...}`, and gets documents."""

    auth_resource = "kerneldoctor"

    def initialize(self, pages: LivePages) -> None:
        self._pages = pages

    def set_default_headers(self) -> None:
        """Leave out the headers of a page."""

    @ws_authenticated
    async def get(self) -> None:
        """Open the websocket."""
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", "kerneldoctor")):
            raise web.HTTPError(403)
        await super().get()

    def on_message(self, message: str | bytes) -> None:
        """Show another kernel; what is no request ends the connection."""
        try:
            wanted = json.loads(message)
            kernel_id = wanted["kernel_id"]
            if not (kernel_id is None or isinstance(kernel_id, str)):
                raise TypeError
            self._pages.show(self, kernel_id, detail=wanted.get("detail") is True, cells=wanted.get("cells") is True)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.close(1003)

    def on_close(self) -> None:
        """Forget this page."""
        self._pages.show(self, None, detail=False)
        super().on_close()
