import ast
from dataclasses import replace
from typing import Any

from ...code.trees import unparse
from ...edits import Changes, EditRefusedError, dedent
from ...examples.stuck import frame, look, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.kept_permits import KeptPermit, kept_permit

_CRAWL = (
    "import asyncio\nsem = asyncio.Semaphore(5)\nasync def crawl(url):\n    async with sem:\n"
    "        links = await fetch(url)\n        # all\n        await asyncio.gather(*(crawl(one) for one in links))"
)
_TASKS = _CRAWL.replace("await asyncio.gather(*(crawl(one)", "ts = [create_task(crawl(one))")
_TASKS = _TASKS.replace("links))", "links]\n        await wait(ts)")
_SECTION = _CRAWL.replace("await asyncio.gather(*(crawl", "return await asyncio.gather(*(page")
_SECTION += "\nasync def page(url):\n    async with sem:\n        return await fetch(url)"
_ACQUIRED = (
    "import asyncio\nclass C:\n    def __init__(self): self.sem = asyncio.Semaphore(3)\n    async def visit(self, u):\n"
    "        await self.sem.acquire()\n        try:\n            links = await fetch(u)\n"
    "            await asyncio.gather(*[self.visit(one) for one in links])\n        finally:\n"
    "            self.sem.release()"
)
_ADDS = "import asyncio\nlock = asyncio.Lock()\nasync def add(x):\n    async with lock: n.append(x)\n"
_ADDS += "async def both(x, y):\n    async with lock:\n        await add(x)\n        await add(y)"
_MIXED = (
    "import asyncio\nsem = asyncio.Semaphore(5)\nasync def crawl(url):\n    async with sem:\n        await log(url)\n"
    "        for one in await fetch(url):\n            await crawl(one)"
)
_SIZE = (
    "import threading\nclass Tree:\n    def __init__(self):\n        self.slots = threading.Semaphore(4)\n"
    "    def size(self, node):\n        with self.slots:\n            own = load(node)\n"
    "            return own + sum(pool.map(self.size, node.parts))"
)
_INIT = (
    "    def __init__(self): self.lock = asyncio.Lock()\n    async def save(self, x):\n        async with self.lock: "
)
_SAVES = f"class Db:\n{_INIT}await put(x)\nclass Shop:\n{_INIT}await self.db.store(x)"
_SAVES = _SAVES.replace("save", "store", 1)


def _behind(source: str, *lines: str) -> str:
    """Return the source with these lines one level further out."""
    for line in lines:
        source = source.replace(f"    {line}", line)
    return source


def _awaits(*cells: str, **case: Any) -> Case:
    loop = replace(thread(frame("asyncio/base_events.py", "_run_once"), waits_in="do_epoll_wait"), has_limit=False)
    seen = replace(look(cells[-1], 1), threads=(replace(loop, wakers=()),))
    return Case(*cells, cause="hang", line=1, stuck=[seen], **case)


def _threads(source: str, line: int, *cells: str, **case: Any) -> Case:
    waits = thread(own_frame(source, line, "size"), waits_in="futex_wait_queue", main=False)
    seen = look(cells[-1], 1, frame("threading.py", "wait"), waits_in="futex_wait_queue", threads=[waits] * 4)
    return Case(source, *cells, cause="hang", line=1, stuck=[seen], **case)


