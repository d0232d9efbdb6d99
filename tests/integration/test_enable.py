"""`jupyter kerneldoctor enable`, and then a real kernel: does it load the extension, silently?"""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

from jupyter_kerneldoctor.recording.store import Store


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment of the test's own, in which everything that is installed here can be imported."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    here = [str(Path(__file__).parents[2]), *(path for path in sys.path if path.endswith("site-packages"))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(here))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "env"


def kerneldoctor(environment, *arguments):
    command = [environment / "bin" / "python", "-m", "jupyter_kerneldoctor", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def start_and_stop_a_kernel(environment, tmp_path):
    """Run a cell in a new kernel; return what the kernel printed and the recordings there are then."""
    manager = KernelManager(connection_file=str(tmp_path / "kernel-aaaa.json"))
    python = str(environment / "bin" / "python")
    manager.kernel_spec.argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    log = tmp_path / "kernel.log"
    with log.open("wb") as file:
        manager.start_kernel(stdout=file, stderr=file, cwd=str(tmp_path))
        client = manager.client()
        try:
            client.start_channels()
            client.wait_for_ready(timeout=60)
            assert client.execute_interactive("1 + 1", timeout=60)["content"]["status"] == "ok"
        finally:
            client.stop_channels()
            manager.shutdown_kernel()
            manager.cleanup_resources()
    store = Store(tmp_path / "data")
    return log.read_text(), [store.open(recording_id) for recording_id in store.ids()]


@pytest.mark.parametrize("whose", [[], ["--user"]])
def test_new_kernels_are_recorded_from_their_start_and_say_nothing(environment, tmp_path, whose):
    kerneldoctor(environment, "enable", *whose)

    printed, (recording,) = start_and_stop_a_kernel(environment, tmp_path)

    assert recording.kernel.loaded_by == "startup"
    assert recording.cells[0].source == "1 + 1"
    assert "kerneldoctor" not in printed.lower()


def test_after_disable_they_are_not(environment, tmp_path):
    kerneldoctor(environment, "enable")
    kerneldoctor(environment, "disable")

    assert start_and_stop_a_kernel(environment, tmp_path)[1] == []


@pytest.mark.parametrize("at_start", [True, False])
def test_a_setting_that_there_is_not_is_said_in_a_line(start_kernel, tmp_path, at_start):
    lines = ["c = get_config()", "c.KernelDoctor.exact_peek = False", "c.KernelDoctor.stacks = False"]
    lines += ["c.InteractiveShellApp.extra_extensions = ['kerneldoctor']"] if at_start else []
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text("\n".join(lines))
    kernel = start_kernel()

    said = (kernel.run("1 + 1") if at_start else kernel.load()).stderr

    assert said == "Config option `exact_peek` not recognized by `KernelDoctor`. Did you mean `exact_peak`?\n"
    assert kernel.run("1 + 1").stderr == ""
