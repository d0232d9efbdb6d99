"""`inspect`: what a living kernel is doing now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.inspection import CannotInspectError
from jupyter_kerneldoctor.inspection import inspect as ask
from jupyter_kerneldoctor.recording.store import UnknownRecordingError

from . import output
from .datadir import usable_store
from .errors import CannotAskError, NoSuchRecordingError, NothingRunningError

if TYPE_CHECKING:
    from argparse import Namespace

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
    """The recording of the kernel that was started last, of those that run. Raises NothingRunningError."""
    for recording_id in store.ids():
        recording = store.open(recording_id, patience_s=0)
        if recording.alive and kernel_id in (None, recording.kernel.kernel_id):
            return recording_id
    of = "" if kernel_id is None else f" with the id {kernel_id!r}"
    raise NothingRunningError(f"No recorded kernel{of} is running.")
