"""Who else is below the limit: by name, notebook and memory, without the kernel's own processes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.handwritten import write_recording
from support.requires import linux

from jupyter_kerneldoctor.sidecar.meters.neighbours import neighbours

pytestmark = linux

HOLD = "import sys; held = b'x' * (80 << 20); print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def other():
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def test_another_kernel_is_named_by_its_notebook(other, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    write_recording(1, living_pid=other, notebook="/home/ada/train.ipynb")

    proc = tmp_path / "proc"  # of the other's size there may be many here, and only the largest are told
    proc.mkdir()
    (proc / str(other)).symlink_to(f"/proc/{other}")
    (found,) = neighbours(set(), None, tmp_path / "recordings", str(proc))

    assert found["rss_bytes"] > 80 << 20
    assert (found["name"][:6], found["notebook"]) == ("python", "/home/ada/train.ipynb")


def test_the_kernels_own_processes_and_other_groups_do_not_count(other, tmp_path):
    assert other not in [one["pid"] for one in neighbours({other}, None, tmp_path)]
    assert neighbours(set(), "/no-such-group", tmp_path) == []
