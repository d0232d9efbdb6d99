"""Real kernels die real deaths; the command line says why, in which cell, and on which line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import requires

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel


def report(kernel: LiveKernel, *arguments: str) -> dict[str, Any]:
    """What `jupyter kerneldoctor report --json` says about this kernel."""
    command = [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--kernel", kernel.kernel_id, "--json"]
    environment = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(kernel.data_root)}
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(result.stdout))


RECURSION = """import sys
sys.setrecursionlimit(10**6)
class Node:
    def __bool__(self): return bool(node)
node = Node()"""


@pytest.mark.parametrize(
    ("before", "cell", "cause", "line"),
    [
        pytest.param("import ctypes", "x = 1\nctypes.string_at(0)", "segfault", 2, id="segfault"),
        pytest.param("import ctypes", "\n\nx = 1\nctypes.string_at(0)", "segfault", 4, id="segfault-below-blank-lines"),
        pytest.param("import ctypes", "%%memwatch\nctypes.string_at(0)", "segfault", 2, id="segfault-in-memwatch"),
        pytest.param("import ctypes", "%%time\nctypes.string_at(0)", "segfault", 2, id="segfault-in-time"),
        pytest.param("import ctypes", "%%capture\n\nctypes.string_at(0)", "segfault", 3, id="segfault-in-capture"),
        pytest.param(RECURSION, "bool(node)", "stack-overflow", 1, id="stack-overflow"),
        pytest.param("import os", "x = 1\n\nos.abort()", "abort", 3, id="abort"),
        pytest.param("import os", "if True:\n    os._exit(3)", "exit-call", 2, id="os-exit"),
        pytest.param("x = 1", "if x: exit()", "exit-call", 1, id="exit"),
        pytest.param("import os, signal", "os.kill(os.getpid(), signal.SIGKILL)", "self-kill", 1, id="kill-itself"),
        pytest.param("x = 1", "!kill -9 $PPID", "self-kill", 1, id="kill-parent-of-shell"),
    ],
)
def test_cause_cell_and_line(kernel: LiveKernel, before: str, cell: str, cause: str, line: int) -> None:
    kernel.run(before)
    kernel.run_and_die(cell)

    answer = report(kernel)

    assert answer["cause"] == cause, answer["causes"]
    assert answer["general"] or answer["certainty"] in ("proven", "strong")
    assert answer["died"]
    assert (answer["cell"]["execution_count"], answer["cell"]["source"]) == (3, cell)
    assert answer["cell"]["line"] == line


def test_out_of_memory_at_the_limit(limited_kernel: LiveKernel) -> None:
    limited_kernel.run("pile = []")
    limited_kernel.run_and_die("while True:\n    pile.append(bytearray(1_000_000))")

    answer = report(limited_kernel)

    assert answer["cause"] == "oom-cgroup"
    assert answer["certainty"] == "proven"
    assert "300 MiB" in answer["headline"]
    assert answer["cell"]["execution_count"] == 3
    assert answer["timeline"]["limit"]["bytes"] == 300 << 20
    assert answer["timeline"]["death_s"] is not None


def test_killed_from_outside_near_the_limit_is_not_called_out_of_memory(limited_kernel: LiveKernel) -> None:
    limited_kernel.client.execute("block = b'x' * (200 << 20)\nimport time\ntime.sleep(60)")
    limited_kernel.wait_recorded(lambda found: found.samples and (found.samples[-1].rss_bytes or 0) > 200 << 20)
    os.kill(limited_kernel.pid, 9)
    limited_kernel.wait_dead()

    answer = report(limited_kernel)

    assert answer["cause"] == "killed-externally"
    assert answer["confidence"] <= 0.6, "without a server it may have been a restart that had to kill"


def test_a_leaked_graph_gets_its_fix(limited_kernel: LiveKernel) -> None:
    """A stand-in with torch's names: the module that is imported is recorded code, and never run by the diagnosis."""
    limited_kernel.run(
        "import sys, types\n"
        "class Tensor:\n"
        "    def __init__(self): self.graph = b'x' * 3_000_000\n"
        "    def mean(self): return self\n"
        "    def __matmul__(self, other): return Tensor()\n"
        "torch = types.ModuleType('torch'); torch.randn = lambda *a, **k: Tensor(); torch.relu = lambda x: x\n"
        "sys.modules['torch'] = torch"
    )
    limited_kernel.run("import torch\nw = torch.randn(20, 20, requires_grad=True)\nlosses = []")
    limited_kernel.run_and_die(
        "import time\n"
        "for step in range(1000):\n"
        "    x = torch.randn(20, 20)\n"
        "    loss = torch.relu(x @ w).mean()\n"
        "    losses.append(loss)\n"
        "    time.sleep(0.01)"
    )

    fix = next(fix for fix in report(limited_kernel)["fixes"] if fix["id"] == "detach-accumulated-loss")

    assert "+    losses.append(loss.item())" in fix["edits"][0]["diff"]
    assert fix["edits"][0]["execution_count"] == 4


