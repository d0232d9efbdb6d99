"""A cell that does nothing, in sentences: for how long, what each thread and child waits for, and who could wake it."""

from collections.abc import Iterator

from ..analysis.stuck_cell import BlockedChild, StuckCell
from ..postmortem import Evidence
from ..units import duration, enumeration, quote

_THREADS_SHOWN = 4
_MOST_NAMED = 3
_WAKE = {
    "sleep": "The sleep itself ends when its time is over.",
    "answer": "It goes on when you have typed an answer below the cell.",
    "file-lock": "Who holds the lock can wake it. If that process is gone, delete the lock's file.",
    "group": "It goes on when the other processes of the group have been started and have joined.",
    "partner": "It goes on when another process opens the pipe.",
}


def evidence(still: StuckCell | None) -> Iterator[Evidence]:
    """Say for how long nothing happened, what each thread does, and what the children do; nothing for no such cell."""
    if still is None:
        return
    quiet = f"For {duration(still.lasted_s)} the cell has used hardly any processor time and written nothing"
    text = f"{quiet}, and neither has any process it started."
    yield Evidence(text, round(still.lasted_s, 1), "s", "/proc/PID/stat")
    main = f"The thread that runs the cells {still.does}{still.within(still.main.frames)}."
    yield Evidence(main, still.main.wchan, None, "stack")
    for other in still.others[:_THREADS_SHOWN]:
        yield Evidence(f"Another thread {other.doing}{still.within(other.frames)}.", other.wchan, None, "stack")
    for child in still.waiting[:_THREADS_SHOWN]:
        yield _of_child(still, child)
    if (told := _who_can_wake(still)) is not None:
        yield Evidence(told, source="stack")


def _of_child(still: StuckCell, child: BlockedChild) -> Evidence:
    what = "A copy of the kernel (a fork)" if child.state.forked else "The child process"
    named = quote(child.state.name) if child.state.name and not child.state.forked else ""
    if child.state.state == "Z":
        does = "has ended"
    elif still.is_idle(child):
        does = "waits for its next task"
    elif child.state.reads_terminal:
        does = "waits for somebody to type an answer"
    else:
        does = f"{child.waiting.doing}{still.within(child.waiting.frames)}"
    subject = " ".join(filter(None, (what, named)))
    return Evidence(f"{subject}, process {child.state.pid}, {does}.", child.state.pid, None, "stack")


def _who_can_wake(still: StuckCell) -> str | None:
    """Return who can end the wait, in a sentence; None where nothing is known of that."""
    main, kind = still.main, still.main.kind
    wakers = enumeration(main.wakers[:_MOST_NAMED]) if main.wakers else ""
    alive = [child for child in still.stuck.children if child.state != "Z"]
    if kind == "file-lock" and wakers:
        return f"It goes on when {wakers} gives the lock back."
    if kind in _WAKE:
        return _WAKE[kind]
    if kind == "event" and main.has_limit:
        return "A timer of its event loop wakes it."
    if kind in ("event", "input", "pipe") and wakers:
        return f"It goes on when something comes from {wakers}."
    if kind in ("event", "lock") and not still.nobody_can_end_it and not still.blocked_forks:
        return "Another thread or process, which is at work or waits for somebody outside, can wake it."
    if kind == "event" and main.needs_an_event:
        return "No timer, connection, process or thread is left that could wake it."
    if kind in ("child", "program") and alive:
        named = enumeration([f"{quote(one.name or 'a program')} (process {one.pid})" for one in alive[:_MOST_NAMED]])
        return f"It goes on when {named} {'ends' if len(alive) == 1 else 'end'}."
    return None
