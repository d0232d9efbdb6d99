"""Who could end a wait, and where the top level of a cell awaits."""

import ast
import re
from typing import TYPE_CHECKING

from ..code.cellsource import parse
from ..units import enumeration, quote

if TYPE_CHECKING:
    from .stuck_cell import StuckCell

_WIDGETS = re.compile(r"(?i:widget)|\b(?:ipyevents|jupyter_ui_poll|jupyter_rfb|ipycanvas|comm|on_click|observe)\b")
_MOST_NAMED = 3
_WAKE = {
    "sleep": "It goes on by itself when the time is over.",
    "answer": "It goes on when you have typed an answer below the cell.",
    "file-lock": "Who holds the lock can wake it. If that process is gone, delete the lock's file.",
    "group": "It goes on when the other processes of the group have been started and have joined.",
    "partner": "It goes on when another process opens the pipe.",
}


def awaited_line(source: str) -> int | None:
    """Return the line of a cell at whose top level it awaits, if there is only one: its loop shows no frame of it."""
    tree = parse(source)
    lines: set[int] = set()
    nodes: list[ast.AST] = [] if tree is None else [*tree.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            lines.add(node.lineno)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            nodes += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.expr)]
    return lines.pop() if len(lines) == 1 else None


def may_be_clicked(still: "StuckCell") -> bool:
    """Whether the notebook has widgets: an event may come from the browser."""
    return any(_WIDGETS.search(cell.source) for cell in still.recording.cells)


def who_can_wake(still: "StuckCell") -> str | None:
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
        named = enumeration([f"{quote(one.name or 'a program')}, process {one.pid}," for one in alive[:_MOST_NAMED]])
        return f"It goes on when {named} {'ends' if len(alive) == 1 else 'end'}."
    return None
