"""What the server notes about its kernels, and when it tells the browser. The kernels are real, the recordings are
written by hand, so that only the server's part is tested.
"""

import asyncio
import json
import os
import signal
from datetime import datetime, timedelta, timezone

import pytest
from support.handwritten import write_recording

from jupyter_kerneldoctor.recording.journal import read_lines
from jupyter_kerneldoctor.recording.layout import SERVER
from jupyter_kerneldoctor.recording.store import Store

DEAF = """
import signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
open("deaf", "w").close()
while True:
    pass
"""


@pytest.fixture
def jp_server_config(jp_server_config):
    return {**jp_server_config, "KernelDoctor": {"watch_all_kernels": False}}


@pytest.fixture
def start(jp_fetch, jp_serverapp, settled_at_the_end):
    """Start a kernel and write a recording of it."""

    async def started(*, recorded=True, **facts):
        response = await jp_fetch("api", "kernels", method="POST", body=json.dumps({}))
        kernel = Kernel(jp_serverapp, json.loads(response.body)["id"])
        if recorded:
            kernel.record(**facts)
        return kernel

    return started


def times(line):
    return {name: line[name] for name in ("wall_s", "mono_s")}


class Kernel:
    def __init__(self, app, kernel_id):
        self.app, self.id = app, kernel_id

    @property
    def manager(self):
        return self.app.kernel_manager.get_kernel(self.id)

    @property
    def pid(self):
        return self.manager.provisioner.process.pid

    def record(self, **facts):
        self.recording = write_recording(1, kernel_id=self.id, living_pid=self.pid, **facts)

    def server_file(self):
        return [line for line in read_lines(Store().path(self.recording) / SERVER) if line]

    def noted(self):
        """What the server wrote, without the times."""
        keys = ("action", "returncode")
        return [(line["event"], line[key]) for line in self.server_file() for key in keys if key in line]

    def asked_by(self):
        return next(line["by"] for line in self.server_file() if line["event"] == "request")

    async def wait_noted(self, count):
        for _ in range(1200):
            if len(self.noted()) >= count:
                return self.noted()
            await asyncio.sleep(0.05)
        raise AssertionError(self.noted())

    async def restarted(self, old_pid):
        for _ in range(1200):
            if self.manager.provisioner.process is not None and self.pid != old_pid:
                return self.pid
            await asyncio.sleep(0.05)
        raise AssertionError("it was not restarted")

    async def run(self, code, until):
        """Start a cell, and wait for the file it makes."""
        client = self.manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            client.execute(code)
            for _ in range(1200):
                if until.exists():
                    return
                await asyncio.sleep(0.05)
            raise AssertionError("the cell did not begin")
        finally:
            client.stop_channels()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
async def test_a_death_is_noted_and_told(start, deaths, number):
    kernel = await start(notebook="/home/ada/eda.ipynb")

    os.kill(kernel.pid, number)
    told = await deaths.next()

    assert kernel.noted() == [("exit", -number)]
    assert told["recording"] == kernel.recording
    assert told["kernel_id"] == kernel.id
    assert told["notebook"] == "/home/ada/eda.ipynb"
    assert told["watched_after_restart"] is False
    assert told["headline"]
    assert 0 < told["confidence"] <= 1


async def test_the_event_tells_whether_the_next_kernel_is_watched(start, deaths):
    kernel = await start(loaded_by="startup")

    os.kill(kernel.pid, signal.SIGKILL)

    assert (await deaths.next())["watched_after_restart"] is True


async def test_the_process_after_an_automatic_restart_is_watched_too(start, deaths):
    kernel = await start()
    first_pid, first_recording = kernel.pid, kernel.recording
    os.kill(first_pid, signal.SIGKILL)
    await deaths.next()

    await kernel.restarted(first_pid)
    kernel.record()
    os.kill(kernel.pid, signal.SIGABRT)

    assert (await deaths.next())["recording"] == kernel.recording != first_recording
    assert kernel.server_file()[1] == {"event": "restarted", "automatic": True, **times(kernel.server_file()[1])}
    assert kernel.noted() == [("exit", -6)]


async def test_a_kernel_without_a_recording_is_nothing_to_us(start, deaths, data_root):
    kernel = await start(recorded=False)
    pid = kernel.pid

    os.kill(pid, signal.SIGKILL)
    await kernel.restarted(pid)

    assert await deaths.none_comes()
    assert not data_root.exists()


async def test_a_shutdown_that_was_asked_for_is_no_death(start, deaths, jp_fetch):
    kernel = await start()

    await jp_fetch("api", "kernels", kernel.id, method="DELETE")

    (asked, action), (ended, returncode) = kernel.noted()
    assert (asked, action, ended) == ("request", "shutdown", "exit")
    assert kernel.asked_by() == "user"
    assert isinstance(returncode, int)  # which one: a kernel that was started just now may not be able to obey yet
    assert await deaths.none_comes()


