"""The report on stderr comes from a process that nobody waits for: it must end."""

import os
import signal
import subprocess
import sys

import pytest
from support.handwritten import write_recording
from support.requires import linux

pytestmark = linux

REPORT = """
import signal, sys
from jupyter_kerneldoctor.sidecar import main
signal.signal(signal.SIGALRM, signal.SIG_IGN)  # as a kernel's children may inherit it
main._hear_all_signals()
main._REPORT_S = 1
main._report(sys.argv[1], int(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_pipe_that_nobody_reads_does_not_keep_it_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    for size in (4096, 1):
        while True:
            try:
                os.write(write_end, b"." * size)
            except BlockingIOError:
                break
    os.set_blocking(write_end, True)
    command = [sys.executable, "-c", REPORT, write_recording(1), str(write_end)]

    done = subprocess.run(command, pass_fds=[write_end], timeout=60, check=False)

    assert done.returncode == -signal.SIGALRM
    os.close(read_end)
    os.close(write_end)
