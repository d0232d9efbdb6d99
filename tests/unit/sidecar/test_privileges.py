"""Which program the sidecar runs to learn the layout of an interpreter: none that somebody else could have made."""

import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support import requires

from jupyter_kerneldoctor.server.sidecar_link import resolved
from jupyter_kerneldoctor.sidecar.stacks import discovery_process
from jupyter_kerneldoctor.sidecar.stacks.discovery_process import DiscoveryProcess
from jupyter_kerneldoctor.sidecar.stacks.layout import UnexpectedLayoutError
from jupyter_kerneldoctor.sidecar.stacks.privileges import open_interpreter

pytestmark = requires.linux


@pytest.fixture
def program(tmp_path):
    """A program that is called Python and is none."""
    return Path(shutil.copy(shutil.which("sleep"), tmp_path / "python3"))


@pytest.fixture
def start():
    """Start a process; give its id once it runs that program."""
    processes = []

    def started(program, *before):
        processes.append(subprocess.Popen([*before, program, "60"]))
        pid = processes[-1].pid
        while not Path(f"/proc/{pid}/exe").samefile(program):
            time.sleep(0.01)
        return pid

    yield started
    for process in processes:
        process.kill()
        process.wait()


def refusal(pid, interpreter):
    with pytest.raises(UnexpectedLayoutError) as refused:
        DiscoveryProcess(pid, interpreter)
    return str(refused.value)


def test_a_program_that_only_the_process_names_is_not_run(start, program):
    assert "not known" in refusal(start(program), None)


def test_the_program_the_kernel_was_started_with_may_be_run(start, program):
    os.close(open_interpreter(start(program), resolved(str(program), None)))


def test_another_program_than_the_kernel_was_started_with_is_not_run(start, program):
    at_first = resolved(shutil.which("sleep"), None)
    assert "another program" in refusal(start(program), at_first)


def test_a_program_put_in_the_place_of_the_first_is_not_run(start, program):
    at_first, pid = resolved(str(program), None), start(program)
    Path(shutil.copy(program, f"{program}-new")).replace(program)
    assert "another program" in refusal(pid, at_first)


def test_a_program_that_others_may_change_is_not_run(start, program):
    program.chmod(0o757)
    assert "other users may change" in refusal(start(program), resolved(str(program), None))


@requires.root
def test_a_program_of_another_user_is_not_run(start, program):
    os.chown(program, 65534, 65534)
    assert "other users may change" in refusal(start(program), resolved(str(program), None))


@pytest.mark.parametrize("restriction", [["--no-new-privs"], ["--bounding-set=-sys_admin", "--inh-caps=-all"]])
@requires.root
def test_nothing_is_run_for_a_process_with_other_privileges(start, program, restriction):
    pid = start(program, "setpriv", *restriction)
    assert "other privileges" in refusal(pid, resolved(str(program), None))


@requires.root
def test_nothing_is_run_for_a_process_that_sees_other_files(start, program):
    assert "sees other files" in refusal(start(program, "unshare", "--mount"), resolved(str(program), None))


def ends(discovery):
    begun = time.monotonic()
    while not discovery.is_done:
        assert time.monotonic() < begun + 60
        time.sleep(0.01)
        discovery.poll()
    return time.monotonic() - begun


@pytest.mark.parametrize(
    "child",
    ["while true; do echo " + "x" * 1000 + "; done", "exec >/dev/null; exec sleep 300", "exec sleep 300"],
    ids=["talks without end", "closes and stays", "says nothing"],
)
def test_a_child_is_bounded_in_what_it_says_and_in_time(monkeypatch, child):
    monkeypatch.setattr(discovery_process, "_PATIENCE_S", 0.5)

    def spawn(theirs):
        return os.posix_spawn("/bin/sh", ["sh", "-c", child], {}, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])

    monkeypatch.setattr(discovery_process, "_fork_and_execute", lambda _path, theirs: spawn(theirs))
    discovery = DiscoveryProcess(os.getpid(), executes=True)

    assert ends(discovery) < 30  # not for ever
    assert discovery.layout is None
    assert len(discovery.problem) < 1000


def test_what_another_thread_imports_does_not_stop_it(monkeypatch):
    """As the driver's library is imported beside it where there is a card: a fork would wait for that for ever."""
    name = "jupyter_kerneldoctor.sidecar.stacks.relocation"
    monkeypatch.delitem(sys.modules, name, raising=False)
    lock, begun, over = importlib._bootstrap._get_module_lock(name), threading.Event(), threading.Event()

    def imports():
        lock.acquire()
        begun.set()
        over.wait()
        lock.release()

    thread = threading.Thread(target=imports)
    thread.start()
    begun.wait()
    discovery = DiscoveryProcess(os.getpid())
    ends(discovery)
    over.set()
    thread.join()

    assert discovery.layout is not None, discovery.problem


@pytest.mark.slow
def test_a_child_whose_sidecar_is_gone_ends_by_itself(monkeypatch):
    monkeypatch.setattr(discovery_process, "_OUTLIVES_S", 1)
    monkeypatch.setattr(discovery_process, "discovery_result", lambda: time.sleep(300))
    ours, theirs = os.pipe()

    child = discovery_process._fork(theirs)

    assert os.waitpid(child, 0)[0] == child  # or the time for this test is over
    os.close(ours)
    os.close(theirs)
