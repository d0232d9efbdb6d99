from math import ceil

from jupyter_kerneldoctor.recording.events import Stack

from ...analysis.memory_refusals import NEAR
from ...code.values import Made
from ...examples.stuck import own_frame, thread
from ...fix import Advice, Case, Death, Family, quote, size
from ...texts.allocation_site import needed
from ...units import two_digits

_HALVES = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64", "float32": "float16"}
_USED = 0.5  # of the room for a piece: what is worked out of it takes room, too
_LARGE = "import numpy as np\nx = np.ones((40_000, 10_000))"
_IN_PIECES = (
    "step = {rows}  # rows at a time\nfor start in range(0, {all_rows}, step):\n"
    "    part = ...  # the same for the rows from start to start + step\n"
    "    # keep a sum of it, or write it to a file; not the part itself"
)


class FitIntoMemory(Advice):
    """Do the same with less: a smaller type, or some rows at a time.

    What it does: Works out what the line needs and what was left, what half the width of its numbers would save, and
    how many rows fit at a time. Where memory grew round by round, it says so: then no smaller piece helps.

    When it is offered: Memory ran out in the cell, and the size of what it makes is known, or a loop added it up. It
    comes after fixes that know what is special about the code.

    What it costs: Pieces take some code. A type of half the width keeps half the digits.
    """

    id, title, causes, general = "fit-into-memory", "Make it fit: a part of the data at a time", (Family.MEMORY,), True
    headline, why, snippet = "{title_}", "{why_}", "{code_}"
    unless_offered = frozenset(  # what is no question of how much data there is
        {
            *("append-to-the-list-you-iterate", "close-figures", "figsize-in-inches", "recursion-to-iteration"),
            *("runaway-recursion", "suppress-output-cache", "bound-growing-container"),
            *("bound-dict-cache", "bound-function-cache", "read-less-in-a-module"),
        }
    )

    FIRES = [
        Case(
            _LARGE,
            stacks=[Stack(-0.1, "busy", (thread(own_frame(_LARGE, 2)),))],
            says=("needs 3.0 GiB, and 1.6 GiB", "As float32", "rows at a time"),
        )
    ]
    SILENT = [Case(_LARGE, cause="segfault"), Case(_LARGE, before_mib=1990), Case("table = read(path)", growth="jump")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Do the arithmetic with the size of what the line makes; or say that rounds of a loop add up."""
        headroom, made = death.safe_headroom_bytes or death.memory.headroom_before_bytes, needed(death)
        if not headroom or headroom < 0 or (death.memory_shape is not None and death.memory_shape.is_in_files):
            return None
        if made is not None and (made.value.bytes or 0) > headroom:
            return _known(made, headroom)
        if _is_elsewhere(death):
            return _of_others(death)
        if death.memory.missing_bytes and death.growth.is_steady:
            return _of_rounds(death, headroom)
        return None


def _is_elsewhere(death: Death) -> bool:
    """Whether the limit was reached, and neither the kernel nor its children were seen to hold a quarter of it."""
    memory = death.memory
    limit, peak, seen = memory.limit_bytes or 0, memory.peak_bytes or 0, memory.group_peak_bytes or 0
    is_small = max(peak, memory.held_bytes or 0) < limit / 4 and not memory.growth_bytes
    return memory.has_group_limit and seen >= NEAR * limit > 0 and is_small and memory.children is None


def _of_others(death: Death) -> dict[str, str]:
    """Say that programs, or files that are kept in memory, filled it."""
    limit, held = size(death.memory.limit_bytes or 0), size(death.memory.peak_bytes or 0)
    why = (
        f"The kernel itself held {held} at most; the rest of {limit} was a program's, or files that are kept in "
        "memory: what is written to /dev/shm or another tmpfs counts until it is deleted. The commands show both. "
        "Write to a directory on a disk, such as /var/tmp."
    )
    code = "!df -h -t tmpfs  # files here are memory\n!ps -eo rss,pid,args --sort=-rss | head  # in KiB, largest first"
    return {"title_": "Write to a disk: files in a tmpfs are memory", "why_": why, "code_": code}


def _of_rounds(death: Death, headroom: int) -> dict[str, str]:
    """Say that something of each round is kept, and where memory grew."""
    charged = death.growth.charged[:1]
    where = (
        f" Most of it came with {quote(charged[0].statement.source)}."
        if charged and charged[0].statement.source
        else ""
    )
    why = (
        f"Memory grew round by round, by {size(death.memory.missing_bytes or 0)} in all: something of each round is "
        f"kept.{where} Smaller pieces do not change that. Look for lists, dicts, figures and attributes that grow "
        "in the loop, and keep a number or a summary of each round."
    )
    code = f"%%memwatch\n# 10 rounds, then 20: what stays in use must not double; {size(headroom)} is left"
    return {"title_": "Find what each round keeps", "why_": why, "code_": code}


def _known(made: Made, headroom: int) -> dict[str, str]:
    need, value = made.value.bytes or 0, made.value
    half, rows = _HALVES.get(value.dtype or ""), value.shape[0] if value.shape else 0
    fits = two_digits(int(headroom * _USED * rows / need)) if rows else 0
    why = f"{quote(made.text)} needs {size(need)}, and {size(headroom)} is what the cell may take."
    if half is not None:
        enough = ", which fits" if need / 2 < headroom else ""
        why += f" As {half} in place of {value.dtype} it needs {size(need / 2)}{enough}."
    if fits >= 1:
        why += f" {fits:,} of its {rows:,} rows at a time need {size(need * fits / rows)}."
    else:
        why += f" In {ceil(need / (headroom * _USED))} parts, one after the other, it fits."
    code = _IN_PIECES.format(rows=f"{max(1, fits):_}", all_rows=f"{rows:_}" if rows else "n")
    return {"title_": f"Make it fit: {size(need)} is needed, {size(headroom)} was left", "why_": why, "code_": code}
