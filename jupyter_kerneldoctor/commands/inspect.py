"""`inspect`: what a running kernel is doing now."""

import time
from argparse import Namespace
from contextlib import suppress

from jupyter_kerneldoctor.diagnosis.analysis.last_look import last_look
from jupyter_kerneldoctor.recording.model import Recording
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError
from jupyter_kerneldoctor.reports.inspection import CannotInspectError
from jupyter_kerneldoctor.reports.inspection import inspect as ask
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

from . import output
from .errors import CannotAskError, NothingRunningError
from .recordings import find, reading, usable_store


def inspect(options: Namespace) -> None:
    """Print what one kernel is doing."""
    store = usable_store()
    others: list[Recording] = []
    if options.recording is not None:
        recording_id = find(store, options.recording)
    elif options.kernel is not None:
        recording_id = _of_kernel(store, options.kernel).id
    else:
        first, *others = _most_urgent_first(_living(store))
        recording_id = first.id
    try:
        with reading(recording_id):
            document = ask(store, recording_id)
    except CannotInspectError as error:
        raise CannotAskError(str(error), error.help) from None
    if options.json:
        output.say_json(document)
        return
    from jupyter_kerneldoctor.render import inspection  # noqa: PLC0415 - only where it is printed

    output.say(inspection.render(document))
    if others:
        output.say(f"\n{inspection.others(others, time.monotonic())}")


def _of_kernel(store: Store, kernel_id: str) -> Recording:
    """Return the newest recording of a running kernel, if possible one still written. Raises NothingRunningError.

    A kernel may also be named by its process id, which is what is printed where it has no other id.
    """
    return min(_living(store, kernel_id), key=lambda recording: not _is_written(recording))


def _most_urgent_first(living: list[Recording]) -> list[Recording]:
    """Sort: recordings still written first, of these stuck kernels first, then the longest running cells.

    Of several stuck kernels the newest comes first, of which `report` tells, too.
    """

    def urgency(recording: Recording) -> tuple[bool, bool, float]:
        cell, is_stuck = recording.running_cell, last_look(recording) is not None
        since = float("inf") if cell is None else cell.started_mono_s
        return not _is_written(recording), not is_stuck, 0.0 if is_stuck else since

    return sorted(living, key=urgency)  # it keeps the order of what is equal: newest first


def _is_written(recording: Recording) -> bool:
    return bool(recording.recorder_alive and not recording.stopped_early)


def _living(store: Store, kernel_id: str | None = None) -> list[Recording]:
    """Return the recordings of running kernels, or of one kernel, newest first. Raises NothingRunningError.

    Where no process has the recorded id any more, only the first line of the recording is read.
    """
    post_mortems, living = PostMortems(store), []
    for recording_id in post_mortems.ids():
        with suppress(UnknownRecordingError):  # deleted meanwhile, or not ours to read
            header = post_mortems.header(recording_id)
            named = kernel_id in (None, header.kernel_id, str(header.pid))
            if header.pid is None or identify(header.pid) is None or not named:
                continue
            recording = store.open(recording_id, patience_s=0)
            living += [recording] if recording.alive else []
    if living:
        return living
    of = "" if kernel_id is None else f" with the id {kernel_id!r}"
    raise NothingRunningError(f"No recorded kernel{of} is running.")
