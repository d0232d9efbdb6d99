"""Recordings on disk: ids, what belongs to a living kernel, deletion, retention."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.processes import boot_id, identify, is_alive
from jupyter_kerneldoctor.recording.retention import Policy, prune
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError

if TYPE_CHECKING:
    from pathlib import Path


def make_recording(
    root: Path, day: int = 1, process: object = None, hostname: str | None = None, **facts: object
) -> str:
    """A recording of a process that is gone, if no other is given."""
    process = process or (999_999_999, 1, boot_id())
    recording_id = f"202601{day:02}T000000Z-{day}-abcdef"
    directory = layout.create(recording_id, root)
    line = {"event": "start", "mono_s": 1.0, "wall_s": 2.0, "process": process, "hostname": hostname, **facts}
    (directory / layout.JOURNAL).write_text(json.dumps(line) + "\n")
    return recording_id


@pytest.mark.parametrize(
    "name", ["../secret", "..", "", "20260101T000000Z-1-abcdef/../x", "20260101T000000Z-1-abcdef\x00", "/etc"]
)
def test_an_id_that_is_none_reads_nothing(tmp_path: Path, name: str) -> None:
    make_recording(tmp_path)
    with pytest.raises(UnknownRecordingError, match="jupyter kerneldoctor list"):
        Store(tmp_path).open(name)


def test_new_ids_are_ids_and_directories_are_private(tmp_path: Path) -> None:
    recording_id = layout.new_id(1234)

    assert layout.is_id(recording_id)
    assert layout.create(recording_id, tmp_path).stat().st_mode & 0o777 == 0o700


def test_the_newest_comes_first_and_strangers_are_ignored(tmp_path: Path) -> None:
    first, second = make_recording(tmp_path, 1), make_recording(tmp_path, 2)
    (tmp_path / "recordings" / "notes.txt").write_text("not a recording")

    assert Store(tmp_path).ids() == [second, first]


def test_no_directory_is_no_recordings(tmp_path: Path) -> None:
    assert Store(tmp_path / "missing").ids() == []


def test_a_deleted_recording_is_gone(tmp_path: Path) -> None:
    store, recording_id = Store(tmp_path), make_recording(tmp_path)
    store.delete(recording_id)

    assert store.ids() == []


def test_a_recording_into_which_a_reader_writes_meanwhile_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, recording_id = Store(tmp_path), make_recording(tmp_path)
    rmdir, late = os.rmdir, [store.path(recording_id) / f"{layout.ROW}.json"]

    def rmdir_a_moment_later(name: str, **where: int) -> None:
        while late:
            late.pop().touch()
        rmdir(name, **where)

    monkeypatch.setattr(os, "rmdir", rmdir_a_moment_later)
    store.delete(recording_id)

    assert store.ids() == []


def test_a_pid_alone_proves_nothing(tmp_path: Path) -> None:
    me = identify(os.getpid())
    assert is_alive(me)
    assert not is_alive(me._replace(start=me.start - 1)), "an earlier process had this pid"
    assert not is_alive(me._replace(boot_id="before the reboot"))

    recording = Store(tmp_path).open(make_recording(tmp_path, process=me))
    assert recording.alive


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    identity = identify(child.pid)
    deadline = time.monotonic() + 60
    while is_alive(identity):
        assert time.monotonic() < deadline
    child.wait()


def test_a_recording_of_another_machine_is_neither_alive_nor_dead(tmp_path: Path) -> None:
    facts = {"process": identify(os.getpid()), "hostname": "another-machine", "wall_s": time.time()}
    recording_id = make_recording(tmp_path, **facts)

    assert Store(tmp_path).open(recording_id).alive is None


def test_a_process_that_another_container_numbers_is_not_dead_while_it_is_recorded(tmp_path: Path) -> None:
    inside = {"process": (999_999_999, 1, boot_id()), "namespaces": [1, 2]}
    recorded, silent = (
        make_recording(tmp_path, day, **inside, wall_s=wall_s) for day, wall_s in ((1, time.time()), (2, 2.0))
    )

    assert Store(tmp_path).open(recorded).alive is None
    assert Store(tmp_path).open(silent).alive is False


def test_the_oldest_go_first_but_not_a_living_kernels(tmp_path: Path) -> None:
    living = make_recording(tmp_path, 1, identify(os.getpid()))
    dead = [make_recording(tmp_path, day) for day in range(2, 6)]

    prune(tmp_path / "recordings", Policy(recordings=2))

    assert Store(tmp_path).ids() == [dead[-1], dead[-2], living]


def test_old_and_big_recordings_are_deleted(tmp_path: Path) -> None:
    old, big, fresh = make_recording(tmp_path, 1), make_recording(tmp_path, 2), make_recording(tmp_path, 3)
    os.utime(tmp_path / "recordings" / old / layout.JOURNAL, (0, 0))
    (tmp_path / "recordings" / big / "samples.jsonl").write_bytes(b"x" * 10_000)

    prune(tmp_path / "recordings", Policy(age_s=3600, total_bytes=5_000))

    assert Store(tmp_path).ids() == [fresh]


def test_a_file_with_holes_counts_as_what_the_disk_holds_of_it(tmp_path: Path) -> None:
    older, newest = make_recording(tmp_path, 1), make_recording(tmp_path, 2)
    os.truncate(tmp_path / "recordings" / newest / layout.JOURNAL, 1 << 30)

    prune(tmp_path / "recordings", Policy(total_bytes=1 << 20))

    assert Store(tmp_path).ids() == [newest, older]


def test_what_was_written_to_lately_is_not_old_however_long_ago_it_began(tmp_path: Path) -> None:
    recording_id = make_recording(tmp_path)
    os.utime(tmp_path / "recordings" / recording_id, (0, 0))

    prune(tmp_path / "recordings", Policy(age_s=3600))

    assert Store(tmp_path).ids() == [recording_id]


def test_a_sidecar_with_a_wrong_clock_does_not_delete_what_it_has_just_written(tmp_path: Path) -> None:
    own, other = make_recording(tmp_path, 1), make_recording(tmp_path, 2)
    for recording_id in (own, other):
        os.utime(tmp_path / "recordings" / recording_id / layout.JOURNAL, (0, 0))

    prune(tmp_path / "recordings", Policy(recordings=0, age_s=3600), own)

    assert Store(tmp_path).ids() == [own]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"process": (4711, 1, "its boot"), "hostname": "node17"},
        {"process": (4711, 1, boot_id()), "hostname": "container"},
        {"process": (4711, 1, boot_id()), "namespaces": [1, 2]},
    ],
    ids=["another machine", "another container of this machine", "a container with the machine's name"],
)
def test_in_a_home_of_several_machines_what_is_still_written_to_stays(
    tmp_path: Path, elsewhere: dict[str, object]
) -> None:
    alive, _over = make_recording(tmp_path, 1, **elsewhere), make_recording(tmp_path, 2, **elsewhere)
    hours_ago = time.time() - 2 * 3600
    for path in (tmp_path / "recordings").iterdir():
        os.utime(path / layout.JOURNAL, (hours_ago, hours_ago))  # nobody has run a cell since
    (tmp_path / "recordings" / alive / layout.RECENT[0]).write_text("[1.0]\n")

    prune(tmp_path / "recordings", Policy(recordings=0))

    assert Store(tmp_path).ids() == [alive]


def test_what_a_link_points_to_is_no_recording_and_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "thesis.txt").write_text("years of work")
    recording_id = make_recording(tmp_path, 1)
    link = tmp_path / "recordings" / recording_id.replace("-1-", "-2-")
    link.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnknownRecordingError):
        Store(tmp_path).delete(link.name)
    prune(tmp_path / "recordings", Policy(recordings=1))

    assert Store(tmp_path).ids() == [recording_id]
    assert (tmp_path / "elsewhere" / "thesis.txt").exists()


def test_an_id_tells_when_its_kernel_started() -> None:
    assert layout.started_wall_s("20261121T032104Z-11-aaaaaa") == 1795231264.0
    assert layout.started_wall_s("20261399T032104Z-11-aaaaaa") is None
