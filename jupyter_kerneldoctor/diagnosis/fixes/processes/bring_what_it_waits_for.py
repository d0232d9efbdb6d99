import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...analysis.stuck_cell import StuckCell
from ...code.calls import plain_names
from ...code.notebook import Notebook
from ...code.trees import walk
from ...examples.stuck import frame, look, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote, stuck
from ...units import plural

_TELLS = {
    **dict.fromkeys(("threading.Event", "asyncio.Event"), frozenset({"set"})),
    **dict.fromkeys(("threading.Condition", "asyncio.Condition"), frozenset({"notify", "notify_all"})),
    **dict.fromkeys(("asyncio.Future", "concurrent.futures.Future"), frozenset({"set_result", "set_exception"})),
}
"""What wakes those who wait for an object."""
_WAITS = frozenset({"wait", "wait_for", "result"})
_AT_BARRIER = ("threading.py", "_wait")
_WAITING = (frame("threading.py", "wait"), frame("threading.py", "wait"))
_MEETS = "b = threading.Barrier(3)\ndef work():\n    b.wait()\n"
_IMPORTS = "import asyncio\n"


def _awaits(source: str, line: int, *says: str) -> Case:
    loop = thread(frame("asyncio/base_events.py", "_run_once"), waits_in="do_epoll_wait")
    waiting = replace(look(source, line), threads=(replace(loop, has_limit=False, wakers=()),))
    return Case(source, cause="hang", line=line, stuck=[waiting], says=says)


def _waits(source: str, line: int, *says: str, **more: Any) -> Case:
    return stuck("import threading", source, line=line, inner=_WAITING, says=says, **more)


def _meets(parties: str, *says: str) -> Case:
    source = _MEETS.replace("3", parties) + "for t in ts:\n    t.join()"
    there = thread(frame("threading.py", "_wait"), own_frame(source, 3, "work"), waits_in="futex", main=False)
    joins = [frame("threading.py", "join")]
    return stuck("import threading", source, inner=joins, threads=[there] * 2, says=says)


class BringWhatItWaitsFor(Fix):
    """See to it that somebody brings what the cell waits for.

    What it does: An event is set by another thread or task, which has to be started before anybody waits; a barrier
    opens for as many threads as it was made for. The snippet puts first what has to come first.

    When it is offered: The kernel is stuck, and no cell ever does what would wake it, or only the lines that come after
    the wait; or fewer threads have come to a barrier than it waits for.

    What it costs: Nothing.
    """

    id, title, causes = "bring-what-it-waits-for", "See to it that somebody brings what it waits for", ("hang",)
    unless_offered = frozenset({"let-the-wait-end", "read-the-queue-first", "await-in-coroutines", "hand-on-the-error"})

    FIRES = [
        _waits("e = threading.Event()\ne.wait()", 2, "no cell calls `e.set()`", "target=work"),
        _waits("e = threading.Event()\ne.wait()\ne.set()", 2, "`e.set()` comes after it", "in another thread"),
        _waits("c = threading.Condition()\nwith c:\n    c.wait()", 3, "`c.notify()`"),
        _awaits(_IMPORTS + "ready = asyncio.Event()\nawait ready.wait()", 3, "`ready.set()`", "asyncio.create_task"),
        _awaits(
            _IMPORTS + "answer = asyncio.get_running_loop().create_future()\nx = await answer", 3, "answer.set_result("
        ),
        _awaits(
            _IMPORTS
            + "q = asyncio.Queue(maxsize=2)\nfor x in xs:\n    await q.put(x)\ntask = asyncio.create_task(eat(q))",
            4,
            "before you fill it",
            "`task = asyncio.create_task(eat(q))`",
        ),
        _meets("3", "3 threads", "2 are there", "threading.Barrier(2)"),
    ]
    SILENT = [
        _waits("def work(): e.set()\ne = threading.Event()\ne.wait()", 3),
        _waits("e = threading.Event()\nTimer(5, e.set).start()\ne.wait()", 3),
        _waits("e = threading.Event()\nserve(e)\ne.wait()", 3),  # it may be set there
        _waits("e = make()\ne.wait()", 2),
        _awaits(
            _IMPORTS + "q = asyncio.Queue()\nfor x in xs:\n    await q.put(x)\ntask = asyncio.create_task(eat(q))", 4
        ),
        _awaits(
            _IMPORTS + "q = asyncio.Queue(maxsize=2)\nt = asyncio.create_task(eat(q))\nawait q.put(x)\nt.cancel()", 4
        ),
        _meets("2"),
        _meets("n"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None:
            return
        yield from _of_a_barrier(still, death.code)
        for node, owner, scope in _waiting(still, death):
            if (made := _made(owner, scope, death.code)) is not None:
                yield from _of_teller(node, owner, scope, made, death.code)
            yield from _of_full_queue(node, owner, scope, death.code)


def _waiting(still: StuckCell, death: Death) -> Iterator[tuple[ast.expr, ast.Name, Scope]]:
    """Yield what waits at the line, and the name of what it waits for: `e.wait()`, `await q.put(x)`, `await future`."""
    for node, scope in death.code.running.nodes(ast.Call, ast.Await):
        if node.lineno != still.line or not death.code.is_at_line(node, scope):
            continue
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as owner, attr=attr), args=[] | [ast.Lambda()], keywords=[]
            ):
                if attr in _WAITS:
                    yield node, owner, scope
            case (
                ast.Await(value=ast.Name() as owner)
                | ast.Await(value=ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="put")))
            ):
                yield node, owner, scope