async def test_a_restart_of_a_busy_kernel_that_must_be_killed_is_no_death(start, deaths, jp_fetch, tmp_path):
    kernel = await start()
    await kernel.run(DEAF.replace("deaf", str(tmp_path / "deaf")), until=tmp_path / "deaf")
    old_pid = kernel.pid

    await jp_fetch("api", "kernels", kernel.id, "restart", method="POST", body="{}", request_timeout=60)

    assert kernel.noted() == [("request", "restart"), ("exit", -signal.SIGKILL)]
    assert kernel.pid != old_pid
    assert await deaths.none_comes()


async def test_the_request_is_on_disk_before_it_is_carried_out(start, jp_serverapp, monkeypatch):
    kernel = await start()
    manager, seen = kernel.manager, []
    shut_down = manager.shutdown_kernel

    async def look(*args, **kwargs):
        seen.extend(kernel.noted())
        await shut_down(*args, **kwargs)

    monkeypatch.setattr(manager, "shutdown_kernel", look)
    await jp_serverapp.kernel_manager.shutdown_kernel(kernel.id)

    assert seen == [("request", "shutdown")]


async def test_the_process_after_a_restart_that_was_asked_for_is_watched_again(start, deaths, jp_fetch):
    kernel = await start()
    await jp_fetch("api", "kernels", kernel.id, "restart", method="POST", body="{}", request_timeout=60)

    kernel.record()
    os.kill(kernel.pid, signal.SIGSEGV)

    assert (await deaths.next())["recording"] == kernel.recording
    assert kernel.noted() == [("exit", -signal.SIGSEGV)]


async def test_closing_a_session_is_a_request(start, deaths, jp_fetch):
    kernel = await start()
    model = {"path": "a.ipynb", "type": "notebook", "name": "", "kernel": {"id": kernel.id}}
    session = json.loads((await jp_fetch("api", "sessions", method="POST", body=json.dumps(model))).body)

    await jp_fetch("api", "sessions", session["id"], method="DELETE")

    assert kernel.noted()[0] == ("request", "shutdown")


async def test_culling_is_a_request(start, jp_serverapp):
    kernel = await start()
    manager = jp_serverapp.kernel_manager
    manager.cull_idle_timeout, manager.cull_busy = 60, True
    kernel.manager.last_activity = datetime.now(timezone.utc) - timedelta(hours=1)

    await manager.cull_kernels()

    assert kernel.noted()[0] == ("request", "shutdown")
    assert kernel.asked_by() == "culler"


async def test_the_end_of_the_server_is_a_request_to_all(start, jp_serverapp):
    first, second = await start(), await start()

    await jp_serverapp.kernel_manager.shutdown_all()

    for kernel in (first, second):
        assert [line["event"] for line in kernel.server_file()] == ["request", "server_end", "exit"]
        assert kernel.asked_by() == "server"


async def test_a_kernel_that_had_died_before_it_was_restarted_by_hand_is_told_as_a_death(
    start, deaths, jp_fetch, monkeypatch
):
    kernel = await start()
    kernel.manager.stop_restarter()  # the user is faster than the server's next look

    os.kill(kernel.pid, signal.SIGSEGV)
    await asyncio.sleep(0.3)
    await jp_fetch("api", "kernels", kernel.id, "restart", method="POST", body="{}", request_timeout=60)

    assert (await deaths.next())["recording"] == kernel.recording
    assert kernel.noted() == [("exit", -signal.SIGSEGV)]


async def test_a_shutdown_that_failed_is_no_reason_for_a_later_death(
    start, deaths, recorded, jp_serverapp, monkeypatch
):
    monkeypatch.setattr("jupyter_kerneldoctor.server.death_monitor._END_TIMEOUT_S", 0.2)
    kernel = await start()

    with pytest.raises(TypeError):
        await jp_serverapp.kernel_manager.shutdown_kernel(kernel.id, "now", "restart", "and more than it takes")
    await recorded(lambda found: found.id == kernel.recording and found.server.requested is None)
    os.kill(kernel.pid, signal.SIGSEGV)

    assert (await deaths.next())["recording"] == kernel.recording


async def test_a_restart_does_not_depend_on_us(start, jp_fetch, monkeypatch, caplog):
    kernel = await start()
    old_pid = kernel.pid
    monkeypatch.setattr("jupyter_kerneldoctor.server.server_file.ServerFile.append", lambda *_: 1 / 0)

    for _ in range(2):
        response = await jp_fetch("api", "kernels", kernel.id, "restart", method="POST", body="{}", request_timeout=60)
        assert response.code == 200

    assert kernel.pid != old_pid
    assert caplog.text.count("KernelDoctor could not record the end of a kernel") == 1


async def test_the_browser_gets_the_event(start, jp_ws_fetch):
    kernel = await start()
    socket = await jp_ws_fetch("api", "events", "subscribe")

    os.kill(kernel.pid, signal.SIGKILL)
    while True:
        message = json.loads(await asyncio.wait_for(socket.read_message(), 20))
        if message["schema_id"] == "https://events.jupyter-kerneldoctor.org/death/v1":
            break
    socket.close()

    assert message["recording"] == kernel.recording
