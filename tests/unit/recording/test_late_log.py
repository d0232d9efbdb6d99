"""The end of a recording, when the operating system logged the death a moment after it."""

from __future__ import annotations

from jupyter_kerneldoctor.recording.reader import assemble

END = {"event": "end", "kind": "signal", "signal": "SIGKILL", "mono_s": 5.0, "wall_s": 9.0}
LOG = {"event": "kernel_log", "mono_s": 5.01, "wall_s": 9.01, "lines": ["Out of memory: Killed process 42 (python)"]}


def test_lines_that_came_late_belong_to_the_end() -> None:
    assert assemble("x", [END, LOG]).end.kernel_log == ("Out of memory: Killed process 42 (python)",)


def test_lines_that_were_there_in_time_are_kept() -> None:
    assert assemble("x", [{**END, "kernel_log": ["in time"]}, LOG]).end.kernel_log == ("in time",)


def test_a_log_without_an_end_tells_of_one() -> None:
    end = assemble("x", [LOG]).end

    assert (end.kind, end.mono_s, end.kernel_log) == ("unknown", 5.01, ("Out of memory: Killed process 42 (python)",))
