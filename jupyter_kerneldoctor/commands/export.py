"""`export`: a recording as one file, for a bug report."""

import io
import os
import zipfile
from argparse import Namespace
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from jupyter_kerneldoctor.diagnosis.units import plural
from jupyter_kerneldoctor.recording.journal import MOST_BYTES
from jupyter_kerneldoctor.recording.layout import FILES
from jupyter_kerneldoctor.recording.private_files import read_file
from jupyter_kerneldoctor.recording.redact import Redaction
from jupyter_kerneldoctor.recording.store import Store

from . import output
from .errors import CannotExportError, FileExistsAlreadyError
from .recordings import find_or_newest, reading, usable_store


def export(options: Namespace) -> None:
    """Pack a recording into one file, without the user's code unless `--with-code` is set."""
    store = usable_store()
    recording_id = find_or_newest(store, options.recording)
    target = Path(options.output or ".")
    if target.is_dir():
        target /= f"kerneldoctor-{recording_id}.zip"
    redaction = None if options.with_code else Redaction(os.path.expanduser("~"))  # noqa: PTH111 - as text
    with reading(recording_id):
        packed = _packed(store, recording_id, redaction)
    try:
        with open(target, "xb", opener=_for_the_user_alone) as file:
            file.write(packed)
    except FileExistsError:
        raise FileExistsAlreadyError(target) from None
    except OSError as error:
        raise CannotExportError(target, error) from None
    output.say(f"Wrote {target} with the recording {recording_id}. {_CONTENT[options.with_code]}")
    if redaction is not None and redaction.left_out:
        output.say(f"Left out or shortened: {plural(len(redaction.left_out), 'kind')} of fields.")
    if (page := _issues_page()) is not None:
        output.say(f"To report a wrong answer, attach it to an issue at {page}.")


_CONTENT = {
    False: "It does not contain your code, printed text, or names of variables, threads, programs, the notebook and "
    "the machine. It contains the file and function names of stacks. `--with-code` packs everything.",
    True: "It contains your code and what the program printed: read it before you share it.",
}


def _issues_page() -> str | None:
    """Return the address that the installed package names; None: it is not installed."""
    try:
        addresses = metadata("jupyter_kerneldoctor").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return next((address.removeprefix("Issues, ") for address in addresses if address.startswith("Issues, ")), None)


def _for_the_user_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)  # /tmp is a usual place, and with the code others could read it there


def _packed(store: Store, recording_id: str, redaction: Redaction | None) -> bytes:
    """Return a ZIP archive; unpacked below `recordings/` it is a recording again."""
    directory, buffer = store.path(recording_id), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            with suppress(FileNotFoundError):
                content = read_file(directory / name, MOST_BYTES)
                packed = content if redaction is None else redaction.file(name, content)
                archive.writestr(f"{recording_id}/{name}", packed)
    return buffer.getvalue()
