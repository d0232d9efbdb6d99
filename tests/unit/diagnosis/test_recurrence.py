"""The same cell again: recognised by its code, told with dates and figures, found without reading everything."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from support.handwritten import write_recording

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.certainty import Certainty
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, crash_in, recording
from jupyter_kerneldoctor.diagnosis.recurrence import fingerprint, recurrence
from jupyter_kerneldoctor.recording.last_cell import last_cell_source
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

DAY_S = 86_400


def killed(day, source="df = load_everything()"):
    full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=500 * MIB)
    made = recording("import pandas", source, signal="SIGKILL", memory=(100 * MIB, 480 * MIB), groups=[full])
    end = replace(made.end, wall_s=made.end.wall_s + day * DAY_S)
    return diagnose(replace(made, id=f"202701{15 + day}T080000Z-4242-a1b2c3", end=end))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = f( 1 )  # try", "x = f(1)"),
        ("\n\nx = 1\n\n\ny = 2\n", "x = 1\ny = 2"),
        ("x = [\n  1,\n]", "x = [1]"),
        ("# first\n%time f()", "%time f()\n"),
        ("not python at all\n\n", "not python at all"),
    ],
)
def test_layout_and_comments_do_not_matter(one, other):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [("f(1)", "f(2)"), ("%time f()", "%time g()"), ("x = '#'", "x = ''")])
def test_other_code_is_another_cell(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_what_is_said_of_it():
    found = recurrence(killed(9), [killed(0), killed(2, "df = load_everything()  # again"), killed(3, "other()")])
    assert found.text == (
        "This cell has killed the kernel twice before, last at 2027-01-17 08:00 UTC (Out of memory: a container or "
        "session limit, with 480 MiB in use)."
    )
    assert [death.cause for death in found.deaths] == ["oom-cgroup"] * 2


@pytest.mark.parametrize(
    "source",
    ["x=" + "a+" * 900 + "a", "x=" + "lambda: " * 400 + "1", "x=" + "not " * 900 + "1", "x=a" + ".b()" * 900],
)
def test_deeply_nested_code_costs_neither_the_cause_nor_the_report(source):
    first, second = killed(0, source), killed(9, source)
    assert (second.cause.id, second.cause.certainty) == ("oom-cgroup", Certainty.PROVEN)
    assert recurrence(second, [first]) is not None
    crash = crash_in(source)
    assert diagnose(recording(source, signal="SIGSEGV", crash=crash)).cause.id == "segfault"


def test_the_first_time_nothing_is_said():
    assert recurrence(killed(0), [killed(0)]) is None
    assert recurrence(diagnose(recording("f()", alive=True)), [killed(0)]) is None


CELL = "model.fit(features, labels)"


def ended(how, source=CELL, id_="20270101T080000Z-4242-a1b2c3", **more):
    return diagnose(replace(recording("import m", source, signal=how, **more), id=id_))


@pytest.mark.parametrize(
    ("before", "now", "counts"),
    [
        ("SIGSEGV", "SIGSEGV", True),
        ("SIGABRT", "SIGSEGV", True),
        ("SIGALRM", "SIGSEGV", True),
        ("SIGUSR1", "SIGSEGV", False),
        ("SIGKILL", "SIGSEGV", False),
        ("SIGSEGV", "SIGKILL", False),
        ("SIGKILL", "SIGKILL", False),
    ],
)
def test_only_ends_that_were_the_cells_doing_count(before, now, counts):
    found = recurrence(ended(now, id_="20270102T080000Z-4242-a1b2c3"), [ended(before)])

    assert (found is not None) == counts


@pytest.mark.parametrize("source", ["import time\ntime.sleep(30)", "import numpy, pandas, scipy.sparse", "f()"])
def test_a_cell_that_stands_in_many_notebooks_is_no_acquaintance(source):
    later = ended("SIGSEGV", source, "20270102T080000Z-4242-a1b2c3")

    assert recurrence(later, [ended("SIGSEGV", source)]) is None


@pytest.fixture
def post_mortems(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    return PostMortems(Store(tmp_path))


def test_a_report_tells_of_earlier_recordings_only(post_mortems):
    first = write_recording(1, source="crash_in_native_code()")
    write_recording(2, source="harmless()", signal=None)
    middle = write_recording(3, source="crash_in_native_code()  # why")
    write_recording(4, source="crash_in_native_code()")

    told = post_mortems.document(middle)["recurrence"]

    assert told["text"].startswith("This cell has killed the kernel once before, at 2026-11-21 ")
    assert [death["recording"] for death in told["deaths"]] == [first]
    assert post_mortems.document(first)["recurrence"] is None


def test_a_comparison_that_fails_costs_a_report_only_itself(post_mortems, monkeypatch):
    write_recording(1, source="crash_in_native_code()")
    monkeypatch.setattr("jupyter_kerneldoctor.diagnosis.recurrence.recurrence", lambda *_: 1 / 0)

    assert post_mortems.document(write_recording(2, source="crash_in_native_code()"))["recurrence"] is None


def test_the_last_cell_is_found_at_the_end_of_a_long_journal(post_mortems):
    recording_id = write_recording(1, source="last()")
    journal = post_mortems.store.path(recording_id) / JOURNAL
    long = '{"event": "cell_start", "seq": 0, "source": "' + "x" * 1000 + '", "mono_s": 1}\n'
    journal.write_text(long * 3000 + journal.read_text())

    assert last_cell_source(post_mortems.store.path(recording_id)) == "last()"


@pytest.mark.parametrize(
    "text", ["", '{"event": "end"', '{"event": "cell_start", "source": 7}\n{"event": "end"}\n', "[]\n"]
)
def test_a_damaged_journal_has_no_last_cell(post_mortems, text):
    path = post_mortems.store.path(write_recording(1))
    (path / JOURNAL).write_text(text)
    assert last_cell_source(path) is None


def test_two_hundred_earlier_recordings_take_little_time(post_mortems):
    for number in range(50):
        write_recording(number, source=f"import numpy\nf({number})")
    newest = write_recording(59, source="crash_in_native_code()")
    post_mortems.document(newest)

    start = time.process_time()
    post_mortems.document(newest)
    assert time.process_time() - start < 0.25  # a fourth of the most there can be; 20 ms is the aim
