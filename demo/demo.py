"""`make demo`: a real kernel dies under a real memory limit, and the post-mortem says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from make_data import main as make_data

from jupyter_kerneldoctor.trial.kernel import OwnKernel
from jupyter_kerneldoctor.trial.memory_limit import Limit, NoMemoryLimitError, memory_limit

HERE = Path(__file__).parent
LIMIT_BYTES = 250 * 1024 * 1024
OTHER_DEATH = ["%load_ext kerneldoctor", "import ctypes", "ctypes.string_at(0)"]
PATIENCE_S = 120


def main() -> int:
    """Return the exit status: 0 when a kernel died and its post-mortem could be shown."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kerneldoctor-demo-")))
        try:
            limit = stack.enter_context(memory_limit(LIMIT_BYTES))
        except NoMemoryLimitError as error:
            print(f"{error}\nSo the kernel dies another death: it reads memory at address 0.\n")
            limit, cells = Limit("none", []), OTHER_DEATH
        else:
            print(f"The kernel runs under a limit of {LIMIT_BYTES >> 20} MiB, set by {limit.kind}.")
            print("Writing a table of about 150 MB ...")
            make_data(str(work / "sales.csv"))
            cells = notebook_cells()
        kernel_id, ending = run_until_it_dies(cells, limit, work)
        print(f"\nThe kernel is gone ({ending}). Jupyter would say: «The kernel appears to have died.»")
        print("KernelDoctor says (jupyter kerneldoctor report):\n", flush=True)
        report = [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--kernel", kernel_id]
        status = subprocess.run(report, check=False).returncode
    print("\nTo see the same in JupyterLab, with a panel: make lab")
    return status


def notebook_cells() -> list[str]:
    """The code cells of demo.ipynb."""
    notebook = json.loads((HERE / "demo.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_until_it_dies(cells: list[str], limit: Limit, work: Path) -> tuple[str, str]:
    """Run the cells in a kernel of its own; return its id and how it ended. Raises TimeoutExpired when it does not."""
    kernel = OwnKernel(limit.command([sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]), work)
    try:
        kernel.start({**os.environ, "JPY_SESSION_NAME": str(HERE / "demo.ipynb")}, work, PATIENCE_S)
        for source in cells:
            print("\n".join(f"    >>> {line}" for line in source.splitlines()))
            kernel.client.execute(source)
        status = kernel.process.wait(PATIENCE_S)
        return kernel.kernel_id, f"signal {-status}" if status < 0 else f"exit code {status}"
    finally:
        kernel.close()


if __name__ == "__main__":
    sys.exit(main())
