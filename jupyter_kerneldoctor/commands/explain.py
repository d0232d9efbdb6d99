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
    """Print the reference pages of causes and fixes."""
    known = {**pages("fixes"), **pages("causes")}
    names = [name.lower() for name in options.names]
    for name in names:
        if name not in known:
            raise NoSuchPageError(name, difflib.get_close_matches(name, known, n=2), sorted(known))
    say("\n\n".join(known[name].strip() for name in names))
