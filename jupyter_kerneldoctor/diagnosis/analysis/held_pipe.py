"""A pipe that a program in the background keeps open: who reads the output of a shell waits for more than the shell.

`subprocess.run("server &", shell=True, capture_output=True)` reads until nobody has the pipe open any more. The shell
has ended by then; the program that it has left behind has the same pipe.
"""

import re

from .stuck_cell import StuckCell

_READS_A_PROGRAM = re.compile(r"\bpopen\(|\.(?:stdout|stderr)\b|\bsubprocess\b")


def waits_for_the_background(still: StuckCell) -> bool:
    """Whether it reads what a program writes that has ended: only one that this has left running has the pipe open."""
    if still.main.has_a_timeout or still.main.writes_to_a_pipe or still.others or still.native_threads_at_work:
        return False
    if still.main.wakers == ():
        return False  # only this process has the other end
    inner = {(one.short_file, one.function) for one in still.main.frames}
    communicates = bool(inner & {("subprocess.py", "communicate"), ("subprocess.py", "_communicate")})
    reads = still.main.kind == "pipe" and _READS_A_PROGRAM.search(still.main.code) is not None
    programs = [one for one in still.stuck.children if one.forked is False]
    return (
        (reads or (communicates and still.main.kind in ("pipe", "input")))
        and bool(programs)
        and still.children_have_ended
    )
