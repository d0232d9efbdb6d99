"""`delete`: removes recordings."""

from argparse import Namespace
from contextlib import suppress

from jupyter_kerneldoctor.recording.reader import observe, read
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError

from .confirm import agrees
from .errors import BeingRecordedError, CannotDeleteError, NotConfirmedError
from .output import say
from .recordings import find, usable_store


def delete(options: Namespace) -> None:
    """Remove the named recordings, or all."""
    store = usable_store()
    if options.all:
        _delete_all(store, asks=not options.yes)
    else:
        _delete_these(store, list(dict.fromkeys(find(store, name) for name in options.recordings)))


def _delete_these(store: Store, ids: list[str]) -> None:
    for recording_id in ids:  # if one is being written, nothing is deleted
        if _is_written(store, recording_id):
            raise BeingRecordedError(recording_id)
    failures = _remove(store, ids)
    for recording_id in ids:
        if recording_id not in failures:
            say(f"Deleted {recording_id}.")
    if failures:
        raise CannotDeleteError(failures)


def _delete_all(store: Store, *, asks: bool) -> None:
    ids = store.ids()
    living = [recording_id for recording_id in ids if _is_written(store, recording_id)]
    others = [recording_id for recording_id in ids if recording_id not in living]
    if others and asks and not agrees(_question(store, len(others), len(living)), NotConfirmedError()):
        say("Nothing was deleted.")
        return
    failures = _remove(store, others)
    say(f"Deleted {_recordings(len(others) - len(failures))}.")
    for recording_id in living:
        say(f"Kept {recording_id}: its kernel is being recorded.")
    if failures:
        raise CannotDeleteError(failures)


def _question(store: Store, count: int, kept: int) -> str:
    exception = f" ({_recordings(kept)} of running kernels will be kept)" if kept else ""
    return f"Delete {_recordings(count)} in {store.directory}{exception}? [y/N] "


def _recordings(count: int) -> str:
    return f"{count} recording{'' if count == 1 else 's'}"


def _remove(store: Store, ids: list[str]) -> dict[str, OSError]:
    """Remove the recordings; return why some could not be removed."""
    failures = {}
    for recording_id in ids:
        try:
            with suppress(UnknownRecordingError):  # another process was faster
                store.delete(recording_id)
        except OSError as error:
            failures[recording_id] = error
    return failures


def _is_written(store: Store, recording_id: str) -> bool:
    try:
        recording = observe(read(store.path(recording_id)))
    except (UnknownRecordingError, OSError):  # deleted meanwhile, or not ours to read: removing it will tell
        return False
    return recording.alive is True and not recording.switched_off
