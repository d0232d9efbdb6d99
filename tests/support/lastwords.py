"""Many kernels that die, in little time: they are forked from one process that has imported ipykernel already."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_kerneldoctor.recording.model import Recording

# The kernels have no client: they run a cell at their start, with the extension loaded, as from a profile.
_LAUNCHER = """
import json, os, sys
import IPython.core.shellapp, ipykernel.kernelapp
import jupyter_kerneldoctor.kernel.doctor, jupyter_kerneldoctor.kernel.magics
cells, work = json.loads(sys.argv[1]), sys.argv[2]
for number, cell in enumerate(cells):
    pid = os.fork()
    if pid == 0:
        ipykernel.kernelapp.IPKernelApp.launch_instance([
            "-f", os.path.join(work, f"kernel-{number}.json"),
            "--HistoryManager.enabled=False",
            "--InteractiveShellApp.extra_extensions=['kerneldoctor']",
            f"--InteractiveShellApp.code_to_run={cell}",
        ])
    os.waitpid(pid, 0)
"""


def die(cells: list[str], work: Path) -> list[Recording]:
    """Run each cell in a kernel of its own, one after the other; each must end its kernel. Return the recordings."""
    environment = {"KERNELDOCTOR_DATA_DIR": str(work / "data"), "IPYTHONDIR": str(work / "ipython")}
    environment["PYTHONPATH"] = ":".join(path for path in sys.path if path)
    with (work / "kernels.log").open("wb") as log:
        command = [sys.executable, "-c", _LAUNCHER, json.dumps(cells), str(work)]
        subprocess.run(command, cwd=work, env=environment, stdout=log, stderr=log, check=True, timeout=150)
    store = Store(work / "data")
    deadline = time.monotonic() + 60
    while True:
        recordings = [store.open(recording_id) for recording_id in store.ids()]
        if all(recording.end for recording in recordings) or time.monotonic() > deadline:
            return recordings
        time.sleep(0.05)
