"""The sidecar is killed with its kernel: what it wrote first, and what the operating system logged, are the end."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording import kernel_log, reader
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.reader import assemble, observe, read
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from jupyter_kerneldoctor.recording.model import Recording

START = {"event": "start", "mono_s": 10.0, "wall_s": 1000.0, "process": [4711, 1.0, "b"], "sidecar": [1, -1.0, "b"]}
CELL = {"event": "cell_start", "seq": 1, "source": "fill()", "mono_s": 11.0, "execution_count": 1}
GROUP = {"path": "/", "source": "s", "oom_kills_before": 0, "oom_kills_after": 1, "limit_bytes": 1 << 30,
         "usage_before_bytes": 1 << 30}  # fmt: skip
BEGUN = {"event": "end_begun", "kind": "signal", "signal": "SIGKILL", "cgroups": [GROUP], "mono_s": 12.0,
         "wall_s": 1002.0}  # fmt: skip
HEAD = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task_memcg=/a,task=python,pid=4711,uid=0"
KILLED = "Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB, anon-rss:9kB, file-rss:1kB"


def test_what_was_written_first_is_the_end_where_the_sidecar_is_gone() -> None:
    recording = assemble("20261121T032101Z-4711-ab12cd", [START, CELL, BEGUN])
    assert recording.end is None

    seen = observe(recording)

    assert seen.end is not None
    assert (seen.end.signal, seen.end.cgroups[0].oom_kills) == ("SIGKILL", 1)
    assert diagnose(seen).cause.id == "oom-cgroup"
    assert observe(replace(recording, sidecar=identify(os.getpid()))).end is None, "the rest is being written"


def test_an_end_that_is_written_while_it_is_read_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "recordings" / "20261121T032101Z-4711-ab12cd"
    directory.mkdir(parents=True, mode=0o700)
    journal = directory / "journal.jsonl"
    journal.write_text("".join(json.dumps(event) + "\n" for event in (START, CELL, BEGUN)))

    def read_and_then_written(path: Path) -> Recording:
        found = read(path)
        with journal.open("a") as file:
            file.write(json.dumps({**BEGUN, "event": "end", "kernel_log": [KILLED]}) + "\n")
        return found

    monkeypatch.setattr(reader, "read", read_and_then_written)
    found = Store(tmp_path).open(directory.name)

    assert found.end is not None
    assert found.end.kernel_log == (KILLED,)


def test_what_was_logged_of_a_kernel_is_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "kmsg"
    log.write_text(f"6,9,11500000,-;{KILLED}\n")
    monkeypatch.setattr(kernel_log, "_FILE", str(log))
    monkeypatch.setattr(kernel_log, "sees_all_processes", lambda: True)
    recording = assemble("x", [START, CELL])
    (tmp_path / "journal.jsonl").write_text("")

    assert kernel_log.note_death(tmp_path, recording)
    (noted,) = (tmp_path / "kernel.jsonl").read_text().splitlines()
    assert read(tmp_path).end.kernel_log == (KILLED,)
    assert '"mono_s":11.5' in noted.replace(" ", "")

    assert not kernel_log.note_death(tmp_path, replace(recording, started_mono_s=99.0)), "of another with its id"


def test_the_log_makes_it_certain() -> None:
    logged = {"event": "kernel_log", "mono_s": 11.5, "wall_s": 1001.5, "lines": [HEAD, KILLED]}

    found = diagnose(observe(assemble("20261121T032101Z-4711-ab12cd", [START, CELL, logged])))

    assert (found.cause.id, found.cause.certainty.word) == ("oom-cgroup", "proven")
    assert (found.end.kind, found.end.signal) == ("signal", "SIGKILL")
    assert found.cell.source == "fill()"


def test_a_kernel_of_a_container_that_is_gone_has_ended_after_a_minute_of_silence() -> None:
    start = {**START, "hostname": "pod-7", "wall_s": time.time() - 120}
    recording = assemble("x", [start, {**CELL, "wall_s": time.time() - 90}])

    assert observe(recording).alive is False
    assert observe(replace(recording, last_wall_s=time.time() - 5)).alive is None


def test_a_machine_that_slept_ends_no_kernel_of_a_container() -> None:
    """While it sleeps the monotonic clock stands still: the samples are then newer than they seem by the start."""
    begin_mono_s = START["mono_s"]
    start = {**START, "hostname": "pod-7", "wall_s": time.time() - 700}
    clock = {"event": "clock", "mono_s": begin_mono_s + 60, "wall_s": time.time() - 100}
    samples = (Sample(begin_mono_s + 158),)

    assert observe(assemble("x", [start, CELL, clock], samples=samples)).alive is None
