from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.stores import stores
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.answers_in_advance import Table, made_table, tables
from ...frameworks.later_uses import later_uses
from ...place import guilty_place
from ...units import two_digits

_MOST, _USUAL = 100_000, 10_000  # answers to keep
_FEW, _FEW_ROWS = 1000, 100
_TABLE = NamedObject("near", "dict", 1600 * MIB, items=900_000, grew_bytes=1500 * MIB, items_before=0)
_WORDS = "near = {}\nfor word in words:\n    near[word] = similar(word)"
_TYPOS = (
    "class Checker:\n    def __init__(self, words):\n        self.near = {}\n        for word in words:\n"
    "            for typo in edits(word):\n                self.near.setdefault(typo, word)\n"
    "    def correct(self, word):\n        return self.near.get(word, word)"
)
_CITIES = "near = {}\nfor a in cities:\n    near[a] = {b: miles(a, b) for b in cities}"


def _case(*cells: str, says: tuple[str, ...] = (), name: str = "near") -> Case:
    return Case(*cells, grew=replace(_TABLE, name=name), says=says)


class AnswerWhenAsked(Fix):
    """Work an answer out when it is asked for, not all of them in advance.

    What it does: A table with an answer for all that could be asked is filled once, and looked up now and then: most of
    it is never read. A function with `lru_cache` works an answer out when it is asked for, and keeps the newest.

    When it is offered: Memory ran out while loops filled a dict under each key with what they worked out of that key
    alone, and the cells only look up single keys of it.

    What it costs: An answer takes its time when it is first asked for, and again when it was forgotten. What was not in
    the table gets an answer, too.
    """

    id, causes = "answer-when-asked", (Family.MEMORY,)
    title = "Work an answer out when it is asked for, not all in advance: lru_cache"
    broad, unless_offered = True, frozenset({"do-it-at-once"})

    FIRES = [
        _case(
            "def trip(a, b): return near[a, b] + near[b, a]",
            "near = {(a, b): miles(a, b) for a in cities for b in cities}",
            says=(
                "@lru_cache(maxsize=",
                "def answer(a, b):",
                "    return miles(a, b)",
                "near[(a, b)]",
                "near = {(a, b): miles(a, b) for a in cities for b in cities if (a, b) in wanted}",
            ),
        ),
        _case(
            "def trip(a, b): return near.get(f'{a}-{b}', 0)",
            "near = {}\nfor a in xs:\n    for b in xs:\n        key = f'{a}-{b}'\n        near[key] = miles(a, b)",
            says=("def answer(a, b):", "in place of near[key]"),
        ),
        _case(_TYPOS, "c = Checker(words)", says=("for word in edits(typo)", "if word in known"), name="self.near"),
        _case(
            "def trip(stops):\n    return sum(near[a][b] for a, b in zip(stops, stops[1:]))",
            _CITIES,
            says=("def answer(a, b):", "return miles(a, b)", "in place of near[a][b]", "if a in wanted:"),
        ),
        _case(
            "def ask(i, j): return near[i, j]",
            "near = {}\nfor i in range(n):\n    for j in range(n):\n        a, b = load(i), load(j)\n"
            "        near[i, j] = align(a, b)",
            says=("    a, b = load(i), load(j)\n    return align(a, b)", "def answer(i, j)"),
        ),
        _case(
            "def ask(x): return near[x]",
            "def table(k):\n    near = {}\n    for x in words:\n        near[x] = similar(x, k)\n    return near\n"
            "near = table(3)",
            says=("# k: as in table", "return similar(x, k)"),
        ),
        _case(
            "def ask(x): return near.get(x)",
            "near = {x: slow(x) ** 2 for x in range(n)}",
            says=("return slow(x) ** 2",),
        ),
        _case(
            "def ask(a, b): return near[a][b]",
            "near = []\nfor i in range(n):\n    near.append([align(i, j) for j in range(n)])",
            says=("def answer(i, j):", "return align(i, j)", "in place of near[i][j]"),
        ),
        _case(
            "def crack(digest): return near[digest]",
            "near = {}\nfor word in product(ABC, repeat=5):\n    near[digest_of(word)] = word",
            says=("if digest_of(word) == asked:", "if digest_of(word) in wanted:"),
        ),
    ]
    SILENT = [
        _case(
            "def show(i): return near[i]",
            "near = {}\nfor i in ids:\n    row = start(i)\n    for x in xs:\n        row.append(x)\n    near[i] = row",
        ),
        _case("def show(i): return near[i]", "near = []\nfor i in range(2, n):\n    near.append(slow(i))"),
        _case("def show(i): return near[i]", "near = []\nfor i in range(n):\n    near.append(near[-1] + i)"),
        _case(
            "def show(i): return near[i]",
            "near = []\nfor i in range(n):\n    if i % 2: continue\n    near.append(slow(i))",
        ),
        _case(
            "class D:\n    def __init__(self, n):\n        self.near = [slow(i) for i in range(n)]\n"
            "    def __getitem__(self, i): return self.near[i]",
            "D(9000)",
            name="self.near",
        ),
        _case(_WORDS, "for word in near:\n    print(near[word])"),
        _case(_WORDS),  # nothing shows that it is only looked up
        _case("def show(word): return near[word]", "near = {}\nfor row in rows:\n    near[row.word] = row.text"),
        _case(
            "def show(i): return near[i]", "near = {}\nfor i in range(2, n):\n    near[i] = near[i - 1] + near[i - 2]"
        ),
        _case("def show(i): return near[i]", "near, t = {}, 0\nfor i in range(n):\n    t += f(i)\n    near[i] = t"),
        _case("def show(i): return near[i]", "near = {}\nfor i in range(n):\n    x = f(i, x)\n    near[i] = x"),
        _case("def show(i): return near[i]", "near = {}\nfor i, x in enumerate(xs):\n    near[i] = f(x)"),
        _case("def show(i): return near[i]", "near = {}\nfor i in range(n):\n    near[i] = rng.random(i)"),
        Case("def show(word): return near[word]", _WORDS, grew=_TABLE, cause="segfault"),
        Case("def show(word): return near[word]", _WORDS, grew=replace(_TABLE, name="other")),
        Case("def show(word): return near[word]", _WORDS, grew=replace(_TABLE, items=30)),
    ]

    def propose(self, death: Death) -> Proposals:
        container, at = death.growth.container, guilty_place(death)
        if container is None or container.with_graph or not death.is_of_this_cell:
            return
        items = death.growth.items_gained(container)
        word = container.name.rpartition(".")[2]
        filled = [one for one in stores(death.code.running) if one.container.rpartition(".")[2] == word]
        made = (
            [] if at is None else [one for one in made_table(at.node, at.scope) if one.name.rpartition(".")[2] == word]
        )
        for table in (*tables(filled), *made):
            if items < (_FEW_ROWS if len(table.keys) > 1 else _FEW):
                continue  # a model for each setting: what is costly to make again
            fillers = {one.statement for one in filled} | {table.statement}
            uses = later_uses(table.name, table.scope, fillers, death.code)
            if (code := table.answered(uses, _newest(death, table))) is not None:
                grew = container.grew_bytes or container.bytes or 0
                why = (
                    f"{quote(container.name)} grew by {size(grew)}, by {items:,} items: an answer for all that could "
                    "be asked. The cells only look up some of them."
                )
                yield Proposal((), why, grew, snippet=code)
                return


def _newest(death: Death, table: Table) -> str:
    """Return how many answers to keep: those that take a quarter of the room."""
    each, room = death.growth.bytes_per_item if len(table.keys) == 1 else None, death.safe_headroom_bytes
    return f"{max(1, min(_MOST, two_digits(room // 4 // each))) if each and room else _USUAL:_}"
