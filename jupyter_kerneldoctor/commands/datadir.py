"""The recordings of this user, if there is a place for them at all."""

from __future__ import annotations

import os

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.store import Store

from .errors import UnusableDirectoryError


def usable_store() -> Store:
    """The recordings. That there are none yet is no error. Raises UnusableDirectoryError."""
    store = Store()
    try:
        os.scandir(store.directory).close()
    except FileNotFoundError:
        pass
    except OSError as error:
        is_set = bool(os.environ.get(ROOT_VARIABLE))
        raise UnusableDirectoryError(store.directory, error, ROOT_VARIABLE, is_set=is_set) from None
    return store
