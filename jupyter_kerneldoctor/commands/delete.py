"""`delete`: removes recordings."""

from argparse import Namespace

from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.deletion import delete as remove
from jupyter_kerneldoctor.reports.deletion import is_written

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
        if is_written(store, recording_id):
            raise BeingRecordedError(recording_id)
    done = remove(store, ids)
    for recording_id in done.deleted:
        say(f"Deleted {recording_id}.")
    if done.failures:
        raise CannotDeleteError(done.failures)


def _delete_all(store: Store, *, asks: bool) -> None:
    ids = store.ids()
    living = sum(is_written(store, recording_id) for recording_id in ids)
    if len(ids) > living and asks and not agrees(_question(store, len(ids) - living, living), NotConfirmedError()):
        say("Nothing was deleted.")
        return
    done = remove(store, ids)
    say(f"Deleted {_recordings(len(done.deleted))}.")
    for recording_id in done.living:
        say(f"Kept {recording_id}: its kernel is being recorded.")
    if done.failures:
        raise CannotDeleteError(done.failures)


def _question(store: Store, count: int, kept: int) -> str:
    exception = f" ({_recordings(kept)} of running kernels will be kept)" if kept else ""
    return f"Delete {_recordings(count)} in {store.directory}{exception}? [y/N] "


def _recordings(count: int) -> str:
    return f"{count} recording{'' if count == 1 else 's'}"
