"""A death is told as soon as the sidecar has recorded it, not when Jupyter looks."""

import asyncio
import time

import pytest
from support.requires import linux

from jupyter_kerneldoctor.recording.store import Store

pytestmark = linux

JUPYTER_LOOKS_EVERY_S = 8.0


@pytest.fixture
def jp_server_config(jp_server_config):
    return {**jp_server_config, "KernelRestarter": {"time_to_dead": JUPYTER_LOOKS_EVERY_S}}


async def test_it_is_told_before_jupyter_looks_and_the_restart_is_noted_then(notebook, deaths):
    kernel = await notebook()
    await kernel.run("x = 1")
    begun = time.monotonic()
    await kernel.send("import os, time\nos.kill(os.getpid(), 9)", cell_id="c2")

    told = await deaths.next()

    assert told["cause"] == "self-kill"
    before_restart = Store().open(told["recording"])
    assert before_restart.server.returncode == -9
    assert not before_restart.server.restarted, f"{time.monotonic() - begun:.1f} s"
    while not Store().open(told["recording"]).server.restarted:
        assert time.monotonic() - begun < 60
        await asyncio.sleep(0.1)
    assert deaths.seen == []


async def test_a_restart_that_was_asked_for_is_no_death(notebook, deaths, jp_fetch):
    kernel = await notebook()
    await kernel.run("x = 1")

    await jp_fetch("api", "kernels", kernel.id, "restart", method="POST", allow_nonstandard_methods=True)
    assert await deaths.none_comes(1)

    newest = Store().ids()[-1]
    assert Store().open(newest).server.requested == "restart"
