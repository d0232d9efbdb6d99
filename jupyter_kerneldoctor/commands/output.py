"""Printing for people and for programs, whatever standard output is connected to."""

import os
import shutil
import sys
from typing import Any

from jupyter_kerneldoctor.render import jsontext

from .errors import CannotPrintError

_NARROWEST, _WIDEST = 40, 100
_USUAL = 80


def prepare() -> None:
    """Print characters that the terminal lacks as escapes, so that Latin-1 and ASCII terminals raise no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def color_wanted() -> bool:
    """Whether to color: only for a terminal, and never against NO_COLOR (https://no-color.org)."""
    return bool(_is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def width() -> int:
    """Return the columns to fill: COLUMNS or the terminal's, between 40 and 100; 80 in a pipe."""
    known = _is_terminal() or os.environ.get("COLUMNS", "").isdecimal()
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size().columns)) if known else _USUAL


def draws_blocks() -> bool:
    """Whether standard output can show block characters."""
    try:
        "█┄✖…".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def say(text: str) -> None:
    """Print text with one line break at its end. Raises BrokenPipeError, CannotPrintError."""
    try:
        print(text.removesuffix("\n"), flush=True)  # noqa: T201 - this is what the user asked for
    except OSError as error:
        # What is still buffered must not raise again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise CannotPrintError(error) from None


def say_json(value: Any) -> None:
    """Print JSON in ASCII, which every encoding and terminal can show."""
    say(jsontext.render(value))


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
