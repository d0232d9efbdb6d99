"""What held the memory: the biggest variables, noted at the end of a cell after which memory has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import NamedObject

MIB = 1 << 20


def held_after(kernel: LiveKernel, source: str) -> dict[str, NamedObject]:
    """Run a cell and return what was noted after it, by name."""
    count = kernel.run(source).reply["execution_count"]

    def is_noted(recording: object) -> bool:
        seq = next(cell.seq for cell in recording.cells if cell.execution_count == count)
        return any(namespace.cell_seq == seq for namespace in recording.namespaces)

    recording = kernel.wait_recorded(
        lambda found: any(c.execution_count == count for c in found.cells) and is_noted(found)
    )
    return {one.name: one for one in recording.namespaces[-1].objects}


MUCH_TIME = """\
from jupyter_kerneldoctor.kernel import largest_variables, object_sizes
largest_variables.biggest.__kwdefaults__["budget_s"] = 1.0
object_sizes.SizeEstimator.__init__.__defaults__ = (1.0,)
"""
"""What is found matters here; how long it may take is tested in unit/kernel/test_largest_variables_time.py."""


def test_the_biggest_variables_are_told_and_what_hides(kernel):
    kernel.run(MUCH_TIME)
    held = held_after(kernel, "import numpy as np\nx = np.ones((4096, 2048))")
    assert (held["x"].type, held["x"].bytes) == ("numpy.ndarray", 64 * MIB)
    assert (held["x"].shape, held["x"].dtype) == ((4096, 2048), "float64")

    held = held_after(kernel, "losses = [np.ones(1 << 16) for _ in range(100)]")
    assert held["losses"].items == 100
    assert held["losses"].item_type == "numpy.ndarray"
    assert held["losses"].bytes == pytest.approx(50 * MIB, rel=0.05)

    count = kernel.run("'next'").reply["execution_count"] + 1
    held = held_after(kernel, "np.ones(1 << 21)")
    assert held[f"Out[{count}]"].bytes == 16 * MIB
    assert held[f"Out[{count}]"].hidden

    held = held_after(kernel, "def fails():\n    block = np.ones(1 << 22)\n    return block['no']\n\nfails()")
    assert held["the last traceback"].bytes == pytest.approx(32 * MIB, rel=0.05)  # and what else its frames hold
    assert held["the last traceback"].hidden

    held = held_after(kernel, "del x, losses")
    assert "x" not in held


def test_a_cell_that_changes_little_is_not_worth_a_look(kernel):
    held_after(kernel, "block = bytearray(b'1' * (30 << 20))")
    before = len(kernel.recording().namespaces)
    for _ in range(5):
        kernel.run("y = [1.5] * 1000")

    recording = kernel.wait_recorded(lambda found: found.cells[-1].finished and "y =" in found.cells[-1].source)
    assert len(recording.namespaces) == before


def test_it_can_be_switched_off(start_kernel: Callable[..., LiveKernel], tmp_path):
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text("c.KernelDoctor.namespace = False\n")
    kernel = start_kernel()
    kernel.load()
    kernel.run("block = bytearray(b'1' * (30 << 20))")

    recording = kernel.wait_recorded(lambda found: found.cells[-1].finished and "block" in found.cells[-1].source)
    assert recording.cells[-1].rss_after_bytes - recording.cells[-1].rss_before_bytes > 25 * MIB
    assert recording.namespaces == ()


def test_nothing_of_the_users_objects_is_touched_or_kept(kernel):
    kernel.run(
        "import gc, weakref\n"
        "class Lazy:\n"
        "    touched = []\n"
        "    __class__ = property(lambda self: Lazy.touched.append('class') or list)\n"
        "    def __getattr__(self, name): Lazy.touched.append(name)\n"
        "    def __len__(self): Lazy.touched.append('len')\n"
        "class Big:\n"
        "    def __init__(self): self.block = bytearray(b'1' * (30 << 20))\n"
        "lazy = [Lazy() for _ in range(10)]"
    )
    assert held_after(kernel, "big = Big(); seen = weakref.ref(big)")["big"].type == "Big"

    assert kernel.run("touched = list(Lazy.touched); del big; touched, seen()").result == "([], None)"
