import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...code.notebook import Notebook
from ...code.scopes import Scope
from ...edits import Changes, indent_unit, insert_before, replace_by_lines
from ...examples.stuck import frame, look, own_frame, thread
from ...fix import Case, Death, Fix, Proposal
from ...units import plural, quote

_GETS = re.compile(r"(?<![\w.])([\w.]+)\.get\(")
_PUTS = frozenset({"put", "put_nowait"})
_READS = "def work(q):\n    while True:\n        x = q.get()\n        if x is None: break\n        f(x)"
_RUNS = "ts = [Thread(target=work, args=(q,)) for _ in range(3)]\nfor x in xs: q.put(x)\n"
_ENDS = "for t in ts:\n    t.join()"


def _case(reads: str, runs: str, **more: Any) -> Case:
    waits = thread(frame("queue.py", "get"), own_frame(reads, 3, "work"), waits_in="futex_wait_queue", main=False)
    line = runs.count("\n") + 1
    stuck = look(runs, line, frame("threading.py", "join"), waits_in="futex_wait_queue", threads=[waits] * 3)
    return Case(reads, runs, cause="hang", alive=True, end="not-seen", line=line, stuck=[stuck], **more)


class EndMarkForEach(Fix):
    """Put one end mark into the queue for each thread that reads it.

    What it does: A thread that reads a queue until it meets an end mark, `None` say, takes that mark out: the next
    thread waits for one of its own, and who joins it waits, too. The edit puts in as many as there are threads.

    When it is offered: The cell waits for threads to end, and these wait for an item of a queue.

    What it costs: Nothing.
    """

    id, title, causes = "end-mark-for-each", "Put one end mark into the queue for each thread that reads it", ("hang",)

    FIRES = [
        _case(
            _READS,
            f"{_RUNS}q.put(None)\n{_ENDS}",
            becomes=f"{_RUNS}for _ in ts:\n    q.put(None)\n{_ENDS}",
            says=("3 threads", "`q.put(None)`"),
        ),
        _case(_READS, _RUNS + _ENDS, becomes=f"{_RUNS}for _ in ts:\n    q.put(None)\n{_ENDS}"),
        _case(_READS.replace("        if x is None: break\n", ""), _RUNS + _ENDS, says=("if x is None:",)),
    ]
    SILENT = [
        _case(_READS, f"{_RUNS}for _ in ts: q.put(None)\n{_ENDS}"),
        Case("t.join()", cause="hang", alive=True, end="not-seen", line=1, stuck=[look("t.join()", 1)]),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Count the threads that wait, and the marks that were put in."""
        still = death.stuck_cell
        if still is None or not still.main.waits_for_threads:
            return
        reading = [one for one in still.others if any((at.short_file, at.function) == _GET for at in one.frames)]
        found = _GETS.search(reading[0].code) if reading else None
        if found is None:
            return
        owner = found[1]
        reader = _reader(death.code, reading[0].code.strip())
        many = plural(len(reading), "thread")
        waits = f"{many} wait{'s' if len(reading) == 1 else ''} at {quote(reading[0].code.strip())} for one more item"
        if reader is None or reader.mark is None:
            item = "item" if reader is None else reader.item
            why = f"{waits}, and {quote(still.main.code.strip())} waits until they end: nothing tells them to."
            snippet = (
                f"for _ in threads:\n    {owner}.put(None)  # when all is put in: one for each\n\n"
                f"{item} = {owner}.get()  # in the thread\nif {item} is None:\n    break"
            )
            yield Proposal((), why, snippet=snippet)
            return
        marks = _marks(death.code, reader.mark)
        if any(scope.loops_around(put) for scope, put in marks):
            return
        why = f"{waits}. Each takes its own end mark out of the queue, and "
        why += (
            f"there is only one: {quote(marks[0][0].segment(marks[0][1]))}."
            if marks
            else f"nobody puts {quote(reader.mark)} in."
        )
        snippet = f"for _ in threads:\n    {owner}.put({reader.mark})  # one end mark for each thread"
        yield Proposal(_repeated(death.code, marks, reader.mark), why, snippet=snippet)


_GET = ("queue.py", "get")


class _Reader(NamedTuple):
    item: str
    mark: str | None
    """What the item is compared with, before the loop is left."""


def _reader(code: Notebook, text: str) -> _Reader | None:
    """Return the name that an item gets at the line where the threads wait, and its end mark."""
    for module in code.mentioning("get"):
        for scope in code.scopes(module.cell):
            for node in scope.nodes:
                match node:
                    case ast.Assign(targets=[ast.Name(id=item)]) | ast.NamedExpr(target=ast.Name(id=item)) if (
                        scope.segment(node).strip() in text
                    ):
                        return _Reader(item, _mark(scope, item))
    return None


def _mark(scope: Scope, item: str) -> str | None:
    for node in scope.nodes:
        match node:
            case ast.Compare(
                left=ast.Name(id=name) | ast.NamedExpr(target=ast.Name(id=name)),
                ops=[ast.Is() | ast.Eq() | ast.IsNot() | ast.NotEq()],
                comparators=[mark],
            ) if name == item:
                return ast.unparse(mark)
    return None


def _marks(code: Notebook, mark: str) -> list[tuple[Scope, ast.Expr]]:
    """Return the statements that put an end mark into a queue."""
    return [
        (scope, node)
        for module in code.mentioning(*_PUTS)
        for scope in code.scopes(module.cell)
        for node in scope.nodes
        if isinstance(node, ast.Expr) and _puts(node.value) == mark
    ]


def _puts(node: ast.expr) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[given]) if attr in _PUTS:
            return ast.unparse(given)
    return None


def _repeated(code: Notebook, marks: list[tuple[Scope, ast.Expr]], mark: str) -> Changes:
    """Return the edit that puts in as many marks as threads are joined."""
    for module in code.mentioning("join"):
        for scope in code.scopes(module.cell):
            for node in scope.nodes:
                match node:
                    case ast.For(target=ast.Name(id=one), iter=ast.Name(id=threads), body=body) if any(
                        ast.unparse(step).startswith(f"{one}.join(") for step in body
                    ):
                        own = [put for where, put in marks if where is scope]
                        puts = [call.func for call in scope.calls if _puts(call) is not None]
                        if len(marks) == 1 and own:
                            text = scope.segment(own[0])
                            header = f"for _ in {threads}:"
                            return replace_by_lines(scope, own[0], header, f"{indent_unit(scope, own[0])}{text}")
                        if not marks and puts and isinstance(puts[-1], ast.Attribute):
                            put = f"{scope.segment(puts[-1].value)}.put({mark})"
                            unit = indent_unit(scope, node)
                            return insert_before(scope, node, f"for _ in {threads}:", f"{unit}{put}")
    return ()
