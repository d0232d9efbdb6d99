"""Tells by the name of a file in a stack whose code it is: a cell's, the user's own, or a library's."""

import re
from functools import lru_cache

_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-\d+-\w+>|^<timed exec>$")
_LIBRARY = re.compile(
    r"^<|[/\\](?:(?:site|dist)-packages|lib\d*[/\\]python\d[\d.]*t?|python\d+t?\.zip|jupyter_kerneldoctor)[/\\]"
)


@lru_cache(maxsize=256)
def is_cell_file(file: str) -> bool:
    """Return whether IPython or ipykernel made this name for a cell."""
    return _CELL.search(file) is not None


@lru_cache(maxsize=256)
def is_user_file(file: str) -> bool:
    """Return whether it is a cell, or a file that belongs neither to Python nor to an installed package."""
    return is_cell_file(file) or _LIBRARY.search(file) is None
