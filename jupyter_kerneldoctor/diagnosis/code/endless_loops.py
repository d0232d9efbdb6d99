"""Loops that do not end: nothing in them changes what their condition asks.

    loop = endless_loop(code, cell, line)     # around a line of a cell, innermost first
    loop.kind, loop.why                       # "halved", "`lo = mid` changes nothing where ..."

Only what is written in the loop itself is judged. A loop that may be left otherwise, or whose condition calls what is
not known, is not said to be endless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .drifting_loops import drift
from .endless_items import endless_items
from .endless_reads import endless_read
from .endless_steps import halved, missed, reset, thrown_away
from .lasting_lengths import lasting_length
from .loop_changes import (
    FUNCTIONS,
    asked_names,
    called_name,
    is_plain,
    may_change,
    number_names,
    only_sleeps,
    running_nodes,
)
from .mistyped_ends import mistyped_end
from .notebook import Notebook
from .retries import retry
from .same_pages import same_page
from .same_rounds import same_rounds
from .scopes import Loop, Scope
from .skipped_steps import skipped
from .stuck_steps import StuckStep, stuck_steps
from .trees import holds, unparse
from .value_loops import OfValues, ValueLoop, value_loops

_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert)
_LEAVING = frozenset({"next", "exit", "quit", "_exit", "abort", "kill", "throw"})
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_EXISTS = frozenset({"exists", "isfile", "is_file", "isdir", "is_dir"})

_MAKERS = ("open", "touch", "mkdir", "makedirs", "write_text", "write_bytes")
_CONCURRENT = ("Thread", "_thread", "Timer(", "Executor", "asyncio", "signal", "ctypes", "Manager(", "Value(")
_CALLED_BACK = ("observe", "on_", "callback", "Listener", "Scheduler", "subscribe", "settrace", "setprofile")

Kind = Literal[
    "unchanged",
    "uncounted",
    "skipped",
    "halved",
    "narrowed",
    "missed",
    "reset",
    "polled",
    "file",
    "read",
    "mistyped",
    "page",
    "retried",
    "items",
    "away",
    "found",
    "kept",
    "swapped",
]


_PROVEN = ("missed", "reset", "skipped")


class EndlessLoop(NamedTuple):
    """A loop, and why it does not end."""

    scope: Scope
    node: Loop | ast.expr
    kind: Kind | OfValues
    """`uncounted`: what is compared with a length does not change; `skipped`: `continue` comes before the step;
    `halved`: a bisection that keeps its bounds; `narrowed`: one of fractions; `missed`: a sum of fractions that is to
    be equal; `reset`: `i =+ 1`; `polled`: it sleeps until others change something; `file`: until a file is gone;
    `read`: it reads on where there is nothing more; `mistyped`: it asks for the end of the data in another type;
    `page`: for the same page each time; `retried`: it does the same again after an error; `items`: it takes all of
    items without an end; `away`: each round counts in the wrong direction; `drifts`: `drifting_loops` tells; `found`,
    `kept`, `swapped`, `stalled`: `stuck_steps`; the others are in `value_loops` and `same_rounds`."""
    why: str
    at: ast.stmt | ast.expr | None = None
    """What an edit changes; of `retried` the `try`."""
    text: str | None = None
    """What is written there instead, or in front; without a place what a skipped step changes."""
    of_values: ValueLoop | None = None
    """After how many rounds it is said to be endless, where values decide that."""

    @property
    def only_sleeps(self) -> bool:
        """Whether it does nothing itself: others may be at work meanwhile."""
        return self.kind in ("polled", "file")

    @property
    def least_s(self) -> float:
        """How long a cell is in the loop before it is said to be endless.

        Of a bisection values decide that. Where the code alone proves it, another look at the loop is enough.
        """
        return {"halved": 15.0, "narrowed": 15.0, **dict.fromkeys(_PROVEN, 3.5)}.get(self.kind, 7.5)

    @property
    def last_line(self) -> int:
        """The last line it comes to: `continue`, where the step after that is left out."""
        last = self.at if self.kind == "skipped" and self.at is not None else self.node
        return last.end_lineno or last.lineno

    @property
    def head(self) -> str:
        """The first line of the loop."""
        if isinstance(self.node, ast.While):
            return f"while {self.scope.segment(self.node.test)}"
        if isinstance(self.node, ast.expr):
            return self.scope.segment(self.node)
        return f"for {self.scope.segment(self.node.target)} in {self.scope.segment(self.node.iter)}"


def endless_loop(code: Notebook, cell: Cell, line: int) -> EndlessLoop | None:
    """Return the innermost loop around a line that does not end; None where each of them may."""
    around = (one for one in code.scopes(code.index(cell)) if one.is_cell or holds(one.node, line))
    scopes = [one for one in around if not isinstance(one.node, ast.Lambda)]
    for scope in scopes[-1:]:
        loops = [one for one in scope.nodes if isinstance(one, ast.While | ast.For) and holds(one, line)]
        for loop in reversed(loops):
            code.spend(len(loop.body))
            if (end := mistyped_end(code, scope, loop)) is not None:
                return EndlessLoop(scope, loop, "mistyped", *end)
            if isinstance(loop, ast.While) and (found := next(_judged(code, scope, loop), None)) is not None:
                return found
        if (taker := endless_items(code, scope, line)) is not None:
            return EndlessLoop(scope, taker, "items", "it takes all of items that have no end")
    return None


def makes_file(code: Notebook, loop: EndlessLoop) -> bool:
    """Whether the cells make the file that a loop waits for to be gone: `open(self.path, "x")`."""
    path = unparse(loop.at) if isinstance(loop.at, ast.expr) else ""
    return any(
        unparse(given) == path
        for scope in code.scopes_mentioning(*_MAKERS)
        for call in scope.calls
        if called_name(call) in _MAKERS
        for given in (*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else []))
    )


def _judged(code: Notebook, scope: Scope, loop: ast.While) -> Iterator[EndlessLoop]:
    inner = [node for one in loop.body for node in running_nodes(one)]
    code.spend(len(inner))
    yield from (EndlessLoop(scope, loop, *one) for one in halved(loop, inner))
    yield from (EndlessLoop(scope, loop, *one) for one in reset(loop, inner))
    yield from (EndlessLoop(scope, loop, *one) for one in missed(code, scope, loop, inner))
    names = asked_names(loop.test)
    yield from _of_answers(code, scope, loop, names, inner)
    is_left = any(isinstance(one, _LEAVES) or called_name(one) in _LEAVING for one in inner) or _breaks(loop.body)
    if names and not may_change(code, scope, loop, names, inner):
        if is_left or not all(is_plain(code, one) for one in names):
            return
        if only_sleeps(loop):
            yield EndlessLoop(scope, loop, "polled", "it sleeps until something else changes what it asks")
        elif not (_is_meant(code, scope, loop) or _is_changed_elsewhere(code, scope, loop, names)):
            at, text = thrown_away(scope, inner, names) or (None, None)
            yield EndlessLoop(scope, loop, "unchanged", f"nothing in the loop changes {_either(names)}", at, text)
    elif names:
        for one in skipped(loop, names):
            if not _is_changed_elsewhere(code, scope, loop, one.asked):
                why = f"at `continue` nothing has changed {_either(names)}, so that the next round is the same"
                at, text = (
                    (one.left, scope.segment(one.step)) if one.is_known(loop) else (None, unparse(one.step.target))
                )
                yield EndlessLoop(scope, loop, "skipped", why, at, text)
        if not is_left:
            yield from _uncounted(code, scope, loop, names, inner)
    yield from _of_values(code, scope, loop, inner)
    if not is_left and only_sleeps(loop) and (path := _awaited_file(loop.test)) is not None:
        yield EndlessLoop(scope, loop, "file", f"it sleeps until the file {unparse(path)} is gone", path)


def _of_values(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[EndlessLoop]:
    """Find what only the rounds tell that were seen: values bring it to its end, or each round is the same."""
    for step in stuck_steps(code, scope, loop, inner):
        if step.kind not in ("kept", "stalled") or not _is_changed_elsewhere(code, scope, loop, asked_names(loop.test)):
            yield EndlessLoop(scope, loop, *step, of_values=_of_looks(step))
    drifts = drift(loop)
    if drifts is not None and not _is_changed_elsewhere(code, scope, loop, frozenset({drifts.name})):
        rounds = None if drifts.is_away else ValueLoop("drifts", drifts.why, 3000, is_cheap=drifts.is_cheap)
        yield EndlessLoop(scope, loop, "away" if drifts.is_away else "drifts", drifts.why, of_values=rounds)
    values = [*value_loops(code, loop, inner)]
    yield from (EndlessLoop(scope, loop, one.kind, one.why, of_values=one) for one in values)
    same = None if values else same_rounds(code, scope, loop, inner)
    if same is not None and not _is_changed_elsewhere(code, scope, loop, same.names):
        why = f"its end depends on {_either(same.names)}, and each round leaves that as it is"
        rounds = ValueLoop("same", why, 5, may_repeat=True) if same.from_the_second else None
        at, text = thrown_away(scope, inner, same.names) or (None, None)
        yield EndlessLoop(scope, loop, "same", why, at, text, rounds)


def _of_looks(step: StuckStep) -> ValueLoop | None:
    """Return what the looks have to bear out: a step that was taken lately is none that is stuck."""
    return ValueLoop("stalled", step.why, 3) if step.kind == "stalled" else None


def _of_answers(
    code: Notebook, scope: Scope, loop: ast.While, names: frozenset[str], inner: list[ast.AST]
) -> Iterator[EndlessLoop]:
    """Find what gives the same answer each time: the end of the data, the same page, what failed before."""
    if (read := endless_read(code, scope, loop.test, inner)) is not None:
        text = scope.segment(read.statement)
        why = f"at the end of the data `{text}` reads nothing, at once and each time, and nothing asks for that"
        yield EndlessLoop(scope, loop, "read", why, read.statement, None if read.adds else read.name)
    if (place := same_page(code, scope, loop, inner)) is not None:
        why = f"each round asks for the same page again, as nothing in the loop changes `{place.id}`"
        yield EndlessLoop(scope, loop, "page", why, place)
    if (tried := retry(code, loop, names)) is not None:
        why = "each round ends in an error, and the next one does the same: nothing in `except` changes anything"
        yield EndlessLoop(scope, loop, "retried", why, tried)


def _uncounted(
    code: Notebook, scope: Scope, loop: ast.While, names: frozenset[str], inner: list[ast.AST]
) -> Iterator[EndlessLoop]:
    """Find a number that is compared with the length of a list, and that nobody changes."""
    counts = names & number_names(loop.test)
    if not counts or may_change(code, scope, loop, counts, inner) or _is_meant(code, scope, loop):
        return
    length = lasting_length(code, loop)
    if length is not None and names == counts | {length} and not _is_changed_elsewhere(code, scope, loop, counts):
        yield EndlessLoop(scope, loop, "uncounted", f"nothing in the loop changes {_either(counts)}")


def _either(names: frozenset[str]) -> str:
    return " or ".join(f"`{one}`" for one in sorted(names))


def _is_changed_elsewhere(code: Notebook, scope: Scope, loop: ast.While, names: frozenset[str]) -> bool:
    """Whether a thread, a callback or a signal may change what the loop asks: not a function's own number."""
    is_own = not scope.is_cell and all("." not in one and one in scope.bindings for one in names)
    is_own = is_own and names <= number_names(loop.test)
    return not is_own and code.has_text(*_CONCURRENT, *_CALLED_BACK)


def _is_meant(code: Notebook, scope: Scope, loop: ast.While) -> bool:
    """Whether a loop is to go on until an exception ends it: `while running`, or one within a `try`."""
    bound = code.lookup(loop.test.id, scope, loop) if isinstance(loop.test, ast.Name) else None
    is_true = bound is not None and isinstance(bound.value, ast.Constant) and bound.value.value in (True, 1)
    return is_true or any(isinstance(one, ast.Try) and one.handlers for one in scope.around(loop))


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a `break` leaves the loop of this body."""
    for one in body:
        if isinstance(one, ast.Break):
            return True
        parts = [getattr(one, name, []) for name in ("body", "orelse", "finalbody")]
        parts += [part.body for part in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]]
        if isinstance(one, _LOOPS):
            parts = [one.orelse]
        if not isinstance(one, FUNCTIONS) and any(map(_breaks, parts)):
            return True
    return False


def _awaited_file(test: ast.expr) -> ast.expr | None:
    """Return the path that a condition asks to be there."""
    match test:
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=args) if attr in _EXISTS and len(args) < 2:
            return args[0] if args else owner
    return None
