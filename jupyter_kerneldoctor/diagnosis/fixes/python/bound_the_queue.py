import ast

from ...code.deferred_calls import deferred_store
from ...code.stores import Store, stores
from ...edits import set_argument
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.queue_readers import is_read_meanwhile
from ...place import guilty_place

_QUEUES = ("queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "asyncio.Queue", "multiprocessing.Queue")
_READER = "import queue, threading\njobs = queue.Queue()\ndef write():\n    while True: save(jobs.get())"
_LOOP = "for path in paths:\n    jobs.put(load(path))"
_FEEDS = f"threading.Thread(target=write).start()\n{_LOOP}"


class BoundTheQueue(Fix):
    """Give a queue a size, so that who fills it waits for who empties it.

    What it does: A queue without `maxsize` takes whatever comes. Where it is filled faster than it is emptied, all that
    was not yet taken stays in memory. With a size, `put` waits until there is room.

    When it is offered: Memory ran out in a queue that a loop or a thread fills.

    What it costs: Who fills the queue waits now and then, and for ever where nobody takes anything out.
    """

    id, title, causes = "bound-the-queue", "Give the queue a size: maxsize=100", (Family.MEMORY,)

    FIRES = [
        Case(_READER, _FEEDS, line=3, becomes={1: _READER.replace("Queue()", "Queue(maxsize=100)")}),
        *(  # `put` would wait for who comes later
            Case(made, f"{_LOOP}\n{then}", line=2, says=("before it is filled", "maxsize=100"))
            for made, then in (
                (_READER, "threading.Thread(target=write).start()"),
                ("import queue\njobs = queue.Queue()", "while jobs.qsize(): save(jobs.get())"),
            )
        ),
    ]
    SILENT = [
        Case(_READER.replace("Queue()", "Queue(9)"), _FEEDS, line=3),
        Case("import queue\njobs = queue.Queue()", "for path in paths:\n    jobs.put(load(path))", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        made = list(death.code.calls(*_QUEUES))
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
                    is_read = death.memory.grows_by_itself or is_read_meanwhile(store, death.code)
                    edits = set_argument(call, "maxsize", number, 0) if is_read else ()
                    snippet = None
                    if not is_read:
                        why += f" Start the threads that take out of {quote(store.container)} before it is filled."
                        snippet = f"{given} = {call.scope.segment(call.node.func)}(maxsize={number})"
                    yield Proposal(edits, why, death.memory.missing_bytes, title, snippet)
                    return


def _filling(death: Death) -> Store | None:
    """Return what fills a container: in a thread, where memory grew by itself, else what is to blame, if it is read."""
    if death.memory.grows_by_itself:
        return deferred_store(death.code)
    place = guilty_place(death)
    for one in stores([place.scope]) if place is not None else ():
        if place is not None and one.statement is place.node:
            reads = f"{one.container}.get", f"{one.container.rpartition('.')[2]}.get"
            return one if any(True for _ in death.code.with_text(*reads)) else None
    return None
