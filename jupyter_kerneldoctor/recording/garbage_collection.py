"""Reading and diagnosing make many objects that all stay."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: that would take a sixth to a third of the time.

    Not around the reading of a file: a disk may never answer, and the collector is the whole process's.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
