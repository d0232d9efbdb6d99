import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ...code.drifting_loops import drift
from ...code.endless_loops import EndlessLoop
from ...code.loop_changes import called_name
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import Changes, indent_unit, insert_after, insert_before, replace
from ...examples.stuck import at_work, stuck_in
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_TITLES = {
    "unchanged": "Change in each round what the loop asks",
    "uncounted": "Change in each round what the loop asks",
    "same": "Change in each round what the loop's end depends on, or leave it: each round is the same",
    "skipped": "Take the step before continue, too",
    "halved": "Leave out the value that was tried: a bisection has to get shorter",
    "narrowed": "Stop where the bounds are close: between two fractions there is not always another one",
    "missed": "Ask with < or >, half a step before: sums of fractions are seldom equal to anything",
    "reset": "Count on with +=",
    "polled": "Give the loop that waits an end of its own",
    "read": "Leave the loop at the end of the data: an empty answer means that no more comes",
    "page": "Ask for the next page in each round",
    "items": "Say how many you take: islice, takewhile, or a break",
    "lost": "Keep what is worked out in each round: give it a name",
    "bits": "Take no negative number, or cut it off at 32 bits: Python's integers have no last bit",
    "turns": "Limit the rounds, and look at the values: they come back",
    "drifts": "Check that a round brings the value nearer to its bound, and stop where it does not",
    "away": "Count in the other direction: each round leads away from the bound",
    "retried": "Give up after some attempts, and leave out what fails",
    "mistyped": "Ask for the end of the data in the type that is read",
    "full": "Draw without repeats: sample() raises an error where there are too few values",
    "taken": "Choose among those that are free: with none left that is an error",
    "newton": "Limit the steps of Newton's method",
    "settles": "Limit the rounds, and ask for nearly the same",
    "circle": "Look for the object that comes twice: what follows it leads back",
    "file": "Delete the lock file that was left behind, and remove it in finally",
}
_BOUNDS = 2
_DEADLINE = (
    "deadline = time.monotonic() + 60\n{head}:\n    if time.monotonic() > deadline:\n"
    "        raise TimeoutError('nobody has changed it')\n    time.sleep(0.2)"
)
_ATTEMPTS = (
    "for attempt in range(3):\n    try:\n        ...\n        break\n    except Exception as error:\n"
    "        print(attempt, repr(error))\nelse:\n    raise RuntimeError('it failed three times')  # or go on without it"
)
_NEXT = "{head}:\n    ...\n    # at the end of each round, what brings the condition to an end: i += 1"
_SNIPPETS = {
    "full": "import random\nprint(HIGH - LOW + 1, 'values,', MANY, 'wanted')\n"
    "found = random.sample(range(LOW, HIGH + 1), MANY)  # different ones, in place of the loop",
    "taken": "free = [one for one in range(n) if not taken[one]]  # all that may be drawn, and are good\n"
    "if not free:\n    raise ValueError('none is left')\nchoice = random.choice(free)",
    "newton": "# in place of `{head}`:\nfor step in range(100):\n    ...  # one step, as before\n"
    "    if not math.isfinite(x) or abs(f(x)) < 1e-10:\n        break\n"
    "else:\n    raise ArithmeticError('no root from here')  # another start, or scipy.optimize.brentq(f, a, b)",
    "circle": "visited = set()\n{head}:\n    if id({node}) in visited:\n"
    "        raise ValueError('a circle')  # put a copy in, where the same is to come twice\n"
    "    visited.add(id({node}))\n    ...  # as before",
    "drifts": "{head}:\n    before = NAME\n    ...  # a round, as before\n    if not NAME CLOSER before:\n"
    "        raise ValueError(f'no end: {before=}, then {NAME=}')  # here the values are to blame, not the loop",
    "away": "{head}:\n    ...\n    NAME STEP 1  # in the direction of BOUND",
    "polled": _DEADLINE,
    "unchanged": _NEXT,
    "uncounted": _NEXT,
    "same": "{head}:\n    ...\n    NAME += 1  # in each round: the next value, the next page\n"
    "    # or leave it: break, or return with what was found",
    "items": "from itertools import islice, takewhile\n"
    "few = list(islice(items, 100))  # so many of them\n"
    "small = list(takewhile(lambda x: x < 1000, items))  # up to the first that is not: `if x < 1000` never ends\n"
    "for x in items:\n    if x >= 1000:\n        break",
    "bits": "MASK = 0xFFFFFFFF  # 32 bits, as an int of C\nNAME &= MASK  # before the loop: a negative one, too\n"
    "{head}:\n    ...\n    NAME &= MASK  # in each round, and every other number that it is made of\n"
    "# a result above MASK >> 1 is negative: result = ~(result ^ MASK)\n\n"
    "if NAME < 0:  # or refuse it, or take abs(NAME) and the sign by itself\n    raise ValueError(NAME)",
    "turns": "visited = set()\n{head}:\n    if NAMES in visited:\n"
    "        raise ValueError(f'no end: {NAMES} comes back')  # look at the step that leads there\n"
    "    visited.add(NAMES)\n    ...  # as before",
    "settles": "# in place of `{head}`:\nfor round in range(300):\n    ...  # a round, as before\n"
    "    if np.allclose(old, new, equal_nan=True):\n        break\n"
    "else:\n    print('it has not settled:', np.isnan(new).sum(), 'NaN')  # a mean of nothing is NaN",
}
_REMOVED = (
    "os.remove({path})  # once, if no other notebook is at the same work\n\n"
    "# and from now on also after an error:\nlock.acquire()\ntry:\n    ...  # the work\nfinally:\n    lock.release()"
)


