import re
from typing import Any

from ...examples.stuck import IN_JOIN, child_state, frame
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck
from ...frameworks.read_before_join import late_read

_FEEDS = (frame("threading.py", "join"), frame("multiprocessing/queues.py", "_finalize_join"))
_JOINS = re.compile(r"for (\w+) in ([\w.]+):\s*\1\.join\(")
_READS = re.compile(r"(?<![\w.])([\w.]+)\.get\(\)")


def _joins(*cells: str, says: str = "", becomes: str | None = None) -> Case:
    feeding = [child_state(900, *_FEEDS, waits_in="futex_wait_queue")]
    edit: dict[str, Any] = {} if becomes is None else {"becomes": becomes}
    return stuck(*cells, line=1, inner=IN_JOIN, waits_in="do_wait", processes=feeding, says=(says,), **edit)


class ReadTheQueueFirst(Fix):
    """Read the queue before its processes are joined.

    What it does: A process does not end before all that it put into a `multiprocessing.Queue` was read: a pipe holds 64
    KiB. The edit moves the statement that reads in front of the one that joins.

    When it is offered: The kernel waits for a process, and that waits until somebody reads its queue.

    What it costs: Nothing. A process that puts several things into the queue needs as many reads.
    """

    id, title, causes = "read-the-queue-first", "Read the queue before you join its processes", ("hang",)

    FIRES = [
        _joins("for p in ps: p.join()\nrows = q.get()", becomes="rows = q.get()\nfor p in ps: p.join()\n"),
        _joins(
            "p.join()\nprint('done')\nrows = q.get()\nprint(rows)",
            becomes="rows = q.get()\np.join()\nprint('done')\nprint(rows)",
        ),
        _joins(  # how many there are is not known
            "for p in ps: p.join()\nwhile not q.empty(): q.get()",
            says="q.get() for _ in ps]  # first, in place of what reads it later\nfor p in ps:",
        ),
        _joins("p.join()", says="result = queue.get()  # first, as often as it puts something in"),
        _joins("p.join()\nq = other\nrows = q.get()", says="result = q.get()"),
    ]
    SILENT = [
        stuck("p.join()\nrows = q.get()", line=1, inner=IN_JOIN, waits_in="do_wait"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or not still.waits_for_what_nobody_reads:
            return
        line = quote(still.main.code.strip().split("\n")[0]) if still.main.code.strip() else "the cell"
        why = f"A process does not end before all that it put into its queue was read, and {line} waits for its end."
        late = death.find(late_read)
        if late is not None:
            read = quote(late.scope.segment(late.read))
            yield Proposal(late.edit, f"{why} {read} goes first.")
            return
        texts = "\n".join(cell.source for cell in still.recording.cells)
        queue = next(iter(_READS.findall(texts)), "queue")
        joined = next(iter(_JOINS.findall(texts)), None)
        if joined is None:
            snippet = f"result = {queue}.get()  # first, as often as it puts something in\nprocess.join()"
        else:
            one, processes = joined
            snippet = f"results = [{queue}.get() for _ in {processes}]  # first, in place of what reads it later\n"
            snippet += f"for {one} in {processes}:\n    {one}.join()"
        yield Proposal((), why, snippet=snippet)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the order is what counts
        """Whether no read comes later."""
        return after.find(late_read) is None
