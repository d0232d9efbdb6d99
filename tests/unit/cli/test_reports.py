"""`list` and `report`, called as a user calls them."""

import json
import os
import re
import subprocess
import sys

import pytest

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.commands import reports
from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

EVIL = "print('\x1b]0;owned\x07')  # \ud800 \x00 <b>"


def report(capsys, *arguments):
    """The status, and the document that was printed."""
    status = main(["report", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def test_nothing_is_an_empty_list(capsys):
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []

    assert main(["list"]) == 0
    assert "no recording yet" in capsys.readouterr().out


def test_nothing_to_report_is_null_and_a_sentence(capsys):
    assert main(["report", "--last", "--json"]) == 1

    said = capsys.readouterr()
    assert said.out == "null\n"
    assert "There is no recording to report on yet." in said.err
    assert "%load_ext kerneldoctor" in said.err


def test_list_is_newest_first_with_the_fixed_fields(record, capsys):
    old, new = record(1), record(2, signal=None)

    main(["list", "--json"])
    rows = json.loads(capsys.readouterr().out)

    assert [row["recording"] for row in rows] == [new, old]
    assert {"recording", "kernel_id", "pid", "notebook", "started", "ended", "cause", "headline"} <= set(rows[0])
    assert [row["died"] for row in rows] == [False, True]


def test_list_in_words(record, capsys):
    recording_id = record(1, notebook="/home/ada/eda.ipynb")

    main(["list"])

    text = capsys.readouterr().out
    assert "eda.ipynb" in text
    assert recording_id in text


def test_list_shows_deaths_first_and_orderly_ends_only_on_request(record, record_living, capsys):
    death, orderly, running = record(1), record(2, signal=None), record_living(3)

    main(["list"])
    usual = capsys.readouterr().out
    main(["list", "--all"])
    everything = capsys.readouterr().out

    assert usual.index(death) < usual.index(running)
    assert orderly not in usual
    assert re.search(r"3 recordings, [\d.]+ KiB on disk. Left out: 1 kernel that ended as asked \(`--all`", usual)
    assert everything.index(death) < everything.index(running) < everything.index(orderly)
    assert "Left out" not in everything

    main(["list", "--all", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 3


def test_a_damaged_recording_does_not_take_the_list_with_it(record, capsys, data_root):
    whole, damaged = record(1), record(2)
    (data_root / "recordings" / damaged / "journal.jsonl").write_bytes(b"\xff{{{\n[]\n\x00")

    assert main(["list", "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert [row["recording"] for row in rows] == [damaged, whole]
    assert not rows[0]["headline"].startswith("Traceback")


def test_the_last_death_comes_before_newer_ordinary_ends(record, capsys):
    record(1)
    death = record(2)
    record(3, signal=None)

    assert report(capsys)[1]["recording"] == death
    assert report(capsys, "--last")[1]["recording"] == death


def test_an_idle_kernel_that_was_killed_hides_no_death_with_a_cell(record, capsys):
    death = record(1)
    idle = record(2, signal="SIGKILL", idle=True)

    assert report(capsys)[1]["recording"] == death
    assert report(capsys, "--kernel", "kernel-1")[1]["recording"] == death
    assert report(capsys, idle)[1]["recording"] == idle


def test_an_idle_kernel_that_was_killed_is_shown_where_there_is_no_other_death(record, capsys):
    record(1, signal=None)
    idle = record(2, signal="SIGKILL", idle=True)

    assert report(capsys)[1]["recording"] == idle


def test_without_a_death_the_newest_is_shown(record, capsys):
    record(1, signal=None)
    newest = record(2, signal=None)

    assert report(capsys, "--last")[1]["recording"] == newest


def in_the_same_second(data_root, recording_id, suffix, later_s):
    """Give a recording another suffix and a start a little later; return its id."""
    changed = f"{recording_id[:-6]}{suffix}"
    directory = (data_root / "recordings" / recording_id).rename(data_root / "recordings" / changed)
    events = [json.loads(line) for line in (directory / "journal.jsonl").read_text().splitlines()]
    lines = [json.dumps({**event, "wall_s": event["wall_s"] + later_s}) + "\n" for event in events]
    (directory / "journal.jsonl").write_text("".join(lines))
    return changed


@pytest.mark.parametrize(("older_suffix", "newer_suffix"), [("ffffff", "000000"), ("000000", "ffffff")])
def test_of_two_in_the_same_second_the_one_that_began_later_is_newer(
    record, data_root, capsys, older_suffix, newer_suffix
):
    older = in_the_same_second(data_root, record(1), older_suffix, 0.1)
    newer = in_the_same_second(data_root, record(1), newer_suffix, 0.2)

    assert report(capsys, "--last")[1]["recording"] == newer
    assert report(capsys, "--kernel", "kernel-1")[1]["recording"] == newer
    main(["list", "--json"])
    assert [row["recording"] for row in json.loads(capsys.readouterr().out)] == [newer, older]


def test_no_recording_is_read_to_put_different_seconds_in_order(record, monkeypatch):
    new, old = record(2), record(1)
    monkeypatch.setattr(PostMortems, "header", lambda *_: pytest.fail("it read"))

    assert PostMortems().ids() == [new, old]


@pytest.mark.parametrize("arguments", [[""], ["--kernel", ""], ["--notebook", ""]])
def test_what_is_empty_selects_no_other_death(record, capsys, arguments):
    record(1)

    assert report(capsys, *arguments) == (1, None)


def test_where_to_look_when_no_recording_is_of_that_notebook(record, capsys):
    assert main(["report", "--notebook", "eda.ipynb"]) == 1
    assert "%load_ext kerneldoctor" in capsys.readouterr().err

    record(1)
    assert main(["report", "--notebook", "eda.ipynb"]) == 1

    error = capsys.readouterr().err
    assert "There is no recording of notebook 'eda.ipynb'." in error
    assert "`jupyter kerneldoctor list` shows which there are" in error
    assert "papermill or nbconvert" in error
    assert "%load_ext" not in error


def test_a_kernel_has_reports_of_its_own(record, record_living, capsys):
    mine = record(1, kernel_id="mine")
    record_living(2, kernel_id="mine")
    record(3, kernel_id="other")

    assert report(capsys, "--kernel", "mine")[1]["recording"] == mine
    assert report(capsys, "--kernel", "nobody's") == (1, None)


def test_a_kernel_without_a_death_falls_back_to_its_notebook_and_to_no_other(record, record_living, capsys):
    running = record_living(3, kernel_id="mine", notebook="/n/a.ipynb")
    record(2, kernel_id="other", notebook="/n/b.ipynb")

    assert report(capsys, "--kernel", "mine", "--notebook", "/n/a.ipynb")[1]["recording"] == running

    before = record(1, kernel_id="before", notebook="/n/a.ipynb")

    assert report(capsys, "--kernel", "mine", "--notebook", "/n/a.ipynb")[1]["recording"] == before
    assert report(capsys, "--notebook", "/n/b.ipynb")[1]["kernel_id"] == "other"


@pytest.mark.parametrize("name", ["20261121T032101Z-1-aaaaaa", "../../etc/passwd", "x\x1b[2J"])
def test_an_unknown_recording_is_a_clear_error(capsys, name):
    assert main(["report", name]) == 1

    error = capsys.readouterr().err
    assert "There is no recording" in error
    assert "jupyter kerneldoctor list" in error
    assert "\x1b" not in error


def test_one_recording_in_every_form(record, capsys):
    recording_id = record(1)

    for form, beginning in (("text", "WHERE"), ("markdown", "### "), ("html", "<!DOCTYPE html>")):
        assert main(["report", recording_id, "--format", form]) == 0
        assert beginning in capsys.readouterr().out


def test_hostile_sources_are_shown_and_never_interpreted(record, capsys):
    recording_id = record(1, source=EVIL)

    for form in ("text", "markdown", "html"):
        main(["report", recording_id, "--format", form])
        out = capsys.readouterr().out
        assert r"\x1b]0;owned\x07" in out
        assert not {"\x1b", "\x07", "\x00", "\ud800"} & set(out)

    assert report(capsys, recording_id)[1]["cell"]["source"] == EVIL


def call(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "jupyter_kerneldoctor", *arguments], capture_output=True, check=False, **options
    )


def test_output_survives_a_terminal_that_knows_ascii_only(record):
    record(1, source="π = 3  # naïve")

    result = call("report", env={**os.environ, "PYTHONIOENCODING": "ascii:strict"})

    assert result.returncode == 0
    assert rb"\u03c0 = 3" in result.stdout
    assert result.stdout.isascii()


def test_a_reader_that_has_seen_enough_is_no_error(record):
    record(1)
    reading, writing = os.pipe()
    os.close(reading)

    result = subprocess.run(
        [sys.executable, "-m", "jupyter_kerneldoctor", "report"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)

    assert result.stderr == b""


def test_no_color_in_a_pipe_and_none_against_no_color(record, monkeypatch, capsys):
    record(1)
    main(["report"])
    assert "\x1b[" not in capsys.readouterr().out

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    main(["report"])
    assert "\x1b[" in capsys.readouterr().out

    monkeypatch.setenv("NO_COLOR", "1")
    main(["report"])
    assert "\x1b[" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "show", "export"])
def test_the_beginning_of_an_id_will_do(record, capsys, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = record(1)
    record(2)

    assert main([command, wanted[:16]]) == 0
    assert wanted in capsys.readouterr().out

    assert main([command, wanted[:14]]) == 1
    assert "2 recordings begin with" in capsys.readouterr().err


def stuck_recording(record_living, data_root, second):
    """The recording of a living kernel whose cell waits for itself."""
    recording_id = record_living(second, source="lock.acquire()")
    frame = {"file": "/tmp/ipykernel_1/1.py", "line": 1, "function": "<module>"}
    thread = {"main": True, "frames": [frame], "state": "S", "waits_in": "futex_wait_queue"}
    stuck = {"event": "stuck", "mono_s": 200.0, "since_mono_s": 120.0, "wall_s": 1795231360.0, "threads": [thread]}
    with (data_root / "recordings" / recording_id / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(stuck) + "\n")
    return recording_id


@pytest.mark.parametrize("died", [1, 40])
def test_a_kernel_that_is_stuck_comes_before_what_ended_before_its_cell_began(
    record, record_living, data_root, capsys, died
):
    death, stuck = record(died), stuck_recording(record_living, data_root, 20)

    assert report(capsys)[1]["recording"] == (death if died > 20 else stuck)
    assert report(capsys, "--last")[1]["recording"] == death
    assert report(capsys, "--if-died")[1]["recording"] == death
    assert report(capsys, death)[1]["recording"] == death


def test_a_newer_kernel_that_is_stuck_is_named_above_a_death_that_came_after_its_cell_began(
    record, record_living, data_root, capsys
):
    death = record(1)
    stuck = stuck_recording(record_living, data_root, 2)
    record(3, signal=None)

    main(["report"])

    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"A newer kernel is stuck: `jupyter kerneldoctor inspect {stuck}`. Native code crashed")
    assert f"recording {death}" in text
    assert report(capsys)[1]["recording"] == death


def test_a_newer_recording_that_was_switched_off_is_named_and_one_in_good_order_is_not(record, data_root, capsys):
    record(1)
    switched_off = record(2, signal=None)
    record(3, signal=None)
    main(["report"])
    assert "newer kernel" not in capsys.readouterr().out

    journal = data_root / "recordings" / switched_off / "journal.jsonl"
    lines = [line for line in journal.read_text().splitlines() if '"end"' not in line and "exit_request" not in line]
    journal.write_text("\n".join([*lines, '{"event": "off", "mono_s": 104.0, "wall_s": 1795231264.0}']) + "\n")

    main(["report"])
    text = " ".join(capsys.readouterr().out.split())
    assert f"How a newer kernel ended is not known: `jupyter kerneldoctor report {switched_off}`." in text


def test_a_shutdown_after_its_recorder_was_killed_is_an_end_in_good_order(record, data_root, capsys):
    recording_id = record(1, signal=None)
    directory = data_root / "recordings" / recording_id
    journal = directory / layout.JOURNAL
    lines = [line for line in journal.read_text().splitlines() if '"end"' not in line and "exit_request" not in line]
    journal.write_text("\n".join(lines) + "\n")
    JsonLines(directory / layout.KERNEL).write({"event": "lost", "mono_s": 103.0, "wall_s": 1795231264.0})
    request = {"event": "request", "action": "shutdown", "by": "user", "mono_s": 140.0, "wall_s": 1795231300.0}
    JsonLines(directory / layout.SERVER).write(request, {**request, "event": "exit", "returncode": 0})

    main(["list", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["state"], row["died"], row["cause"]) == ("ended", False, "ordinary-end")
    assert row["ended"] is None, "nobody recorded when"


def test_all_fixes_are_shown_to_who_asks(record, capsys, monkeypatch):
    record(1)
    choose = reports.choose
    fix = {"why": "W.", "applicability": "advice", "edits": [], "snippet": None}

    def with_fixes(*arguments):
        shown, more = {**fix, "title": "The first"}, {**fix, "title": "The fourth"}
        return reports.Choice({**choose(*arguments).doc, "fixes": [shown], "more_fixes": [more]})

    monkeypatch.setattr(reports, "choose", with_fixes)
    assert main(["report", "--last"]) == 0
    assert "The fourth" not in capsys.readouterr().out

    assert main(["report", "--last", "--all"]) == 0
    assert "The fourth" in capsys.readouterr().out
