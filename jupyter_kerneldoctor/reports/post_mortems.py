"""The post-mortems of this user's recordings, as JSON documents."""

from __future__ import annotations

import json
import time
from binascii import crc32
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnosis import diagnose, load_rules
from ..recording.layout import JOURNAL, started_wall_s
from ..recording.private_files import HAS_DIRECTORIES, read_part, recording, recordings
from ..recording.store import END_PATIENCE_S, Store, UnknownRecordingError, UnreadableRecordingError
from . import kept_documents, kept_files, kept_rows
from .garbage_collection import no_garbage_collection

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..diagnosis.postmortem import PostMortem
    from ..recording.model import Recording
    from .kept_files import Stamp
    from .kept_rows import Row

Document = dict[str, Any]

_MAX_HEADER_BYTES = 1 << 20

_MAX_EARLIER = 10
"""Earlier deaths of the same cell to look for."""

_KEPT_DOCUMENTS = 8
"""As many documents of kernels that are over are kept: the page asks for what the death was announced with."""

_PREPARED_DOCUMENTS = 3

_SILENT_S = 3600.0
"""A recording to which nothing was written for so long is over, wherever its kernel was."""


class Header(NamedTuple):
    """The first line of a recording: which kernel it is about, read without the rest."""

    pid: int | None
    kernel_id: str | None
    notebook: str | None
    started_wall_s: float


