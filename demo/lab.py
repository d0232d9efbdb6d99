"""`make lab`: JupyterLab with the demo notebook, under a memory limit of its own where one can be set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from make_data import main as make_data

from jupyter_kerneldoctor.trial.memory_limit import NoMemoryLimitError, memory_limit

HERE = Path(__file__).parent
LIMIT_BYTES = 450 * 1024 * 1024  # JupyterLab's server takes some 150 MiB of it


def main() -> int:
    """Run until JupyterLab is stopped."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kerneldoctor-lab-")))
        shutil.copy(HERE / "demo.ipynb", work)
        print("Writing a table of about 150 MB ...", flush=True)
        make_data(str(work / "sales.csv"))
        command = [sys.executable, "-m", "jupyterlab", "demo.ipynb", *sys.argv[1:]]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        try:
            command = stack.enter_context(memory_limit(LIMIT_BYTES)).command(command)
        except NoMemoryLimitError as error:
            print(f"{error}\nThe last cell will not run out of memory here. Try: import ctypes; ctypes.string_at(0)")
        try:
            return subprocess.run(command, cwd=work, check=False).returncode
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
