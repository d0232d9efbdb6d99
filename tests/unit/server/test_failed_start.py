"""Which kernel counts as one that never became ready."""

import asyncio
import time
from types import SimpleNamespace

import pytest
import zmq
from jupyter_client.ioloop import AsyncIOLoopKernelManager

from jupyter_kerneldoctor.server.kernels import KernelProcess


@pytest.fixture
def sockets():
    """The sockets of a kernel, and a manager that knows their ports."""
    context = zmq.Context()
    publishes, answers = context.socket(zmq.PUB), context.socket(zmq.ROUTER)
    manager = AsyncIOLoopKernelManager(kernel_id="k")
    manager.iopub_port, manager.shell_port = (
        each.bind_to_random_port("tcp://127.0.0.1") for each in (publishes, answers)
    )
    yield SimpleNamespace(manager=manager, publishes=publishes, answers=answers)
    context.destroy(linger=0)


def failed_to_start(sockets, messages, *, replaced=False):
    """Return what is said of a kernel that sent messages and ended, while the server was busy with other things.

    It may have been `replaced` by another process before it is asked.
    """

    async def served():
        process = KernelProcess(sockets.manager, SimpleNamespace(), [], SimpleNamespace(send=print, close=print))
        process.listen(sockets.manager)
        client, *request = await asyncio.to_thread(sockets.answers.recv_multipart)
        assert b'"kernel_info_request"' in request[2]
        for _ in range(20):  # what is published before the subscription is lost
            for socket, kind in messages(sockets):
                name = client if socket is sockets.answers else b""
                header = b'{"msg_type": "%s"}' % kind
                socket.send_multipart([name, b"<IDS|MSG>", b"", header, b"{}", b"{}", b"{}"])
            time.sleep(0.01)  # noqa: ASYNC251 - the server is busy
        if replaced:
            process.close()
        failed = process.failed_to_start()
        process.close()
        return failed

    return asyncio.run(served())


@pytest.mark.parametrize("replaced", [False, True])
def test_a_kernel_that_answered_was_ready_though_the_server_has_not_yet_read_it(sockets, replaced):
    assert not failed_to_start(sockets, lambda kernel: [(kernel.answers, b"kernel_info_reply")], replaced=replaced)


def test_a_greeting_is_no_answer(sockets):
    assert failed_to_start(sockets, lambda kernel: [(kernel.publishes, b"iopub_welcome")])
