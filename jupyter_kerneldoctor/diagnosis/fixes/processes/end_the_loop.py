import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace as replace_
from typing import Any

from jupyter_kerneldoctor.recording.events import Stack

from ...code.drifting_loops import drift
from ...code.endless_loops import EndlessLoop
from ...code.loop_changes import called_name
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import Changes, indent_unit, insert_after, insert_before, replace
from ...examples.stuck import at_work, stuck_in
from ...fix import Case, Death, Fix, Proposal, Proposals, quote
from ...texts.loop_ends import ATTEMPTS, REMOVED, SNIPPETS, TITLES

_BOUNDS = 2
_IF = "i = 0\nwhile i < len(a):\n    if a[i] > 0:\n        i += 1\n    s += 1"


def _busy(
    source: str, line: int, becomes: str | dict[str, str] = "", rounds: Sequence[Sequence[int]] = (), **more: Any
) -> Case:
    recorded = {"cause": "hang", "line": line, "stacks": at_work(source, line, rounds=rounds), **more}
    return Case(source, becomes=becomes or {}, **recorded)


_NEAR = "while gap > tol:\n    x, gap = step(x)"
_ERRORS = "while True:\n    errors = 0\n    for x, y in rows:\n        if f(w, x) != y:\n            errors += 1\n"
_ERRORS += "    if errors == 0:\n        break"


