"""Kernels that load nothing: the server starts a sidecar for each, and their first crash is diagnosed."""

import signal
import sys

import pytest
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from support.notebooks import V1
from support.requires import linux
from support.stacks import can_be_read

from jupyter_kerneldoctor.recording.store import Store

pytestmark = linux


async def test_the_first_crash_is_diagnosed(notebook, deaths):
    kernel = await notebook()
    await kernel.run("x = 1", cell_id="c1")

    await kernel.send("import os\nos.kill(os.getpid(), 9)", cell_id="c2")
    told = await deaths.next()

    report = await kernel.report(told["recording"])
    assert report["cause"] == told["cause"] == "self-kill"
    assert report["kernel_id"] == kernel.id
    assert report["cell"]["source"] == "import os\nos.kill(os.getpid(), 9)"
    assert report["cell"]["cell_id"] == "c2"
    assert report["cell"]["execution_count"] == 2
    assert told["watched_after_restart"] is True


async def test_a_crash_in_run_all_is_never_put_into_the_cell_before_it(notebook, deaths):
    kernel = await notebook(protocol=V1)
    await kernel.run("import os; me = os.getpid(); signal = getattr(os, 'ki' + 'll')")
    crash = "signal(me, 11)"

    for place, source in enumerate(["x = 1", crash, "y = 2"]):
        await kernel.send(source, cell_id=f"c{place}")
    report = await kernel.report((await deaths.next())["recording"])

    named = [report["cell"], *report["other_cells"]]
    assert crash in [cell["source"] for cell in named]
    for cell in named:
        assert f"cell [{cell['execution_count']}]" in report["headline"]
    assert report["certainty"] == ("possible" if report["other_cells"] else "likely")


GROWS = """\
import time
pile = []
def keep(block):
    pile.append(block)

while True:
    keep(bytearray(1_000_000))
    time.sleep(0.005)  # a busy machine reads a stack meanwhile, too
"""


async def test_the_line_is_known_of_a_kernel_that_ran_out_of_memory(notebook, kernelspec, low_memory, deaths):
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = await notebook(kernelspec("limited", low_memory.command(command)))
    await kernel.run("x = 1")
    await kernel.recorded(can_be_read)

    await kernel.send(GROWS, cell_id="c2")
    told = await deaths.next()
    report = await kernel.report(told["recording"])
    (growth,) = Store().open(told["recording"]).growths

    assert report["cause"] == "oom-cgroup"
    assert report["cell"]["cell_id"] == "c2"
    assert report["cell"]["line"] in (4, 6, 7, 8)
    assert {frame.function for frame in growth.statements[0].frames} <= {"keep", "<module>"}
    assert {frame.line for frame in growth.statements[0].frames} <= {4, 6, 7, 8}


@pytest.mark.parametrize("protocol", [None, V1])
async def test_a_kernel_of_another_language(notebook, echo, deaths, protocol):
    kernel = await notebook(echo, protocol=protocol)
    await kernel.run("hello")
    await kernel.run("fail", cell_id="wrong")
    await kernel.send("die")

    recording = Store().open((await deaths.next())["recording"])

    assert (recording.kernel.kernel_name, recording.kernel.language) == ("echo", "echo")
    assert recording.kernel.loaded_by == "server"
    assert [(cell.execution_count, cell.source, cell.error) for cell in recording.cells] == [
        (1, "hello", None),
        (2, "fail", "Wrong"),
        (3, "die", None),
    ]
    assert [cell.finished for cell in recording.cells] == [True, True, False]
    assert recording.cells[1].cell_id == "wrong"
    assert (recording.end.kind, recording.end.signal) == ("signal", "SIGABRT")
    assert recording.server.returncode == -signal.SIGABRT
    assert recording.samples
    assert recording.limits


async def test_cells_that_wait_for_one_that_fails_did_not_run(notebook, echo):
    kernel = await notebook(echo)
    for code in ("sleep 0.5", "fail", "never", "neither"):
        last = await kernel.send(code)
    await kernel.answered(last)

    await kernel.run("again")

    recording = await kernel.recorded(lambda found: found.cells[-1].source == "again" and found.cells[-1].finished)
    assert [cell.source for cell in recording.cells] == ["sleep 0.5", "fail", "again"]


async def test_silent_requests_are_no_cells(notebook):
    kernel = await notebook()
    await kernel.run("2 + 2", silent=True)
    await kernel.run("x = 1")

    recording = await kernel.recorded(lambda found: found.cells)

    assert [cell.source for cell in recording.cells] == ["x = 1"]


