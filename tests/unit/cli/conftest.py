import functools
import os
import shutil
import subprocess
import sys

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


@pytest.fixture
def call_unprivileged(tmp_path):
    """Call the command as a user whom the rights of files hold back; root is one without its capabilities."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    if drop and shutil.which("setpriv") is None:
        pytest.skip("cannot run here: root may read everything, and there is no setpriv(1)")
    closed = tmp_path / "closed"
    closed.touch(mode=0)
    if subprocess.run([*drop, "cat", closed], check=False, stderr=subprocess.DEVNULL).returncode == 0:
        pytest.skip("cannot run here: this user may read everything")

    def call(*arguments):
        command = [*drop, sys.executable, "-m", "jupyter_kerneldoctor", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return call
