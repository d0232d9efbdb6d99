"""What user code may send through the socket to the sidecar, if it looks for it: none of it ends the recording."""

import json
import random
import signal
import subprocess
import time

import pytest
from support.damaged import EVENTS, ODD_VALUES
from support.requires import linux
from support.sidecars import record, send, wait_for

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.reader import read

pytestmark = linux


@pytest.fixture
def kernel():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture
def recorded(kernel, tmp_path):
    """The directory of a recording that its sidecar has begun, and the socket to it."""
    return record(kernel.pid, tmp_path)


def odd_messages():
    """Events that lack a field, or have one of a wrong type, and what is no event at all."""
    chance = random.Random(1)  # each run the same
    for event in EVENTS:
        if event["event"] in ("off", "end"):
            continue
        whole = {**event, "mono_s": time.monotonic(), "wall_s": time.time()}
        for name in [name for name in whole if name != "event"]:
            yield {key: value for key, value in whole.items() if key != name}
            yield from ({**whole, name: chance.choice(ODD_VALUES)} for _ in range(4))
    yield from ODD_VALUES


def test_odd_messages_are_passed_over(kernel, recorded):
    directory, link = recorded
    link.send(b"\xff\x00")
    link.send(b"[" * 100_000)
    for message in odd_messages():
        send(link, message)
    now = time.monotonic()
    send(link, {"event": "cell_start", "seq": 900, "mono_s": now, "execution_count": 9, "source": "last()"})
    wait_for(lambda: read(directory).cells[-1].source == "last()")
    kernel.send_signal(signal.SIGKILL)
    kernel.wait()
    wait_for(lambda: read(directory).end is not None)

    faults = [line for line in (directory / layout.JOURNAL).read_text().splitlines() if '"event":"fault"' in line]
    assert [json.loads(fault)["traceback"].splitlines()[-3:] for fault in faults] == []
