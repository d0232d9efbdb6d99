"""A control group in which no limit can be set is not left behind; a scope of systemd is used only where it limits."""

import os
import subprocess
from pathlib import Path

import pytest

from jupyter_kerneldoctor.trial import memory_limit

_RUN = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'


@pytest.mark.parametrize("make", [memory_limit._cgroup_v1, memory_limit._cgroup_v2])
def test_a_group_without_its_limit_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make):
    group = tmp_path / "group"
    group.mkdir()
    monkeypatch.setattr(memory_limit, "_make_group", lambda *given: group)
    monkeypatch.setattr(Path, "exists", lambda path: True)
    monkeypatch.setattr(Path, "write_text", _refused)

    with pytest.raises(PermissionError):
        make(1 << 30)

    assert list(tmp_path.iterdir()) == []


def test_a_scope_that_limits_nothing_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As with cgroup v1, and wherever the session was given no memory controller: systemd says that all is well."""
    _systemd_run(tmp_path, monkeypatch, _RUN)
    monkeypatch.setattr(memory_limit, "CGROUP", tmp_path)

    with (
        pytest.raises(memory_limit.NoMemoryLimitError, match="this systemd session may not limit memory"),
        memory_limit.memory_limit(1 << 28, ("systemd",)),
    ):
        pass


def test_a_scope_that_limits_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is delegated: else systemd 253 and later end JupyterLab, too, when Linux killed a kernel in its scope."""
    _systemd_run(tmp_path, monkeypatch, _RUN)
    membership = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    group = tmp_path / membership[len("0::") :].strip().lstrip("/")
    group.mkdir(parents=True, exist_ok=True)
    (group / "memory.max").write_text(f"{1 << 28}\n")
    monkeypatch.setattr(memory_limit, "CGROUP", tmp_path)

    with memory_limit.memory_limit(1 << 28, ("systemd",)) as limit:
        said = subprocess.run(limit.command(["echo", "inside"]), capture_output=True, text=True, check=True).stdout

    assert said == "inside\n"
    assert {f"--property=MemoryMax={1 << 28}", "--property=Delegate=yes"} <= set(limit.prefix)


def test_without_a_bus_what_systemd_said_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _systemd_run(tmp_path, monkeypatch, "echo Failed to connect to bus >&2; exit 1")

    with (
        pytest.raises(memory_limit.NoMemoryLimitError, match="Failed to connect to bus"),
        memory_limit.memory_limit(1 << 28, ("systemd",)),
    ):
        pass


def _systemd_run(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a `systemd-run` that makes no scope before the machine's own."""
    path = directory / "bin" / "systemd-run"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")


def _refused(path: Path, text: str) -> None:
    raise PermissionError(f"{path}: {text}")
