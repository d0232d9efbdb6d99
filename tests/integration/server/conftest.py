"""A Jupyter server with the extension, its data directory, and what it tells the browser."""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

# Not as a plugin of the whole test run: it would set up a server application around every test there is.
from pytest_jupyter.jupyter_server import *  # noqa: F403
from support.kernels import leave_no_cell
from support.notebooks import Notebook
from tornado.httpclient import HTTPRequest

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.server.death_monitor import DEATH


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A kernel that starts on a busy machine takes longer than the 20 s after which Tornado's client gives up."""
    monkeypatch.setitem(HTTPRequest._DEFAULTS, "request_timeout", 120.0)


@pytest.fixture(autouse=True)
def data_root(tmp_path, monkeypatch):
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "recorded"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    yield tmp_path / "recorded"
    leave_no_cell(tmp_path / "recorded")


@pytest.fixture
def jp_server_config():
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyter_kerneldoctor": True},
            "allow_unauthenticated_access": False,
        },
        "KernelRestarter": {"time_to_dead": 1.0},  # sooner, a kernel may be restarted before it is started
    }


@pytest.fixture
def deaths(jp_serverapp):
    """The death events so far, and a way to wait for the next."""
    return Deaths(jp_serverapp.event_logger)


@pytest.fixture
def settled_at_the_end(jp_serverapp, jp_asyncio_loop):
    """A server that is shut down in the middle of an automatic restart fails: let the restart come to its end."""
    yield
    manager = jp_serverapp.kernel_manager

    async def settled(kernel_id):
        for _ in range(1200):
            kernel = manager.get_kernel(kernel_id) if kernel_id in manager else None
            if kernel is None or (kernel.ready.done() and await kernel.is_alive()):
                return
            await asyncio.sleep(0.05)

    for kernel_id in manager.list_kernel_ids():
        jp_asyncio_loop.run_until_complete(settled(kernel_id))


class Deaths:
    def __init__(self, event_logger):
        self.seen = []
        event_logger.add_listener(schema_id=DEATH, listener=self._listen)

    async def _listen(self, logger, schema_id, data):
        self.seen.append(data)

    async def next(self, patience_s=60):
        for _ in range(int(patience_s * 20)):
            if self.seen:
                return self.seen.pop(0)
            await asyncio.sleep(0.05)
        raise AssertionError("no death was told of")

    async def none_comes(self, patience_s=2):
        await asyncio.sleep(patience_s)
        return self.seen == []


@pytest.fixture
def notebook(jp_fetch, jp_ws_fetch, settled_at_the_end):
    """Start a kernel and connect to it."""

    async def started(name="python3", *, protocol=None):
        response = await jp_fetch("api", "kernels", method="POST", body=json.dumps({"name": name}))
        kernel = Notebook(jp_fetch, jp_ws_fetch, json.loads(response.body)["id"], protocol)
        await kernel.connect()
        return kernel

    return started


@pytest.fixture
def kernelspec(jp_environ, jp_kernel_dir):
    """Install a kernel for the server to start."""

    def installed(name, argv, language="python"):
        directory = jp_kernel_dir / name
        directory.mkdir(exist_ok=True)
        spec = {"argv": [*map(str, argv)], "display_name": name, "language": language}
        (directory / "kernel.json").write_text(json.dumps(spec))
        return name

    return installed


@pytest.fixture
def echo(kernelspec):
    """A kernel that is not Python's."""
    program = Path(__file__).resolve().parent.parent.parent / "support" / "echo_kernel.py"
    return kernelspec("echo", [sys.executable, str(program), "-f", "{connection_file}"], language="echo")


@pytest.fixture
def recorded():
    """Wait for a recording that is as the predicate says. It may look at what is not there yet."""

    async def found(predicate):
        for _ in range(1200):
            recordings = [Store().open(recording_id) for recording_id in Store().ids()]
            with suppress(AttributeError):
                for recording in recordings:
                    if predicate(recording):
                        return recording
            await asyncio.sleep(0.05)
        raise AssertionError(recordings)

    return found
