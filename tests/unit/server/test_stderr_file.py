"""What a kernel writes while it starts again, once it has failed to."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from support import requires

from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.server import stderr_file
from jupyter_kerneldoctor.server.stderr_file import StderrFile

if TYPE_CHECKING:
    import pytest

pytestmark = requires.linux

HOUR_S = 3600.0


class FastClock:
    """A clock on which waiting takes no time; when its hour is over, the process is ended."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._now_s = 0.0
        self.waits = 0

    def monotonic(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += seconds
        if self._now_s <= HOUR_S:
            self.waits += 1
        else:  # it may take a while until that is done
            self._process.kill()


def test_a_kernel_that_started_after_all_is_looked_at_less_often(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = StderrFile()
    command = ["sh", "-c", "echo ready >&2; echo; exec sleep 600"]
    kernel = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file)
    kernel.stdout.readline()
    clock = FastClock(kernel)
    monkeypatch.setattr(stderr_file, "time", clock)

    file.follow(identify(kernel.pid))
    kernel.wait()

    assert file.text() == "ready\n"
    assert capfd.readouterr().err == "ready\n"
    assert clock.waits < 3 * HOUR_S
