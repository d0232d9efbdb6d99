import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.recursion import names_itself
from ...code.stores import Store, container_name, stores
from ...code.trees import walk
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_BFS = (
    "queue, seen = deque([[a]]), {a}\nwhile queue:\n    path = queue.popleft()\n    if path[-1] == b:\n        break\n"
    "    for other in near(path[-1]):\n        if other not in seen:\n            seen.add(other)\n"
    "            queue.append(path + [other])"
)
_QUEUE = NamedObject("queue", "collections.deque", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_SNIPPET = (
    "came_from = {{start: None}}  # before the loop: for each place only the one before it\n\n"
    "came_from[other] = place  # in it, in place of {text}; the container gets `other` alone\n\n"
    "path = []  # behind it, once: the way back from the goal, or from the best\n"
    "while place is not None:\n    path.append(place)\n    place = came_from[place]\npath.reverse()"
)


class KeepTheStepBefore(Fix):
    """Keep where each place was reached from, not the whole way to it.

    What it does: A search that keeps the whole way to each place copies that way for each next step: half the square
    of its length. The place before each place is enough; the way is put together from these once, at the goal.

    When it is offered: Memory ran out where a loop puts a list with one item more than another into a container.

    What it costs: Where all ways are wanted, not one to each place, they have to be looked at one by one.
    """

    id, title = "keep-the-step-before", "Keep the previous place of each, not the whole way to it: came_from"
    causes = (Family.MEMORY,)

    FIRES = [
        Case("from collections import deque", _BFS, grew=_QUEUE, says=("in place of queue.append(path + [other])",)),
        Case("ways = {a: [a]}\nwhile todo:\n    u = todo.pop()\n    for v in g[u]:\n        ways[v] = ways[u] + [v]"),
        Case(
            "import heapq\nheap = [(0, a, [])]\nwhile heap:\n    cost, u, path = heapq.heappop(heap)\n"
            "    path = path + [u]\n    for v, w in g[u]:\n        heapq.heappush(heap, (cost + w, v, path))",
            line=7,
        ),
    ]
    SILENT = [
        Case("from collections import deque", _BFS.replace("not in seen", "not in path"), grew=_QUEUE),  # all ways
        Case("rows = []\nfor a in xs:\n    rows.append([a])"),
        Case("rows = []\nwhile True:\n    rows = rows + [f()]"),
        Case(
            "def parts(n):\n    out = []\n    for p in parts(n - 1):\n        out.append(p + [n])\n    return out",
            "parts(9)",
        ),
        Case("rows = [[1]]\nfor a in xs:\n    rows.append([1] + [x + 1 for x in rows[-1]] + [1])"),
        Case("from collections import deque", _BFS + "\nbig = [0] * 10**10", line=10),
    ]

    def propose(self, death: Death) -> Proposals:
        for one in _longer_ways(death):
            text = " ".join(one.scope.segment(one.statement).split())
            why = f"{quote(text)} keeps all of the way to each place, and copies it for each step."
            yield Proposal((), why, death.memory.missing_bytes, snippet=_SNIPPET.format(text=text))
            return


def _longer_ways(death: Death) -> Iterator[Store]:
    """Yield the statements that put a list with one item more into a container, in a loop in which memory grew."""
    for scope in death.code.running if death.is_of_this_cell else ():
        for one in (*stores([scope]), *_pushed(scope)) if not names_itself(scope) else ():
            is_longer = any(_is_longer(value, one.container, scope) for value in one.values)
            if is_longer and scope.loops_around(one.statement) and grew_in(death, one.statement, scope) is not False:
                yield one


def _pushed(scope: Scope) -> Iterator[Store]:
    """Yield what is put into a heap: `heapq.heappush(heap, (cost, node, path))`."""
    for node in scope.nodes:
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="heappush") | ast.Name(id="heappush"), args=[heap, one])
            ):
                yield Store(node, scope, container_name(heap), (one,))


def _is_longer(value: ast.expr, container: str, scope: Scope) -> bool:
    """Whether a value has a list of one item more than one that the loop took out of the container."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    for one in parts:
        bound = [found.value for found in scope.bindings.get(one.id, [])] if isinstance(one, ast.Name) else [one]
        for made in bound:
            match made:
                case ast.BinOp(op=ast.Add(), left=before, right=ast.List(elts=[_]) | ast.Tuple(elts=[_])):
                    pass
                case ast.List(elts=[ast.Starred(value=before), _]) | ast.Tuple(elts=[ast.Starred(value=before), _]):
                    pass
                case _:
                    continue
            if isinstance(before, ast.Name) and _is_asked(before.id, scope):
                continue
            is_own = isinstance(before, ast.Name | ast.Call) and container_name(before) != container
            if is_own or _is_entry(before):
                return True
    return False


def _is_asked(path: str, scope: Scope) -> bool:
    """Whether it is asked what a way holds, as in a search for all ways: `if other not in path`."""
    asked = (right for one in scope.nodes if isinstance(one, ast.Compare) for right in one.comparators)
    return any(isinstance(one, ast.Name) and one.id == path for one in asked)


def _is_entry(node: ast.expr) -> bool:
    """Whether it is an entry of the container itself: `ways[u] + [v]`."""
    return isinstance(node, ast.Subscript) and not any(isinstance(one, ast.Slice) for one in walk(node))
