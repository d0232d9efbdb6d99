"""`list` and `report`."""

import os
from argparse import Namespace
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from jupyter_kerneldoctor.diagnosis.postmortem import iso
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.store import UnknownRecordingError, UnreadableRecordingError
from jupyter_kerneldoctor.render.next_steps import newer_recording
from jupyter_kerneldoctor.reports.garbage_collection import no_garbage_collection
from jupyter_kerneldoctor.reports.kept_rows import Row
from jupyter_kerneldoctor.reports.post_mortems import Document, PostMortems

from . import output
from .errors import CannotReadError, NothingOfThatError, NothingOfThatNotebookError, NothingToReportError
from .recordings import find, reading, usable_store


def list_(options: Namespace) -> None:
    """Print the recordings: deaths first, orderly ends only on request. As JSON all of them, newest first."""
    store = usable_store()
    with no_garbage_collection():
        rows = PostMortems(store).rows()
    if options.json:
        output.say_json(rows)
    elif not rows:
        output.say(f"There is no recording yet. {NothingToReportError.help}")
    else:
        from jupyter_kerneldoctor.render.terminal import list_summary, render_list  # noqa: PLC0415 - rich only here

        orderly = 0 if options.all else sum(map(_is_orderly, rows))
        shown = sorted((row for row in rows if options.all or not _is_orderly(row)), key=_is_quiet)
        table = render_list(shown, width=output.width(), color=output.color_wanted())
        output.say("\n\n".join(filter(None, (table, list_summary(len(rows), orderly, store.disk_bytes())))))


def _is_orderly(row: Row) -> bool:
    """Whether a kernel ended as it was asked to, with nothing that it survived."""
    return row["state"] == "ended" and not row.get("survived")


def _is_quiet(row: Row) -> bool:
    """Whether there is no death and nothing survived to tell of."""
    return row["state"] not in ("died", "stuck") and not row.get("survived")


class Choice(NamedTuple):
    """A report, and a sentence on a newer recording that is worth a look."""

    doc: Document
    newer: str | None = None


def report(options: Namespace) -> None:
    """Print one post-mortem."""
    with no_garbage_collection():
        post_mortems = PostMortems(usable_store())
        choice = choose(post_mortems, options)
        if options.recording is None and not (options.last or options.if_died):
            choice = _stuck_since(choice.doc["ended"] or "", post_mortems, options) or choice
    if options.if_died and not (choice.doc["died"] or choice.doc["incidents"]):
        return
    if options.json:
        output.say_json(choice.doc)
    else:
        doc = {**choice.doc, **_with_all_fixes(choice.doc)} if options.all else choice.doc
        if options.if_died:  # who runs the notebook shares this stream, and its line may not be over: a progress bar
            output.say("")
        output.say(_rendered(choice._replace(doc=doc), options.format, details=options.details))


def _with_all_fixes(doc: Document) -> Document:
    return {"fixes": [*doc["fixes"], *(doc.get("more_fixes") or [])], "more_fixes": []}


def choose(post_mortems: PostMortems, options: Namespace) -> Choice:
    """Return the report that the options select.

    A death of the kernel comes before one of the notebook, and both before a report of no death, so that `%postmortem`
    can ask for "this kernel, or else this notebook". An end that lost nothing comes after all deaths with a cell.
    Raises NothingToReportError, NoSuchRecordingError, SeveralRecordingsError, CannotReadError.
    """
    if options.recording is not None:
        recording_id = find(post_mortems.store, options.recording)
        with reading(recording_id):
            return Choice(post_mortems.document(recording_id))
    without_death: str | None = None
    unreadable: str | None = None
    for ids in _candidates(post_mortems, options):
        newer: str | None = None
        idle_end: Choice | None = None
        for recording_id in ids:
            row = post_mortems.kept_row(recording_id)
            if row is not None and not row["died"] and row["survived"] is None:
                newer, without_death = newer or newer_recording(row), without_death or recording_id
                continue
            doc, why = _read(post_mortems, recording_id)
            unreadable = unreadable or why
            if doc is None:
                continue
            if _lost_nothing(doc):
                idle_end = idle_end or Choice(doc, newer)
            elif doc["died"] or doc["incidents"]:
                return Choice(doc, newer)
            newer, without_death = newer or newer_recording(doc), without_death or recording_id
        if idle_end is not None:
            return idle_end
    if without_death is not None:
        return Choice(post_mortems.document(without_death))
    raise _nothing_to_report(post_mortems, options) if unreadable is None else CannotReadError(unreadable)


