import ast

from ...analysis.awaited_flags import awaited_flags
from ...edits import insert_before
from ...examples.stuck import frame, look, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_READ = "def read():\n    while running:\n        time.sleep(1)"
_STOP = "def stop():\n    {}running = False\n    t.join()"


def _joins(read: str, stop: str, becomes: str = "") -> Case:
    at_work = thread(own_frame(read, 3, "read"), waits_in="hrtimer_nanosleep", main=False)
    stuck = look(
        "stop()",
        1,
        frame("threading.py", "join"),
        own_frame(stop, stop.count("\n") + 1, "stop"),
        waits_in="futex_wait_queue",
        threads=[at_work],
    )
    changed = {2: becomes} if becomes else {}
    return Case(read, stop, "stop()", becomes=changed, cause="hang", line=1, stuck=[stuck])


class SetTheFlag(Fix):
    """Set the flag that the thread asks: global.

    What it does: A function that assigns to a name has a name of its own, whatever there is outside. A thread that asks
    the notebook's name never sees it change, and whoever joins the thread waits for ever. The edit says `global` first.

    When it is offered: The kernel waits for a thread whose loop asks a name, and a function sets that name without
    `global`.

    What it costs: Nothing. A `threading.Event` does the same without `global`.
    """

    id, title, causes = "set-the-flag", "Set the flag that the thread asks: global, or a threading.Event", ("hang",)

    FIRES = [_joins(_READ, _STOP.format(""), _STOP.format("global running\n    "))]
    SILENT = [
        _joins(_READ, _STOP.format("global running\n    ")),
        _joins(_READ.replace("time.sleep(1)", "if late(): break"), _STOP.format("")),
    ]

    def propose(self, death: Death) -> Proposals:
        for one in awaited_flags(death.stuck_cell, death.find) if death.stuck_cell is not None else ():
            if one.lost is not None:
                name, body = one.lost.name, one.lost.body
                has_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
                first = body[1 if has_text else 0]
                why = (
                    f"{quote(name)} sets a name {quote(one.flag)} of its own: the thread's loop asks the notebook's, "
                    "which stays as it is."
                )
                yield Proposal(insert_before(one.lost, first, f"global {one.flag}"), why)
                return
