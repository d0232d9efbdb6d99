"""Which system call a thread waits in, on whom, and whether it ends by itself."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_kerneldoctor.sidecar.meters.procfs import read_file
from jupyter_kerneldoctor.sidecar.stacks.system_calls import call_facts

_LOOP = "import asyncio\nasync def main():\n    {}\nasyncio.run(main())"


def facts(code: str) -> dict[str, object]:
    """Run code in a process of its own until it waits, and look."""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            for _ in range(100):
                time.sleep(0.1)
                found = call_facts(process.pid, process.pid, wakers=True)
                if found and b"(python" in read_file(f"/proc/{process.pid}/stat") and _waits(process.pid):
                    return found
            return {}
        finally:
            process.kill()


def _waits(pid: int) -> bool:
    before = read_file(f"/proc/{pid}/stat")
    time.sleep(0.3)
    return before == read_file(f"/proc/{pid}/stat")


def test_lock_without_limit() -> None:
    assert facts("import threading; a = threading.Lock(); a.acquire(); a.acquire()") == {"has_limit": False}


def test_lock_with_limit() -> None:
    assert facts("import threading; threading.Event().wait(60)") == {"has_limit": True}


def test_loop_that_nobody_wakes() -> None:
    assert facts(_LOOP.format("await asyncio.Queue().get()")) == {"has_limit": False, "wakers": []}


def test_loop_with_a_timer() -> None:
    assert facts(_LOOP.format("await asyncio.sleep(60)")) == {"has_limit": True, "wakers": []}


def test_loop_with_a_server() -> None:
    found = facts(_LOOP.format("await (await asyncio.start_server(print, '127.0.0.1', 0)).serve_forever()"))
    assert found["has_limit"] is False
    assert str(found["wakers"]).startswith("['whoever connects to port ")


@pytest.mark.parametrize("way", ["connection.recv(1)", "connection.settimeout(60); connection.recv(1)"])
def test_connection_names_the_other_end(way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; connection = socket.create_connection(('127.0.0.1', {port})); {way}"
        assert facts(code) == {"has_limit": "60" in way, "wakers": [f"127.0.0.1:{port}"]}


def test_input_from_a_pipe() -> None:
    assert facts("input()") == {"has_limit": False, "wakers": ["a pipe"]}


@pytest.mark.parametrize(("holds", "wakers"), [("open(name, 'w')", []), ("None", ["process {pid}"])])
def test_lock_of_a_file_that_it_holds_itself_or_another_process(holds: str, wakers: list[str], tmp_path: Path) -> None:
    name = tmp_path / "table.lock"
    with name.open("w") as mine:
        if holds == "None":
            fcntl.flock(mine, fcntl.LOCK_EX)
        code = f"import fcntl; name = {str(name)!r}; own = {holds}; wanted = open(name, 'w'); "
        found = facts(code + "own and fcntl.flock(own, 2); fcntl.flock(wanted, 2)")
    assert found == {"has_limit": False, "wakers": [one.format(pid=os.getpid()) for one in wakers]}
