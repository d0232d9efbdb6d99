"""`list` and `report`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.archive import Archive, Document
from jupyter_kerneldoctor.recording.store import UnknownRecordingError

from . import output
from .errors import NoSuchRecordingError, NothingToReportError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable


def list_(options: Namespace) -> None:
    """Print the recordings, newest first."""
    rows = Archive().rows()
    if options.json:
        output.say_json(rows)
    elif not rows:
        output.say(f"There is no recording yet. {NothingToReportError.help}")
    else:
        from jupyter_kerneldoctor.render.terminal import render_list  # noqa: PLC0415 - rich only where it draws

        output.say(render_list(rows, width=output.width(), color=output.color_wanted()))


def report(options: Namespace) -> None:
    """Print one post-mortem."""
    doc = choose(Archive(), options)
    if options.json:
        output.say_json(doc)
    else:
        output.say(_rendered(doc, options.format))


def choose(archive: Archive, options: Namespace) -> Document:
    """Find the report that was asked for.

    A kernel's last death comes before its notebook's, and both before a report that tells of no death: so
    `%postmortem` can ask for "this kernel, or else this notebook". Raises NothingToReportError, NoSuchRecordingError.
    """
    if options.recording:
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
        raise NothingToReportError(_nothing(options))
    return quiet


def _candidates(archive: Archive, options: Namespace) -> Iterable[list[str]]:
    ids = archive.store.ids()
    if not (options.kernel or options.notebook):
        return [ids]
    heads = [(recording_id, archive.head(recording_id)) for recording_id in ids]
    chosen = []
    if options.kernel:
        chosen.append([recording_id for recording_id, head in heads if head.kernel_id == options.kernel])
    if options.notebook:
        wanted = os.path.realpath(options.notebook)
        chosen.append([i for i, head in heads if head.notebook and os.path.realpath(head.notebook) == wanted])
    return chosen


def _nothing(options: Namespace) -> str:
    of = [f"kernel {options.kernel}"] if options.kernel else []
    of += [f"notebook {options.notebook}"] if options.notebook else []
    return f"There is no recording of {' or of '.join(of)}." if of else "There is no recording to report on yet."


def _rendered(doc: Document, form: str) -> str:
    if form == "markdown":
        from jupyter_kerneldoctor.render.markdown import render as as_markdown  # noqa: PLC0415

        return as_markdown(doc)
    if form == "html":
        from jupyter_kerneldoctor.render.html import render as as_html  # noqa: PLC0415

        return as_html(doc)
    from jupyter_kerneldoctor.render.terminal import render as as_text  # noqa: PLC0415

    return as_text(doc, width=output.width(), color=output.color_wanted(), unicode=output.draws_blocks())
