"""Two sidecars of one kernel: one recording is left, and the kernel's own sidecar has it."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest
from support.requires import linux, root

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.kernel_lock import lock_name, peer_credentials
from jupyter_kerneldoctor.recording.processes import identify, is_alive, open_pidfd, stat_fields
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.sidecar_launch import spawn_sidecar

pytestmark = linux

JSON = json.JSONEncoder()


@pytest.fixture
def kernel():
    """A process to watch."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture
def start(kernel, tmp_path):
    """Start a sidecar for it; give the directory of its recording."""
    links = []

    def started(loaded_by):
        directory = layout.create(layout.new_id(kernel.pid), tmp_path)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stamps = {"mono_s": time.monotonic(), "wall_s": time.time()}
        send(ours, event="start", process=identify(kernel.pid), loaded_by=loaded_by, **stamps)
        pidfd = open_pidfd(kernel.pid)
        spawn_sidecar(directory, theirs.fileno(), pidfd)
        os.close(pidfd)
        theirs.close()
        links.append(ours)
        return directory

    started.links = links
    return started


def send(link, **event):
    link.send(JSON.encode(event).encode())


def wait_for(look):
    deadline = time.monotonic() + 60
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return seen


def records(directory):
    return directory.is_dir() and read(directory).sidecar is not None


def test_a_sidecar_of_the_servers_is_not_needed_where_the_kernels_own_is(start):
    own = start("startup")
    wait_for(lambda: records(own))

    servers = start("server")

    wait_for(lambda: not servers.exists())
    assert records(own)


def test_a_sidecar_of_the_servers_that_has_seen_no_cell_leaves(start):
    servers = start("server")
    wait_for(lambda: records(servers))

    own = start("startup")

    wait_for(lambda: records(own))
    wait_for(lambda: not servers.exists())


def test_one_that_knows_only_of_the_cell_that_loaded_kerneldoctor_leaves(start):
    """A kernel tells by itself of the cell that runs when it begins, which may be over by the time that it is asked."""
    servers = start("server")
    send(start.links[0], event="cell_start", seq=1, mono_s=time.monotonic(), source="%load_ext kerneldoctor")
    wait_for(lambda: records(servers) and read(servers).cells)

    own = start("magic")
    send(start.links[0], event="cell_end", seq=1, mono_s=time.monotonic())

    wait_for(lambda: records(own))
    wait_for(lambda: not servers.exists())


def test_one_that_knows_of_earlier_cells_keeps_them_and_leaves(start):
    servers = start("server")
    send(start.links[0], event="cell_start", seq=1, mono_s=time.monotonic(), source="x")
    send(start.links[0], event="cell_end", seq=1, mono_s=time.monotonic())
    wait_for(lambda: records(servers) and read(servers).cells)

    own = start("magic")

    wait_for(lambda: read(servers).switched_off)
    wait_for(lambda: records(own))
    assert read(own).not_locked is None
    assert [cell.source for cell in read(servers).cells] == ["x"]


@pytest.mark.parametrize("order", [("server", "startup"), ("startup", "server")])
def test_two_that_start_at_the_same_time(start, order):
    """Who is first is for Linux to say; the kernel's own remains in any case."""
    directories = {loaded_by: start(loaded_by) for loaded_by in order}

    wait_for(lambda: records(directories["startup"]))
    wait_for(lambda: not directories["server"].exists())


def test_the_name_goes_with_the_sidecar(start, kernel):
    directory = start("server")
    wait_for(lambda: records(directory))
    name = lock_name(identify(kernel.pid))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        visitor.connect(name)
        pid, user = peer_credentials(visitor)
        assert os.geteuid() == user
    sidecar = identify(pid)

    kernel.kill()

    wait_for(lambda: not is_alive(sidecar))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor, pytest.raises(ConnectionRefusedError):
        visitor.connect(name)


@pytest.fixture
def holder(kernel):
    """Somebody else who has taken the name of the kernel's lock, as this user."""

    def started(uid, *, listens):
        code = (
            f"import os, socket, sys, time; os.setresuid({uid}, {uid}, {uid});"
            "held = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
            f"held.bind({lock_name(identify(kernel.pid))!r});"
            f"{'held.listen(64);' if listens else ''} print(flush=True); time.sleep(60)"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        processes.append(process)
        process.stdout.readline()

    processes = []
    yield started
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("loaded_by", ["server", "startup"])
@pytest.mark.parametrize("stranger", [(65534, True, "uid 65534"), (65534, False, "another"), (0, False, "another")])
@root
def test_a_stranger_who_holds_the_lock_prevents_no_recording(start, holder, loaded_by, stranger):
    uid, listens, why = stranger
    holder(uid, listens=listens)

    directory = start(loaded_by)
    wait_for(lambda: read(directory).not_locked)

    assert why in read(directory).not_locked
    assert read(directory).sidecar is not None


def cpu_s(pid):
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@root
def test_who_connects_without_end_costs_next_to_nothing(kernel, start):
    directory = start("server")
    send(start.links[0], event="cell_start", seq=1, mono_s=time.monotonic(), source="x")
    wait_for(lambda: read(directory).cells)
    sidecar = read(directory).sidecar.pid
    before = cpu_s(sidecar)
    flood = (
        "import os, socket, time; os.setresuid(65534, 65534, 65534); until = time.monotonic() + 1.5\n"
        "while time.monotonic() < until:\n"
        "    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:\n"
        "        one.setblocking(False)\n"
        f"        one.connect_ex({lock_name(identify(kernel.pid))!r})"
    )
    subprocess.run([sys.executable, "-c", flood], check=True)

    assert cpu_s(sidecar) - before < 0.1
