"""`%kerneldoctor live`: what a page gets, and that nothing stays when nobody looks."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import requires

if TYPE_CHECKING:
    from support.kernels import LiveKernel

WIDGET = "application/vnd.jupyter.widget-view+json"
THREADS = "[t.name for t in __import__('threading').enumerate() if t.name == 'KernelDoctor-live']"
HOOKS = "[f for f in get_ipython().events.callbacks['pre_run_cell'] if 'LiveView' in str(f)]"


def told(kernel: LiveKernel, comm_id: str, kind: str) -> None:
    """Say what the page says."""
    content = {"comm_id": comm_id, "data": {"method": "custom", "content": {"kind": kind}}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))


def test_it_follows_the_cells_and_ends_with_its_output(living_kernel: LiveKernel) -> None:
    pytest.importorskip("anywidget")
    (data,) = living_kernel.run("%kerneldoctor live").shown
    comm_id = data[WIDGET]["model_id"]
    assert " left of " in data["text/plain"]
    assert "kd-gauge" in data["text/html"]
    told(living_kernel, comm_id, "shown")

    grown = living_kernel.run("import time\nblock = bytearray(80_000_000)\ntime.sleep(4)")
    drawn = [o["content"]["data"] for o in grown.outputs if o["msg_type"] == "comm_msg"]
    assert any("<svg" in update["state"].get("html", "") for update in drawn), grown.outputs
    assert living_kernel.run(THREADS).result == "['KernelDoctor-live']"

    told(living_kernel, comm_id, "gone")
    assert living_kernel.run(HOOKS).result == "[]"
    deadline = time.monotonic() + 60
    while living_kernel.run(THREADS).result != "[]":
        assert time.monotonic() < deadline


def test_without_the_library_it_shows_what_is_used_now(living_kernel: LiveKernel) -> None:
    living_kernel.run("import sys; sys.modules['anywidget'] = None")
    living_kernel.run("from jupyter_kerneldoctor.kernel import live_view; live_view._widget_class.cache_clear()")

    (data,) = living_kernel.run("%kerneldoctor live").shown

    assert WIDGET not in data
    assert "pip install anywidget" in data["text/plain"]
    assert living_kernel.run(THREADS).result == "[]"


@requires.linux
def test_a_limit_of_the_process_is_the_nearest_one(living_kernel: LiveKernel) -> None:
    limit = "resource.setrlimit(resource.RLIMIT_DATA, ({}, resource.RLIM_INFINITY))"
    living_kernel.run(
        "import re, resource, time\n"
        "used = int(re.search(r'VmData:\\s+(\\d+)', open('/proc/self/status').read())[1]) << 10\n"
        + limit.format("used + (300 << 20)")
    )
    living_kernel.wait_recorded(lambda seen: seen.system_states[-1].rlimits["DATA"].soft is not None)
    living_kernel.run("more = b'1' * (200 << 20)\ntime.sleep(1)")

    (data,) = living_kernel.run("%kerneldoctor live").shown

    living_kernel.run(limit.format("resource.RLIM_INFINITY"))
    left = re.match(r"(\d+) MiB left of .* \(limit of the process, ulimit -d\)", data["text/plain"])
    assert left is not None, data["text/plain"]
    assert 60 <= int(left[1]) <= 110
    assert "MiB reserved, not used" in data["text/html"]


def test_nobody_pays_for_it_who_does_not_ask() -> None:
    code = "import sys, jupyter_kerneldoctor.kernel.magics; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"anywidget", "jupyter_kerneldoctor.kernel.live_view", "jupyter_kerneldoctor.reports"}.isdisjoint(modules)
