"""`inspect` finds the recording that is meant: the newest of the kernel, the one that is still written, or busy."""

import os
import signal
import time

import pytest

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.processes import identify

GONE = (4711, 1, "another-boot")


@pytest.fixture
def write(data_root):
    """Write a recording of this process, which lives, begun so many ms after the same second; return its id."""

    def write(suffix, after_ms, sidecar=GONE, events=()):
        recording_id = f"20261121T032100Z-{os.getpid()}-{suffix}"
        start = {"event": "start", "mono_s": 1.0, "wall_s": 1795231260 + after_ms / 1000, "sidecar": sidecar}
        journal = JsonLines(layout.create(recording_id) / layout.JOURNAL)
        journal.write(
            {**start, "process": identify(os.getpid()), "kernel_id": "kernel-1", "loaded_by": "magic"}, *events
        )
        journal.close()
        return recording_id

    return write


@pytest.mark.parametrize("name", ["id", "pid"])
def test_of_two_in_the_same_second_the_later_one_is_asked(write, capsys, name):
    write("ffffff", 100)
    later = write("000000", 900)

    assert main(["inspect", "--kernel", {"id": "kernel-1", "pid": str(os.getpid())}[name]]) == 1
    assert f"The kernel of {later} is running, but it is not being recorded." in capsys.readouterr().err


def test_one_that_is_still_written_is_preferred(write, asked):
    recorded = write("000000", 100, sidecar=identify(os.getpid()))
    write("ffffff", 900)

    assert main(["inspect", "--kernel", "kernel-1"]) == 0
    assert asked == [recorded]


def test_a_process_that_only_the_recording_calls_its_sidecar_is_not_signalled(write, capsys):
    signals = []
    before = signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
    try:
        forged = write("000000", 100, sidecar=identify(os.getpid()))
        assert main(["inspect", forged]) == 1
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert signals == []
    assert "not being recorded" in capsys.readouterr().err


def test_a_kernel_that_does_not_exist_is_not_found(write, capsys):
    write("000000", 0)

    assert main(["inspect", "--kernel", "kernel-2"]) == 1
    assert "No recorded kernel with the id 'kernel-2' is running." in capsys.readouterr().err


@pytest.fixture
def asked(monkeypatch):
    """The recordings whose recorders were asked, each of which answers that nothing runs."""
    asked = []

    def answer(_store, recording_id):
        asked.append(recording_id)
        return {"pid": 1, "notebook": None, "cell": None, "threads": [], "children": [], "no_stacks": None}

    monkeypatch.setattr("jupyter_kerneldoctor.commands.inspect.ask", answer)
    return asked


def running(count, for_s, *more):
    """The events of a cell that has been running for so long."""
    started = time.monotonic() - for_s
    return [{"event": "cell_start", "seq": 1, "execution_count": count, "source": "f()", "mono_s": started}, *more]


def stuck(*, over=False):
    return {"event": "stuck", "mono_s": time.monotonic(), "since_mono_s": time.monotonic() - 20, "over": over}


def test_a_stuck_kernel_is_asked_before_busy_ones_and_those_before_idle_ones(write, asked, capsys):
    me = identify(os.getpid())
    stuck_one = write("000001", 100, me, running(4, 60, stuck()))
    went_on = write("000002", 200, me, running(5, 600, stuck(), stuck(over=True)))
    busy = write("000003", 300, me, running(6, 3700))
    idle = write("000004", 400, me)
    lost = write("000005", 500, events=running(7, 9000))

    assert main(["inspect"]) == 0

    assert asked == [stuck_one]
    assert (
        capsys.readouterr()
        .out.rstrip()
        .endswith(
            f"Other running kernels: {busy} (in cell [6] for 1 h 1 min), {went_on} (in cell [5] for 10 min), "
            f"{idle} (idle), {lost} (not being recorded)."
        )
    )


def test_of_two_stuck_kernels_the_newest_is_asked_as_report_does_and_the_other_is_named(write, asked, capsys):
    me = identify(os.getpid())
    older = write("000001", 100, me, running(4, 600, stuck()))
    newer = write("000002", 200, me, running(5, 60, stuck()))

    assert main(["inspect"]) == 0

    assert asked == [newer]
    assert f"Other running kernels: {older} (waiting in cell [4] for 10 min)." in capsys.readouterr().out


def test_of_kernels_that_are_all_idle_the_newest_is_asked(write, asked, capsys):
    me = identify(os.getpid())
    write("000001", 100, me)
    newest = write("000002", 200, me)

    assert main(["inspect", "--json"]) == 0

    assert asked == [newest]
    assert "Other running" not in capsys.readouterr().out


def test_one_alone_needs_no_line_about_others(write, asked, capsys):
    write("000001", 100, identify(os.getpid()))

    main(["inspect"])

    assert "Other running" not in capsys.readouterr().out
