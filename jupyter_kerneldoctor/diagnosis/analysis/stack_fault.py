"""Whether a crash was at the end of the stack: what Linux logs of a segmentation fault, where that may be read.

Linux logs only a signal without a handler. That is of most use for a kernel that has loaded nothing: where faulthandler
is on, it handles the signal, and raises it again for good.
"""

import re
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.model import Recording

_LOGGED = re.compile(
    r"\[(?P<thread>\d{1,9})\]: segfault at (?P<address>[0-9a-f]{1,16}) ip \S+ sp (?P<stack>[0-9a-f]{1,16}) error"
)
"""Written for x86 (show_signal_msg in arch/x86/mm/fault.c)."""

_BELOW_BYTES = 64 << 10
"""A call writes at most this far below the stack pointer, as a rule: its return address, and what it holds."""
_ABOVE_BYTES = 4 << 10


@dataclass(frozen=True)
class Fault:
    """The line of the log, and what it says."""

    line: str
    on_the_stack: bool
    """It touched what lies next to the stack pointer. Memory there is missing only when the stack is used up."""


def logged_fault(recording: Recording) -> Fault | None:
    """Return what the log says of the crash of the thread that runs the cells; None where it says nothing."""
    end = recording.end
    if end is None:
        return None
    found = (_LOGGED.search(line) for line in reversed(end.kernel_log))
    match = next((one for one in found if one and int(one["thread"]) == recording.kernel.process.pid), None)
    if match is None:
        return None
    distance = int(match["address"], 16) - int(match["stack"], 16)
    return Fault(match.string, -_BELOW_BYTES <= distance < _ABOVE_BYTES)
