import ast
import re

from ...code.cellfiles import user_line
from ...examples.stuck import frame
from ...fix import Death, Fix, Proposal, Proposals, quote, stuck

_ASYNC = "async def read(q):\n    return q.get()\nawait read(q)"
_GETS = frame("queue.py", "get")
_FORMS = (
    (
        r"(?<![\w.])([\w.]+)\.(?:get|put)\(",
        "{0} = asyncio.Queue()  # in place of queue.Queue()\nitem = await {0}.get()\nawait {0}.put(item)",
        "Use an asyncio.Queue, and await it",
    ),
    (
        r"(?<![\w.])([\w.]+)\.(?:wait|acquire)\(|\bwith\s+([\w.]+)",
        "{0} = asyncio.Event()  # or a Lock()\nawait {0}.wait()\n# or await asyncio.to_thread({0}.wait)",
        "Use asyncio's lock or event, and await it",
    ),
    (
        r"(?<![\w.])([\w.]+)\.(?:result|join)\(",
        "await asyncio.to_thread({0}.join)  # or, for a task of this loop: await {0}",
        "Await it: what blocks stops all coroutines",
    ),
)


class AwaitInCoroutines(Fix):
    """Await in a coroutine in place of blocking it.

    What it does: All coroutines of an event loop run in one thread. One that blocks, with `queue.Queue.get()` or
    `threading.Event.wait()`, stops the others, and among them the one that it waits for. asyncio has the same things to
    be awaited; what has no such form runs in a thread (`asyncio.to_thread`).

    When it is offered: The kernel is stuck, and what waits is an `async def` of a cell, with a call that blocks.

    What it costs: Nothing.
    """

    id, title, causes = "await-in-coroutines", "Await in the coroutine: what blocks stops all of them", ("hang",)

    FIRES = [stuck(_ASYNC, line=2, inner=[_GETS], says=("asyncio.Queue()",))]
    SILENT = [stuck("q.get()", inner=[_GETS])]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        place = None if still is None else still.place
        cell = death.frames.cell_of(place) if place is not None else None
        line = user_line(cell, place) if cell is not None and place is not None else None
        if still is None or cell is None or line is None or still.main.kind != "lock":
            return
        code = still.main.code.strip()
        for scope in death.code.scopes(death.code.index(cell)):
            node = scope.node
            is_there = isinstance(node, ast.AsyncFunctionDef) and node.lineno < line <= (node.end_lineno or 0)
            for pattern, snippet, title in _FORMS if is_there and "await " not in code else ():
                if (found := re.search(pattern, code)) is not None:
                    name = next(filter(None, found.groups()), "")
                    why = f"{quote(code)} blocks the thread in which all coroutines run: nobody else gets on."
                    yield Proposal((), why, title=title, snippet=f"import asyncio\n{snippet.format(name)}")
                    return
