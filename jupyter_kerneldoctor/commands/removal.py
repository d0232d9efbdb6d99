"""`delete`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.reader import observe, read
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError

from .errors import BeingRecordedError, CannotDeleteError, NoSuchRecordingError
from .output import say

if TYPE_CHECKING:
    from argparse import Namespace


def delete(options: Namespace) -> None:
    """Remove one recording, or all of them."""
    store = Store()
    if options.recording:
        _remove(store, options.recording)
        say(f"Deleted {options.recording}.")
    else:
        _delete_all(store, asks=not options.yes and sys.stdin is not None and sys.stdin.isatty())


def _delete_all(store: Store, *, asks: bool) -> None:
    ids = store.ids()
    if ids and asks and input(f"Delete all {len(ids)} recordings in {store.directory}? [y/N] ").strip().lower() != "y":
        say("Nothing was deleted.")
        return
    living = [recording_id for recording_id in ids if _is_written(store, recording_id)]
    for recording_id in ids:
        if recording_id not in living:
            _remove(store, recording_id)
    count = len(ids) - len(living)
    say(f"Deleted {count} recording{'' if count == 1 else 's'}.")
    for recording_id in living:
        say(f"Kept {recording_id}: its kernel is running and is being recorded.")


def _remove(store: Store, recording_id: str) -> None:
    try:
        if _is_written(store, recording_id):
            raise BeingRecordedError(recording_id)
        store.delete(recording_id)
    except UnknownRecordingError:
        raise NoSuchRecordingError(recording_id) from None
    except OSError as error:
        raise CannotDeleteError(recording_id, error) from None


def _is_written(store: Store, recording_id: str) -> bool:
    recording = observe(read(store.path(recording_id)))
    return recording.alive is True and not recording.switched_off
