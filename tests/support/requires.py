"""What a test needs of the machine. A skip for any other reason fails in CI (see tests/conftest.py)."""

from __future__ import annotations

import os
import sys
import sysconfig

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="cannot run here: control groups and /proc are Linux's")
readable_stacks = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="cannot run here: the stack of Python 3.10 is not read"
)
gil = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="cannot run here: without the GIL no other thread looks at what a running cell holds",
)
gil_build = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="cannot run here: builds without the GIL have other objects and another allocator",
)
root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="cannot run here: mounting a file system needs root"
)