def end_by_shutdown(kernel: LiveKernel) -> None:
    kernel.manager.shutdown_kernel(now=False)


def end_by_restart(kernel: LiveKernel) -> None:
    kernel.manager.restart_kernel(now=False)


@pytest.mark.parametrize("end", [end_by_shutdown, end_by_restart])
def test_an_end_that_was_asked_for_is_no_death(kernel: LiveKernel, end: Callable[[LiveKernel], None]) -> None:
    kernel.run("x = 1")
    end(kernel)

    answer = report(kernel)

    assert (answer["cause"], answer["died"], answer["fixes"]) == ("ordinary-end", False, [])


def test_a_living_kernel_is_running(kernel: LiveKernel) -> None:
    kernel.run("x = 1")

    answer = report(kernel)

    assert (answer["cause"], answer["end"]["kind"], answer["died"]) == ("no-death", "running", False)


def test_a_child_killed_for_memory_is_not_the_kernels_death(limited_kernel: LiveKernel) -> None:
    limited_kernel.run(
        "import subprocess, sys\n"
        "code = \"open('/proc/self/oom_score_adj', 'w').write('1000'); b'x' * 2_000_000_000\"\n"
        "print(subprocess.run([sys.executable, '-c', code]).returncode)"
    )

    assert report(limited_kernel)["cause"] == "no-death"


@requires.linux
def test_kernel_and_sidecar_killed_together_is_an_honest_unknown(kernel: LiveKernel) -> None:
    sidecar = kernel.sidecar_pid()
    kernel.client.execute("import time\ntime.sleep(60)")
    kernel.wait_recorded(lambda found: found.running_cell is not None and "sleep" in found.running_cell.source)
    os.kill(sidecar, 9)
    os.kill(kernel.pid, 9)
    kernel.wait_dead()

    answer = report(kernel)

    assert answer["end"]["kind"] == "unknown"
    assert answer["cause"] == "unknown"
    assert answer["certainty"] == "weak"
    assert answer["cell"]["source"].startswith("import time")


def test_postmortem_in_the_next_kernel_shows_the_last_death(
    kernel: LiveKernel, start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    kernel.run("import ctypes")
    kernel.run_and_die("ctypes.string_at(0)")
    kernel.manager.restart_kernel(now=True)
    kernel.process = kernel.manager.provisioner.process
    kernel.client.wait_for_ready(timeout=60)
    kernel.load()

    shown = kernel.run("%postmortem").outputs
    data = next(message["content"]["data"] for message in shown if message["msg_type"] == "display_data")

    assert "ctypes.string_at(0)" in data["text/plain"]
    assert "<svg" in data["text/html"] or "ctypes" in data["text/html"]


def test_postmortem_never_shows_anothers_death_without_saying_so(
    kernel: LiveKernel, start_kernel: Callable[..., LiveKernel]
) -> None:
    kernel.run_and_die("import os\nos.abort()")
    other = start_kernel(data_root=kernel.data_root)
    other.load()

    outcome = other.run("%postmortem")

    said = outcome.stderr + outcome.stdout + str([message["content"] for message in outcome.outputs])
    assert "os.abort" not in said
    assert "No death of this notebook's kernel is recorded" in said