class WaitWithoutThePermit(Fix):
    """Give the permit back before waiting for others that need one.

    What it does: A function that calls itself, or others, within `async with semaphore:` keeps its permit while these
    wait for one. As soon as all permits are kept so, nobody goes on. The edit takes the wait out of the block, so that
    a permit is held only for the work itself.

    When it is offered: The kernel is stuck, and a function that ran waits within such a block for a function that
    enters a block of the same semaphore or lock.

    What it costs: Nothing. What was moved may run at the same time as that of others.
    """

    id, title, causes = (
        "wait-without-the-permit",
        "Give the permit back before you wait for others that need one",
        ("hang",),
    )

    unless_offered = frozenset({"reentrant-lock"})

    FIRES = [
        _awaits(
            _CRAWL,
            "await crawl('/')",
            becomes={1: _behind(_CRAWL, "    # all", "    await asyncio.g")},
            says=("`sem`", "after the `async with` block"),
        ),
        _awaits(_TASKS, "await crawl('/')", becomes={1: _behind(_TASKS, "    # all", "    ts = [", "    await wait(")}),
        _awaits(
            _SECTION, "await crawl('/')", becomes={1: _behind(_SECTION, "    # all", "    return await asyncio.g")}
        ),
        _awaits(_MIXED, "await crawl('/')", says=("async with sem:\n    ...", "await crawl(one)  # after the block")),
        _awaits(_ACQUIRED, "await C().visit('/')", says=("`self.sem`", "async with self.sem:\n    ...")),
        _awaits(_ADDS, "await both(1, 2)", says=("Hold the lock", "`add`, which needs it, too")),
        _awaits(  # what it adds to belongs to others, too
            _ADDS.replace(
                "        await add(x)\n        await add(y)", "        z = x + y\n        n[0] += await add(z)"
            ),
            "await both(1, 2)",
            says=("Hold the lock",),
        ),
        _awaits(  # it opens what is to be limited
            _CRAWL.replace("        # all\n", "        async with load(links) as page:\n    ").replace(
                "in links", "in page"
            ),
            "await crawl('/')",
            says=("await crawl(one)  # after the block",),
        ),
        _awaits(
            f"{_CRAWL}\n        # seen",
            "await crawl('/')",
            becomes={1: _behind(f"{_CRAWL}\n        # seen", "    # all", "    await asyncio.g", "    # seen")},
        ),
        _threads(
            _SIZE,
            6,
            "Tree().size(root)",
            becomes={1: _SIZE.replace("            return own", "        return own")},
            says=("`self.slots`", "after the `with` block"),
        ),
    ]
    SILENT = [
        _awaits(_behind(_CRAWL, "    # all", "    await asyncio.g"), "await crawl('/')"),
        _awaits(_CRAWL.replace("await asyncio.gather", "spawn"), "await crawl('/')"),
        _awaits(_CRAWL.replace("crawl(one)", "load(one)"), "await crawl('/')"),
        _awaits(_CRAWL.replace("asyncio.Semaphore(5)", "aiohttp.ClientSession()"), "await crawl('/')"),
        _awaits(
            _SECTION.replace("sem:\n        return", "other:\n        return"),
            "await crawl('/')",
        ),
        _threads(_SIZE, 7, "Tree().size(root)"),  # it waits for something else
        _awaits(_CRAWL, "await other()"),
        _awaits(  # each has one of its own
            _SECTION.replace("async with sem:", "sem = asyncio.Semaphore(5)\n    async with sem:"), "await crawl('/')"
        ),
        _awaits(_SAVES, "await Shop(db).save(x)"),  # each class has a lock of its own
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        kept = None if still is None else death.find(kept_permit)
        if still is None or kept is None:
            return
        waits = [one.code for one in (still.main, *still.others) if one.kind == "lock"]
        if still.main.needs_an_event or any(f"with {kept.permit}" in one for one in waits):
            yield _proposal(kept, death)


def _proposal(kept: KeptPermit, death: Death) -> Proposal:
    scope, permit = kept.scope, quote(kept.permit)
    first = scope.segment(kept.waits).split("\n")[0]
    at = f"waits at {quote(first)} ({death.code.place_of(kept.call, scope)}) for"
    others = (
        "other calls of itself, which need"
        if kept.function == scope.function
        else f"{quote(kept.function)}, which needs"
    )
    why = (
        f"{quote(scope.function)} keeps {permit} while it {at} {others} it, too."
        if kept.is_lock
        else f"{quote(scope.function)} keeps its permit of {permit} while it {at} {others} one, too. Once all permits "
        "are kept so, none is given back."
    )
    waits = first if first == scope.segment(kept.waits) else f"{'await ' * kept.is_async}{unparse(kept.call)}"
    block = f"{'async ' * kept.is_async}with"
    what = "lock" if kept.is_lock else "permit"
    title = f"Hold the {what} only for the work: wait for the others after the {quote(block)} block"
    snippet = f"{block} {kept.permit}:\n    ...  # only what is to be limited\n{waits}  # after the block"
    return Proposal(_edit(kept), why, title=title, snippet=snippet)


def _edit(kept: KeptPermit) -> Changes:
    try:
        return (
            () if isinstance(kept.block, ast.Try) or not kept.may_move else dedent(kept.scope, kept.block, kept.waits)
        )
    except EditRefusedError:
        return ()
