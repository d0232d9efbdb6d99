"""Finds the calls that end the kernel which a cell gives to something that makes them later: a timer, a handler."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from .calls import INTERESTING, NATIVE, EndingCall, Known, judge
from .cellsource import mask
from .names import names_of, ran_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_kerneldoctor.recording.model import Cell

_CALL_LATER = frozenset(
    {"Thread", "Timer", "start_new_thread", "signal", "add_signal_handler", "call_later", "call_at", "add_timeout"}
    | {"PeriodicCallback", "run_in_executor", "to_thread"}
)
"""Functions by the last part of their name that have a function called by a thread, a timer or a signal's handler."""
_HANDS_OVER = re.compile(rf"\b(?:{'|'.join(sorted(_CALL_LATER))}|dump_traceback_later)\s*\(")
_NAMES_AN_EXIT = re.compile(r"\b_?exit\b")


def handed_over(cells: Sequence[Cell], last: Cell | None = None) -> tuple[tuple[Cell, EndingCall], ...]:
    """Return the calls that a timer, a thread, a handler or the like may make later, and the cells they stand in.

    They are in a function or a `lambda` that a cell, up to the last one, gives to such a function.
    """
    ran = [*ran_before(cells, last), *([] if last is None else [last])]
    if not any(_HANDS_OVER.search(one.source) for one in ran) or not any(INTERESTING.search(one.source) for one in ran):
        return ()  # parsing the cells of a day takes a second
    known = Known()
    found: list[tuple[Cell, EndingCall]] = []
    homes: dict[str, Cell] = {}
    for one in ran:
        masked = None if one.truncated else known.learn(one.source)
        if masked is not None and known.concerns(one.source):
            defined = [node.name for node in masked.tree.body if isinstance(node, ast.FunctionDef)]
            homes.update(dict.fromkeys(defined, one))
            found.extend(_given(masked.tree, known, homes, one))
    return tuple(found)


def _given(tree: ast.Module, known: Known, homes: dict[str, Cell], cell: Cell) -> Iterator[tuple[Cell, EndingCall]]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for given in _arguments(call):
            if isinstance(given, ast.Name) and given.id in known.functions and given.id in homes:
                yield homes[given.id], known.functions[given.id]
            elif isinstance(given, ast.Lambda):
                names = known.names.within(given)
                inner = (judge(node, names, cell.source) for node in ast.walk(given) if isinstance(node, ast.Call))
                yield from ((cell, ending) for ending in inner if ending is not None)
            elif (ending := judge(_called(given, call), known.names, cell.source)) is not None:
                yield cell, ending
        if known.names.resolve(call.func) == "faulthandler.dump_traceback_later":
            yield from _exit_after(call, cell)


def _arguments(call: ast.Call) -> list[ast.expr]:
    """What is given to a function that calls it later, in this process: what a worker process does ends only that."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return [*call.args, *(keyword.value for keyword in call.keywords)] if name in _CALL_LATER else []


def _called(given: ast.expr, call: ast.Call) -> ast.expr:
    """The call that will be made of `Timer(9, os._exit, args=(3,))` or `call_later(9, os._exit, 3)`."""
    behind = call.args[call.args.index(given) + 1 :] if given in call.args else []
    arguments = next((word.value for word in call.keywords if word.arg == "args"), behind[0] if behind else None)
    inner = arguments.elts if isinstance(arguments, ast.Tuple | ast.List) else behind
    return ast.copy_location(ast.Call(given, inner, []), call)


def _exit_after(call: ast.Call, cell: Cell) -> Iterator[tuple[Cell, EndingCall]]:
    """With `exit=True`, faulthandler leaves with 1 when the time is up (faulthandler.dump_traceback_later)."""
    if any(word.arg == "exit" and isinstance(word.value, ast.Constant) and word.value.value for word in call.keywords):
        text = ast.get_source_segment(cell.source, call) or ""
        yield cell, EndingCall("exit", call.lineno, text, exit_code=1)


def names_an_exit(cells: Sequence[Cell], cell: Cell) -> int | None:
    """Return the first line of `cell` that names `os._exit` or a native exit, also within functions; None without one.

    A handler of a signal, a timer or another thread may run it, where no statement of the cell calls it.
    """
    masked = mask(cell.source)
    if cell.truncated or masked is None:
        return None
    names = names_of((*ran_before(cells, cell), cell), lambda one: _NAMES_AN_EXIT.search(one.source))
    found = [
        node.lineno
        for node in ast.walk(masked.tree)
        if isinstance(node, ast.Name | ast.Attribute) and _is_exit(names.resolve(node) or "")
    ]
    return min(found, default=None)


def _is_exit(name: str) -> bool:
    return name == "os._exit" or (bool(NATIVE.fullmatch(name)) and name.endswith("exit"))
