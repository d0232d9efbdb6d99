"""A pipe that a program in the background keeps open: who reads the output of a shell waits for more than the shell.

`subprocess.run("server &", shell=True, capture_output=True)` reads until nobody has the pipe open any more. The shell
has ended by then; the program that it has left behind has the same pipe.
"""

import re

from .stuck_cell import StuckCell

_READS_A_PROGRAM = re.compile(r"\bpopen\(|\.(?:stdout|stderr)\b|\bsubprocess\b")
BACKGROUND = re.compile(r"(?<![&|<>\\])&(?![&>\d])(?=\s|$)")
"""A shell is told to go on without waiting."""
_SCRIPT = "IPython/core/magics/script.py"
_NAMED_PIPE = re.compile(r"fifo|os\.pipe\(|openpty")


def waits_for_the_background(still: StuckCell) -> bool:
    """Whether it reads what a program writes that has ended: only one that this has left running has the pipe open."""
    if runs_a_script(still):
        return True
    if still.main.has_a_timeout or still.main.writes_to_a_pipe or still.others or still.native_threads_at_work:
        return False
    if still.main.wakers == ():
        return False  # only this process has the other end
    inner = {(one.short_file, one.function) for one in still.main.frames}
    communicates = bool(inner & {("subprocess.py", "communicate"), ("subprocess.py", "_communicate")})
    reads = still.main.kind == "pipe" and not still.main.works_with_processes and _reads_a_program(still)
    programs = [one for one in still.stuck.children if one.forked is False]
    return (
        (reads or (communicates and still.main.kind in ("pipe", "input")))
        and bool(programs)
        and still.children_have_ended
    )


def runs_a_script(still: StuckCell) -> bool:
    """Whether `%%bash` waits for the end of a pipe, and its shell is gone: a thread of IPython reads that pipe."""
    cell = still.recording.running_cell
    is_script = any(one.short_file == _SCRIPT for one in still.main.frames)
    if not is_script or cell is None or still.stuck.children or BACKGROUND.search(cell.source) is None:
        return False
    return any(one.kind == "event" and one.wakers == ("a pipe",) for one in still.others)


def _reads_a_program(still: StuckCell) -> bool:
    """Whether the code reads the output of programs, and has no pipes of its own."""
    texts = [one.source for one in still.recording.cells]
    return any(map(_READS_A_PROGRAM.search, texts)) and not any(map(_NAMED_PIPE.search, texts))