def _made(owner: ast.Name, scope: Scope, code: Notebook) -> frozenset[str] | None:
    """Return what tells those who wait for an object, if a cell made it; None for others."""
    bound = code.lookup(owner.id, scope, owner)
    match None if bound is None else bound.value:
        case ast.Call(func=ast.Attribute(attr="create_future")):
            return _TELLS["asyncio.Future"]
        case ast.Call(func=function) if bound is not None:
            return _TELLS.get(code.qualified(function, bound.scope) or "")
    return None


def _of_teller(
    node: ast.expr, owner: ast.Name, scope: Scope, tells: frozenset[str], code: Notebook
) -> Iterator[Proposal]:
    """Tell that nobody wakes those who wait, or only what comes after the wait."""
    name, after = owner.id, ""
    for other in code.scopes_mentioning(name):
        for one in other.nodes:
            match one:
                case ast.Attribute(value=ast.Name(id=of), attr=attr) if of == name and attr in tells:
                    if other is not scope or one.lineno <= node.lineno or scope.loops_around(node):
                        return  # a thread, a callback, or a round before
                    after = after or scope.segment(scope.statement_of(one) or one)
            if _is_given_away(one, name):
                return
    line = scope.statement_of(node) or node
    text = f"{name}.set_result(answer)" if "set_result" in tells else f"{name}.{min(tells)}()"
    why = f"{quote(scope.segment(node))} waits until somebody calls {quote(text)}. "
    why += (
        f"{quote(after)} comes after it, and never runs."
        if after
        else f"It was made here, and no cell calls {quote(text)}."
    )
    is_async = any(isinstance(one, ast.Await) for one in walk(line))
    start = "task = asyncio.create_task(work())" if is_async else "threading.Thread(target=work).start()"
    head, where = ("async def", "task") if is_async else ("def", "thread")
    snippet = f"{head} work():\n    ...\n    {text}\n\n{start}  # first, in another {where}\n{scope.segment(line)}"
    yield Proposal((), why, snippet=snippet)


def _is_given_away(node: ast.AST, name: str) -> bool:
    """Whether an object is handed to what may wake those who wait for it, or has another name, too."""
    match node:
        case ast.Call(args=args, keywords=words):
            given = [*args, *(one.value for one in words)]
        case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
            given = [value]
        case ast.List(elts=given) | ast.Tuple(elts=given) | ast.Dict(values=given):
            pass
        case _:
            return False
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def _of_full_queue(node: ast.expr, owner: ast.Name, scope: Scope, code: Notebook) -> Iterator[Proposal]:
    """Tell that the task that takes out of a queue is started only after that is full."""
    bound = code.lookup(owner.id, scope, owner) if isinstance(node, ast.Await) else None
    made = None if bound is None else bound.value
    if bound is None or not isinstance(made, ast.Call) or code.qualified(made.func, bound.scope) != "asyncio.Queue":
        return
    sized = next(iter([*made.args, *(one.value for one in made.keywords)]), None)
    readers = [
        (other, one)
        for other in code.scopes_mentioning(owner.id)
        for one in other.calls
        if other.statement_of(one) is not scope.statement_of(node) and owner.id in plain_names(one)
    ]
    if sized is None or not readers or any(other is not scope or one.lineno < node.lineno for other, one in readers):
        return
    start = scope.segment(scope.statement_of(readers[0][1]) or readers[0][1])
    why = f"{quote(owner.id)} has room for {quote(scope.segment(sized))}, and {quote(scope.segment(node))} waits for "
    why += f"more: who takes something out is started later, at {quote(start)}."
    snippet = f"{start}  # first\n{scope.segment(scope.statement_of(node) or node)}  # then fill it"
    yield Proposal((), why, title="Start those who read the queue before you fill it", snippet=snippet)


def _of_a_barrier(still: StuckCell, code: Notebook) -> Iterator[Proposal]:
    """Tell that fewer threads have come to a barrier than it waits for."""
    waiting = (still.main, *still.others)
    there = sum(any((one.short_file, one.function) == _AT_BARRIER for one in thread.frames) for thread in waiting)
    made = [*code.calls("threading.Barrier")]
    if not there or len(made) != 1:
        return
    match made[0].argument("parties", 0):
        case ast.Constant(value=int(parties)) if parties > there:
            why = f"{quote(made[0].text)} opens when {parties} threads wait at it, and {there} "
            why += "are there." if there > 1 else "is there."
            function = made[0].scope.segment(made[0].node.func)
            snippet = f"{function}({there})  # as many as there are threads: {plural(there, 'thread')}\n"
            snippet += "# a pool needs max_workers of as many; .wait(timeout=60) raises BrokenBarrierError"
            yield Proposal((), why, title="Let as many threads come as the barrier waits for", snippet=snippet)
