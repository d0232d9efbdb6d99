import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.classes import compared_by_identity, fields
from ...code.stores import container_name
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote

_CLASS = "class Board:\n    def __init__(self, tiles, parent=None):\n        self.tiles, self.parent = tiles, parent\n"
_SEARCH = (
    "queue, visited = [start], {start}\nwhile queue:\n    board = queue.pop(0)\n    if board.tiles == GOAL: break\n"
    "    for other in board.neighbours():\n        if other not in visited:\n            visited.add(other)\n"
    "            queue.append(other)"
)
_SEEN = NamedObject("visited", "set", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0, item_type="Board")


class CompareByValue(Fix):
    """Say when two objects are the same.

    What it does: Python takes two objects of your own class for different, also where they hold the same: `in` finds
    only the very same object. With `__eq__` and `__hash__` it compares what they hold.

    When it is offered: Memory ran out in objects of a class of the notebook that has neither, in a loop that asks
    whether it has seen them before.

    What it costs: What an object holds must not change while it is in a set.
    """

    id, causes = "compare-by-value", (Family.MEMORY,)
    title = "Say when two objects are the same: `__eq__` and `__hash__`"

    FIRES = [
        Case(_CLASS, _SEARCH, grew=_SEEN, says=("`other not in visited`", "hash(repr(self.tiles))", "other.tiles")),
    ]
    SILENT = [
        Case(_CLASS + "    def __eq__(self, other): return self.tiles == other.tiles", _SEARCH, grew=_SEEN),
        Case("@dataclass(frozen=True)\nclass Board: tiles: tuple", _SEARCH, grew=_SEEN),
        Case("class Board(tuple): pass", _SEARCH, grew=_SEEN),
        Case(_CLASS, _SEARCH.replace("other not in visited", "other.is_new()"), grew=_SEEN),
    ]

    def propose(self, death: Death) -> Proposals:
        for one in death.growth.objects:
            name = (one.item_type or "").rpartition(".")[2]
            test = _asked(one.name.rpartition(".")[2], death)
            held = _held(name, death) if test else None
            if held:
                why = f"{quote(name)} has no `__eq__`, so two of them are never the same: {quote(test)} finds none "
                why += "that was seen before, and each comes again and again."
                what = f"isinstance(other, {name}) and self.{held} == other.{held}"
                snippet = f"class {name}:\n    ...\n\n    def __eq__(self, other):  # what makes two of them the same\n"
                snippet += f"        return {what}\n\n    def __hash__(self):\n        return hash(repr(self.{held}))"
                yield Proposal(why=why, explains=death.memory.missing_bytes, snippet=snippet)
                return


def _asked(container: str, death: Death) -> str:
    """Return the test whether something is in a container; "" without one."""
    for node, scope in death.code.running.nodes(ast.Compare):
        is_asked = container_name(node.comparators[0]).rpartition(".")[2] == container
        if is_asked and isinstance(node.ops[0], ast.In | ast.NotIn):
            return scope.segment(node)
    return ""


def _held(name: str, death: Death) -> str | None:
    """Return what an object of a class is: what is compared with something else, or what its `__init__` sets first.

    None where the class says when two are the same, or may.
    """
    node = compared_by_identity(name, death.code)
    held = [] if node is None else fields(node)
    compares = [one for one, _ in death.code.running.nodes(ast.Compare) if isinstance(one.ops[0], ast.Eq)]
    compared = [one.left.attr for one in compares if isinstance(one.left, ast.Attribute) and one.left.attr in held]
    return min(compared, key=held.index, default=next(iter(held), None))
