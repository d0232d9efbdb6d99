"""`list` and `report`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.archive import Archive, Document
from jupyter_kerneldoctor.recording.store import UnknownRecordingError

from . import output
from .datadir import usable_store
from .errors import NoSuchRecordingError, NothingOfThatError, NothingOfThatNotebookError, NothingToReportError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable


def list_(options: Namespace) -> None:
    """Print the recordings, newest first."""
    rows = Archive(usable_store()).rows()
    if options.json:
        output.say_json(rows)
    elif not rows:
        output.say(f"There is no recording yet. {NothingToReportError.help}")
    else:
        from jupyter_kerneldoctor.render.terminal import render_list  # noqa: PLC0415 - rich only where it draws

        output.say(render_list(rows, width=output.width(), color=output.color_wanted()))


def report(options: Namespace) -> None:
    """Print one post-mortem."""
    doc = choose(Archive(usable_store()), options)
    if options.json:
        output.say_json(doc)
    else:
        output.say(_rendered(doc, options.format))


def choose(archive: Archive, options: Namespace) -> Document:
    """Find the report that was asked for.

    A kernel's last death comes before its notebook's, and both before a report that tells of no death: so
    `%postmortem` can ask for "this kernel, or else this notebook". Raises NothingToReportError, NoSuchRecordingError.
    """
    if options.recording is not None:
        try:
            return archive.document(options.recording)
        except UnknownRecordingError:
            raise NoSuchRecordingError(options.recording) from None
    quiet: Document | None = None
    for ids in _candidates(archive, options):
        for recording_id in ids:
            try:
                doc = archive.document(recording_id)
            except UnknownRecordingError:
                continue  # deleted meanwhile
            if doc["died"] or doc["incidents"]:
                return doc
            quiet = quiet or doc
    if quiet is None:
        raise _nothing(archive, options)
    return quiet


def _candidates(archive: Archive, options: Namespace) -> Iterable[list[str]]:
    ids = archive.ids()
    if options.kernel is None and options.notebook is None:
        return [ids]
    heads = [(recording_id, archive.head(recording_id)) for recording_id in ids]
    chosen = []
    if options.kernel is not None:
        chosen.append([recording_id for recording_id, head in heads if head.kernel_id == options.kernel])
    if options.notebook is not None:
        wanted = os.path.realpath(options.notebook)
        chosen.append([i for i, head in heads if head.notebook and os.path.realpath(head.notebook) == wanted])
    return chosen


def _nothing(archive: Archive, options: Namespace) -> NothingToReportError:
    of = [] if options.kernel is None else [f"kernel {options.kernel!r}"]
    of += [] if options.notebook is None else [f"notebook {options.notebook!r}"]
    if not of:
        return NothingToReportError("There is no recording to report on yet.")
    kind = NothingToReportError
    if archive.store.ids():
        kind = NothingOfThatError if options.notebook is None else NothingOfThatNotebookError
    return kind(f"There is no recording of {' or of '.join(of)}.")


def _rendered(doc: Document, form: str) -> str:
    if form == "markdown":
        from jupyter_kerneldoctor.render.markdown import render as as_markdown  # noqa: PLC0415

        return as_markdown(doc)
    if form == "html":
        from jupyter_kerneldoctor.render.html import render as as_html  # noqa: PLC0415

        return as_html(doc)
    from jupyter_kerneldoctor.render.terminal import render as as_text  # noqa: PLC0415

    return as_text(doc, width=output.width(), color=output.color_wanted(), unicode=output.draws_blocks())
