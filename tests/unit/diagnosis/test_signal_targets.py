"""Signals that a cell sends to a process of which does not show which one it is."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.diagnosis.code.signal_targets import sendings
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, recording
from jupyter_kerneldoctor.recording.model import Cell

EASE = {"memory": (50 * MIB,) * 3, "groups": [Group(2 << 30, usage_bytes=60 * MIB)], "server": "watched"}


def found(*sources):
    cells = [Cell(source) for source in sources]
    return [(one.line, one.signal) for one in sendings(Notebook(cells, cells[-1]))]


@pytest.mark.parametrize(
    ("source", "signal"),
    [
        ("for process in psutil.process_iter():\n    process.kill()", "SIGKILL"),
        ("me = find()\nme.terminate()", "SIGTERM"),
        ("import os\nos.kill(pid, 9)", None),
        ("x = 1\n!ps -o ppid= -p $$ | xargs kill -KILL", None),
        ("%%bash\nkill -9 $(cat server.pid)", None),
        ("import os\nos.system('pkill python')", None),
    ],
)
def test_finds_what_may_have_hit_the_kernel(source, signal):
    assert found("import psutil", source) == [(2, signal)]


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nchild = subprocess.Popen(['x'])\nchild.kill()",
        "import multiprocessing\nworker = multiprocessing.Process(target=f)\nworker.terminate()",
        "import os, subprocess\nx = subprocess.Popen(['x'], process_group=0)\nos.killpg(os.getpgid(x.pid), 15)",
        "# if it hangs: kill -9 $PPID\n!echo kill -9 $PPID",
        "hint = 'os.kill(pid, 9)'",
    ],
)
def test_children_words_and_comments_are_nobody(source):
    assert found(source) == []


def test_an_end_from_outside_is_less_sure_and_less_is_ruled_out():
    answer = diagnose(
        recording("import psutil", "for process in chosen:\n    process.kill()", signal="SIGKILL", **EASE)
    )
    plain = diagnose(recording("import psutil", "wait()", signal="SIGKILL", **EASE))

    assert answer.cause.id == plain.cause.id == "killed-externally"
    assert answer.cause.confidence < 0.6 < plain.cause.confidence
    assert "`process.kill()`" in " ".join(one.text for one in answer.cause.evidence)
    assert not any("its own process" in sentence for sentence in answer.cause.ruled_out)


def test_a_signal_of_another_kind_is_not_it():
    answer = diagnose(recording("import psutil", "chosen.terminate()\nwait()", signal="SIGKILL", **EASE))

    assert answer.cause.confidence > 0.6


def test_a_kernel_that_ends_as_soon_as_the_cell_sends_the_signal_was_probably_hit_by_it():
    cell = "import psutil\nfor process in chosen:\n    process.kill()"
    began = recording("x = 1", cell, signal="SIGKILL", **EASE)
    at_once = replace(began, cells=(*began.cells[:-1], replace(began.cells[-1], started_mono_s=began.end.mono_s - 0.1)))
    answer = diagnose(at_once)

    assert (answer.cause.id, answer.cause.line) == ("self-kill", 3)
    assert 0.5 <= answer.cause.confidence < 0.7
    assert "probably ended its own kernel with `process.kill()`" in answer.cause.headline
