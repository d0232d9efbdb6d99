"""Whatever lies in a recording: every reader, command and renderer copes, and one recording spoils no other."""

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import HealthCheck, example, given, settings
from support import damaged
from support.handwritten import write_recording

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.last_cell import last_cell_source
from jupyter_kerneldoctor.recording.retention import Policy, prune
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

OF_LITTLE_TIME = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

SEEN_BEFORE = [
    {layout.JOURNAL: b"[" * 200_000 + b"\n"},
    {layout.JOURNAL: b'{"event":"start","wall_s":1,"process":[Infinity,1,"x"]}\n'},
    {layout.JOURNAL: b'{"event":"start","mono_s":1,"wall_s":1,"process":[1,1,"x"],"notebook":["a.ipynb"]}\n'},
    {layout.JOURNAL: b'{"event":"start","mono_s":1,"wall_s":1e999,"process":[1,1,"x"]}\n'},
]


def seen_before(test):
    for contents in SEEN_BEFORE:
        test = example(contents)(test)
    return test


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv(layout.ROOT_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


def say(*arguments):
    """Run a command; return its exit status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    assert "KernelDoctor failed" not in err.getvalue(), (arguments, err.getvalue())
    return status, out.getvalue()


@seen_before
@given(damaged.files())
@OF_LITTLE_TIME
def test_every_command_copes(root, tmp_path, contents):
    recording_id = damaged.write(root, contents)

    for form in ("text", "markdown", "html"):
        say("report", recording_id, "--format", form)
    status, printed = say("show", recording_id)
    assert status == 0
    assert [character for character in printed if ord(character) < 32 and character != "\n"] == []
    json.loads(say("show", "--json", recording_id)[1])
    say("report", "--notebook", "a.ipynb", "--kernel", "k")
    say("inspect", recording_id)
    say("inspect", "--kernel", "k")
    say("export", recording_id, "-o", str(tmp_path / "out.zip"))
    (tmp_path / "out.zip").unlink()


@seen_before
@given(damaged.files())
@OF_LITTLE_TIME
def test_one_recording_spoils_no_other(root, contents):
    shutil.rmtree(root, ignore_errors=True)
    damaged.write(root, contents)
    whole = write_recording(1)

    post_mortems = PostMortems()
    rows = {row["recording"]: row for row in post_mortems.rows()}
    last_cell_source(layout.recordings_dir() / min(rows))

    assert len(rows) == 2
    assert rows[whole]["died"] is True
    assert post_mortems.document(whole)["end"]["signal"] == "SIGSEGV"
    assert say("report", "--kernel", "kernel-1")[0] == 0
    prune(layout.recordings_dir(), Policy())
    prune(layout.recordings_dir(), Policy(recordings=0))
