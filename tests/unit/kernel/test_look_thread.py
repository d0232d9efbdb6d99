"""What a look leaves behind in the process, and where the thread does not start."""

import gc
import os
import resource
from types import SimpleNamespace

import pytest
from support.requires import linux

from jupyter_kerneldoctor.kernel import look_thread, process_limits

pytestmark = linux


@pytest.fixture
def thread():
    """One whose cells hold nothing."""
    hooks = SimpleNamespace(running=lambda: {1: 1})
    sent = []
    link = SimpleNamespace(send=lambda message, **_: sent.append(message))
    made = look_thread._LookThread(link, hooks, SimpleNamespace(user_ns={}, user_ns_hidden={}))
    made.sent = sent
    yield made
    made.close()


def test_a_look_leaves_the_garbage_collector_as_it_was():
    look_thread._keep_garbage()
    assert not gc.isenabled()
    look_thread._collect_garbage()
    assert gc.isenabled()

    gc.disable()
    look_thread._keep_garbage()
    look_thread._collect_garbage()
    is_enabled = gc.isenabled()
    gc.enable()
    assert not is_enabled


def test_a_look_that_fails_is_left_out(thread):
    thread._hooks.running = lambda: 1 / 0
    thread._answer()

    assert thread.sent == []


def test_a_fork_in_the_middle_of_a_look_collects_garbage():
    look_thread._keep_garbage()
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(int(gc.isenabled()))
    finally:
        look_thread._collect_garbage()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def test_without_another_file_or_thread_there_is_none(monkeypatch):
    def fails(*_):
        raise OSError

    monkeypatch.setattr(os, "pipe", fails)
    look_thread.start(SimpleNamespace(), SimpleNamespace(), SimpleNamespace())


def test_scarce_address_space_is_left_to_the_cell(monkeypatch):
    assert look_thread._has_room()
    used = process_limits._sizes_bytes()[0]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used + (100 << 20), -1))
    assert not look_thread._has_room()
