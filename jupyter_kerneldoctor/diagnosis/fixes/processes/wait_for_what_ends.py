import ast
from collections.abc import Iterator
from dataclasses import replace

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...examples.stuck import frame, look, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote, stuck

_WORKER = (
    "import asyncio\nasync def worker(jobs):\n    while True:\n        job = await jobs.get()\n        await run(job)\n"
)
_GATHERS = "await asyncio.gather(fill(q), *[worker(q) for _ in range(3)])"
_GATHERERS = frozenset({"gather", "wait"})
_LEAVES = (ast.Return, ast.Break, ast.Raise, ast.Assert)


def _awaits(*cells: str, says: tuple[str, ...] = ()) -> Case:
    loop = thread(frame("asyncio/base_events.py", "_run_once"), waits_in="do_epoll_wait")
    waiting = replace(look(cells[-1], 1), threads=(replace(loop, has_limit=False, wakers=()),))
    return Case(*cells, cause="hang", line=1, stuck=[waiting], says=says)


def _joins(source: str, *says: str) -> Case:
    return stuck("import threading", source, inner=[frame("threading.py", "join")], says=says)


class WaitForWhatEnds(Fix):
    """Wait only for what ends: your own threads, and tasks that return.

    What it does: A kernel has threads of its own, for its messages, and they run as long as it does. So
    `threading.enumerate()` is no list of those to be joined. A worker that takes one item after the other never returns
    either: wait until its queue is worked off, then cancel it.

    When it is offered: The kernel is stuck where it joins all threads there are, or awaits a coroutine of the cells
    that goes round for ever.

    What it costs: Nothing.
    """

    id, title, causes = "wait-for-what-ends", "Wait only for what ends, and cancel what does not", ("hang",)

    FIRES = [
        _joins(
            "for t in threading.enumerate():\n    if t is not threading.main_thread():\n        t.join()",
            "Jupyter's own never end",
            "for t in threads:\n    t.join()",
        ),
        _joins("[t.join() for t in threading.enumerate()[1:]]", "`threading.enumerate()`"),
        _awaits(_WORKER, _GATHERS, says=("`worker` never returns", "await jobs.join()", "one.cancel()")),
        _awaits(
            _WORKER,
            "async def go():\n    ts = [asyncio.create_task(worker(q)) for _ in range(3)]\n"
            "    await fill(q)\n    await asyncio.gather(*ts)",
            "await go()",
            says=("jobs.task_done()",),
        ),
    ]
    SILENT = [
        _joins("for t in threads:\n    t.join()"),
        _joins("for t in threading.enumerate():\n    t.join(timeout=1)"),
        _awaits(_WORKER.replace("await run(job)", "if job is None: return"), _GATHERS),
        _awaits(_WORKER, "ts = [asyncio.create_task(worker(q)) for _ in range(3)]\nawait q.join()"),
        _awaits(_WORKER, _GATHERS + "\nt.cancel()"),  # somebody may cancel them
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is not None and still.main.waits_for_threads:
            yield from _of_all_threads(death)
        elif still is not None and still.main.needs_an_event and not death.code.has_text(".cancel("):
            yield from _of_endless_workers(death)


def _of_all_threads(death: Death) -> Iterator[Proposal]:
    """Tell of `for t in threading.enumerate(): t.join()`, where no join has a limit."""
    for node, scope in death.code.running.nodes(ast.For, ast.ListComp):
        match node:
            case ast.For(iter=items, body=body):
                parts: list[ast.AST] = [*body]
            case ast.ListComp(elt=done, generators=[ast.comprehension(iter=items), *_]):
                parts = [done]
            case _:
                continue
        lists = [one for one in walk(items) if isinstance(one, ast.Call)]
        joins = [one for part in parts for one in walk(part) if isinstance(one, ast.Call) and not _given(one)]
        named = next((one for one in lists if death.code.qualified(one.func, scope) == "threading.enumerate"), None)
        if (
            named is not None
            and any(last_name(one.func) == "join" for one in joins)
            and death.code.is_at_line(node, scope)
        ):
            why = f"{quote(scope.segment(named))} gives all threads of the kernel, and Jupyter's own never end. "
            why += "Keep those that you start in a list, and join these."
            module = scope.segment(named.func).rpartition(".")[0] or "threading"
            snippet = f"threads = [{module}.Thread(target=work, args=(item,)) for item in items]\n"
            snippet += "for t in threads:\n    t.start()\nfor t in threads:\n    t.join()"
            yield Proposal((), why, title="Join the threads that you started, not those of Jupyter", snippet=snippet)
            return


def _given(call: ast.Call) -> bool:
    return bool(call.args or call.keywords)


def _of_endless_workers(death: Death) -> Iterator[Proposal]:
    """Tell of `await asyncio.gather(worker(q))`, where nothing ends the loop of `worker`."""
    for node, scope in death.code.running.nodes(ast.Await):
        for call in _awaited(node.value, scope, death):
            own = [*death.code.functions_named(last_name(call.func))]
            queue = _taken_for_ever(own[0]) if len(own) == 1 else None
            if queue is not None:
                name, calls = own[0].function, {last_name(one.func) for one in own[0].calls}
                why = f"{quote(name)} never returns: its loop takes one item after the other from {quote(queue)}, and "
                why += "who awaits it waits for ever. Wait until all items are done, and cancel it then."
                done = f"{queue}.task_done()  # in {name}, at the end of each round\n\n"
                snippet = f"workers = [asyncio.create_task({unparse(call)}) for _ in range(3)]\n"
                snippet += f"...  # what puts the items in\nawait {queue}.join()  # all are done\n"
                snippet += "for one in workers:\n    one.cancel()"
                yield Proposal((), why, snippet=snippet if "task_done" in calls else done + snippet)
                return


def _awaited(value: ast.expr, scope: Scope, death: Death) -> Iterator[ast.Call]:
    """Yield the calls whose results are awaited, also through names: of `gather(*tasks)` those in `tasks`."""
    parts = [value] if isinstance(value, ast.Name) or last_name(getattr(value, "func", value)) in _GATHERERS else []
    names = [one for part in parts for one in walk(part) if isinstance(one, ast.Name)]
    made = [one.node for name in names for one in all_origins(name, scope, death.code)]
    yield from (one for part in (value, *made) for one in walk(part) if isinstance(one, ast.Call))


def _taken_for_ever(own: Scope) -> str | None:
    """Return the queue that a coroutine takes items from in a `while True` that nothing leaves."""
    for one in own.nodes if isinstance(own.node, ast.AsyncFunctionDef) else ():
        match one:
            case ast.While(test=ast.Constant(value=True | 1)) if not any(
                isinstance(part, _LEAVES) for part in walk(one)
            ):
                for part in walk(one):
                    match part:
                        case ast.Await(value=ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[])):
                            return unparse(owner)
    return None
