"""`python -I -S .../sidecar/stacks/__main__.py`: prints the layout of the Python that runs it."""

import os
import sys

sys.path.append(os.path.abspath(__file__).rpartition("/jupyter_kerneldoctor/")[0])  # behind the standard library

from jupyter_kerneldoctor.sidecar.stacks.discovery_process import discovery_result

if __name__ == "__main__":
    os.write(1, discovery_result())
