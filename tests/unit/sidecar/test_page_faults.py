"""A kernel may start threads without end: only those that live are remembered."""

import subprocess

from support.requires import linux

from jupyter_kerneldoctor.sidecar.stacks import page_faults

pytestmark = linux


def test_threads_that_are_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(page_faults, "_MOST_REMEMBERED", 50)
    with subprocess.Popen(["sleep", "60"]) as kernel:
        faults = page_faults.PageFaults(kernel.pid)
        for begin in range(0, 10_000, 32):
            faults.other_threads(1 << 40, lambda begin=begin: range(10**9 + begin, 10**9 + begin + 32))
        remembered = set(faults._before)
        faults.close()
        kernel.kill()

    assert len(remembered) < 100
    assert kernel.pid in remembered