class PostMortems:
    """Diagnoses recordings on request.

    Rows of ended kernels are kept on disk and in memory until the recording's files change, so that no list diagnoses
    all recordings, and so are the documents of long ones; the newest documents are kept in memory. Safe to use from
    several threads: at worst two of them do the same work.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self._rows: dict[str, tuple[Stamp, Row]] = {}
        self._documents: dict[str, tuple[list[Any] | None, Document]] = {}

    def header(self, recording_id: str, patience_s: float = END_PATIENCE_S) -> Header:
        """Return which kernel a recording is about; wait for a missing first line. Raises UnknownRecordingError."""
        try:
            begin = read_part(self.store.path(recording_id) / JOURNAL, 0, _MAX_HEADER_BYTES)
            start = json.loads(begin.partition(b"\n")[0])
            pid, began_s = int(start["process"][0]), float(start["wall_s"])
            return Header(pid, _text(start.get("kernel_id")), _text(start.get("notebook")), began_s)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError):
            found = self.store.open(recording_id, 0.0)
            if found.sidecar is None and patience_s:  # a first line that is damaged gets no better
                found = self.store.open(recording_id, patience_s)
            kernel, began_s = found.kernel, found.started_wall_s or started_wall_s(recording_id) or 0.0
            return Header(kernel.process.pid or None, kernel.kernel_id, kernel.notebook, began_s)

    def ids(self) -> list[str]:
        """Return the ids of all recordings, newest first. Ids have seconds; within one the first line decides."""
        ids = self.store.ids()
        count = Counter(map(_second, ids))
        return sorted(
            ids, key=lambda one: (_second(one), self._started_s(one) if count[_second(one)] > 1 else 0.0), reverse=True
        )

    def document(self, recording_id: str, patience_s: float = END_PATIENCE_S) -> Document:
        """Return the post-mortem of a recording; wait for an end that is not written yet.

        Raises UnknownRecordingError, UnreadableRecordingError.
        """
        path = self.store.path(recording_id)
        files, made_from = self._made_from(path)
        kept = self._documents.get(recording_id)
        if kept and made_from is not None and kept[0] == made_from:
            return kept[1]
        document = None if made_from is None else kept_documents.read(path, made_from)
        if document is None:
            found = self.store.open(recording_id, patience_s)
            document = self._document(found)
            if not _is_over(found):
                return document
            if made_from is not None:
                kept_documents.write(path, document, made_from, files)
        newest = list(self._documents.items())[1 - _KEPT_DOCUMENTS :]
        self._documents = {**dict(newest), recording_id: (made_from, document)}
        return document

    def _document(self, found: Recording) -> Document:
        # Not while it is read: its disk may never answer, and the collector is the whole server's.
        with no_garbage_collection():
            post_mortem = diagnose(found)
        if post_mortem.died and post_mortem.cell is not None:
            with suppress(Exception):  # what earlier recordings hold must not cost this one its report
                post_mortem = self._with_recurrence(post_mortem, post_mortem.cell.source)
        return {**post_mortem.to_json(), **_start(found)}

    def prepare(self, rows: list[Row]) -> None:
        """Make the documents of the newest deaths in a list, which whoever reads the list asks for next."""
        load_rules()
        for row in [row for row in rows if row["died"]][:_PREPARED_DOCUMENTS]:
            with suppress(Exception):  # it is told to who asks for that one
                self.document(row["recording"])

    def _made_from(self, path: Path) -> tuple[Stamp, list[Any] | None]:
        """Return a recording's files as they are, and a value that changes with them, or with the earlier ones."""
        if HAS_DIRECTORIES:
            with suppress(OSError), recording(path) as directory:
                files = kept_files.stamp(directory)
                earlier = sorted(one for one in self.store.ids() if one < path.name)
                return files, [files, crc32(repr(earlier).encode())]
        return [], None

    def _with_recurrence(self, post_mortem: PostMortem, source: str) -> PostMortem:
        """Add the earlier deaths of the same cell. Only recordings that end with that cell are read in full."""
        from dataclasses import replace  # noqa: PLC0415 - lists need none of these

        from ..diagnosis.recurrence import fingerprint, recurrence  # noqa: PLC0415
        from ..recording.last_cell import last_cell_source  # noqa: PLC0415

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
        """Return a row for each recording, newest first. All together wait no longer for ends than one would."""
        deadline = time.monotonic() + END_PATIENCE_S
        ids = self.ids()
        for gone in set(self._rows) - set(ids):
            self._rows.pop(gone, None)
        kept = self._kept_rows(ids)
        rows = []
        for recording_id in ids:
            try:
                row = kept.get(recording_id)
                rows.append(self._row(recording_id, max(0.0, deadline - time.monotonic())) if row is None else row)
            except UnreadableRecordingError as error:
                rows.append(_unreadable_row(recording_id, str(error)))
            except (UnknownRecordingError, FileNotFoundError):
                continue  # deleted meanwhile
            except Exception:  # one damaged recording must not take the list with it
                rows.append(self._damaged_row(recording_id))
        return rows

    def _started_s(self, recording_id: str) -> float:
        try:
            return self.header(recording_id, 0.0).started_wall_s
        except Exception:  # deleted meanwhile, not ours to read, or damaged
            return started_wall_s(recording_id) or 0.0

    def kept_row(self, recording_id: str) -> Row | None:
        """Return the row that was made before, of a recording that has not changed since."""
        return self._kept_rows([recording_id]).get(recording_id)

    def _kept_rows(self, ids: Iterable[str]) -> dict[str, Row]:
        """Return the rows that were made before, of recordings that have not changed since."""
        found: dict[str, Row] = {}
        if not HAS_DIRECTORIES:
            return found
        with suppress(OSError), recordings(self.store.directory) as parent:
            for recording_id in ids:
                with suppress(OSError), recording(recording_id, parent) as directory:
                    now = kept_files.stamp(directory)
                    known = self._rows.get(recording_id)
                    row = known[1] if known and known[0] == now else kept_rows.read(directory, recording_id, now)
                    if row is not None:
                        found[recording_id] = row
                        self._rows[recording_id] = now, row
        return found

    def _row(self, recording_id: str, patience_s: float) -> Row:
        path = self.store.path(recording_id)
        try:
            with recording(path) as directory:
                before = kept_files.stamp(directory)
        except PermissionError as error:
            raise UnreadableRecordingError(recording_id, error) from None
        found = self.store.open(recording_id, patience_s)
        post_mortem = diagnose(found)
        row = {**post_mortem.to_row(), **_start(found)}
        # If the sidecar dies too, a death changes no file; nor does it when nobody here can tell yet.
        if post_mortem.end.kind != "running" and (found.end is not None or found.alive is not None):
            self._rows[recording_id] = before, row
            if _is_over(found):
                kept_rows.write(path, row, before)
        return row

    def _damaged_row(self, recording_id: str) -> Row:
        row = _unreadable_row(recording_id, "This recording is damaged and cannot be read.")
        with suppress(Exception):
            header = self.header(recording_id, 0.0)
            row |= {"kernel_id": header.kernel_id, "notebook": header.notebook}
        return row


def _is_over(found: Recording) -> bool:
    """Return whether nothing will be added to a recording any more, as far as can be told."""
    if found.end is not None or found.alive is False:
        return True
    return found.alive is None and found.last_wall_s is not None and time.time() - found.last_wall_s > _SILENT_S


def _start(found: Recording) -> Document:
    """Return when the recording started and what started it; from its id where its first line is missing."""
    if found.started_wall_s:
        return {"started": _iso(found.started_wall_s), "loaded_by": found.kernel.loaded_by}
    return {"started": _iso(started_wall_s(found.id)), "loaded_by": None}


def _iso(wall_s: float | None) -> str | None:
    from ..diagnosis.postmortem import iso  # noqa: PLC0415

    return iso(wall_s)


def _unreadable_row(recording_id: str, headline: str) -> Row:
    """Return the row of a recording of which only the id is known."""
    pid = int(recording_id.split("-")[1]) or None
    kernel = {"pid": pid, "kernel_id": None, "notebook": None, "loaded_by": None}
    times = {"started": _iso(started_wall_s(recording_id)), "ended": None}
    verdict = {"cause": "unknown", "headline": headline, "state": "unknown", "died": False}
    return {"recording": recording_id, **kernel, **times, **verdict}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _second(recording_id: str) -> str:
    return recording_id.partition("-")[0]
