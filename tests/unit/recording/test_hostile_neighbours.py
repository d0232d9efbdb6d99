"""Another user shares the data directory, or damaged files lie in it: nothing of anybody's is touched, nobody waits."""

import os
import socket
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from support import requires

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.private_files import open_private, read_file
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.retention import Policy, prune, remove
from jupyter_kerneldoctor.recording.store import Store

pytestmark = requires.linux

NONE_KEPT = Policy(recordings=0)
STRANGER = 65534


@pytest.fixture
def recording(tmp_path):
    """The directory of a recording of a kernel that is gone."""
    directory = layout.create("20260101T000000Z-1-abcdef", tmp_path)
    JsonLines(directory / layout.JOURNAL).write({"event": "start", "mono_s": 1.0, "process": [1, 1, "gone"]})
    os.utime(directory / layout.JOURNAL, (0, 0))
    return directory


@pytest.fixture
def thesis(tmp_path):
    """A directory of the user's own with 40 files."""
    directory = tmp_path / "thesis"
    directory.mkdir()
    for number in range(40):
        (directory / f"chapter-{number}.tex").write_text("years of work")
    return directory


def test_a_directory_swapped_for_a_link_loses_nothing(recording, thesis):
    recording.rename(f"{recording}-away")
    recording.symlink_to(thesis)

    prune(recording.parent, NONE_KEPT)
    with pytest.raises(OSError):
        remove(recording)

    assert len(list(thesis.iterdir())) == 40


def test_recordings_that_lie_behind_a_link_are_not_ours(recording, tmp_path):
    elsewhere = recording.parent.rename(tmp_path / "elsewhere")
    recording.parent.symlink_to(elsewhere)

    prune(recording.parent, NONE_KEPT)

    assert Store(tmp_path).ids() == []
    assert len(list(elsewhere.iterdir())) == 1


@pytest.mark.parametrize("name", [layout.SERVER, layout.KERNEL, layout.CRASH, layout.JOURNAL])
def test_nothing_is_written_through_a_planted_link(recording, tmp_path, name):
    victim = tmp_path / "authorized_keys"
    victim.write_text("mine")
    (recording / name).unlink(missing_ok=True)
    (recording / name).symlink_to(victim)

    with pytest.raises(OSError):
        open_private(recording / name)
    with pytest.raises(OSError):
        read_file(recording / name, 100)

    assert victim.read_text() == "mine"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(recording, tmp_path, mode):
    recording.parent.chmod(mode)

    assert Store(tmp_path).ids() == []
    assert "other users may write to it" in str(Store(tmp_path).refusal)
    with pytest.raises(PermissionError, match="other users may write to it"):
        layout.create("20260102T000000Z-1-abcdef", tmp_path)


@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o1777, False), (0o755, False)])
def test_the_directory_above_may_be_shared_only_with_the_sticky_bit(recording, tmp_path, mode, refused):
    tmp_path.chmod(mode)
    assert (Store(tmp_path).refusal is not None) == refused


@requires.root
@pytest.mark.parametrize("whose", ["recordings", "the directory above", "one recording"])
def test_what_belongs_to_another_user_is_neither_read_nor_written_nor_deleted(recording, tmp_path, whose):
    theirs = {"recordings": recording.parent, "the directory above": tmp_path, "one recording": recording}[whose]
    os.chown(theirs, STRANGER, STRANGER)

    prune(recording.parent, NONE_KEPT)

    assert Store(tmp_path).ids() == []
    assert (recording / layout.JOURNAL).exists()
    if whose != "one recording":
        with pytest.raises(PermissionError, match="it belongs to another user"):
            layout.create("20260102T000000Z-1-abcdef", tmp_path)


@requires.root
def test_a_file_of_another_user_is_not_read(recording):
    os.chown(recording / layout.JOURNAL, STRANGER, STRANGER)
    assert read(recording).started_mono_s == 0.0


def test_the_command_line_says_why(recording, tmp_path):
    recording.parent.chmod(0o777)
    environment = {**os.environ, layout.ROOT_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-m", "jupyter_kerneldoctor", "list"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert result.returncode == 1
    assert "cannot be read: other users may write to it" in result.stderr


def pipe(path):
    os.mkfifo(path)


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


def device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", [pipe, bound_socket, device, Path.mkdir])
@pytest.mark.parametrize("name", layout.FILES)
def test_what_is_no_file_holds_nobody_up(recording, tmp_path, monkeypatch, kind, name):
    monkeypatch.chdir(recording)
    (recording / name).unlink(missing_ok=True)
    kind(recording / name)

    begun = time.monotonic()
    read(recording)
    prune(recording.parent, Policy())
    prune(recording.parent, NONE_KEPT)

    assert time.monotonic() - begun < 30  # not for ever


def test_a_file_without_end_is_read_up_to_a_bound(recording):
    with (recording / layout.JOURNAL).open("ab") as journal:
        journal.truncate(1 << 30)
        journal.seek(0, os.SEEK_END)
        journal.write(b'\n{"event":"end","mono_s":9.0,"wall_s":9.0,"kind":"signal","signal":"SIGKILL"}\n')

    tracemalloc.start()
    found = read(recording)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found.end.signal == "SIGKILL"
    assert found.started_mono_s == 1.0
    assert peak < 150 << 20
