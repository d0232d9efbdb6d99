"""Lists, opens and deletes the recordings of this user."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .layout import JOURNAL, is_id, recordings_dir, started_wall_s
from .newest_cell import settle
from .private_files import HAS_DIRECTORIES, is_own_directory, open_file, recording, recordings
from .processes import is_alive
from .retention import disk_bytes, remove

if TYPE_CHECKING:
    from pathlib import Path

    from .model import Recording

END_PATIENCE_S = 2.0
"""How long a reader waits for a living sidecar to write the end of a kernel that is gone."""


class UnknownRecordingError(LookupError):
    """There is no recording with this id; the message says what to do."""

    def __init__(self, recording_id: str) -> None:
        super().__init__(
            f"There is no recording {recording_id!r}. `jupyter kerneldoctor list` shows the recordings there are."
        )


class UnreadableRecordingError(UnknownRecordingError):
    """The recording exists, but its journal cannot be read. The message names the file and the reason."""

    def __init__(self, recording_id: str, error: OSError) -> None:
        super().__init__(recording_id)
        where = f" ({error.filename})" if error.filename else ""
        self.args = (f"The recording cannot be read: {error.strerror or error}{where}.",)


class Store:
    """The recordings below one root."""

    def __init__(self, root: Path | None = None) -> None:
        self.directory = recordings_dir(root)

    @property
    def refusal(self) -> OSError | None:
        """Why the directory of the recordings cannot be trusted or read; None where it can, or is not there yet."""
        if not HAS_DIRECTORIES:
            return None
        try:
            with recordings(self.directory):
                return None
        except FileNotFoundError:
            return None
        except OSError as error:
            return error

    def ids(self) -> list[str]:
        """Return the ids of all recordings, newest first."""
        try:
            names = list(filter(is_id, os.listdir(self.directory) if self.refusal is None else ()))
        except OSError:
            return []
        directory = str(self.directory)  # a Path for each of thousands takes longer than to look at it
        return sorted((name for name in names if _is_recording(f"{directory}{os.sep}{name}")), reverse=True)

    def disk_bytes(self) -> int | None:
        """Return what all recordings take on the disk; None where that cannot be read."""
        if not HAS_DIRECTORIES:
            return None
        used = 0
        try:
            with recordings(self.directory) as parent:
                for name in self.ids():
                    with suppress(OSError), recording(name, parent) as directory:
                        used += disk_bytes(directory)
        except FileNotFoundError:
            return 0
        except OSError:
            return None
        return used

    def beginning_with(self, beginning: str) -> list[str]:
        """Return the ids that begin so, newest first; for a whole id only that one."""
        ids = self.ids()
        return [beginning] if beginning in ids else [one for one in ids if beginning and one.startswith(beginning)]

    def path(self, recording_id: str) -> Path:
        """Return the directory of a recording. Raises UnknownRecordingError, UnreadableRecordingError."""
        path = self.directory / recording_id if is_id(recording_id) else None
        try:
            if path is not None and self.refusal is None and is_own_directory(path):
                return path
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise UnreadableRecordingError(recording_id, error) from None
        raise UnknownRecordingError(recording_id)

    def open(self, recording_id: str, patience_s: float = END_PATIENCE_S) -> Recording:
        """Read a recording and observe whether its kernel lives.

        When the kernel is gone and its sidecar lives, wait up to `patience_s` for the end to be written.
        Raises UnknownRecordingError, UnreadableRecordingError.
        """
        from .kernel_log import note_death  # noqa: PLC0415 - the same
        from .reader import observe, read  # noqa: PLC0415 - a list of kept rows reads no recording

        path = self.path(recording_id)
        _check_readable(path)
        deadline = time.monotonic() + patience_s
        while True:
            recording = observe(read(path))
            end_is_due = recording.alive is False and recording.end is None and not recording.stopped_early
            if not end_is_due:
                is_begun = recording.end is not None and recording.end is recording.end_begun
                return observe(read(path)) if is_begun else recording  # the rest may have been written since
            if not _is_being_written(path, recording):
                settle(path)
                if recording.rebooted is False:
                    note_death(path, recording)
                return observe(read(path))  # the end may have been written since it was read
            if time.monotonic() >= deadline:
                return recording
            time.sleep(0.02)

    def delete(self, recording_id: str) -> None:
        """Remove a recording with all its files. Raises UnknownRecordingError, OSError."""
        remove(self.path(recording_id))


def _is_recording(path: str) -> bool:
    """Return whether it is a directory of this user's and no link."""
    try:
        return is_own_directory(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # opening it raises the reason


def _check_readable(path: Path) -> None:
    """Raise UnreadableRecordingError if the journal cannot be read. It may not exist yet."""
    try:
        os.close(open_file(path / JOURNAL, os.O_RDONLY))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnreadableRecordingError(path.name, error) from None


def _is_being_written(path: Path, recording: Recording) -> bool:
    """Return whether its sidecar lives, or may just be starting: a kernel can die before the first line is written."""
    if recording.sidecar is not None:
        return is_alive(recording.sidecar)
    began_s = started_wall_s(path.name)  # not when the directory changed: a row that is kept there changes it
    return began_s is not None and -1 < time.time() - began_s < END_PATIENCE_S + 1
