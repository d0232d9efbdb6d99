"""Delivers to the cell a Ctrl-C that came while one of our hooks ran.

IPython catches and drops what a hook raises. So the hook finishes its work, and the signal is raised once more when
IPython is about to run the cell, where it ends that cell as it would have a moment later.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

_ATTEMPTS = 3
"""How often a hook is begun anew. Nobody presses Ctrl-C so fast."""

_VALID_S = 0.1
"""For how long a signal that came after a cell is meant for the next one: in a row of cells that are to run."""


class PendingInterrupt:
    """A signal to be raised when the next cell begins. IPython calls it as a transformer of that cell's syntax tree."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._until_mono_s = 0.0

    def uninterrupted(self, hook: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap a hook so that it comes to its end and raises nothing; beginning anew must do no harm to it."""

        @wraps(hook)
        def guarded(argument: Any) -> None:
            interrupted = False
            for _ in range(_ATTEMPTS):
                try:
                    hook(argument)
                    break
                except KeyboardInterrupt:
                    interrupted = True
                except Exception:  # rule one: the user's cell must run, whatever is wrong with us
                    break
            if interrupted:
                self._raise_later()

        return guarded

    def visit(self, tree: Any) -> Any:
        """Raise the signal, by whatever handler there is; the tree stays as it is."""
        is_valid = time.monotonic() < self._until_mono_s
        self.drop()
        if is_valid:
            signal.raise_signal(signal.SIGINT)
        return tree

    def drop(self) -> None:
        """Forget the signal: its cell is over. Nearly always there is none, and this is on the user's time."""
        if self._until_mono_s:
            with suppress(ValueError):
                self._shell.ast_transformers.remove(self)
            self._until_mono_s = 0.0

    def _raise_later(self) -> None:
        self._until_mono_s = time.monotonic() + _VALID_S
        if self not in self._shell.ast_transformers:
            self._shell.ast_transformers.append(self)
