"""What of the cards' samples is written, and whose a process is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import requires

from jupyter_kerneldoctor.recording.journal import read_lines
from jupyter_kerneldoctor.recording.layout import GPU
from jupyter_kerneldoctor.recording.rotating_log import RotatingLog
from jupyter_kerneldoctor.sidecar.gpu import driver, owners
from jupyter_kerneldoctor.sidecar.gpu.owners import Holder, is_below, shares
from jupyter_kerneldoctor.sidecar.gpu.samples import MOST_BYTES, GpuSampleWriter

GIB = 1 << 30


def row(second, **changed):
    return {
        "mono_s": float(second),
        "index": 0,
        "used_bytes": 4 * GIB,
        "own_bytes": 3 * GIB,
        "utilisation": 50,
        "temperature_c": 60,
        "power_w": 200.0,
        "throttle": [],
        "ecc_uncorrected": 0,
        "others": [],
    } | changed


def written(directory):
    lines = [line for name in GPU for line in read_lines(directory / name)]
    return [line["mono_s"] for line in sorted(lines, key=lambda line: line["mono_s"])]


def test_a_card_that_does_the_same_all_the_time_is_written_each_ten_seconds(tmp_path):
    writer = GpuSampleWriter(tmp_path)
    for second in range(25):
        writer.write(row(second, utilisation=50 + second % 9, power_w=200.0 + second))

    assert written(tmp_path) == [0, 9, 10, 19, 20]


@pytest.mark.parametrize(
    "changed",
    [
        {"used_bytes": 5 * GIB},
        {"own_bytes": None},
        {"throttle": ["thermal"]},
        {"ecc_uncorrected": 1},
        {"temperature_c": 66},
        {"utilisation": 100},
        {"others": [{"pid": 1, "bytes": GIB, "name": "python"}]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_change_is_written_at_once_with_the_sample_before_it(tmp_path, changed):
    writer = GpuSampleWriter(tmp_path)
    for second in range(4):
        writer.write(row(second))
    writer.write(row(4, **changed))

    assert written(tmp_path) == [0, 3, 4]


def test_the_newest_sample_is_written_at_the_end(tmp_path):
    writer = GpuSampleWriter(tmp_path)
    for second in range(4):
        writer.write(row(second))
    writer.flush(1.0)

    assert written(tmp_path) == [0, 3]


def test_the_files_are_bounded_and_keep_the_newest(tmp_path):
    writer = GpuSampleWriter(tmp_path)
    for second in range(6000):
        writer.write(row(second, used_bytes=(second % 2 + 1) * GIB))

    assert all((tmp_path / name).stat().st_size <= MOST_BYTES for name in GPU)
    kept = written(tmp_path)
    assert kept[-1] == 5999
    assert kept == list(range(int(kept[0]), 6000)), "what is left is without a gap"
    assert len(kept) > 1000


def test_of_two_rotating_files_never_both_are_empty(tmp_path):
    files = RotatingLog(tmp_path, ("a", "b"), 10_000)
    for number in range(100):
        files.write("x" * 900 + str(number))
        assert sum(len(list(read_lines(tmp_path / name))) for name in ("a", "b")) >= min(number + 1, 2)


@requires.linux
def test_a_process_is_below_itself_its_parent_and_its_parents_parent():
    # The shell in between stays, as it has something left to do.
    with subprocess.Popen(
        ["sh", "-c", f"{sys.executable} -c 'import os, sys; print(os.getpid(), flush=True); sys.stdin.read()'; true"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as shell:
        grandchild = int(shell.stdout.readline())

        assert is_below(grandchild, grandchild)
        assert is_below(grandchild, shell.pid)
        assert is_below(grandchild, os.getpid())
        assert not is_below(os.getpid(), grandchild)
        shell.communicate()


@requires.linux
def test_a_container_that_is_shown_ids_of_the_host_does_not_know_its_share(monkeypatch):
    gone = 4_000_000_000
    monkeypatch.setattr(owners, "sees_all_processes", lambda: False)

    assert shares([Holder(gone, GIB)], os.getpid()) == (None, [])
    assert shares([], os.getpid()) == (None, [])
    own, others = shares([Holder(os.getpid(), GIB), Holder(1, 2 * GIB)], os.getpid())
    assert own == GIB
    assert [other["pid"] for other in others] == [1]


@requires.linux
def test_where_all_processes_are_seen_none_on_the_card_is_none(monkeypatch):
    monkeypatch.setattr(owners, "sees_all_processes", lambda: True)

    assert shares([], os.getpid()) == (0, [])
    assert shares([Holder(os.getpid(), None)], os.getpid()) == (None, []), "a driver that does not tell how much"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023", "535.54.03"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build", "550.54.14"),
        ("something else", None),
    ],
)
def test_the_version_of_the_kernel_module_is_read(tmp_path, monkeypatch, line, version):
    (tmp_path / "version").write_text(line + "\nGCC version: 12.2.0 (Debian 12.2.0-14)\n")
    monkeypatch.setattr(driver, "_VERSION_FILE", str(tmp_path / "version"))

    assert driver.module_version() == version


def test_a_library_where_the_loader_would_find_it_is_a_sign(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "_MARKERS", ())
    monkeypatch.setattr(driver, "_DIRECTORIES", ())
    assert not driver.may_be_installed()

    (tmp_path / driver.LIBRARY).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"relative:/nowhere:{tmp_path}")
    assert driver.may_be_installed()


def test_where_there_is_no_driver_nothing_is_imported():
    package = Path(driver.__file__).parents[3]
    code = (
        f"import sys; sys.path.append({str(package)!r})\n"
        "import jupyter_kerneldoctor.sidecar.observers.gpu\n"
        "print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert {"pynvml", "ctypes", "threading"} & set(result.stdout.split()) == set()
