"""`inspect`: what a living kernel is doing now."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.archive import Archive
from jupyter_kerneldoctor.inspection import CannotInspectError
from jupyter_kerneldoctor.inspection import inspect as ask
from jupyter_kerneldoctor.recording.store import UnknownRecordingError

from . import output
from .datadir import usable_store
from .errors import CannotAskError, NoSuchRecordingError, NothingRunningError

if TYPE_CHECKING:
    from argparse import Namespace

    from jupyter_kerneldoctor.archive import Head
    from jupyter_kerneldoctor.recording.store import Store


def inspect(options: Namespace) -> None:
    """Ask one kernel, and print what it says."""
    store = usable_store()
    try:
        document = ask(store, options.recording or _newest_living(store, options.kernel))
    except UnknownRecordingError:
        raise NoSuchRecordingError(options.recording) from None
    except CannotInspectError as error:
        raise CannotAskError(str(error), error.help) from None
    if options.json:
        output.say_json(document)
        return
    from jupyter_kerneldoctor.render.inspection import render  # noqa: PLC0415 - only where it is printed

    output.say(render(document))


def _newest_living(store: Store, kernel_id: str | None) -> str:
    """The newest recording of a kernel that runs, if possible one that is still written. Raises NothingRunningError.

    A kernel may be named by its process id, too: that is what is printed where it has no other.
    """
    archive, living = Archive(store), []
    for recording_id in archive.ids():
        with suppress(UnknownRecordingError):  # deleted meanwhile
            if kernel_id is not None and kernel_id not in _names(archive.head(recording_id)):
                continue
            recording = store.open(recording_id, patience_s=0)
            if recording.alive and recording.recorder_alive and not recording.stopped_early:
                return recording_id
            living += [recording_id] if recording.alive else []
    if living:
        return living[0]
    of = "" if kernel_id is None else f" with the id {kernel_id!r}"
    raise NothingRunningError(f"No recorded kernel{of} is running.")


def _names(head: Head) -> tuple[str | None, str]:
    return head.kernel_id, str(head.pid)
