"""Kernels that never become ready: the server says what it tried, and what they wrote."""

import asyncio
import json
import os
import signal
import sys

import pytest
from support.requires import linux
from tornado.httpclient import HTTPClientError

from jupyter_kerneldoctor.recording.store import Store

pytestmark = linux


@pytest.fixture
def start(jp_fetch, jp_serverapp, jp_asyncio_loop):
    """Start a kernel that will fail; return its id. At the end Jupyter is given the time to give it up."""
    kernel_ids = []

    async def started(name):
        response = await jp_fetch("api", "kernels", method="POST", body=json.dumps({"name": name}))
        kernel_ids.append(json.loads(response.body)["id"])
        return kernel_ids[-1]

    async def given_up():
        for _ in range(1200):
            if not any(kernel_id in jp_serverapp.kernel_manager for kernel_id in kernel_ids):
                return
            await asyncio.sleep(0.05)

    yield started
    jp_asyncio_loop.run_until_complete(given_up())


async def test_an_interpreter_that_does_not_exist(start, kernelspec, recorded, jp_fetch):
    command = ["/gone/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]

    with pytest.raises(HTTPClientError, match="500"):
        await start(kernelspec("gone", command))

    recording = await recorded(lambda found: found.server.never_ready)
    assert "No such file or directory: '/gone/bin/python'" in recording.server.start_error
    assert recording.server.start_command[:3] == tuple(command[:3])
    assert recording.kernel.kernel_name == "gone"
    report = json.loads((await jp_fetch("kerneldoctor", "recordings", recording.id)).body)
    assert report["pid"] is None
    assert report["kernel_id"]
    assert report["cause"] == "startup-failure"


async def test_an_interpreter_without_ipykernel(start, kernelspec, deaths, capfd):
    bare = [sys.executable, "-I", "-S", "-m", "ipykernel_launcher", "-f", "{connection_file}"]

    kernel_id = await start(kernelspec("bare", bare))

    told = await deaths.next()
    recording = Store().open(told["recording"])
    assert told["kernel_id"] == kernel_id
    assert recording.server.never_ready
    assert recording.server.returncode == 1
    assert "No module named ipykernel_launcher" in recording.server.stderr
    assert recording.server.start_command[:5] == tuple(bare[:5])
    assert told["cause"] == "startup-failure"
    assert capfd.readouterr().err.count("No module named ipykernel_launcher") >= 2  # where it always went


async def test_a_file_of_the_users_in_the_place_of_a_module(start, kernelspec, deaths, tmp_path):
    (tmp_path / "tornado.py").write_text("raise RuntimeError('this is my tornado')")
    command = ["/usr/bin/env", f"PYTHONPATH={tmp_path}", sys.executable, "-m", "ipykernel_launcher"]

    await start(kernelspec("shadowed", [*command, "-f", "{connection_file}"]))

    recording = Store().open((await deaths.next())["recording"])
    assert str(tmp_path / "tornado.py") in recording.server.stderr


async def test_a_kernel_that_never_starts_is_told_of_once_and_leaves_one_recording(
    start, kernelspec, deaths, jp_serverapp
):
    kernel_id = await start(kernelspec("stubborn", ["/bin/sh", "-c", "echo no >&2; exit 3"]))

    told = await deaths.next()

    second = Store().open(told["recording"])
    assert second.server.stderr == "no\n"
    assert second.end.exit_code == 3
    while kernel_id in jp_serverapp.kernel_manager:  # until Jupyter gives up
        assert await deaths.none_comes(patience_s=0.2)
    assert await deaths.none_comes()
    for _ in range(1200):  # those of the other attempts are removed as each of them ends
        if Store().ids() == [second.id]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(Store().ids())


async def test_a_kernel_that_is_killed_while_it_starts_is_told_of_at_once(start, kernelspec, deaths):
    await start(kernelspec("killed", ["/bin/sh", "-c", "kill -9 $$"]))

    recording = Store().open((await deaths.next())["recording"])

    assert recording.server.never_ready
    assert recording.server.returncode == -signal.SIGKILL


async def test_a_startup_file_that_ends_the_kernel_after_it_has_its_sockets(
    jp_fetch, deaths, tmp_path, settled_at_the_end
):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (tmp_path / "attempts").touch()
    (startup / "00-native.py").write_text(
        f"import os\nwith open({str(tmp_path / 'attempts')!r}, 'r+') as attempts:\n"
        "    if attempts.read() != '..':\n        attempts.write('.')\n        attempts.flush()\n"
        "        os.write(2, b'libours: no device\\n')\n        os._exit(7)"
    )

    await jp_fetch("api", "kernels", method="POST", body="{}")

    told = await deaths.next()
    recording = Store().open(told["recording"])
    assert told["cause"] == "startup-failure"
    assert recording.server.never_ready
    assert "libours: no device" in recording.server.stderr
    assert deaths.seen == []


async def test_a_kernel_that_nobody_has_spoken_to_was_ready(jp_fetch, deaths, jp_serverapp, settled_at_the_end):
    kernel_id = json.loads((await jp_fetch("api", "kernels", method="POST", body="{}")).body)["id"]
    kernel = jp_serverapp.kernel_manager.get_kernel(kernel_id)
    for _ in range(1200):
        if kernel.execution_state == "idle":  # said when it has answered, and nobody else asks
            break
        await asyncio.sleep(0.05)

    os.kill(kernel.provisioner.process.pid, signal.SIGKILL)

    recording_id = (await deaths.next())["recording"]
    assert not Store().open(recording_id).server.never_ready
    for _ in range(600):  # Jupyter finds it gone later than its recorder
        if Store().open(recording_id).server.restarted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it was not restarted")


async def test_a_kernel_that_starts_at_the_second_attempt_writes_where_it_always_did(
    notebook, kernelspec, tmp_path, capfd
):
    command = 'test -e "$0" && exec "$@"; touch "$0"; exit 1'
    kernel_command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    name = kernelspec("second", ["/bin/sh", "-c", command, tmp_path / "tried", *kernel_command])

    kernel = await notebook(name)
    reply = await kernel.run("import os\nfor line in range(2000): os.write(2, b'%d\\n' % line)")

    assert reply["status"] == "ok"
    await kernel.shut_down()
    lines = [line for line in capfd.readouterr().err.splitlines() if line.isdigit()]
    assert lines == [str(line) for line in range(2000)]
