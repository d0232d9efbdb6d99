import ast
from dataclasses import replace as changed
from typing import Any

from jupyter_kerneldoctor.recording.events import Growth, NamedObject, StatementGrowth

from ...analysis.filling_lookup import filling_lookup
from ...code.filling_lookups import Lookup, empty_entry
from ...edits import replace
from ...examples import MIB
from ...examples.stuck import own_frame
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote

_TABLE = NamedObject(
    "near",
    "collections.defaultdict",
    1600 * MIB,
    items=9_000_000,
    item_type="list",
    grew_bytes=1500 * MIB,
    items_before=0,
)
_FILLED = "from collections import defaultdict\nnear = defaultdict({})\nfor a, b in pairs:\n    near[a]{}"
_SNIPPET = (
    "{name}.get(key, {empty})  # reads, and makes no entry; or: if key in {name}:\n\n"
    "{name}.default_factory = None  # when it is filled: then a look-up of a key that it has not is a KeyError"
)


def _grew(kind: str, fills: str, source: str, line: int, **more: Any) -> Case:
    grown = StatementGrowth((own_frame(source, line),), 1500 * MIB, 30)
    table = changed(_TABLE, item_type=kind)
    return Case(
        _FILLED.format(kind, fills), source, grew=table, growths=[Growth(-0.2, 2, 1500 * MIB, 0, 30, (grown,))], **more
    )


class LookUpWithoutFilling(Fix):
    """Look up in a defaultdict without an entry for each key that is not there.

    What it does: `table[key]` of a `defaultdict` makes an entry where there is none, also where the code only reads:
    each question about a key that nobody put in stays in memory, with a list or a set of its own. `table.get(key, ())`
    reads and makes nothing; `key in table` does not either. The edit asks with `get`.

    When it is offered: Memory ran out while a `defaultdict` got longer, and most of it came in a statement that only
    reads its entries.

    What it costs: Nothing, unless the code counts on an entry of each key that was asked for, as `len(table)` does.
    """

    id, title, causes = "look-up-without-filling", "Look up with get: each question makes an entry", (Family.MEMORY,)

    FIRES = [
        _grew(
            "list",
            ".append(b)",
            "for x in xs:\n    for y in near[x, 1]:\n        n += y",
            2,
            becomes="for x in xs:\n    for y in near.get((x, 1), ()):\n        n += y",
            says=("`near[x, 1]` makes an entry", "default_factory = None"),
        ),
        _grew(
            "set",
            ".add(b)",
            "for x in xs:\n    if y in near[x]:\n        n += 1",
            2,
            becomes="for x in xs:\n    if y in near.get(x, set()):\n        n += 1",
        ),
        _grew(
            "int",
            " += b",
            "for x in xs:\n    if near[x] > 3:\n        n += 1",
            2,
            becomes="for x in xs:\n    if near.get(x, 0) > 3:\n        n += 1",
        ),
        _grew(
            "list",
            ".append(b)",
            "n = sum(len(near[x]) for x in xs)",
            1,
            becomes="n = sum(len(near.get(x, [])) for x in xs)",
        ),
        _grew(
            "dict",
            "[b] = 1",
            "for x in xs:\n    found = near[x]\n    n += len(found)",
            2,
            becomes="for x in xs:\n    found = near.get(x, {})\n    n += len(found)",
        ),
        _grew(
            "list",
            ".append(b)",
            "for x in xs:\n    for y in near[(x), 1]:\n        n += y",
            2,
            becomes="for x in xs:\n    for y in near.get(((x), 1), ()):\n        n += y",
        ),
        _grew(  # another one of this name has numbers
            "list",
            ".append(b)\nclass Index:\n    def __init__(self): self.near = defaultdict(int)",
            "for x in xs:\n    if near[x]:\n        n += 1",
            2,
            says=("near.get(key, ())",),
        ),
    ]
    SILENT = [
        _grew("list", ".append(b)", "for x in xs:\n    near[x].append(1)", 2),
        _grew("list", ".append(b)", "for x in xs:\n    found = near[x]\n    found.append(1)", 2),
        _grew("list", ".append(b)", "for x in xs:\n    fill(near[x])", 2),
        _grew("dict", "[b] = 1", "for x in xs:\n    near[x][1] = 2", 2),
        _grew("int", " += b", "for x in xs:\n    near[x] += 2", 2),
        _grew("int", " += b", "for x in xs:\n    near[x] = near[x] + near[y]", 2),
        _grew("list", ".append(b)", "for x in xs:\n    near[x].append(near[y][0])", 2),
        _grew("list", ".append(b)", "def at(x): return near[x]\nfor x in xs: at(x).append(1)", 1),
        _grew("list", ".append(b)", "for x in xs:\n    rows = f(x)\n    n += len(near[x])", 2),
        _grew("list", ".append(b)", "for x in xs:\n    if y not in near[x]:\n        near[x].append(y)", 2),
        _grew("int", " += b", "for x in xs:\n    n = near[x]\n    near[x] = n + 1", 2),
        _grew("list", ".append(b)", "for x in xs:\n    near[x]", 2),  # so that it has an entry
        _grew("list", ".append(b)", "for x in xs:\n    row = near[x] if x else []\n    row.append(1)", 2),
        _grew("list", ".append(b)", "for x in xs:\n    row = other or near[x]\n    row.append(1)", 2),
        _grew("list", ".append(b)", "def at(x):\n    row = near[x]\n    return row, 1\nfor x in xs: fill(at(x))", 2),
        _grew("list", ".append(b)", "def at(x):\n    row = near[x]\n    yield row\nfor x in xs: fill(at(x))", 2),
        _grew("Stats", ".add(b)", "for x in xs:\n    near[x].record(1)", 2),
        _grew("Stats", ".add(b)", "for x in xs:\n    near[x].count += 1", 2),
    ]

    def propose(self, death: Death) -> Proposals:
        found, container = filling_lookup(death.growth, death.code), death.growth.container
        if found is None or container is None or not death.memory.grew_here:
            return
        asked = found[1]
        gained = death.growth.items_gained(container)
        first = quote(asked[0].scope.segment(asked[0].node))
        name = asked[0].scope.segment(asked[0].node.value)
        empty = empty_entry(container.name, death.code)
        why = (
            f"{first} makes an entry for each key that is not there, as {quote(name)} is a `defaultdict`. It got "
            f"{gained:,} entries while the cell ran, most of them in a statement that only reads."
        )
        edits = tuple(change for one in asked for change in replace(one.scope, one.node, _asked(one, empty)) if empty)
        snippet = _SNIPPET.format(name=name, empty=empty or "()")
        yield Proposal(edits, why, snippet=snippet, explains=container.grew_bytes)


def _asked(lookup: Lookup, empty: str | None) -> str:
    """Return the look-up that makes nothing."""
    node, scope = lookup.node, lookup.scope
    key = scope.segment(node.slice)
    if isinstance(node.slice, ast.Tuple) and not _is_one_argument(key):
        key = f"({key})"
    default = "()" if lookup.is_iterated and empty in ("[]", "set()", "{}", "()") else empty
    return f"{scope.segment(node.value)}.get({key}, {default})"


def _is_one_argument(key: str) -> bool:
    """Whether a key of several parts stands in parentheses already: not that of `near[a, b]`, or of `near[(a), b]`."""
    match ast.parse(f"f({key})", mode="eval").body:
        case ast.Call(args=[ast.Tuple()]):
            return True
    return False
