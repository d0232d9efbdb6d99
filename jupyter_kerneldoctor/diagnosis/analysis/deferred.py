"""Calls that end the kernel, which a cell left to a timer, a thread or a handler: they come at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..code.deferred_calls import deferred_calls

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Cell

    from ..code.ending_calls import EndingCall
    from ..death import Death


def left_to_others(death: Death) -> tuple[tuple[Cell, EndingCall], ...]:
    """Return those that fit the end, each with its cell; none where a call or line of the running cell explains it."""
    if death.own_signals or death.crash_line is not None:
        return ()
    found = death.find(deferred_calls) or ()
    return tuple((cell, call) for cell, call in found if _fits_the_end(call, death))


def _fits_the_end(call: EndingCall, death: Death) -> bool:
    if call.kind == "signal":
        return death.signal is not None and call.signal in (None, death.signal) and death.signal != "SIGINT"
    code = death.status.exit_code
    return call.kind == "exit" and code is not None and call.exit_code in (None, code)
