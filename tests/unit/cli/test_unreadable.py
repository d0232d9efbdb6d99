"""Recordings that cannot be read, or hold nothing: said plainly, and no trouble to the others."""

import json

import pytest

from jupyter_kerneldoctor.cli import main


def test_a_link_that_leads_nowhere_does_not_spoil_the_search(record, data_root, capsys):
    mine = record(1, kernel_id="mine")
    (data_root / "recordings" / "20261121T032105Z-11-aaaaaa").symlink_to("/nowhere")

    assert main(["report", "--json", "--notebook", "x.ipynb", "--kernel", "mine"]) == 0
    assert json.loads(capsys.readouterr().out)["recording"] == mine


@pytest.mark.parametrize("command", ["report", "show", "export", "inspect"])
def test_what_may_not_be_read_is_said_with_its_place(record, data_root, call_unprivileged, command):
    closed = record(1)
    (data_root / "recordings" / closed).chmod(0)

    result = call_unprivileged(command, closed)

    assert result.returncode == 1
    place = data_root / "recordings" / closed / "journal.jsonl"
    assert result.stderr.startswith(f"The recording cannot be read: Permission denied ({place}).\n")
    assert result.stdout == ""


@pytest.mark.slow
def test_what_may_not_be_read_is_in_the_list_and_spoils_no_search(record, data_root, call_unprivileged):
    older, closed = record(1), record(2)
    (data_root / "recordings" / closed).chmod(0)

    row = json.loads(call_unprivileged("list", "--json").stdout)[0]

    assert row["recording"] == closed
    assert row["headline"].startswith("The recording cannot be read: Permission denied (/")
    assert row["started"] == "2026-11-21T03:21:02.000+00:00"
    assert older in call_unprivileged("report", "--kernel", "kernel-1").stdout

    (data_root / "recordings" / older).chmod(0)
    assert "cannot be read: Permission denied" in call_unprivileged("report").stderr


@pytest.mark.parametrize("content", ["", "junk\n[]\n"])
def test_of_a_recording_without_a_beginning_only_its_id_speaks(data_root, capsys, content):
    recording_id = "20261121T032104Z-11-aaaaaa"
    directory = data_root / "recordings" / recording_id
    directory.mkdir(parents=True)
    (directory / "journal.jsonl").write_text(content)

    main(["list"])
    main(["report", recording_id])
    main(["show", recording_id])

    text = capsys.readouterr().out
    assert "process 11 · started 2026-11-21" in text
    assert "Started 2026-11-21" in text
    assert [words for words in ("IPython in a terminal", "load_ext", "not known when") if words in text] == []
    main(["report", "--json", recording_id])
    document = json.loads(capsys.readouterr().out)
    assert (document["started"], document["loaded_by"]) == ("2026-11-21T03:21:04.000+00:00", None)