async def test_a_kernel_that_loads_kerneldoctor_later_has_one_recording(notebook, deaths):
    kernel = await notebook()
    await kernel.run("a = 1")
    await kernel.run("%load_ext kerneldoctor", cell_id="load")
    await kernel.run("b = bytearray(50 << 20)\ndel b")
    await kernel.send("import os\nos.abort()")

    recording = Store().open((await deaths.next())["recording"])

    assert [(cell.execution_count, cell.source.splitlines()[0]) for cell in recording.cells] == [
        (1, "a = 1"),
        (2, "%load_ext kerneldoctor"),
        (3, "b = bytearray(50 << 20)"),
        (4, "import os"),
    ]
    assert recording.cells[1].cell_id == "load"
    assert [cell.peak_basis for cell in recording.cells[:3]] == [None, "exact", "exact"]
    assert [cell.finished for cell in recording.cells] == [True, True, True, False]
    assert recording.kernel.loaded_by == "magic"
    assert recording.kernel.versions["ipykernel"]
    assert "Fatal Python error: Aborted" in recording.crash_text
    assert [one.id for one in kernel.recordings() if one.kernel.process == recording.kernel.process] == [recording.id]


async def test_switching_off_ends_the_one_recording_and_on_begins_another(notebook):
    kernel = await notebook()
    await kernel.run("%load_ext kerneldoctor")
    await kernel.run("%kerneldoctor off")
    await kernel.run("%kerneldoctor on")
    await kernel.run("x = 1")

    newest = await kernel.recorded(lambda found: found.cells[-1].source == "x = 1" and found.cells[-1].finished)

    (older,) = [one for one in kernel.recordings() if one.id != newest.id]
    assert older.switched_off
    assert not newest.switched_off
    assert newest.cells[-1].peak_basis == "exact"


async def test_a_kernel_that_loads_kerneldoctor_at_its_start_has_one_recording(notebook, tmp_path):
    startup = tmp_path / "ipython" / "profile_default"
    startup.mkdir(parents=True)
    (startup / "ipython_kernel_config.py").write_text("c.InteractiveShellApp.extensions = ['kerneldoctor']")

    for _ in range(3):
        kernel = await notebook()
        await kernel.run("x = 1")
        recording = await kernel.recorded(lambda found: found.cells and found.cells[-1].finished)

        assert recording.kernel.loaded_by == "startup"
        assert recording.cells[-1].peak_basis == "exact"
        assert [one.id for one in kernel.recordings()] == [recording.id]
        await kernel.shut_down()


async def test_an_orderly_shutdown_is_an_ordinary_end(notebook):
    kernel = await notebook()
    await kernel.run("x = 1")

    await kernel.shut_down()

    recording = await kernel.recorded(lambda found: found.end and found.server.returncode is not None)
    assert (recording.server.requested, recording.server.requested_by) == ("shutdown", "user")
    assert (await kernel.report(recording.id))["cause"] == "ordinary-end"


async def test_where_nothing_can_be_written_kernels_run_as_ever(notebook, data_root, caplog):
    data_root.write_text("a file where a directory is to be made")

    for _ in range(2):
        kernel = await notebook()
        assert (await kernel.run("1 + 1"))["status"] == "ok"

    assert caplog.text.count("KernelDoctor could not") == 1


async def test_the_server_does_not_wait_for_the_sidecar(notebook, monkeypatch):
    """Neither does a sidecar that cannot be started keep the kernel from starting."""
    for module in ("shared_watchers", "sidecar_link"):
        monkeypatch.setattr(f"jupyter_kerneldoctor.server.{module}.spawn_sidecar", lambda *_: 1 / 0)

    kernel = await notebook()

    assert (await kernel.run("1 + 1"))["status"] == "ok"


async def test_kernels_that_are_none_of_the_servers_are_left_alone(jp_serverapp, tmp_path, data_root):
    """Extensions start kernels of their own, to run a notebook for example."""
    alone = AsyncKernelManager(connection_file=str(tmp_path / "alone.json"))
    beside = AsyncMultiKernelManager()

    await alone.start_kernel()
    kernel_id = await beside.start_kernel()

    assert await alone.is_alive()
    assert await beside.is_alive(kernel_id)
    await alone.shutdown_kernel(now=True)
    await beside.shutdown_all(now=True)
    assert not data_root.exists()
