import ast
from typing import Any

from ...code.endless_loops import EndlessLoop
from ...code.origins import all_origins
from ...code.trees import unparse
from ...edits import Changes, indent_unit, insert_after, insert_before, replace
from ...examples.stuck import at_work, stuck_in
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_TITLES = {
    "unchanged": "Change in each round what the loop asks",
    "uncounted": "Change in each round what the loop asks",
    "skipped": "Take the step before continue, too",
    "halved": "Leave out the value that was tried: a bisection has to get shorter",
    "missed": "Ask with < or >: sums of fractions are seldom equal to anything",
    "reset": "Count on with +=",
    "polled": "Give the loop that waits an end of its own",
    "read": "Leave the loop at the end of the data: an empty answer means that no more comes",
    "page": "Ask for the next page in each round",
    "retried": "Give up after some attempts, and leave out what fails",
    "mistyped": "Ask for the end of the data in the type that is read",
    "file": "Delete the lock file that was left behind, and remove it in finally",
}
_DEADLINE = (
    "deadline = time.monotonic() + 60\n{head}:\n    if time.monotonic() > deadline:\n"
    "        raise TimeoutError('nobody has changed it')\n    time.sleep(0.2)"
)
_ATTEMPTS = (
    "for attempt in range(3):\n    try:\n        ...\n        break\n    except Exception as error:\n"
    "        print(attempt, repr(error))\nelse:\n    raise RuntimeError('it failed three times')  # or go on without it"
)
_REMOVED = (
    "os.remove({path})  # once, if no other notebook is at the same work\n\n"
    "# and from now on also after an error:\nlock.acquire()\ntry:\n    ...  # the work\nfinally:\n    lock.release()"
)


def _busy(source: str, line: int, becomes: str = "", **more: Any) -> Case:
    recorded = {"cause": "hang", "line": line, "stacks": at_work(source, line), **more}
    return Case(source, becomes=becomes or {}, **recorded)


class EndTheLoop(Fix):
    """Give a loop its end.

    What it does: A `while` loop ends when its condition is no longer true. Where no round changes what it asks, it goes
    round for ever: a step that `continue` leaves out, a bisection that keeps its bounds, a sum of fractions that is to
    be equal to a number. The edit puts that right where it is clear what was meant.

    When it is offered: The cell has been in such a loop for long.

    What it costs: Nothing.
    """

    id, title, causes = "end-the-loop", "Give the loop its end", ("hang",)

    FIRES = [
        _busy("i = 0\nwhile i < 9:\n    f(i)", 3, says=("nothing in the loop changes `i`",)),
        _busy("x = 0.0\nwhile x != 1.0:\n    x += 0.1", 3, "x = 0.0\nwhile x < 1.0:\n    x += 0.1"),
        _busy(
            "while True:\n    line = p.stdout.readline()\n    if 'ready' in line: break",
            2,
            "while True:\n    line = p.stdout.readline()\n    if not line:\n        break  # no more comes\n"
            "    if 'ready' in line: break",
        ),
        _busy(
            "with open(p, 'rb') as f:\n    for part in iter(lambda: f.read(9), ''):\n        d.update(part)",
            3,
            "with open(p, 'rb') as f:\n    for part in iter(lambda: f.read(9), b\"\"):\n        d.update(part)",
        ),
        _busy("i = 0\nwhile i < 9:\n    f(i)\n    i =+ 1", 3, "i = 0\nwhile i < 9:\n    f(i)\n    i += 1"),
        _busy(
            "cursor = None\nwhile True:\n    page = get(cursor)\n    rows += page['rows']\n    if page['end']: break",
            3,
            says=("same page", "cursor = ..."),
        ),
        Case(
            "import time\nwhile not done:\n    time.sleep(1)",
            line=3,
            stuck=stuck_in("import time\nwhile not done:\n    time.sleep(1)", 3, waits_in="hrtimer_nanosleep").stuck,
            says=("TimeoutError",),
        ),
    ]
    SILENT = [
        _busy("i = 0\nwhile i < 9:\n    i += 1", 3),
        _busy("while rows:\n    f(rows.pop())", 2),
        _busy("while i < 9:\n    if f(i): break", 2),
        _busy("while True:\n    f()", 2),
        _busy("x = 0.0\nwhile x != 1.0:\n    x += 0.25", 3),
    ]

    def propose(self, death: Death) -> Proposals:
        loop = death.endless_loop
        if loop is not None and death.failed_thread is None:
            why = f"{quote(loop.head)}: {loop.why}."
            yield Proposal(_edit(loop), why, title=_TITLES[loop.kind], snippet=_snippet(loop, death))


def _edit(loop: EndlessLoop) -> Changes:
    if loop.at is None or loop.text is None:
        return ()
    if loop.kind == "read" and isinstance(loop.at, ast.stmt):
        unit = indent_unit(loop.scope, loop.at)
        return insert_after(loop.scope, loop.at, f"if not {loop.text}:", f"{unit}break  # no more comes")
    if loop.kind == "skipped" and isinstance(loop.at, ast.stmt):
        return insert_before(loop.scope, loop.at, loop.text)
    return replace(loop.scope, loop.at, loop.text)


def _snippet(loop: EndlessLoop, death: Death) -> str | None:
    if loop.kind == "file" and isinstance(loop.at, ast.expr):
        known = [one.node for one in all_origins(loop.at, loop.scope, death.code)]
        names = [repr(one.value) for one in known if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return _REMOVED.format(path=names[0] if names else unparse(loop.at))
    if loop.kind == "read" and isinstance(loop.at, ast.AugAssign):
        read = loop.scope.segment(loop.at.value)
        return f"part = {read}\nif not part:\n    break  # no more comes\n{unparse(loop.at.target)} += part"
    if loop.kind == "polled":
        return _DEADLINE.format(head=loop.head)
    if loop.kind == "retried":
        return _ATTEMPTS
    if loop.kind == "page" and isinstance(loop.at, ast.Name):
        return f"{loop.head}:\n    ...\n    {loop.at.id} = ...  # where the answer says the next page begins"
    if loop.kind in ("unchanged", "uncounted"):
        return f"{loop.head}:\n    ...\n    # at the end of each round, what brings the condition to an end: i += 1"
    return None
