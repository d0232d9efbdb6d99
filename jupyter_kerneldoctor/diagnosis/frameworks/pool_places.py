"""Pools whose places are all taken by tasks that wait, while the one that would serve them waits for a place."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

from ..analysis.stuck_cell import StuckCell
from ..analysis.thread_waits import ThreadWait
from ..analysis.user_frames import user_frames
from ..code.calls import last_name
from ..code.loop_changes import called_name
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from ..code.values import Values

_PLACES = {"ThreadPoolExecutor": "max_workers", "ProcessPoolExecutor": "max_workers"}
_PLACES |= {"ThreadPool": "processes", "Pool": "processes"}
"""What makes a pool, and the argument that says how many tasks run at the same time."""
_SUBMITS = frozenset(
    {"submit", "apply_async", "run_in_executor", "map", "map_async", "imap", "imap_unordered", "starmap"}
)
_ONE_EACH = frozenset({"submit", "apply_async", "run_in_executor"})


class Submission(NamedTuple):
    """A call that gives a pool a function to run."""

    scope: Scope
    call: ast.Call
    pool: ast.expr
    target: ast.expr
    """The function, as it is given."""
    given: list[ast.expr]
    """What it is called with."""
    made: ast.Call
    """The call that made the pool."""
    made_in: Scope

    @property
    def function(self) -> str:
        """The function's name."""
        return last_name(self.target)

    def times(self, values: Values) -> int | None:
        """Return how many tasks it submits; None where that is not known."""
        if called_name(self.call) not in _ONE_EACH:
            return None
        statement = self.scope.statement_of(self.call)
        repeats: list[ast.AST] = [*self.scope.loops_around(self.call)]
        repeats += [one for one in walk(statement) if isinstance(one, ast.comprehension)] if statement else []
        counts = [_rounds(one, self.scope, values) for one in repeats]
        known = [one for one in counts if one is not None]
        return prod(known) if len(known) == len(counts) else None


class FullPool(NamedTuple):
    """A pool, who has taken its places, and which task found none."""

    places: ast.expr
    many: int
    waiting: tuple[str, ...]
    """The functions of the tasks that have the places."""
    line: str
    """The line at which they wait."""
    submitted: Submission
    """One of them."""
    later: Submission
    """The task that does not begin."""
    has_one_too_few: bool
    """Whether one worker more is enough: as many tasks wait as were submitted, and one more comes."""

    @property
    def is_nested(self) -> bool:
        """Whether those that wait have submitted it themselves."""
        return self.later.scope.function in self.waiting


def full_pool(still: StuckCell, code: Notebook, values: Values) -> FullPool | None:
    """Return the pool whose places are all taken by tasks that wait, with a task that was submitted after them."""
    waits = [
        one for one in (*still.others, *(child.waiting for child in still.waiting)) if one.kind in ("lock", "pipe")
    ]
    tasks = [(name, one.code.strip()) for one in waits if (name := _task(one, still))]
    given = [*_submissions(code, {name for name, _ in tasks})]
    for one in given:
        many = values.number(_places(one.made), one.made_in)
        same = [other for other in given if other.made is one.made]
        counts = Counter(name for name, _ in tasks if any(other.function == name for other in same))
        if many is None or counts.total() != many or _places(one.made) is None:
            continue
        later = next((other for other in same if _comes_after(other, same, counts)), None)
        first = next((other for other in same if other.function in counts), None)
        line = next((text for name, text in tasks if name in counts), "")
        places = _places(one.made)
        if later is not None and first is not None and places is not None:
            submitted = [other.times(values) for other in same if other.function in counts]
            few = None not in submitted and sum(one or 0 for one in submitted) == many and later.times(values) == 1
            return FullPool(places, many, tuple(counts), line, first, later, few)
    return None


def _comes_after(one: Submission, same: Iterable[Submission], counts: Counter[str]) -> bool:
    """Whether a task waits for a place: it was submitted after all that have one, or by one of them."""
    if one.function in counts:
        return one.scope.function in counts
    before = [other for other in same if other.function in counts]
    is_last = all(other.scope is one.scope and other.call.lineno < one.call.lineno for other in before)
    return one.scope.function in counts or (bool(before) and is_last and not _shares_a_loop(one, before))


def _shares_a_loop(one: Submission, others: Iterable[Submission]) -> bool:
    loops = set(one.scope.loops_around(one.call))
    return any(loops & set(other.scope.loops_around(other.call)) for other in others)


def _submissions(code: Notebook, functions: set[str]) -> Iterator[Submission]:
    """Yield what the cells give to pools of tasks; nothing where no task was seen."""
    if not functions:
        return
    for scope in code.scopes_mentioning(*_SUBMITS):
        for call in scope.calls:
            if called_name(call) not in _SUBMITS or not isinstance(call.func, ast.Attribute):
                continue
            if len(call.args) < 1 + (call.func.attr == "run_in_executor"):
                continue
            by_loop = call.func.attr == "run_in_executor"
            pool, (target, *given) = (call.args[0], call.args[1:]) if by_loop else (call.func.value, call.args)
            if call.func.attr == "apply_async" and given and isinstance(given[0], ast.Tuple | ast.List):
                given = given[0].elts
            for made, home in _makers(pool, scope, code):
                yield Submission(scope, call, pool, target, given, made, home)
                break


def _rounds(repeat: ast.AST, scope: Scope, values: Values) -> int | None:
    match repeat:
        case ast.comprehension(iter=items, ifs=[]) | ast.For(iter=items):
            match items:
                case ast.Call(func=ast.Name(id="range"), args=[many]):
                    return values.number(many, scope)
                case ast.Tuple(elts=elts) | ast.List(elts=elts):
                    return len(elts)
    return None


def _makers(pool: ast.expr, scope: Scope, code: Notebook) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls that may have made a pool, those in its own function first."""
    text, known = scope.segment(pool), [one for one in code.scopes_mentioning(*_PLACES) if one is not scope]
    for home in (scope, *known):
        for node in home.nodes:
            match node:
                case (
                    ast.withitem(context_expr=ast.Call() as made, optional_vars=ast.expr() as target)
                    | ast.Assign(targets=[target], value=ast.Call() as made)
                ) if called_name(made) in _PLACES and home.segment(target) == text:
                    yield made, home
    for one, home in all_origins(pool, scope, code):
        if isinstance(one, ast.Call) and called_name(one) in _PLACES:
            yield one, home


def _places(made: ast.Call) -> ast.expr | None:
    name = _PLACES[called_name(made)]
    return next((one.value for one in made.keywords if one.arg == name), made.args[0] if made.args else None)


def _task(waiting: ThreadWait, still: StuckCell) -> str:
    """Return the function of the cells that a thread or process was given, or "" where it runs none."""
    own = [one for one in user_frames(waiting.frames, still.frames, None) if one.cell is not None and not one.is_cell]
    return own[-1].frame.function if own else ""
