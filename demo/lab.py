"""`make lab`: JupyterLab with the demo notebook, under a memory limit of its own where one can be set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from limit import set_limit
from make_data import main as make_data

from jupyter_kerneldoctor.trial.memory_limit import Limit

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
        limit, env = set_limit(stack, LIMIT_BYTES), dict(os.environ)
        if limit.refuses_bytes is None:
            command = limit.command(command)
        else:
            write_kernel(limit, work)
            env["JUPYTER_PATH"] = os.pathsep.join([str(work), *env.get("JUPYTER_PATH", "").split(os.pathsep)])
        try:
            return subprocess.run(command, cwd=work, env=env, check=False).returncode
        except KeyboardInterrupt:
            return 0


def write_kernel(limit: Limit, work: Path) -> None:
    """Describe a Python kernel below the limit, for JupyterLab to find before the one that is installed."""
    argv = limit.command([sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    spec = {"argv": argv, "display_name": "Python 3 (ipykernel)", "language": "python"}
    path = work / "kernels" / "python3" / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(spec), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
