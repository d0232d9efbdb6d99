"""JupyterLab for the screenshots: under a real memory limit, so that a kernel really runs out of memory.

The limit is the demo's. Where none can be set this fails, and says why.
"""

import subprocess
import sys

from jupyter_kerneldoctor.trial.memory_limit import memory_limit

with memory_limit(700 << 20) as limit:
    sys.exit(subprocess.run(limit.command(["jupyter", "lab", *sys.argv[1:]]), check=False).returncode)
