"""A kernel with KernelDoctor in it, under a server with the extension: its death becomes the server's news."""

import asyncio
import json

import pytest

CRASH = "x = 1\nimport os\nos.kill(os.getpid(), 9)"


@pytest.fixture
def run(jp_serverapp, settled_at_the_end):
    """Run code in a kernel of the server; for code that ends the kernel no reply is waited for."""

    async def executed(kernel_id, code, *, dies=False):
        client = jp_serverapp.kernel_manager.get_kernel(kernel_id).client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            message = client.execute(code)
            while not dies:
                reply = await client.get_shell_msg(timeout=60)
                if reply["parent_header"].get("msg_id") == message:
                    assert reply["content"]["status"] == "ok", reply["content"]
                    return
            await asyncio.sleep(0.5)
        finally:
            client.stop_channels()

    return executed


async def test_a_death_becomes_an_event_and_a_report(run, jp_fetch, deaths):
    kernel_id = json.loads((await jp_fetch("api", "kernels", method="POST", body="{}")).body)["id"]
    await run(kernel_id, "%load_ext kerneldoctor")

    await run(kernel_id, CRASH, dies=True)
    told = await deaths.next()

    report = json.loads((await jp_fetch("kerneldoctor", "recordings", told["recording"])).body)
    assert report["cause"] == told["cause"] == "self-kill"
    assert report["kernel_id"] == kernel_id
    assert report["cell"]["source"] == CRASH
    assert told["watched_after_restart"] is True


async def test_a_restart_of_a_busy_kernel_is_an_ordinary_end(run, jp_fetch, deaths):
    kernel_id = json.loads((await jp_fetch("api", "kernels", method="POST", body="{}")).body)["id"]
    await run(kernel_id, "%load_ext kerneldoctor")
    ignoring = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    await run(kernel_id, ignoring, dies=True)

    await jp_fetch("api", "kernels", kernel_id, "restart", method="POST", body="{}", request_timeout=60)

    rows = json.loads((await jp_fetch("kerneldoctor", "recordings")).body)
    row = next(row for row in rows if row["ended"])  # the other one is that of the restarted kernel
    report = json.loads((await jp_fetch("kerneldoctor", "recordings", row["recording"])).body)
    assert row["cause"] == report["cause"] == "ordinary-end"
    assert report["end"]["kind"] == "restart"
    assert row["died"] is False
    assert await deaths.none_comes()
