"""The server's own end, in a server of its own process."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest
from support.handwritten import write_recording
from support.requires import linux
from support.trials import FIX, WAITING, processes_of_trials_in

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.processes import is_alive
from jupyter_kerneldoctor.recording.store import Store

pytestmark = linux

SERVER = """
import sys
from jupyter_server.serverapp import ServerApp
ServerApp.launch_instance([
    "--ServerApp.jpserver_extensions", "jupyter_kerneldoctor=True", "--ServerApp.root_dir=.", "--port=" + sys.argv[1],
    "--IdentityProvider.token=secret", "--no-browser", "--allow-root",
])
"""


@pytest.fixture
def server(tmp_path):
    """A server with one kernel, and the recording of that kernel."""
    directories = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", ROOT_VARIABLE: "recorded"}
    environment = {**os.environ, **{name: str(tmp_path / place) for name, place in directories.items()}}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, port], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as process:
        try:
            address = wait_for(lambda: address_of(tmp_path / "runtime"))
            request = urllib.request.Request(f"{address}/api/kernels", b"{}", {"Authorization": "token secret"})
            kernel_id = wait_for(lambda: posted(request))["id"]
            yield process, lambda: recording_of(tmp_path / "recorded", kernel_id), address
        finally:
            process.kill()


def address_of(runtime):
    """Where the server listens, as it notes it down: the port that was free may be another program's by then."""
    for noted in runtime.glob("jpserver-*.json"):
        with suppress(ValueError):  # half of it is written
            return f"http://127.0.0.1:{json.loads(noted.read_text())['port']}"
    return None


def posted(request):
    """The answer, or None: the server does not listen yet."""
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except OSError:
        return None


def recording_of(root, kernel_id):
    store = Store(root)
    found = [store.open(recording_id) for recording_id in store.ids()]
    return next((one for one in found if one.kernel.kernel_id == kernel_id and one.sidecar), None)


def wait_for(look, patience_s=120):
    deadline = time.monotonic() + patience_s
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return seen


def test_a_server_that_is_told_to_end_notes_it_for_each_kernel(server):
    process, recording, _ = server
    wait_for(recording)

    process.terminate()
    process.wait(timeout=60)

    ended = wait_for(lambda: (now := recording()).end and now)
    assert ended.server.requested == "shutdown"
    assert ended.server.requested_by == "server"
    assert ended.server.ended_wall_s <= time.time()
    wait_for(lambda: not is_alive(ended.sidecar))


def test_a_sidecar_outlives_a_server_that_is_killed(server):
    process, recording, _ = server
    sidecar = wait_for(recording).sidecar

    process.kill()
    process.wait()

    ended = wait_for(lambda: (now := recording()).end and now)  # ipykernel ends when its parent is gone
    assert ended.server.ended_wall_s is None
    wait_for(lambda: not is_alive(sidecar))


def test_a_server_that_ends_leaves_nothing_of_a_trial(trial_disk, server, tmp_path, monkeypatch):
    process, _, address = server
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "recorded"))
    wait = tmp_path / "wait"
    wait.touch()
    recording_id = write_recording(1, source=WAITING.format(wait=str(wait)), notebook=str(wait), exit_code=3)
    trial = f"{address}/kerneldoctor/recordings/{recording_id}/trials/{FIX}"
    request = urllib.request.Request(trial, b"", {"Authorization": "token secret"})
    with urllib.request.urlopen(request) as steps:
        assert any(b'"what": "cell"' in line for line in steps)
        assert processes_of_trials_in(trial_disk)

        process.terminate()
        process.wait(timeout=60)

    assert (processes_of_trials_in(trial_disk), list(trial_disk.iterdir())) == ([], [])
