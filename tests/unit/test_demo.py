"""The demo for an ordinary user: where no control group can be made, the kernel's own process is limited."""

import importlib
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo"


@pytest.fixture
def limit(monkeypatch):
    """The demo's module, on a machine that lets this account set no limit for a group of processes."""
    monkeypatch.syspath_prepend(str(DEMO))
    limit = importlib.import_module("limit")

    def refused(limit_bytes):
        raise limit.NoMemoryLimitError("x" * 330)

    monkeypatch.setattr(limit, "memory_limit", refused)
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, processors: None)
    return limit


def test_without_permission_the_kernel_itself_gets_a_limit(limit, capsys):
    with ExitStack() as stack:
        found = limit.set_limit(stack, 250 << 20)

    shown = subprocess.run(found.command(["/bin/sh", "-c", "ulimit -d"]), capture_output=True, text=True, check=True)
    assert int(shown.stdout) << 10 == limit.ONE_PROCESS_BYTES
    assert [len(line) <= 100 for line in capsys.readouterr().out.splitlines()] == [True, True]
