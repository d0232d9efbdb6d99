from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.graph_searches import GraphSearch, graph_searches
from ...edits import indent_unit, insert_after, insert_before
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import guilty_place

_PATH = (
    "def way(graph, start, goal):\n    queue = deque([(start, [start])])\n    while queue:\n"
    "        node, path = queue.popleft()\n{}        if node == goal:\n            return path\n"
    "        for other in graph[node]:\n            queue.append((other, path + [other]))\n"
)
_SEEN = "        if node in seen:\n            continue\n        seen.add(node)\n"
_QUEUE = NamedObject("queue", "collections.deque", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_GRID = (
    "queue = [(0, 0, 0)]\nwhile queue:\n    x, y, steps = queue.pop(0)\n    if (x, y) == goal:\n        break\n"
    "    for dx, dy in moves:\n        nx, ny = x + dx, y + dy\n        if grid[nx][ny] == '.':\n"
    "            queue.append((nx, ny, steps + 1))"
)
_ALL = (
    "stack = [start]\nwhile stack:\n    node = stack.pop()\n    print(node)\n"
    "    for other in graph[node]:\n        stack.append(other)"
)


class NoteWhatWasSeen(Fix):
    """Look at each node of a graph once.

    What it does: A search puts the neighbours of a node into a queue. In a graph with circles, or with many ways to the
    same place, it comes to the same nodes again and again, and the queue grows without end. A set of the nodes that
    were seen ends that.

    When it is offered: Memory ran out in the queue or the stack of a loop that takes nodes out, puts neighbours in, and
    asks nowhere whether it has seen them. It is an edit where the first way to a goal is searched for: that stays the
    same.

    What it costs: Where all ways are to be found, not the first, others are left out: the snippet is for you to judge.
    """

    id, title, causes = "note-what-was-seen", "Look at each node once: a set of those that were seen", (Family.MEMORY,)

    FIRES = [
        Case(
            "from collections import deque\n" + _PATH.format(""),
            "way(g, 1, 2)",
            grew=_QUEUE,
            becomes={
                1: "from collections import deque\n"
                + _PATH.format(_SEEN).replace("    while", "    seen = set()\n    while")
            },
            says=("`queue`", "again and again"),
        ),
        Case(
            _GRID,
            line=9,
            becomes=_GRID.replace("while", "seen = set()\nwhile").replace(
                "pop(0)\n", "pop(0)\n    if (x, y) in seen:\n        continue\n    seen.add((x, y))\n"
            ),
        ),
        Case(_ALL, line=6, says=("if node in seen:", "seen = set()")),
    ]
    SILENT = [
        Case(_ALL.replace("        stack", "        if other not in visited: stack"), line=6),
        Case(_ALL.replace("    print(node)", "    done[node] = True"), line=6),
        Case(  # a list of what was seen
            _ALL.replace(
                "        stack.append", "        if other not in reached: reached.append(other); stack.append"
            ),
            line=6,
        ),
        Case(_ALL + "\nbig = [0] * 10**10", line=7),
        Case("while rows:\n    row = rows.pop()\n    for one in parts:\n        rows.append(one)", line=4),
    ]

    def propose(self, death: Death) -> Proposals:
        at, grew = guilty_place(death), death.growth.container
        for scope in death.code.running if death.is_of_this_cell else ():
            for one in graph_searches(scope):
                is_it = grew is not None and grew.name.rpartition(".")[2] == one.queue.rpartition(".")[2]
                if is_it or (at is not None and at.scope is scope and at.node in scope.inside(one.loop)):
                    yield _proposal(one, death)
                    return


def _proposal(one: GraphSearch, death: Death) -> Proposal:
    scope, node = one.scope, one.node
    seen = next((name for name in ("seen", "visited") if not scope.named(name)), "seen_nodes")
    added = f"{seen}.add({node})"
    unit = indent_unit(scope, one.named)
    asked = (f"if {node} in {seen}:", f"{unit}continue", added)
    edits = insert_before(scope, one.loop, f"{seen} = set()") + insert_after(scope, one.named, *asked)
    snippet = f"{seen} = set()  # before the loop\n\n{scope.segment(one.named)}\n{asked[0]}\n    continue\n{added}"
    missing = death.memory.missing_bytes
    if one.is_sure:
        why = f"{quote(one.queue)} gets the same nodes again and again: nothing notes which of them were seen. "
        why += "With the set each is looked at once, and the first way that is found stays the same."
        return Proposal(edits, why, missing, instead=snippet)
    why = f"{quote(one.queue)} may get the same nodes again and again, as in a graph with circles: nothing notes which "
    why += "of them were seen. With a set each is looked at once; other ways to the same node are left out then."
    return Proposal((), why, missing, snippet=snippet)
