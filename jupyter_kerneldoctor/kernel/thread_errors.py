"""Tells of threads that end with an error: what waits for one of them then waits for ever.

`threading.excepthook` prints such an error, and Jupyter shows it in some output, or in none. Whatever hook was there
before is called with the very same arguments; one that the user sets later takes our place.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..recording.token_bucket import TokenBucket
from .incidents import raised
from .messages import message

if TYPE_CHECKING:
    from .link import Link

_BURST, _REFILL_S = 20, 60.0
"""A server of the user's may fail in a thread for each request."""


class ThreadErrors:
    """Our place in `threading.excepthook`."""

    def __init__(self, link: Link) -> None:
        """Take the place."""
        self._link: Link | None = link
        self._events = TokenBucket(_BURST, _REFILL_S)
        self._before = threading.excepthook
        self._hook = self._ended  # the very same bound object must be compared
        threading.excepthook = self._hook

    def remove(self) -> None:
        """Give the hook back, unless somebody has put another one there."""
        if threading.excepthook is self._hook:
            threading.excepthook = self._before
        self._link = None

    def _ended(self, arguments: threading.ExceptHookArgs) -> None:
        with suppress(Exception):
            self._tell(arguments.exc_value)
        self._before(arguments)

    def _tell(self, error: BaseException | None) -> None:
        now = time.monotonic()  # a thread that calls `sys.exit` ends as it was meant to
        if self._link is None or error is None or isinstance(error, SystemExit) or not self._events.take(now):
            return
        self._link.send(message("thread_error", now, **raised(error, error)), from_thread=True)
