"""What is recorded of a cell that runs and ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support import requires

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.model import Cell

MIB = 1 << 20


def run_recorded(kernel: LiveKernel, source: str, **metadata: str) -> Cell:
    """Run a cell and return what was recorded of it."""
    outcome = kernel.run(source, **metadata)
    count = outcome.reply["execution_count"]
    recording = kernel.wait_recorded(
        lambda found: any(cell.execution_count == count and cell.finished for cell in found.cells)
    )
    return next(cell for cell in recording.cells if cell.execution_count == count)


def test_source_number_id_and_times_are_recorded(living_kernel: LiveKernel) -> None:
    cell = run_recorded(living_kernel, "import time\ntime.sleep(0.2)", cellId="abc-123")

    assert cell.source == "import time\ntime.sleep(0.2)"
    assert cell.cell_id == "abc-123"
    assert cell.ended_mono_s - cell.started_mono_s >= 0.2
    assert cell.error is None


def test_the_peak_is_exact_also_when_nothing_could_sample_it(living_kernel: LiveKernel) -> None:
    # One call allocates, touches and frees 200 MiB while it holds the interpreter lock.
    cell = run_recorded(living_kernel, "len(b'x' * (200 * 1024 * 1024))")

    assert cell.peak_basis == "exact"
    assert cell.peak_bytes - cell.rss_before_bytes == pytest.approx(200 * MIB, rel=0.02)
    assert cell.rss_after_bytes - cell.rss_before_bytes < 20 * MIB


def test_each_cell_has_a_peak_of_its_own(living_kernel: LiveKernel) -> None:
    big = run_recorded(living_kernel, "_ = len(bytearray(150 * 1024 * 1024))")
    small = run_recorded(living_kernel, "1 + 1")

    assert big.peak_bytes > small.peak_bytes + 100 * MIB


@requires.root
def test_a_user_in_hundreds_of_groups_gets_the_same_figures(start_kernel: Callable[..., LiveKernel]) -> None:
    # As a directory service may have it. /proc/self/status names them all, before the memory.
    join = "import os, sys; os.setgroups(range(2**31, 2**31 + 1000)); os.execvp(sys.argv[1], sys.argv[1:])"
    kernel = start_kernel(prefix=[sys.executable, "-c", join])
    kernel.load()

    cell = run_recorded(kernel, "len(b'x' * (200 * 1024 * 1024))")

    assert cell.peak_basis == "exact"
    assert cell.peak_bytes - cell.rss_before_bytes == pytest.approx(200 * MIB, rel=0.02)
    assert cell.rss_after_bytes - cell.rss_before_bytes < 20 * MIB


def test_the_type_of_an_error_is_recorded_but_not_its_message(living_kernel: LiveKernel) -> None:
    cell = run_recorded(living_kernel, "raise ValueError('the password is swordfish')")

    assert cell.error == "ValueError"
    journal = (living_kernel.data_root / "recordings" / living_kernel.recording().id / "journal.jsonl").read_text()
    assert journal.count("swordfish") == 1, "in the source of the cell, and nowhere else"


def test_a_cell_with_a_syntax_error_is_recorded(living_kernel: LiveKernel) -> None:
    assert run_recorded(living_kernel, "def f(:").error == "SyntaxError"


def test_a_cell_run_within_a_cell_belongs_to_it(living_kernel: LiveKernel) -> None:
    before = len(living_kernel.recording().cells)

    cell = run_recorded(living_kernel, "%%capture\nx = 1")

    assert cell.source == "%%capture\nx = 1"
    assert len(living_kernel.recording().cells) == before + 1


def test_a_cell_without_history_has_no_number(living_kernel: LiveKernel) -> None:
    living_kernel.client.execute("y = 'without history'", store_history=False, reply=True, timeout=30)

    recording = living_kernel.wait_recorded(lambda found: "without history" in found.cells[-1].source)
    assert recording.cells[-1].execution_count is None


NASTY = "x = '\x00 <script>alert(1)</script> \x1b[31m red'  # \ud800 a lone surrogate, é, 😀"


def test_any_text_comes_back_as_it_was(living_kernel: LiveKernel) -> None:
    living_kernel.run(NASTY.replace("\ud800", ""))
    recording = living_kernel.wait_recorded(lambda found: "alert" in found.cells[-1].source)

    assert recording.cells[-1].source == NASTY.replace("\ud800", "")


def test_a_lone_surrogate_does_not_disturb_the_recording(living_kernel: LiveKernel) -> None:
    # Messages between client and kernel are UTF-8, so that a surrogate can only come from code that runs code.
    living_kernel.run("get_ipython().events.trigger('pre_run_cell', type('Info', (), dict("
                      "raw_cell=chr(0xd800), cell_id=None, store_history=False)))")  # fmt: skip
    living_kernel.run("'after'")

    assert living_kernel.wait_recorded(lambda found: found.cells[-1].source == "'after'" and found.cells[-1].finished)


def test_a_cell_of_10_megabytes_keeps_its_head_and_tail(living_kernel: LiveKernel) -> None:
    source = "first = 1\n" + "# " + "x" * 10_000_000 + "\nlast = 2"
    cell = run_recorded(living_kernel, source)

    assert cell.truncated
    assert cell.source.startswith("first = 1\n")
    assert cell.source.endswith("\nlast = 2")
    assert "characters left out" in cell.source
    assert len(cell.source) < 140_000


def test_a_long_cell_of_characters_that_grow_in_json_is_recorded(living_kernel: LiveKernel) -> None:
    cell = run_recorded(living_kernel, "text = '" + "😀" * 120_000 + "'")

    assert cell.source.startswith("text = '😀")
