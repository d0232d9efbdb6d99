"""The websocket that tells open pages what a kernel uses."""

import asyncio
import json

import pytest
from support.requires import linux
from tornado.httpclient import HTTPClientError

from jupyter_kerneldoctor.recording import tail


class Page:
    """An open page; `until` passes over what comes before."""

    def __init__(self, socket):
        self._socket = socket

    def show(self, kernel_id, *, detail=True):
        self._socket.write_message(json.dumps({"kernel_id": kernel_id, "detail": detail}))

    async def next(self, timeout_s=5):
        message = await asyncio.wait_for(self._socket.read_message(), timeout_s)
        return None if message is None else json.loads(message)

    async def until(self, true):
        while True:
            told = await self.next()
            if true(told):
                return told


@pytest.fixture
def page(jp_ws_fetch):
    """Open a page."""

    async def opened():
        return Page(await jp_ws_fetch("kerneldoctor", "live"))

    return opened


@linux
@pytest.mark.parametrize("loads", [True, False])
async def test_a_page_sees_what_the_kernel_uses(notebook, page, loads):
    kernel = await notebook()
    await kernel.run("%load_ext kerneldoctor" if loads else "import os")
    await kernel.run("block = bytearray(60_000_000)\nblock[::4096] = b'x' * len(block[::4096])", cell_id="c2")
    here = await page()
    here.show(kernel.id)

    told = await here.until(lambda told: any(row["cell_id"] == "c2" and row["end_s"] for row in told.get("cells", ())))

    assert told["kernel_id"] == kernel.id
    assert 0 < told["left_bytes"] < told["limit"]["bytes"]
    assert told["timeline"]["samples"]["memory_bytes"]
    if loads:
        assert told["cells"][-1]["kept_bytes"] > 50_000_000
        assert told["variables"]["objects"][0]["name"] == "block"


@linux
async def test_an_idle_kernel_is_not_told_again_and_a_hidden_panel_gets_the_summary(notebook, page, monkeypatch):
    kernel = await notebook()
    await kernel.run("x = 1")
    here = await page()
    here.show(kernel.id, detail=False)
    told = await here.until(lambda told: told["is_recorded"] and told["running"] is None and told["left_bytes"])

    assert "cells" not in told
    monkeypatch.setattr(tail, "values", lambda data: iter(()))  # no sample of this machine, where others work
    await asyncio.sleep(1.5)
    with pytest.raises(asyncio.TimeoutError):
        await here.until(lambda told: told is None)


async def test_a_kernel_that_is_not_recorded_is_told_so(page):
    here = await page()
    here.show("no-such-kernel")
    assert await here.next() == {"kernel_id": "no-such-kernel", "is_recorded": False}


@pytest.mark.parametrize("message", ["", "[]", '{"kernel_id": 7}', "{}"])
async def test_what_is_no_request_ends_the_connection(jp_ws_fetch, message):
    socket = await jp_ws_fetch("kerneldoctor", "live")
    socket.write_message(message)
    assert await socket.read_message() is None


async def test_nobody_listens_without_a_token(jp_ws_fetch):
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("kerneldoctor", "live", headers={"Authorization": "token wrong"})
    assert refused.value.code == 403
