"""A notebook that runs another one, as with papermill or nbclient: each death is that of its own notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import requires

from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux

INNER_KERNEL_DIES = """
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel()
client.execute_interactive("%load_ext kerneldoctor", timeout=60)
client.execute("import os; os.kill(os.getpid(), 9)")
_ = manager.provisioner.process.wait()
client.stop_channels()
"""


def recording_of_another(kernel: LiveKernel) -> Recording:
    """That of the inner kernel, whose process is not this one's."""
    store = Store(kernel.data_root)
    (inner,) = [found for found in map(store.open, store.ids()) if found.kernel.process.pid not in (kernel.pid, 0)]
    return inner


def test_a_kernel_that_a_cell_starts_is_not_the_notebooks(start_kernel: Callable[..., LiveKernel]) -> None:
    outer = start_kernel(JPY_SESSION_NAME="/home/ada/outer.ipynb")
    outer.load()

    outer.run(INNER_KERNEL_DIES)

    assert outer.recording().kernel.notebook == "/home/ada/outer.ipynb"
    inner = recording_of_another(outer)
    assert inner.end.signal == "SIGKILL"
    assert inner.kernel.notebook is None
    assert "No death of this notebook's kernel is recorded" in outer.run("%postmortem").stdout


def test_a_kernel_behind_a_script_keeps_its_notebook(start_kernel: Callable[..., LiveKernel]) -> None:
    # The script stays between the server and the kernel, with the same environment.
    kernel = start_kernel(prefix=["/bin/sh", "-c", '"$@"; true', "sh"], JPY_SESSION_NAME="/home/ada/eda.ipynb")
    kernel.load()

    found = kernel.run("import os; from jupyter_kerneldoctor.kernel.kernel_info import notebook; notebook()")

    assert found.result == "'/home/ada/eda.ipynb'"
