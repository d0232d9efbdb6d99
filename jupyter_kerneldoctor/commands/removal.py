"""`delete`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.reader import observe, read
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError

from .datadir import usable_store
from .errors import BeingRecordedError, CannotDeleteError, NoSuchRecordingError
from .output import say

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator


def delete(options: Namespace) -> None:
    """Remove the recordings that are named, or all of them."""
    store = usable_store()
    if options.all:
        _delete_all(store, asks=not options.yes and sys.stdin is not None and sys.stdin.isatty())
    else:
        _delete_these(store, list(dict.fromkeys(options.recordings)))


def _delete_these(store: Store, ids: list[str]) -> None:
    for recording_id in ids:  # one that cannot be deleted, and nothing is
        _check(store, recording_id)
    for recording_id in ids:
        _remove(store, recording_id)
        say(f"Deleted {recording_id}.")


def _delete_all(store: Store, *, asks: bool) -> None:
    ids = store.ids()
    if ids and asks and not _agrees(f"Delete all {len(ids)} recordings in {store.directory}? [y/N] "):
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


def _agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() == "y"
    except EOFError:  # Ctrl-D
        say("")
        return False


def _check(store: Store, recording_id: str) -> None:
    with _refusals(recording_id):
        if _is_written(store, recording_id):
            raise BeingRecordedError(recording_id)


def _remove(store: Store, recording_id: str) -> None:
    with _refusals(recording_id):
        store.delete(recording_id)


@contextmanager
def _refusals(recording_id: str) -> Iterator[None]:
    try:
        yield
    except UnknownRecordingError:
        raise NoSuchRecordingError(recording_id) from None
    except OSError as error:
        raise CannotDeleteError(recording_id, error) from None


def _is_written(store: Store, recording_id: str) -> bool:
    recording = observe(read(store.path(recording_id)))
    return recording.alive is True and not recording.switched_off