def _stuck_since(ended: str, post_mortems: PostMortems, options: Namespace) -> Choice | None:
    """Return the report of a kernel that is stuck now, in a cell that began after something else ended."""
    for recording_id in dict.fromkeys(chain(*_candidates(post_mortems, options))):
        if not _is_running(post_mortems, recording_id) or ended >= _begun(post_mortems, recording_id):
            continue
        doc, _ = _read(post_mortems, recording_id)
        if doc is not None and doc["state"] == "stuck":
            return Choice(doc)
    return None


def _is_running(post_mortems: PostMortems, recording_id: str) -> bool:
    """Whether a process has the recorded id, which costs one line of the recording."""
    with suppress(UnknownRecordingError):
        pid = post_mortems.header(recording_id, patience_s=0).pid
        return pid is not None and identify(pid) is not None
    return False


def _begun(post_mortems: PostMortems, recording_id: str) -> str:
    """Return when the cell began that is running now; an empty text where none is."""
    with suppress(UnknownRecordingError, UnreadableRecordingError):
        found = post_mortems.store.open(recording_id, patience_s=0)
        if found.running_cell is not None and found.started_wall_s:
            return iso(found.wall_s(found.running_cell.started_mono_s)) or ""
    return ""


def _read(post_mortems: PostMortems, recording_id: str) -> tuple[Document | None, str | None]:
    """Return a post-mortem, or None and why it cannot be read; nothing of one that was deleted meanwhile."""
    try:
        return post_mortems.document(recording_id), None
    except UnreadableRecordingError as error:
        return None, str(error)
    except UnknownRecordingError:
        return None, None


def _lost_nothing(doc: Document) -> bool:
    """Whether an idle kernel was ended from outside, as a client does that shuts it down at once."""
    return doc["died"] and doc["cell"] is None and not doc["incidents"] and doc["causes"][0].get("family") == "outside"


def _candidates(post_mortems: PostMortems, options: Namespace) -> Iterable[list[str]]:
    ids = post_mortems.ids()
    if options.kernel is None and options.notebook is None:
        return [ids]
    headers = []
    for recording_id in ids:
        with suppress(UnknownRecordingError):  # deleted meanwhile, or not ours to read
            headers.append((recording_id, post_mortems.header(recording_id)))
    lists = []
    if options.kernel is not None:
        lists.append([recording_id for recording_id, header in headers if header.kernel_id == options.kernel])
    if options.notebook is not None:
        wanted = os.path.realpath(options.notebook)
        lists.append([i for i, header in headers if header.notebook and os.path.realpath(header.notebook) == wanted])
    return lists


def _nothing_to_report(post_mortems: PostMortems, options: Namespace) -> NothingToReportError:
    of = [] if options.kernel is None else [f"kernel {options.kernel!r}"]
    of += [] if options.notebook is None else [f"notebook {options.notebook!r}"]
    if not of:
        return NothingToReportError("There is no recording to report on yet.")
    kind = NothingToReportError
    if post_mortems.store.ids():
        kind = NothingOfThatError if options.notebook is None else NothingOfThatNotebookError
    return kind(f"There is no recording of {' or of '.join(of)}.")


def _rendered(choice: Choice, form: str, *, details: bool) -> str:
    doc = choice.doc
    if form == "markdown":
        from jupyter_kerneldoctor.render.markdown import render as as_markdown  # noqa: PLC0415

        return as_markdown(doc)
    if form == "html":
        from jupyter_kerneldoctor.render.html import page  # noqa: PLC0415

        return page(doc)
    from jupyter_kerneldoctor.render.terminal import render as as_text  # noqa: PLC0415

    return as_text(
        doc,
        width=output.width(),
        color=output.color_wanted(),
        unicode=output.draws_blocks(),
        details=details,
        note=choice.newer,
    )
