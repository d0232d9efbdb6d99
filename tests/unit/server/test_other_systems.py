"""Where kernels are not watched, reports are served all the same."""

import subprocess
import sys

import pytest

IMPORT_AS_ON_WINDOWS = """
import sys
import jupyter_server.serverapp
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
import jupyter_kerneldoctor.server.extension
"""


@pytest.mark.slow
def test_the_extension_needs_nothing_that_windows_has_not() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_AS_ON_WINDOWS], capture_output=True, text=True, check=False)

    assert done.stderr == ""
