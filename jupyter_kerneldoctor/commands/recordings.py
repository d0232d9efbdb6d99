"""Finds the recordings of this user, and the one that a command names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError, UnreadableRecordingError

from .errors import (
    CannotReadError,
    NoSuchRecordingError,
    NothingToReportError,
    SeveralRecordingsError,
    UnusableDirectoryError,
)


def usable_store() -> Store:
    """Return the store of recordings, which may be empty. Raises UnusableDirectoryError."""
    store = Store()
    if (error := store.refusal) is not None:
        is_set = bool(os.environ.get(ROOT_VARIABLE))
        raise UnusableDirectoryError(store.directory, error, ROOT_VARIABLE, is_set=is_set)
    return store


def find(store: Store, name: str) -> str:
    """Return the id that was named, in full or by a beginning that no other id has.

    Raises NoSuchRecordingError, SeveralRecordingsError.
    """
    fitting = store.beginning_with(name)
    if len(fitting) > 1:
        raise SeveralRecordingsError(name, fitting)
    if not fitting:
        raise NoSuchRecordingError(name)
    return fitting[0]


def find_or_newest(store: Store, name: str | None) -> str:
    """Return the id that was named, or without a name the newest.

    Raises NothingToReportError, NoSuchRecordingError, SeveralRecordingsError.
    """
    if name is not None:
        return find(store, name)
    ids = store.ids()
    if not ids:
        raise NothingToReportError("There is no recording yet.")
    return ids[0]


@contextmanager
def reading(recording_id: str) -> Iterator[None]:
    """Turn errors of reading a recording into those of a command. Raises NoSuchRecordingError, CannotReadError."""
    try:
        yield
    except UnreadableRecordingError as error:
        raise CannotReadError(str(error)) from None
    except (UnknownRecordingError, FileNotFoundError):
        raise NoSuchRecordingError(recording_id) from None
    except OSError as error:
        raise CannotReadError(str(UnreadableRecordingError(recording_id, error))) from None
