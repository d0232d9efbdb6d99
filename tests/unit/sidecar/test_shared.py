"""One process that watches several kernels: what happens to one is none of the others' business."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import requires
from support.sidecars import wait_for

from jupyter_kerneldoctor.recording.layout import JOURNAL, ROOT_VARIABLE
from jupyter_kerneldoctor.recording.processes import identify, open_pidfd
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.inspection import inspect
from jupyter_kerneldoctor.server.cells import CellTracker
from jupyter_kerneldoctor.server.messages import Answer, Request
from jupyter_kerneldoctor.server.shared_watchers import SharedWatchers
from jupyter_kerneldoctor.server.sidecar_link import SidecarLink, start_event
from jupyter_kerneldoctor.sidecar import shared
from jupyter_kerneldoctor.sidecar.inbox import Inbox
from jupyter_kerneldoctor.sidecar.recorder import Continuation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux

JOINS = """
import json, os, socket, sys, time
from jupyter_kerneldoctor.kernel.joining import join
from jupyter_kerneldoctor.recording.processes import identify
input()
joined = join()
def send(**event):
    joined.link.send(json.dumps({"mono_s": time.monotonic(), "wall_s": time.time(), **event}).encode())
send(event="start", process=identify(os.getpid()), loaded_by="magic")
send(event="cell_start", seq=1, source="joined", execution_count=2)
print(joined.directory.name, flush=True)
input()
"""


FORKS = """
import ctypes, os, signal, time
for _ in range(2000):
    if not os.fork():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: they end with this process
        time.sleep(60)
        os._exit(0)
print(1, flush=True)
time.sleep(60)
"""


class Watched:
    """A process that is watched, as the server's kernels are."""

    def __init__(self, process: subprocess.Popen[str], watchers: SharedWatchers) -> None:
        self.process = process
        self.link = SidecarLink(start_event(identify(process.pid), stacks=False), watchers)
        self.cells = CellTracker(self.link.send)

    def spawn(self) -> Watched:
        self.link.spawn(self.process.pid, open_pidfd(self.process.pid))
        return self

    @property
    def id(self) -> str:
        return next(one for one in Store().ids() if f"-{self.process.pid}-" in one)

    def recorded(self, is_so: Callable[[Recording], object]) -> Recording:
        found: list[Recording] = []

        def look() -> bool:
            found[:] = [Store().open(self.id, patience_s=0)]
            return bool(is_so(found[0]))

        wait_for(look)
        return found[0]

    def watcher_pid(self) -> int:
        sidecar = self.recorded(lambda found: found.sidecar is not None).sidecar
        assert sidecar is not None
        return sidecar.pid


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.fixture
def watchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedWatchers:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    return SharedWatchers()


