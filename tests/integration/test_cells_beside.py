"""Cells that run beside each other in one kernel: in the subshells of ipykernel 7, and in threads of the user's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.kernels import LiveKernel

KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


def test_a_cell_that_ends_beside_another_does_not_end_that(kernel: LiveKernel) -> None:
    kernel.run_and_die(
        "import threading\n"
        "beside = threading.Thread(target=lambda: get_ipython().run_cell('y = 1'))\n"
        "beside.start(); beside.join()\n" + KILL
    )
    recording = kernel.wait_recorded(lambda found: found.end is not None)

    first, second = recording.cells[-2:]
    assert (second.source, second.finished, second.beside) == ("y = 1", True, (first.seq,))
    assert recording.running_cell == first


def test_a_subshell_runs_cells_while_the_notebook_is_busy(kernel: LiveKernel) -> None:
    request = kernel.client.session.msg("create_subshell_request", {})
    kernel.client.control_channel.send(request)
    subshell = kernel.client.control_channel.get_msg(timeout=60)["content"]["subshell_id"]
    kernel.client.execute("import time\ntime.sleep(1.5)\n" + KILL)
    kernel.wait_recorded(lambda found: "time.sleep" in found.cells[-1].source)
    for source in ("x = 1", "x = 2"):
        question = kernel.client.session.msg("execute_request", {"code": source, "store_history": True})
        question["header"]["subshell_id"] = subshell
        kernel.client.shell_channel.send(question)
        time.sleep(0.2)
    kernel.wait_dead()

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    busy, *quick = recording.cells[-3:]
    assert [(cell.source, cell.finished) for cell in quick] == [("x = 1", True), ("x = 2", True)]
    assert not busy.finished
    assert recording.running_cell == busy
