import ast

from ...code.deferred_calls import deferred_store
from ...code.stores import Store, stores
from ...edits import set_argument
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import guilty_place

_QUEUES = ("queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "asyncio.Queue", "multiprocessing.Queue")
_READER = "import queue, threading\njobs = queue.Queue()\ndef write():\n    while True: save(jobs.get())"
_FEEDS = "threading.Thread(target=write).start()\nfor path in paths:\n    jobs.put(load(path))"


class BoundTheQueue(Fix):
    """Give a queue a size, so that who fills it waits for who empties it.

    What it does: A queue without `maxsize` takes whatever comes. Where it is filled faster than it is emptied, all that
    was not yet taken stays in memory. With a size, `put` waits until there is room.

    When it is offered: Memory ran out in a queue that a loop or a thread fills.

    What it costs: Who fills the queue waits now and then, and for ever where nobody takes anything out.
    """

    id, title, causes = "bound-the-queue", "Give the queue a size: maxsize=100", (Family.MEMORY,)

    FIRES = [Case(_READER, _FEEDS, line=3, becomes={1: _READER.replace("Queue()", "Queue(maxsize=100)")})]
    SILENT = [
        Case(_READER.replace("Queue()", "Queue(9)"), _FEEDS, line=3),
        Case("import queue\njobs = queue.Queue()", "for path in paths:\n    jobs.put(load(path))", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        code, made = death.code, list(death.code.calls(*_QUEUES))
        store = _filling(death) if made else None
        if store is None or not store.container:
            return
        name = store.container.rpartition(".")[2]
        for call in made:
            match call.statement:
                case ast.Assign(targets=[ast.Name(id=given) | ast.Attribute(attr=given)], value=value):
                    if given != name or value is not call.node or call.argument("maxsize", 0) is not None:
                        continue
                    why = (
                        f"{quote(store.scope.segment(store.statement))} fills {quote(call.text)} without end: what is "
                        "not taken out in time stays in memory. With a size `put` waits for room."
                    )
                    is_heavy = death.growth.container is not None  # each of its items shows in the memory
                    number, title = ("10", self.title.replace("100", "10")) if is_heavy else ("100", None)
                    edits = set_argument(call, "maxsize", number, 0) if code.last >= 0 else ()
                    yield Proposal(edits, why, death.memory.missing_bytes, title)
                    return


def _filling(death: Death) -> Store | None:
    """Return what fills a container: in a thread, where memory grew by itself, else what is to blame, if it is read."""
    if death.memory.grows_by_itself:
        return deferred_store(death.code)
    place = guilty_place(death)
    for one in stores([place.scope]) if place is not None else ():
        if place is not None and one.statement is place.node:
            is_read = any(
                True for _ in death.code.with_text(f"{one.container}.get", f"{one.container.rpartition('.')[2]}.get")
            )
            return one if is_read else None
    return None
