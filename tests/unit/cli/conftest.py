import functools
import os

import pytest
from support.handwritten import write_recording

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE


@pytest.fixture(autouse=True)
def data_root(tmp_path, monkeypatch):
    """A data directory of the test's own."""
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "data"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path / "data"


@pytest.fixture
def record():
    """Write a recording of a kernel that has ended; return its id."""
    return write_recording


@pytest.fixture
def record_living():
    """Write a recording of a kernel that runs: it is this process."""
    return functools.partial(write_recording, living_pid=os.getpid())
