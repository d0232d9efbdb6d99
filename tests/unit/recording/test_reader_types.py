"""What is of the wrong type in a recording counts as not known."""

import pytest

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.recording.samples import Sample, read_samples

CELL = {"event": "cell_start", "seq": 1, "source": "x = 1", "mono_s": 2.0}


def cell(**values):
    (found,) = assemble("x", [CELL | values]).cells
    return found


@pytest.mark.parametrize("value", ["7", 7.5, True, float("nan"), 10**30, [], {}, None])
def test_a_number_that_is_none(value):
    assert cell(execution_count=value).execution_count is None


def test_bytes_are_not_negative():
    assert cell(rss_before_bytes=-1).rss_before_bytes is None
    assert cell(rss_before_bytes=1).rss_before_bytes == 1


def test_words_are_words_and_only_known_ones_where_these_are_fixed():
    assert cell(cell_id=3).cell_id is None
    assert cell(peak_basis="exact").peak_basis == "exact"
    assert cell(peak_basis="guessed").peak_basis is None
    assert cell(truncated="yes").truncated is False


def test_what_cannot_be_left_out_leaves_out_the_whole():
    assert assemble("x", [CELL | {"source": 3}]).cells == ()
    assert assemble("x", [{"event": "end", "kind": "eaten", "mono_s": 1.0, "wall_s": 1.0}]).end is None


def test_a_cell_without_a_sequence_number_does_not_spoil_the_others():
    found = assemble("x", [CELL, {"event": "cell_start", "seq": [1], "source": "y"}, {"event": "cell_end", "seq": {}}])
    assert "x = 1" in [cell.source for cell in found.cells]


def test_the_end_of_a_cell_is_checked_too():
    (found,) = assemble("x", [CELL, {"event": "cell_end", "seq": 1, "mono_s": "?", "peak_bytes": "much"}]).cells
    assert found.finished
    assert found.peak_bytes is None


def test_the_first_request_and_the_first_exit_count():
    later = [
        {"event": "request", "action": "shutdown", "wall_s": 5.0},
        {"event": "exit", "returncode": -9},
        {"event": "request", "action": "restart", "wall_s": 50.0},
        {"event": "exit", "returncode": 0},
    ]
    view = assemble("x", [], server_events=later).server
    assert (view.requested, view.requested_wall_s, view.returncode) == ("shutdown", 5.0, -9)


def test_samples_keep_what_can_be_a_measurement(tmp_path):
    nan = float("nan")
    rows = (["mono_s", "rss_bytes", "oom_kills"], [nan, 1, 0], [1.0, -5, nan], [2.0, 10, 7], [3.0, 1.5, True])
    JsonLines(tmp_path / layout.SAMPLES).write(*rows)

    assert read_samples(tmp_path) == (Sample(1.0), Sample(2.0, 10, oom_kills=7), Sample(3.0))


@pytest.mark.parametrize("name", ["", "a-b-c", "x-²-y", "x-" + "9" * 5000 + "-y"])
def test_a_pid_that_is_none(name):
    assert assemble(name, []).kernel.process.pid == 0


def test_of_what_a_cell_grew_in_the_newest_counts():
    frame = {"file": "/tmp/ipykernel_1/2.py", "line": 3, "function": "fit"}
    growths = [
        {"event": "growth", "mono_s": 3.0, "cell_seq": 1, "statements": [{"frames": [frame], "bytes": 5}]},
        {"event": "growth", "mono_s": 3.5, "cell_seq": 2, "statements": "many"},
        {
            "event": "growth",
            "mono_s": 4.0,
            "cell_seq": 1,
            "statements": [{"frames": [frame], "bytes": 8}, {"bytes": 9}],
        },
    ]
    first, second = assemble("x", growths).growths

    assert [(one.bytes, one.frames[0].line) for one in first.statements] == [(8, 3)]
    assert second.statements == ()


START = {"event": "start", "mono_s": 1.0, "wall_s": 100.0, "loaded_by": "server"}
QUEUED = {"event": "cell_queued", "seq": 2, "source": "y = 2", "mono_s": 2.1, "execution_count": 2}
END = {"event": "end", "kind": "signal", "signal": "SIGSEGV", "mono_s": 3.0, "wall_s": 102.0}
LATE = [{"event": "cell_end", "seq": 1, "mono_s": 3.2}, {**QUEUED, "event": "cell_start", "mono_s": 3.2}]


def test_what_the_server_heard_after_the_sidecar_recorded_the_end():
    found = assemble("x", [START, CELL, QUEUED, END], server_events=[QUEUED, *LATE])

    assert [(cell.source, cell.ended_mono_s) for cell in found.cells] == [("x = 1", 3.0), ("y = 2", None)]
    assert found.cells[1].started_mono_s == 3.0
    assert found.queued == ()
    assert assemble("x", [START, CELL, QUEUED, END]).queued[0].source == "y = 2"


def test_a_kernel_that_reports_itself_knows_its_cells_better_than_the_server():
    joined = {**START, "loaded_by": "magic"}
    found = assemble("x", [START, CELL, joined, END], server_events=LATE)

    assert [(cell.source, cell.finished) for cell in found.cells] == [("x = 1", False)]
