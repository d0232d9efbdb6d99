"""The post-mortems of this user's recordings, as JSON documents."""

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..diagnosis import diagnose
from ..diagnosis.postmortem import PostMortem, iso
from ..diagnosis.recurrence import fingerprint, recurrence
from ..recording.last_cell import last_cell_source
from ..recording.layout import JOURNAL, started_wall_s
from ..recording.model import Recording
from ..recording.private_files import read_part
from ..recording.store import Store, UnknownRecordingError, UnreadableRecordingError

Document = dict[str, Any]
Row = dict[str, Any]
Fingerprint = tuple[tuple[str, int, int], ...]

_MAX_HEADER_BYTES = 1 << 20

_MAX_EARLIER = 10
"""Earlier deaths of the same cell to look for."""


class Header(NamedTuple):
    """The first line of a recording: which kernel it is about, read without the rest."""

    pid: int | None
    kernel_id: str | None
    notebook: str | None
    started_wall_s: float


class PostMortems:
    """Diagnoses recordings on request.

    Rows of ended kernels are cached until the recording's files change, so that a server does not diagnose 200
    recordings for each list. Safe to use from several threads: at worst two of them do the same work.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self._rows: dict[str, tuple[Fingerprint, Row]] = {}

    def header(self, recording_id: str) -> Header:
        """Return which kernel a recording is about; wait for a missing first line. Raises UnknownRecordingError."""
        try:
            begin = read_part(self.store.path(recording_id) / JOURNAL, 0, _MAX_HEADER_BYTES)
            start = json.loads(begin.partition(b"\n")[0])
            pid, started_wall_s = int(start["process"][0]), float(start["wall_s"])
            return Header(pid, _text(start.get("kernel_id")), _text(start.get("notebook")), started_wall_s)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError):
            recording = self.store.open(recording_id)
            kernel = recording.kernel
            return Header(kernel.process.pid or None, kernel.kernel_id, kernel.notebook, recording.started_wall_s)

    def ids(self) -> list[str]:
        """Return the ids of all recordings, newest first. Ids have seconds; within one the first line decides."""
        ids = self.store.ids()
        count = Counter(map(_second, ids))
        return sorted(
            ids, key=lambda one: (_second(one), self._started_s(one) if count[_second(one)] > 1 else 0.0), reverse=True
        )

    def document(self, recording_id: str) -> Document:
        """Return the post-mortem of a recording. Raises UnknownRecordingError, UnreadableRecordingError."""
        recording = self.store.open(recording_id)
        post_mortem = diagnose(recording)
        if post_mortem.died and post_mortem.cell is not None:
            post_mortem = self._with_recurrence(post_mortem, post_mortem.cell.source)
        return {**post_mortem.to_json(), **_start(recording)}

    def _with_recurrence(self, post_mortem: PostMortem, source: str) -> PostMortem:
        """Add the earlier deaths of the same cell. Only recordings that end with that cell are read in full."""
        own = fingerprint(source)
        earlier: list[PostMortem] = []
        for recording_id in self.store.ids():
            if len(earlier) == _MAX_EARLIER:
                break
            if recording_id >= post_mortem.recording:
                continue
            with suppress(UnknownRecordingError, OSError):  # deleted meanwhile
                last = last_cell_source(self.store.path(recording_id))
                if last is not None and fingerprint(last) == own:
                    earlier.append(diagnose(self.store.open(recording_id)))
        return replace(post_mortem, recurrence=recurrence(post_mortem, earlier))

    def rows(self) -> list[Row]:
        """Return a row for each recording, newest first."""
        ids = self.ids()
        for gone in set(self._rows) - set(ids):
            self._rows.pop(gone, None)
        rows = []
        for recording_id in ids:
            try:
                rows.append(self._row(recording_id))
            except UnreadableRecordingError as error:
                rows.append(_unreadable_row(recording_id, str(error)))
            except (UnknownRecordingError, FileNotFoundError):
                continue  # deleted meanwhile
            except Exception:  # one damaged recording must not take the list with it
                rows.append(self._damaged_row(recording_id))
        return rows

    def _started_s(self, recording_id: str) -> float:
        try:
            return self.header(recording_id).started_wall_s
        except UnknownRecordingError:  # deleted meanwhile, or not ours to read
            return started_wall_s(recording_id) or 0.0

    def _row(self, recording_id: str) -> Row:
        fingerprint = _fingerprint(recording_id, self.store.path(recording_id))
        kept = self._rows.get(recording_id)
        if kept is not None and kept[0] == fingerprint:
            return kept[1]
        recording = self.store.open(recording_id)
        post_mortem = diagnose(recording)
        row = {**post_mortem.to_row(), **_start(recording)}
        # If the sidecar dies too, a death changes no file; nor does it when nobody here can tell yet.
        if post_mortem.end.kind != "running" and (recording.end is not None or recording.alive is not None):
            self._rows[recording_id] = fingerprint, row
        return row

    def _damaged_row(self, recording_id: str) -> Row:
        header = self.header(recording_id)
        row = _unreadable_row(recording_id, "This recording is damaged and cannot be read.")
        return {**row, "kernel_id": header.kernel_id, "notebook": header.notebook}


def _start(recording: Recording) -> Document:
    """Return when the recording started and what started it; from its id where its first line is missing."""
    if recording.started_wall_s:
        return {"started": iso(recording.started_wall_s), "loaded_by": recording.kernel.loaded_by}
    return {"started": iso(started_wall_s(recording.id)), "loaded_by": None}


def _unreadable_row(recording_id: str, headline: str) -> Row:
    """Return the row of a recording of which only the id is known."""
    pid = int(recording_id.split("-")[1]) or None
    kernel = {"pid": pid, "kernel_id": None, "notebook": None, "loaded_by": None}
    times = {"started": iso(started_wall_s(recording_id)), "ended": None}
    verdict = {"cause": "unknown", "headline": headline, "state": "unknown", "died": False}
    return {"recording": recording_id, **kernel, **times, **verdict}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _second(recording_id: str) -> str:
    return recording_id.partition("-")[0]


def _fingerprint(recording_id: str, directory: Path) -> Fingerprint:
    try:
        files = [(entry.name, entry.stat(follow_symlinks=False)) for entry in os.scandir(directory)]
    except PermissionError as error:
        raise UnreadableRecordingError(recording_id, error) from None
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))
