import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.attributes import Origin
from ...code.calls import last_name
from ...code.kept_lengths import kept_length
from ...code.origins import Origins
from ...edits import replace
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...units import two_digits

_SHARE = 0.7  # of the room, to stay clear of the limit
_LEAST = 50  # the part of its length below which something else should change
_POOL = NamedObject("pool", "list", 1600 * MIB, items=8000, grew_bytes=1600 * MIB, items_before=0)
_SIZE = "SIZE = 20_000"
_GROW = "pool = []\nfor x in stream:\n    pool.append(x)\n"
_FILL = "pool = []\nfor x in stream:\n    if len(pool) < SIZE:\n        pool.append(x)\n    else:\n        use(pool)"


class HoldFewerItems(Fix):
    """Let a buffer hold fewer items.

    What it does: A buffer that shuffles, a replay memory or a pool fills up to the length that it was given. What its
    items take was measured; the edit writes a length that fits where the number stands.

    When it is offered: Memory ran out while a list, deque or dict filled up that the code keeps at a length by
    `len(buffer) < n` or `deque(maxlen=n)`, and n items are more than fits.

    What it costs: Rows are shuffled less well, or drawn from a shorter past. Smaller items, such as the names of files
    or bytes in place of floats, allow for the whole length.
    """

    id, title, causes = "hold-fewer-items", "Let the buffer hold fewer items", (Family.MEMORY,)

    FIRES = [
        Case(
            _SIZE,
            _FILL,
            grew=_POOL,
            becomes={1: "SIZE = 5_100"},
            says=("`pool` hold fewer items: 5,100 in place of 20,000", "cell [1]"),
        ),
        Case(
            "from collections import deque",
            "pool = deque(maxlen=50_000)\nwhile True:\n    pool.append(step())",
            grew=_POOL,
            becomes={"50_000": "5_100"},
        ),
        Case(_SIZE, _GROW + "    if len(pool) > SIZE:\n        pool.pop(0)", grew=_POOL, becomes={1: "SIZE = 5_100"}),
        *(  # there would never be so many; the loop would be a shorter one
            Case(f"from collections import deque\n{_SIZE}\npool = deque(maxlen=SIZE)", loop, grew=_POOL, says=("too.",))
            for loop in (
                "while True:\n    pool.append(step())\n    if len(pool) >= 10_000: learn(pool)",
                "for i in range(SIZE):\n    pool.append(step())",
            )
        ),
    ]
    SILENT = [
        Case(_SIZE, _FILL),
        Case("SIZE = 4_000", _FILL, grew=_POOL),
        Case("SIZE = 10**12", _FILL, grew=_POOL),
        Case(_SIZE, _FILL.replace("len(pool) < SIZE", "len(other) < SIZE"), grew=_POOL),
        Case(_SIZE, _GROW + "    if len(pool) > SIZE:\n        use(pool)", grew=_POOL),  # it grows on
    ]

    def propose(self, death: Death) -> Proposals:
        container, each = death.growth.container, death.growth.bytes_per_item
        if container is None or not each or not death.memory.grew_here or not death.safe_headroom_bytes:
            return
        found = kept_length(death.code, container.name)
        if found is None:
            return
        bound, written = found
        with_others = max(each, (death.memory.missing_bytes or 0) // max(1, container.length or 0))
        fits = two_digits(int(death.safe_headroom_bytes * _SHARE) // with_others)
        if bound < (container.length or 0) or not bound // _LEAST <= fits < bound:
            return
        where = death.code.cell_name(written.scope.cell)
        why = (
            f"{quote(container.name)} fills up to {bound:,} items of {size(each)}, {size(bound * each)} in all; "
            f"{size(death.safe_headroom_bytes)} is what the cell may take. The number is written in {where}. "
            "Smaller items, as names of files or bytes, allow for more of them."
        )
        title = f"Let {quote(container.name)} hold fewer items: {fits:,} in place of {bound:,}"
        number = f"{fits:_}" if "_" in written.scope.segment(written.node) else str(fits)
        edits = replace(written.scope, written.node, number)
        if _is_asked_for_more(container.name, fits, written, death):
            edits, why = (), f"{why} Other code counts on that number: change it, too."
        snippet = None if edits else f"{number}  # in place of {bound:,}"
        yield Proposal(edits, why, container.grew_bytes, title, snippet)

    def is_cured(self, before: Death, after: Death) -> bool:
        """Whether the number is smaller."""
        name = before.growth.container.name if before.growth.container is not None else ""
        old, new = kept_length(before.code, name), kept_length(after.code, name)
        return old is not None and new is not None and new[0] < old[0]


def _is_asked_for_more(name: str, fits: int, written: Origin, death: Death) -> bool:
    """Whether code waits for more items than are kept then, or the name of the number says how long a loop is, too."""
    word, origins = name.rpartition(".")[2], Origins(death.code)
    for scope in death.code.scopes_mentioning(word):
        for node in scope.nodes:
            match node:
                case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[held]), comparators=[limit]):
                    asked = origins.number(limit, scope) if last_name(held) == word else None
                    if asked is not None and asked[0] > fits and asked[1].node is not written.node:
                        return True
    match written.scope.statement_of(written.node):
        case ast.Assign(targets=[ast.Name(id=constant)], value=value) if value is written.node:
            ranges = death.code.calls("builtins.range")
            return any(isinstance(one, ast.Name) and one.id == constant for call in ranges for one in call.node.args)
    return False
