"""What a test needs of the machine. A skip for any other reason fails in CI (see tests/conftest.py)."""

from __future__ import annotations

import os
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="cannot run here: control groups and /proc are Linux's")
readable_stacks = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="cannot run here: the stack of Python 3.10 is not read"
)
root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="cannot run here: mounting a file system needs root"
)
