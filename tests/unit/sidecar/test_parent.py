"""When the program that had started the kernel was last seen."""

import subprocess
import sys

import pytest
from support import requires

from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.sidecar.journal import Journal
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.parent import ParentObserver

pytestmark = requires.linux

STARTER = (
    "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], stdout=-3).pid, flush=True); sys.stdin.read()"
)


@pytest.fixture
def starter():
    with subprocess.Popen([sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_it_is_recorded_when_the_parent_was_last_seen(tmp_path, starter):
    kernel = identify(int(starter.stdout.readline()))
    watched = Watched(tmp_path, Journal(tmp_path / "journal.jsonl"), kernel)
    observer = ParentObserver(watched)
    (look,) = watched.after_sample
    look(100.0)
    look(100.5)  # it has just looked
    assert observer.at_end() == {"parent_gone": False, "parent_seen_mono_s": 100.0}

    look(102.0)
    starter.kill()
    starter.wait()
    look(104.0)
    assert observer.at_end() == {"parent_gone": True, "parent_seen_mono_s": 102.0}
    subprocess.run(["kill", str(kernel.pid)], check=True)
