"""Damaged recordings and disks that do not answer: the server serves on, and ends when it is told to."""

import asyncio
import json
import os
import subprocess
import sys
import threading

import pytest
from support import damaged
from support.handwritten import write_recording
from support.requires import linux
from tornado.httpclient import HTTPClientError

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.server.thread_pool import ThreadPool


async def test_every_route_answers_whatever_is_recorded(jp_fetch, data_root):
    whole = write_recording(1)
    named = {}
    for number, contents in enumerate(damaged.examples(20)):
        recording_id = f"20260101T0000{number:02}Z-4711-abcdef"
        named[damaged.write(data_root, contents, recording_id)] = contents

    rows = json.loads((await jp_fetch("kerneldoctor", "recordings")).body)

    assert {row["recording"] for row in rows} == {whole, *named}
    for recording_id, contents in named.items():
        response = await jp_fetch("kerneldoctor", "recordings", recording_id)
        assert json.loads(response.body)["recording"] == recording_id, contents
        with pytest.raises(HTTPClientError) as refused:
            await jp_fetch("kerneldoctor", "recordings", recording_id, "inspect", method="POST", body="")
        assert refused.value.code == 409, contents


@linux
async def test_a_pipe_in_the_place_of_a_journal_holds_nobody_up(jp_fetch, data_root):
    piped = damaged.write(data_root, {})
    os.mkfifo(layout.recordings_dir(data_root) / piped / layout.JOURNAL)
    whole = write_recording(1)

    rows = json.loads((await asyncio.wait_for(jp_fetch("kerneldoctor", "recordings"), 10)).body)

    assert {row["recording"] for row in rows} == {whole, piped}


async def test_threads_that_wait_for_ever_keep_nobody_else_waiting(jp_asyncio_loop):
    never = threading.Event()
    pool = ThreadPool(2)
    hung = [asyncio.ensure_future(pool.run(never.wait)) for _ in range(5)]

    assert await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, lambda: 7), 60) == 7
    assert await asyncio.wait_for(ThreadPool().run(lambda: 8), 60) == 8
    with pytest.raises(ZeroDivisionError):
        await ThreadPool().run(lambda: 1 / 0)
    for waiting in hung:
        waiting.cancel()
    never.set()


HANGS = """
import asyncio, threading
from jupyter_kerneldoctor.server.thread_pool import ThreadPool

async def main():
    task = asyncio.ensure_future(ThreadPool().run(threading.Event().wait))
    await asyncio.sleep(0.1)
    print("waits", flush=True)

asyncio.run(main())
"""


def test_a_server_ends_though_a_thread_of_ours_waits_for_ever():
    subprocess.run([sys.executable, "-c", HANGS], timeout=60, check=True)
