import re
from typing import Any

from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck
from ...frameworks.end_marks import leave_at_none, mark_for_each, marks_put, reader_at
from ...units import plural

_GETS = re.compile(r"(?<![\w.])([\w.]+)\.get\(")
_READS = "def work(q):\n    while True:\n        x = q.get()\n        if x is None: break\n        f(x)"
_RUNS = "ts = [Thread(target=work, args=(q,)) for _ in range(3)]\nfor x in xs: q.put(x)\n"
_ENDS = "for t in ts:\n    t.join()"


def _case(reads: str, runs: str, **more: Any) -> Case:
    waits = thread(frame("queue.py", "get"), own_frame(reads, 3, "work"), waits_in="futex_wait_queue", main=False)
    return stuck(reads, runs, inner=[frame("threading.py", "join")], threads=[waits] * 3, **more)


class EndMarkForEach(Fix):
    """Put one end mark into the queue for each thread that reads it.

    What it does: A thread that reads a queue until it meets an end mark, `None` say, takes that mark out: the next
    thread waits for one of its own, and who joins it waits, too. The edit puts in as many as there are threads.

    When it is offered: The cell waits for threads to end, and these wait for an item of a queue.

    What it costs: Nothing.
    """

    id, title, causes = "end-mark-for-each", "Put one end mark into the queue for each thread that reads it", ("hang",)
    unless_offered = frozenset({"a-place-for-each-task"})

    FIRES = [
        _case(
            _READS,
            f"{_RUNS}q.put(None)\n{_ENDS}",
            becomes=f"{_RUNS}for _ in ts:\n    q.put(None)\n{_ENDS}",
            says=("3 threads", "`q.put(None)`"),
        ),
        _case(_READS, _RUNS + _ENDS, becomes=f"{_RUNS}for _ in ts:\n    q.put(None)\n{_ENDS}"),
        _case(
            _READS.replace("        if x is None: break\n", ""),
            _RUNS + _ENDS,
            becomes={
                1: _READS.replace(" break", "\n            break"),
                2: f"{_RUNS}for _ in ts:\n    q.put(None)\n{_ENDS}",
            },
            says=("if x is None:",),
        ),
    ]
    SILENT = [
        _case(_READS, f"{_RUNS}for _ in ts: q.put(None)\n{_ENDS}"),
        stuck("t.join()", waits_in=None),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or not still.main.waits_for_threads:
            return
        reading = [one for one in still.others if any((at.short_file, at.function) == _GET for at in one.frames)]
        found = _GETS.search(reading[0].code) if reading else None
        if found is None:
            return
        owner = found[1]
        reader = reader_at(death.code, reading[0].code.strip())
        many = plural(len(reading), "thread")
        waits = f"{many} wait{'s' if len(reading) == 1 else ''} at {quote(reading[0].code.strip())} for one more item"
        if reader is None or reader.mark is None:
            item = "item" if reader is None else reader.item
            why = f"{waits}, and {quote(still.main.code.strip())} waits until they end: nothing tells them to."
            snippet = (
                f"for _ in threads:\n    {owner}.put(None)  # when all is put in: one for each\n\n"
                f"{item} = {owner}.get()  # in the thread\nif {item} is None:\n    break"
            )
            told = () if reader is None else leave_at_none(reader)
            ends = mark_for_each(death.code, [], "None") if told else ()
            yield Proposal(told + ends if ends else (), why, snippet=snippet)
            return
        marks = marks_put(death.code, reader.mark)
        if any(scope.loops_around(put) for scope, put in marks):
            return
        why = f"{waits}. Each takes its own end mark out of the queue, and "
        why += (
            f"there is only one: {quote(marks[0][0].segment(marks[0][1]))}."
            if marks
            else f"nobody puts {quote(reader.mark)} in."
        )
        snippet = f"for _ in threads:\n    {owner}.put({reader.mark})  # one end mark for each thread"
        yield Proposal(mark_for_each(death.code, marks, reader.mark), why, snippet=snippet)


_GET = ("queue.py", "get")
