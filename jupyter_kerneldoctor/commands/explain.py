"""`explain`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.reference import pages

from .errors import NoSuchPageError
from .output import say

if TYPE_CHECKING:
    from argparse import Namespace


def explain(options: Namespace) -> None:
    """Print the reference page of a cause or of a fix."""
    known = {**pages("fixes"), **pages("causes")}
    if options.name not in known:
        similar = difflib.get_close_matches(options.name, known, n=2)
        raise NoSuchPageError(options.name, similar, sorted(known))
    say(known[options.name].strip())