def _often(source: str) -> list[Stack]:
    """Make the looks at a cell that has gone round fifty thousand times in a second."""
    rounds = ((source.count("\n") + 1,), (1,))
    return [replace_(one, glances_s=(one.glances_s or 0) / 50) for one in at_work(source, 2, rounds=rounds)]


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
        _busy("at = 0\nwhile at != -1:\n    n += 1\n    at = s.find('a', at)", 4, {"'a', at)": "'a', at + 1)"}),
        _busy(
            "while True:\n    at = s.find(w, at)\n    if at < 0:\n        break\n    n += 1",
            2,
            says=("finds that again", "at += 1"),
        ),
        _busy("x = 0\nwhile x != 10:\n    x += 3", 3, {"x != 10": "x < 10"}, says=("never is equal to 10",)),
        _busy(
            "f = open(p)\nline = f.readline()\nwhile line is not None:\n    g(line)\n    line = f.readline()",
            4,
            {"line is not None": "line"},
            says=('`line` is `""`',),
        ),
        _busy(
            "with open(p, 'rb') as f:\n    while True:\n        s = f.read()\n        if s is None: break",
            4,
            {"s is None": "not s"},
        ),
        _busy(
            "more = True\nwhile more:\n    f()\n    more = True", 3, says=("only ever sets it to True", "more = False")
        ),
        _busy(
            "n = 1\nwhile n:\n    n = 0\n    if a[i] >= a[j]:\n        a[i], a[j] = a[j], a[i]\n        n = 1",
            4,
            {"a[i] >= a[j]": "a[i] > a[j]"},
        ),
        _busy(
            "while at < len(data):\n    if data[at] != 165:\n        continue\n    n = data[at + 1]\n    at += n",
            2,
            says=("at += 1  # before `continue`",),
        ),
        _busy(_IF, 3, rounds=((2,), (3,)), says=("only in `if a[i] > 0`", "i += 1  # outside the if")),
        _busy(_NEAR, 2, stacks=_often(_NEAR), says=("`gap` has not come below `tol`", "if gap < tol:")),
        _busy(_ERRORS, 4, stacks=_often(_ERRORS), says=("none of so many passes", "if errors == 0:")),
        Case(
            "import time\nwhile not done:\n    time.sleep(1)",
            line=3,
            stuck=stuck_in("import time\nwhile not done:\n    time.sleep(1)", 3, waits_in="hrtimer_nanosleep").stuck,
            says=("TimeoutError",),
        ),
    ]
    SILENT = [
        _busy("while at != -1:\n    at = s.find('a', at)\n    s = s[at:]", 2),
        _busy("while at != -1:\n    at = s.find('a', at)\n    if f(at): break", 2),
        _busy("while more:\n    more = True\n    if f(): more = False", 2),
        _busy("while more:\n    more = True\n    if f(): break", 2),
        _busy("x = 0\nwhile x != 9:\n    x += 3", 3),
        _busy("x = 0\nif f():\n    x = g()\nwhile x != 10:\n    x += 3", 5),
        _busy("while line is not None:\n    line = jobs.get()", 2),
        _busy("f = open(p)\nwhile line is not None:\n    line = f.readline()\n    if not line: break", 3),
        _busy(
            "n = True\nwhile n:\n    n = False\n    if a[i] > a[j]:\n        a[i], a[j] = a[j], a[i]\n        n = True",
            4,
        ),
        _busy(_IF, 3, rounds=((2,), (3,), (4,))),
        _busy(_IF.replace("    s += 1", "    i += 1"), 3, rounds=((2,), (3,))),
        _busy(_IF.replace("    s += 1", "    a = f(a)"), 3, rounds=((2,), (3,))),
        _busy(_NEAR, 2, rounds=((1,), (2,))),  # not so many rounds
        _busy(_NEAR + "\n    tol *= 2", 2, stacks=_often(_NEAR + "\n    tol *= 2")),
        _busy(_ERRORS.replace("errors = 0", "w = fit(w)"), 4, stacks=_often(_ERRORS)),
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
            title = TITLES["lost" if is_lost else loop.kind]
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


def _compared(loop: EndlessLoop) -> Iterator[tuple[str, str]]:
    """Yield what stands for `DISTANCE` and `NEAR`, for `ASKED`, and for `FIRST` and `LAST` of a flag."""
    words = loop.why.split("`")[1::2]
    if loop.kind == "near":
        yield from zip(("DISTANCE", "NEAR"), words, strict=False)
    if loop.kind == "stalled" and isinstance(loop.at, ast.If):
        yield "ASKED", loop.scope.segment(loop.at.test)
    if loop.kind == "kept" and isinstance(loop.node, ast.While):
        goes_on = isinstance(loop.node.test, ast.Name)
        yield from (("FIRST", str(goes_on)), ("LAST", str(not goes_on)))


def _snippet(loop: EndlessLoop, death: Death) -> str | None:
    if loop.kind == "file" and isinstance(loop.at, ast.expr):
        known = [one.node for one in all_origins(loop.at, loop.scope, death.code)]
        names = [repr(one.value) for one in known if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return REMOVED.format(path=names[0] if names else unparse(loop.at))
    if loop.kind == "read" and isinstance(loop.at, ast.AugAssign):
        read = loop.scope.segment(loop.at.value)
        return f"part = {read}\nif not part:\n    break  # no more comes\n{unparse(loop.at.target)} += part"
    is_tried = any(isinstance(one, ast.Try) for one in walk(loop.node))
    if loop.kind == "retried" or (loop.kind == "same" and is_tried):
        return ATTEMPTS
    if loop.kind == "page" and isinstance(loop.at, ast.Name):
        return f"{loop.head}:\n    ...\n    {loop.at.id} = ...  # where the answer says the next page begins"
    if loop.kind == "skipped":
        return None if loop.at is not None else SNIPPETS["skipped"].replace("NAME", loop.text or "")
    if loop.kind in SNIPPETS:
        walked = next((one.id for one in walk(loop.node) if isinstance(one, ast.Name)), "")
        names = [*dict.fromkeys(loop.why.split("`")[1::2]), ""]
        every = f"({', '.join(names[:-1])})" if len(names) > 1 + 1 else names[0]
        snippet = SNIPPETS[loop.kind].replace("{head}", loop.head).replace("{node}", walked)
        snippet = snippet.replace("NAMES", every).replace("NAME", names[0])
        for name, text in (*_drifted(loop), *_compared(loop), *(_drawn(loop) if loop.kind == "full" else ())):
            snippet = snippet.replace(name, text)
        return snippet
    return None
