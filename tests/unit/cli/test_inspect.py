"""`inspect` finds the recording that is meant: the newest of the kernel, and one that is still written."""

import os

import pytest

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.processes import identify

GONE = (4711, 1, "another-boot")


@pytest.fixture
def write(data_root):
    """Write a recording of this process, which lives, begun so many ms after the same second; return its id."""

    def write(suffix, after_ms, sidecar=GONE):
        recording_id = f"20261121T032100Z-{os.getpid()}-{suffix}"
        start = {"event": "start", "mono_s": 1.0, "wall_s": 1795231260 + after_ms / 1000, "sidecar": sidecar}
        journal = JsonLines(layout.create(recording_id) / layout.JOURNAL)
        journal.write({**start, "process": identify(os.getpid()), "kernel_id": "kernel-1", "loaded_by": "magic"})
        journal.close()
        return recording_id

    return write


@pytest.mark.parametrize("name", ["id", "pid"])
def test_of_two_in_the_same_second_the_later_one_is_asked(write, capsys, name):
    write("ffffff", 100)
    later = write("000000", 900)

    assert main(["inspect", "--kernel", {"id": "kernel-1", "pid": str(os.getpid())}[name]]) == 1
    assert f"The kernel of {later} is running, but it is not being recorded." in capsys.readouterr().err


def test_one_that_is_still_written_is_preferred(write, capsys):
    recorded = write("000000", 100, sidecar=identify(os.getpid()))
    write("ffffff", 900)

    assert main(["inspect", "--kernel", "kernel-1"]) == 1
    assert f"The recorder of {recorded} did not answer" in capsys.readouterr().err


def test_a_kernel_that_does_not_exist_is_not_found(write, capsys):
    write("000000", 0)

    assert main(["inspect", "--kernel", "kernel-2"]) == 1
    assert "No recorded kernel with the id 'kernel-2' is running." in capsys.readouterr().err
