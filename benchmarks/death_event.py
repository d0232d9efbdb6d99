"""How soon a page hears of a death: from SIGKILL to the event, in a real server with a kernel that loads nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from figures import Figure
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.websocket import WebSocketClientConnection, websocket_connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DEATH = "https://events.jupyter-kerneldoctor.org/death/v1"
_PATIENCE_S = 60


def death_to_event(work: Path, deaths: int) -> Iterator[Figure]:
    """Seconds from the kill to the event; Jupyter itself looks every 3 s."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    options = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=t", "--allow-root"]
    options.append("--ServerApp.jpserver_extensions={'jupyter_kerneldoctor': True}")
    own = {"KERNELDOCTOR_DATA_DIR": str(work / "server-data"), "IPYTHONDIR": str(work / "ipython")}
    with (work / "server.log").open("wb") as log:
        command = [sys.executable, "-m", "jupyter_server", "--no-browser", *options]
        server = subprocess.Popen(command, cwd=work, stdout=log, stderr=log, env={**os.environ, **own})
    try:
        took = asyncio.run(_kill_kernels(f"127.0.0.1:{port}", deaths))
    finally:
        server.terminate()
        server.wait()
    yield Figure("from SIGKILL to the event in the page, median", statistics.median(took), "s", 0.2)
    yield Figure("from SIGKILL to the event in the page, longest", max(took), "s")


async def _kill_kernels(server: str, deaths: int) -> list[float]:
    kernel_id = (await _asked(f"http://{server}/api/kernels?token=t", "{}"))["id"]
    channels = await websocket_connect(f"ws://{server}/api/kernels/{kernel_id}/channels?token=t")
    events = await websocket_connect(f"ws://{server}/api/events/subscribe?token=t")
    took = []
    for _ in range(deaths):
        await channels.write_message(_request("import os; os.getpid()"))
        answer = await _next(channels, "msg_type", "execute_result")
        await asyncio.sleep(1)
        begin = time.perf_counter()
        os.kill(int(answer["content"]["data"]["text/plain"]), signal.SIGKILL)
        await _next(events, "schema_id", _DEATH)
        took.append(time.perf_counter() - begin)
        await asyncio.sleep(5)  # Jupyter starts it again
    return took


async def _next(page: WebSocketClientConnection, name: str, value: str) -> dict[str, Any]:
    """Return the next message of a kind. Raises TimeoutError."""
    while True:
        message = dict(json.loads(await asyncio.wait_for(page.read_message(), _PATIENCE_S) or "{}"))
        if message.get(name) == value:
            return message


async def _asked(address: str, body: str) -> dict[str, Any]:
    """Post, as soon as there is a server. Raises OSError, HTTPClientError when there is none in time."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            response = await AsyncHTTPClient().fetch(address, method="POST", body=body)
            return dict(json.loads(response.body))
        except (OSError, HTTPClientError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)


def _request(code: str) -> str:
    header = {"msg_id": os.urandom(8).hex(), "msg_type": "execute_request", "session": "s", "username": "u"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    return json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
