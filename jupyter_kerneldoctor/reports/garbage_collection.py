"""A diagnosis makes many objects that all stay."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = Lock()
_resting: list[bool] = []
"""For each that asks for rest now: whether the first of them found the collector on."""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Look for no garbage meanwhile, which would take a sixth to a quarter of the time; several threads may ask.

    Not around the reading of a file: a disk may never answer, and the collector is the whole process's. Nor in the
    user's kernel, which may fork meanwhile.
    """
    with _lock:
        _resting.append(_resting[0] if _resting else gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if _resting.pop() and not _resting:
                gc.enable()