def _busy(source: str, line: int, becomes: str = "", rounds: Sequence[Sequence[int]] = (), **more: Any) -> Case:
    recorded = {"cause": "hang", "line": line, "stacks": at_work(source, line, rounds=rounds), **more}
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
    unless_offered = frozenset({"share-between-processes"})

    FIRES = [
        _busy("i = 0\nwhile i < 9:\n    f(i)", 3, says=("nothing in the loop changes `i`",)),
        _busy("x = 0.0\nwhile x != 1.0:\n    x += 0.1", 3, "x = 0.0\nwhile x < 1.0 - 0.1 / 2:\n    x += 0.1"),
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
        _busy("while n > 0:\n    s += n % 10\n    n // 10", 2, "while n > 0:\n    s += n % 10\n    n //= 10"),
        _busy(
            "def due(n): return n % 7 == 0\nwhile True:\n    if due(n): break",
            3,
            rounds=((3, 1), (3,)),
            says=("each round leaves that as it is", "n += 1"),
        ),
        _busy(
            "while b != 0:\n    carry = a & b\n    a = a ^ b\n    b = carry << 1",
            3,
            says=("with a negative number it moves left", "0xFFFFFFFF", "b &= MASK"),
        ),
        _busy("while y:\n    x, y = x ^ y, (~x & y) << 1", 2, says=("`y` never becomes 0",)),
        _busy("ones = 0\nwhile n:\n    n &= n - 1\n    ones += 1", 3, says=("a negative integer has no last one",)),
        _busy("while n:\n    s += n % 10\n    n //= 10", 2, says=("goes to -1 and stays there", "if n < 0:")),
        _busy(
            "while True:\n    n, d = divmod(n, 16)\n    h = D[d] + h\n    if n == 0:\n        break", 2, says=("-1",)
        ),
        _busy("while n % 2 == 0:\n    n //= 2\n    k += 1", 2, says=("where `n` is 0",)),
        _busy("bit = 1\nwhile not mask & bit:\n    bit <<= 1", 3, says=("it has passed `mask`",)),
        _busy("while n != 1:\n    n = 3 * n - 1 if n % 2 else n // 2", 2, says=("if n in visited",)),
        _busy("while top[x] != x:\n    x = top[x]", 2, before_mib=100, limit_mib=200, says=("`top[x]` has led back",)),
        _busy("from itertools import count\ns = sum(n for n in count() if n < 9)", 2, says=("takewhile", "no end")),
        _busy("from itertools import cycle\nfor c in cycle(colors):\n    n += len(c)", 3, says=("islice",)),
        _busy("i = 0\nwhile i < 9:\n    f(i)\n    i =+ 1", 3, "i = 0\nwhile i < 9:\n    f(i)\n    i += 1"),
        _busy(
            "cursor = None\nwhile True:\n    page = get(cursor)\n    rows += page['rows']\n    if page['end']: break",
            3,
            says=("same page", "cursor = ..."),
        ),
        _busy(
            "while len(used) < n:\n    used.add(random.randint(1, k))",
            2,
            says=("random.sample(range(1, k + 1), n)",),
        ),
        _busy(
            "while len(used) < n:\n    used.add(np.random.randint(1, k))",
            2,
            says=("random.sample(range(1, k - 1 + 1), n)",),
        ),
        _busy("while i in used:\n    i = randrange(9)", 2, rounds=((1,), (2,)), says=("none is left",)),
        _busy("while a != b:\n    a = b\n    b = f(b)", 3, rounds=((2,), (3,)), says=("allclose",)),
        _busy(
            "while song is not None:\n    total += song.seconds\n    song = song.next",
            2,
            before_mib=100,
            limit_mib=200,
            says=("`song.next` has led back", "if id(song) in visited:"),
        ),
        _busy(
            "while e.boss is not None:\n    e = e.boss\n    n += 1", 2, before_mib=100, limit_mib=200, says=("id(e)",)
        ),
        _busy(
            "debt = 900.0\nwhile debt > 0:\n    debt = debt * (1 + rate / 12) - payment",
            3,
            says=("`debt` falls to `0`", "if not debt < before:"),
        ),
        _busy(
            "while level < full:\n    gain = level * rate\n    level += gain - leak", 2, says=("if not level > bef",)
        ),
        _busy("while True:\n    acct.saved *= growth\n    if acct.saved >= goal:\n        break", 2, says=("rises",)),
        _busy("size = 0\nwhile size < need:\n    size *= 2", 3, says=("rises to `need`", "no longer moves")),
        _busy("while 0.1 < heat:\n    heat -= k * heat\n    print(heat)", 2, rounds=((2,), (3,)), says=("falls",)),
        _busy(
            "while n >= 0:\n    f[n] = g\n    n += 1", 2, says=("makes it larger", "n -= 1  # in the direction of 0")
        ),
        Case(
            "import time\nwhile not done:\n    time.sleep(1)",
            line=3,
            stuck=stuck_in("import time\nwhile not done:\n    time.sleep(1)", 3, waits_in="hrtimer_nanosleep").stuck,
            says=("TimeoutError",),
        ),
    ]
    SILENT = [
        _busy("def due(n): return n % 7 == 0\nwhile True:\n    if due(n): break\n    n += 1", 3, rounds=((3, 1), (3,))),
        _busy("while True:\n    if due(n): break", 2, rounds=((2,), (2, 1))),  # an unknown function may change its mind
        _busy("def due(n): return rows.pop() == n\nwhile True:\n    if due(n): break", 3, rounds=((3, 1), (3,))),
        _busy("while n > 0:\n    s += n % 10\n    n //= 10", 2),
        _busy("n = factorial(k)\nwhile n:\n    s += n % 10\n    n //= 10", 3),  # long, and it ends
        _busy("while n != 1:\n    n = f(n)", 2),
        _busy("while x != seed:\n    x = (5 * x + 3) % 2**32", 2),  # comes back after so many numbers
        _busy("from itertools import count\nfor n in count():\n    if n > k: break", 3),
        _busy("from itertools import cycle\nfor c in cycle(colors):\n    show(c)", 3),  # until somebody stops it
        _busy("i = 0\nwhile i < 9:\n    i += 1", 3),
        _busy("while debt > 0:\n    debt = debt * 1.02 - next(payments)", 2),  # they may get larger
        _busy("while debt > 0:\n    debt = debt * 1.02 - 50\n    if months > 99: break\n    months += 1", 2),
        _busy("while debt > 0 and months < 99:\n    debt = debt * 1.02 - 50; months += 1", 2),
        _busy("while heat > room:\n    heat -= k * heat\n    room += 1", 2),
        _busy("while x < end:\n    x += step", 2),  # it may be a small one
        _busy("while n > 0:\n    n -= 1", 2),
        _busy("while heat > 1:\n    heat -= k * heat\n    print(heat)", 2, rounds=((2,), *((3,),) * 99)),
        _busy("while rows:\n    f(rows.pop())", 2),
        _busy("while i < 9:\n    if f(i): break", 2),
        _busy("while True:\n    f()", 2),
        _busy("x = 0.0\nwhile x != 1.0:\n    x += 0.25", 3),
        _busy("while a != b:\n    a = b\n    b = f(b)", 3, rounds=((2,), *((3,),) * 99)),
        _busy(  # nearly the same: steps that get smaller may take long to come to it
            "while True:\n    b = a.copy()\n    a = f(b)\n    if np.allclose(a, b):\n        break",
            3,
            rounds=((2,), (3,)),
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        loop = death.endless_loop
        if loop is not None and death.failed_thread is None:
            why = f"{quote(loop.head)}: {loop.why}."
            is_lost = loop.kind in ("unchanged", "same") and loop.at is not None
            title = _TITLES["lost" if is_lost else loop.kind]
            yield Proposal(_edit(loop), why, title=title, snippet=None if is_lost else _snippet(loop, death))


def _edit(loop: EndlessLoop) -> Changes:
    if loop.at is None or loop.text is None:
        return ()
    if loop.kind == "read" and isinstance(loop.at, ast.stmt):
        unit = indent_unit(loop.scope, loop.at)
        return insert_after(loop.scope, loop.at, f"if not {loop.text}:", f"{unit}break  # no more comes")
    if loop.kind == "skipped" and isinstance(loop.at, ast.stmt):
        return insert_before(loop.scope, loop.at, loop.text)
    return replace(loop.scope, loop.at, loop.text)


def _drawn(loop: EndlessLoop) -> Iterator[tuple[str, str]]:
    """Yield what stands for `LOW`, `HIGH` and `MANY` in the snippet: of `randint(low, high)` until there are n."""
    calls = [one for one in walk(loop.node) if isinstance(one, ast.Call) and called_name(one) == "randint"]
    given = calls[0].args if len(calls) == 1 else []
    is_written = len(given) == _BOUNDS and isinstance(calls[0].func, ast.Attribute)
    low, high = map(unparse, given) if is_written else ("low", "high")
    if is_written and unparse(calls[0].func).endswith(".random.randint"):
        high += " - 1"  # numpy's never draws the upper bound
    many = [one for one in walk(loop.node) if isinstance(one, ast.Compare) and one is getattr(loop.node, "test", None)]
    sides = [unparse(side) for one in many for side in (one.left, *one.comparators) if called_name(side) != "len"]
    yield from (("LOW", low), ("HIGH", high), ("MANY", sides[0] if len(sides) == 1 else "n"))


def _drifted(loop: EndlessLoop) -> Iterator[tuple[str, str]]:
    """Yield what stands for `CLOSER`, `STEP` and `BOUND` in the snippet."""
    if isinstance(loop.node, ast.While) and (found := drift(loop.node)) is not None:
        yield from (("CLOSER", "<" if found.falls else ">"), ("STEP", "-=" if found.falls else "+="))
        yield "BOUND", found.bound


def _snippet(loop: EndlessLoop, death: Death) -> str | None:
    if loop.kind == "file" and isinstance(loop.at, ast.expr):
        known = [one.node for one in all_origins(loop.at, loop.scope, death.code)]
        names = [repr(one.value) for one in known if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return _REMOVED.format(path=names[0] if names else unparse(loop.at))
    if loop.kind == "read" and isinstance(loop.at, ast.AugAssign):
        read = loop.scope.segment(loop.at.value)
        return f"part = {read}\nif not part:\n    break  # no more comes\n{unparse(loop.at.target)} += part"
    is_tried = any(isinstance(one, ast.Try) for one in walk(loop.node))
    if loop.kind == "retried" or (loop.kind == "same" and is_tried):
        return _ATTEMPTS
    if loop.kind == "page" and isinstance(loop.at, ast.Name):
        return f"{loop.head}:\n    ...\n    {loop.at.id} = ...  # where the answer says the next page begins"
    if loop.kind in _SNIPPETS:
        walked = next((one.id for one in walk(loop.node) if isinstance(one, ast.Name)), "")
        names = [*dict.fromkeys(loop.why.split("`")[1::2]), ""]
        every = f"({', '.join(names[:-1])})" if len(names) > 1 + 1 else names[0]
        snippet = _SNIPPETS[loop.kind].replace("{head}", loop.head).replace("{node}", walked)
        snippet = snippet.replace("NAMES", every).replace("NAME", names[0])
        for name, text in (*_drifted(loop), *(_drawn(loop) if loop.kind == "full" else ())):
            snippet = snippet.replace(name, text)
        return snippet
    return None
