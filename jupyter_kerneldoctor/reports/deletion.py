"""Deletes recordings on a user's request: never one that is being written."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ..recording.reader import observe, read
from ..recording.store import Store, UnknownRecordingError


class Deletion(NamedTuple):
    """What came of it."""

    deleted: list[str]
    living: list[str]
    """Kept, as their kernels are being recorded."""
    failures: dict[str, OSError]
    """Why the others could not be removed."""


def delete(store: Store, ids: Iterable[str]) -> Deletion:
    """Remove the recordings that are not being written; one that is gone already counts as deleted."""
    done = Deletion([], [], {})
    for recording_id in ids:
        if is_written(store, recording_id):
            done.living.append(recording_id)
            continue
        try:
            with suppress(UnknownRecordingError):  # another process was faster
                store.delete(recording_id)
            done.deleted.append(recording_id)
        except OSError as error:
            done.failures[recording_id] = error
    return done


def is_written(store: Store, recording_id: str) -> bool:
    """Return whether a kernel is being recorded there."""
    try:
        recording = observe(read(store.path(recording_id)))
    except (UnknownRecordingError, OSError):  # deleted meanwhile, or not ours to read: removing it will tell
        return False
    return recording.alive is True and not recording.switched_off
