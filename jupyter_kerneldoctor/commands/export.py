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

LEFT_OUT = "left-out.txt"
"""The file that lists which fields of which events were left out or shortened: `cell_start.source`."""


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
    output.say(f"Wrote {target.absolute()} with the recording {recording_id}. {_CONTENT[options.with_code]}")
    if redaction is not None and redaction.left_out:
        fields = plural(len(redaction.left_out), "field")
        what = f"Left out or shortened, as it could be yours: {fields} of what was recorded"
        output.say(f"{what}. `{LEFT_OUT}` in that file lists them.")
    page = _issues_page()
    output.say(f"To report a wrong answer, attach it to {'your issue' if page is None else f'an issue at {page}'}.")


_CONTENT = {
    False: "It does not contain your code, printed text, or names of variables, threads, programs, the notebook and "
    "the machine. It contains the file and function names of stacks. `--with-code` packs everything.",
    True: "It contains your code and what the program printed: read it before you share it.",
}


def _issues_page() -> str | None:
    """Return the address that the installed package names; None where it is not installed, or names no real one."""
    try:
        addresses = metadata("jupyter_kerneldoctor").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = (one.removeprefix("Issues, ") for one in addresses if one.startswith("Issues, "))
    return next((one for one in named if "/OWNER/" not in one), None)


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
        if redaction is not None and redaction.left_out:
            archive.writestr(f"{recording_id}/{LEFT_OUT}", "".join(f"{one}\n" for one in sorted(redaction.left_out)))
    return buffer.getvalue()
