import ast
from collections.abc import Iterator

from ...code.origins import Origins
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote

_NODE = (
    "class Position:\n    def __init__(self, board, parent=None):\n        self.board, self.parent = board, parent\n"
    "        self.moves = {}\n"
)
_GAME = "top = Position(start)\nwhile not over(top):\n    search(top)\n    top = top.moves[best(top)]"


class CutOffTheOldRoot(Fix):
    """Cut a tree off above its new root.

    What it does: Each node of a tree knows the node above. A search that goes on from a child keeps the whole tree so:
    the old root, and all branches that were not chosen. Without the way up, Python frees them.

    When it is offered: Memory ran out little by little in a loop that goes on from a part of the same tree, and the
    class keeps its `parent`.

    What it costs: The way back to the old root is gone. Keep the moves in a list where they are needed.
    """

    id, title, causes = "cut-off-the-old-root", "Cut the tree off above its new root", (Family.MEMORY,)

    FIRES = [
        Case(_NODE, _GAME, says=("top = top.moves[best(top)]", "top.parent = None")),
        Case(
            _NODE + "class Search:\n    def __init__(self):\n        self.root = Position(start)\n"
            "        self.at = self.root\n    def move(self):\n        self.at = max(self.at.moves, key=visits)",
            "search = Search()\nwhile not over(search.at):\n    search.move()",
            says=("self.at.parent = None", "self.root = self.at"),
        ),
    ]
    SILENT = [
        Case(_NODE, _GAME + "\n    top.parent = None"),
        Case(_NODE, _GAME, growth="jump"),
        Case(_NODE.replace("self.board, self.parent = board, parent", "self.board = board"), _GAME),
        Case(  # a walk down through the tree, and up again
            _NODE,
            "while True:\n    at = root\n    while at.moves:\n        at = at.moves[best(at)]\n    while at:\n"
            "        at.n += 1\n        at = at.parent",
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        writes = [
            scope
            for scope in death.code.scopes_mentioning("parent")
            for one in scope.names
            if isinstance(one, ast.Attribute) and one.attr == "parent" and isinstance(one.ctx, ast.Store)
        ]
        if {one.function for one in writes} != {"__init__"} or not (death.memory.grew_here and death.growth.goes_on):
            return
        for scope in death.code.running:
            for node in scope.nodes:
                match node:
                    case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                        name = scope.segment(target)
                    case _:
                        continue
                if not _is_part(name, value, scope) or _walks(target, scope):
                    continue
                if not Origins(death.code).is_repeated(node, scope):
                    continue
                why = (
                    f"{quote(scope.segment(node))} goes on from a part of the tree. That keeps its `parent`, and the "
                    "parent all of its other parts."
                )
                snippet = f"{scope.segment(node)}\n{name}.parent = None  # nothing of what was above is kept"
                for other in _other_names(target, name, death):
                    snippet += f"\n{other} = {name}  # nor by another name"
                yield Proposal((), why, death.memory.ramp_bytes, snippet=snippet)
                return


def _is_part(name: str, value: ast.expr, scope: Scope) -> bool:
    """Whether a value is taken out of what is named: `root.children[move]`, `max(root.children, key=visits)`."""
    parts = [one for one in walk(value) if isinstance(one, ast.Attribute) and scope.segment(one.value) == name]
    return isinstance(value, ast.Subscript | ast.Call) and any(parts) and all(one.attr != "parent" for one in parts)


def _walks(target: ast.expr, scope: Scope) -> bool:
    """Whether a name only goes through the tree: it began as another name of the root."""
    others = scope.bindings.get(target.id, ()) if isinstance(target, ast.Name) else ()
    return any(isinstance(one.value, ast.Name | ast.Attribute) or one.value is None for one in others)


def _other_names(target: ast.expr, name: str, death: Death) -> Iterator[str]:
    """Yield what else names the tree: `self.root`, where `self.at = self.root` began it."""
    for other in death.code.scopes_mentioning(target.attr) if isinstance(target, ast.Attribute) else ():
        for node in other.nodes:
            match node:
                case ast.Assign(targets=[ast.Attribute() as made], value=ast.Attribute() as root):
                    if other.segment(made) == name:
                        yield other.segment(root)