@pytest.fixture
def watch(watchers: SharedWatchers) -> Iterator[Callable[..., Watched]]:
    """Start a process and have it watched."""
    begun: list[Watched] = []

    def started(*command: str) -> Watched:
        process = subprocess.Popen(command or ("sleep", "60"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        begun.append(Watched(process, watchers))
        return begun[-1].spawn()

    yield started
    for one in begun:
        one.process.kill()
        one.process.communicate()
        one.link.close()


@pytest.mark.slow
def test_one_process_watches_both_and_ends_with_the_last(watch: Callable[..., Watched]) -> None:
    one, other = watch(), watch()
    watcher = one.watcher_pid()
    assert other.watcher_pid() == watcher

    one.process.kill()
    end = one.recorded(lambda found: found.end).end

    assert end is not None
    assert (end.kind, end.signal) == ("signal", "SIGKILL")
    assert other.recorded(lambda found: found.samples).end is None
    one.link.close()
    other.link.close()
    other.process.terminate()
    assert other.recorded(lambda found: found.end).end.signal == "SIGTERM"
    wait_for(lambda: not Path(f"/proc/{watcher}").exists())


def test_what_a_watch_opened_is_closed_with_it(watch: Callable[..., Watched]) -> None:
    stays = watch()
    watcher = stays.watcher_pid()
    stays.recorded(lambda found: found.system_states and found.samples)
    count = open_files(watcher)

    for _ in range(3):
        ends = watch()
        ends.recorded(lambda found: found.system_states and found.samples)
        ends.process.kill()
        ends.recorded(lambda found: found.end)

    wait_for(lambda: open_files(watcher) <= count)


def test_a_pipe_in_the_place_of_one_journal_is_no_trouble_for_others(
    watch: Callable[..., Watched], watchers: SharedWatchers, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = watch()
    watch_as_told = watchers.watch

    def with_pipe(directory: Path, *arguments: Any) -> Any:
        os.mkfifo(directory / JOURNAL)
        return watch_as_told(directory, *arguments)

    monkeypatch.setattr(watchers, "watch", with_pipe)
    one = watch()

    assert select.select([one.link._ours], [], [], 20)[0], "its thread says that it is over"
    other.process.kill()
    assert other.recorded(lambda found: found.end).end.signal == "SIGKILL"


def test_another_process_goes_on_where_one_was_killed(watch: Callable[..., Watched]) -> None:
    one = watch()
    one.cells.requested(Request("a", "sleep", "c1", store_history=True))
    before = one.recorded(lambda found: found.running_cell is not None and found.samples)
    old = one.watcher_pid()

    os.kill(old, signal.SIGKILL)
    one.cells.requested(Request("b", "after", None, store_history=True))
    assert one.link.reconnect(one.cells)
    one.link.respawn(open_pidfd(one.process.pid))
    newer = one.recorded(lambda found: found.sidecar.pid != old and found.samples[-1] > before.samples[-1])
    one.process.kill()
    found = one.recorded(lambda found: found.end)

    assert newer.samples[: len(before.samples)] == before.samples
    assert [cell.source for cell in found.cells] == ["sleep"]
    assert [cell.source for cell in found.queued] == ["after"]
    assert found.running_cell == before.running_cell
    assert (found.end.signal, found.started_mono_s) == ("SIGKILL", before.started_mono_s)


def test_it_is_given_up_when_it_happens_again_and_again(watch: Callable[..., Watched]) -> None:
    one = watch()
    first = one.watcher_pid()
    os.kill(first, signal.SIGKILL)
    assert one.link.reconnect(one.cells)
    one.link.respawn(open_pidfd(one.process.pid))
    second = one.recorded(lambda found: found.sidecar.pid != first).sidecar.pid
    os.kill(second, signal.SIGKILL)
    assert one.link.reconnect(one.cells)
    one.link.respawn(open_pidfd(one.process.pid))

    alone = one.recorded(lambda found: found.sidecar.pid not in (first, second)).sidecar.pid

    assert b"--shared" not in Path(f"/proc/{alone}/cmdline").read_bytes().split(b"\0")
    assert not one.link.reconnect(one.cells)


def test_a_kernel_that_joins_gets_a_process_of_its_own(watch: Callable[..., Watched]) -> None:
    other, one = watch(), watch(sys.executable, "-c", JOINS)
    one.cells.requested(Request("a", "before", None, store_history=True))
    shared = one.recorded(lambda found: found.cells).sidecar.pid
    one.cells.answered(Answer("reply", "a", count=1))

    print("join", file=one.process.stdin, flush=True)
    assert one.process.stdout.readline().strip() == one.id
    own = one.recorded(lambda found: len(found.cells) == 2 and found.sidecar.pid != shared)
    one.process.kill()
    found = one.recorded(lambda found: found.end)

    assert [cell.source for cell in found.cells] == ["before", "joined"]
    assert (own.kernel.loaded_by, found.end.signal) == ("magic", "SIGKILL")
    assert json.loads(one.link._ours.recv(4096)) == {"event": "joined"}
    assert other.watcher_pid() == shared


@pytest.mark.slow
def test_a_watcher_stays_until_the_process_that_goes_on_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine that takes seconds. A recorder that is gone would not be waited for when the kernel dies."""
    slow = [sys.executable, "-c", "import os, sys, time; time.sleep(1); os.close(int(sys.argv[1])); time.sleep(9)"]
    monkeypatch.setattr(shared, "sidecar_command", lambda _, link: [*slow, str(link)])
    server, kernel = socket.socketpair()
    watcher = shared.SharedWatcher(Inbox(server))

    began = time.monotonic()
    assert watcher._hand_over(Continuation({"event": "start"}, [kernel]), tmp_path, [])
    took = time.monotonic() - began
    (child,) = watcher._children
    is_alive = child.poll() is None
    child.kill()
    child.wait()

    assert is_alive
    assert took >= 1


def test_the_kernel_that_was_meant_answers(watch: Callable[..., Watched]) -> None:
    other, one = watch(), watch()
    other.watcher_pid()
    one.watcher_pid()

    document = inspect(Store(), one.id, timeout_s=20)

    assert document["pid"] == one.process.pid
    assert document["threads"][0]["thread_id"] == one.process.pid
    assert Store().open(other.id, patience_s=0).stacks == ()
    assert not (Store().path(one.id) / "asked").exists()


@pytest.mark.slow
def test_a_flood_of_children_does_not_hide_another_kernels_death(watch: Callable[..., Watched]) -> None:
    many, other = watch(sys.executable, "-S", "-c", FORKS), watch()
    other.watcher_pid()
    assert many.process.stdout.readline() == "1\n"
    many.cells.requested(Request("a", "floods", None, store_history=True))
    many.recorded(lambda found: found.samples and found.samples[-1].children)

    began = time.monotonic()
    other.process.kill()
    end = other.recorded(lambda found: found.end).end

    assert end.signal == "SIGKILL"
    assert end.mono_s - began < 5


@requires.root
def test_a_disk_that_does_not_answer_holds_up_nobody_else(
    watch: Callable[..., Watched], watchers: SharedWatchers, hung: Path
) -> None:
    before = watch()
    watcher = before.watcher_pid()
    stuck = SidecarLink(start_event(identify(before.process.pid)), watchers)
    watchers.watch(hung / "recordings" / "20260101T000000Z-1-abcdef", stuck._theirs.fileno(), None)

    later = watch()
    assert later.watcher_pid() == watcher
    for one in (before, later):
        one.process.kill()
        assert one.recorded(lambda found: found.end).end.signal == "SIGKILL"
    stuck.close()


def test_where_no_file_can_be_opened_the_others_are_watched_on(watch: Callable[..., Watched]) -> None:
    before = watch()
    watcher = before.watcher_pid()
    before.recorded(lambda found: found.system_states and found.samples)
    limits = resource.prlimit(watcher, resource.RLIMIT_NOFILE)
    resource.prlimit(watcher, resource.RLIMIT_NOFILE, (3, limits[1]))

    refused = watch()
    assert select.select([refused.link._ours], [], [], 20)[0], "its socket is closed"
    resource.prlimit(watcher, resource.RLIMIT_NOFILE, limits)

    assert watch().watcher_pid() == watcher
    before.process.kill()
    assert before.recorded(lambda found: found.end).end.signal == "SIGKILL"
