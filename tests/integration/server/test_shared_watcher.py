"""The one process that watches all kernels of a server: what is recorded when it is killed, or a kernel leaves it."""

import os
import signal

from support.requires import linux

from jupyter_kerneldoctor.recording.store import Store

pytestmark = linux

DIES = """\
import os, time
while not os.path.exists({go!r}):
    time.sleep(0.01)
os.kill(os.getpid(), 11)
"""


async def test_a_kernel_that_dies_after_its_watcher_is_explained_all_the_same(notebook, deaths, tmp_path):
    go = tmp_path / "go"
    kernel, other = await notebook(), await notebook()
    await kernel.run("x = 1", cell_id="c1")
    await other.run("%load_ext kerneldoctor")
    shared = (await kernel.recorded(lambda found: found.cells[0].finished)).sidecar.pid
    await other.recorded(lambda found: found.kernel.loaded_by != "server" and found.sidecar.pid != shared)
    await kernel.send(DIES.format(go=str(go)), cell_id="c2")
    await kernel.recorded(lambda found: len(found.cells) == 2)

    os.kill(shared, signal.SIGKILL)
    await kernel.recorded(lambda found: found.sidecar.pid != shared)
    go.touch()
    told = await deaths.next()

    report = await kernel.report(told["recording"])
    assert (report["end"]["signal"], report["cell"]["cell_id"], report["cell"]["line"]) == ("SIGSEGV", "c2", 4)
    assert [cell.cell_id for cell in Store().open(told["recording"]).cells] == ["c1", "c2"]
    await other.run("1 + 1")
    await other.recorded(lambda found: found.cells[-1].source == "1 + 1")
