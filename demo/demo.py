"""`make demo`: a real kernel dies under a real memory limit, and the post-mortem says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from limit import set_limit
from make_data import main as make_data

from jupyter_kerneldoctor.trial.kernel import OwnKernel
from jupyter_kerneldoctor.trial.memory_limit import Limit

HERE = Path(__file__).parent
LIMIT_BYTES = 250 * 1024 * 1024
OTHER_DEATH = ["%load_ext kerneldoctor", "import ctypes", "ctypes.string_at(0)"]
PATIENCE_S = 120
TRIES = 5
"""Whose request is refused first, that of Python or of native code, is chance: one kernel in twenty lived."""


def main() -> int:
    """Return the exit status: 0 when a kernel died and its post-mortem could be shown."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kerneldoctor-demo-")))
        limit = set_limit(stack, LIMIT_BYTES)
        cells = OTHER_DEATH if limit.kind == "none" else notebook_cells()
        print("Writing a table of about 150 MB ...", flush=True)
        make_data(str(work / "sales.csv"))
        for _ in range(TRIES):
            kernel_id, status = run_cells(cells, limit, work)
            if status is not None:
                break
            print("This kernel lived: Python itself was refused memory, which is an exception. Once more:")
        else:
            return 1
        ending = f"signal {-status}" if status < 0 else f"exit code {status}"
        print(f"\nThe kernel is gone ({ending}). Jupyter would say: «The kernel appears to have died.»")
        print("KernelDoctor says (jupyter kerneldoctor report):\n", flush=True)
        status = kerneldoctor("report", "--kernel", kernel_id).returncode
        shown = kerneldoctor("report", "--kernel", kernel_id, "--json", capture_output=True)
        print("\nDoes its first fix help? The same cells, the same limit (jupyter kerneldoctor try):\n", flush=True)
        kerneldoctor("try", json.loads(shown.stdout)["recording"], "--yes")
    print(f"\nTo type these commands yourself: source {Path(sys.executable).parent / 'activate'}")
    print("To see the same in JupyterLab, with a panel: make lab")
    return status


def kerneldoctor(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `jupyter kerneldoctor`."""
    return subprocess.run([sys.executable, "-m", "jupyter_kerneldoctor", *arguments], check=False, **options)


def notebook_cells() -> list[str]:
    """The code cells of demo.ipynb."""
    notebook = json.loads((HERE / "demo.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cells(cells: list[str], limit: Limit, work: Path) -> tuple[str, int | None]:
    """Run the cells in a kernel of its own; return its id and its exit status, None where it lived."""
    kernel = OwnKernel(limit.command([sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]), work)
    try:
        kernel.start({**os.environ, "JPY_SESSION_NAME": str(work / "demo.ipynb")}, work, PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        for source in cells:
            print("\n".join(f"    >>> {line}" for line in source.splitlines()), flush=True)
            kernel.execute(source, lambda: time.monotonic() < deadline, waits=True)
        return kernel.kernel_id, kernel.ended()
    finally:
        kernel.close()


if __name__ == "__main__":
    sys.exit(main())
