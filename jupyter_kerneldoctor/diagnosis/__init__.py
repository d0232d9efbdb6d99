"""From a recording to a post-mortem. Pure: no clock, no /proc, no network, no files.

What is judged here was all recorded before, so an old recording can be judged again by better rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Recording

    from .postmortem import PostMortem

__all__ = ["diagnose", "load_rules"]


def diagnose(recording: Recording) -> PostMortem:
    """Judge how the kernel ended, why, where, and what to change. Damaged recordings get an honest answer, too."""
    from .judgement import diagnose as judge  # noqa: PLC0415 - a list of kept rows needs no rules

    return judge(recording)


def load_rules() -> None:
    """Import what the first diagnosis would have to, which takes a quarter of a second: nobody then waits for it."""
    from . import judgement, proposals  # noqa: F401, PLC0415
    from .causes import all_causes  # noqa: PLC0415
    from .fixes import all_fixes  # noqa: PLC0415

    all_causes()
    all_fixes()
