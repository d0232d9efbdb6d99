"""Lists that a generator hands out as a batch, and that it never empties."""

import ast

from ..code.calls import last_name
from ..code.scopes import Scope
from ..code.trees import walk

_ADDS = ("append", "extend")


def yielded_lists(node: ast.Yield, scope: Scope) -> list[str]:
    """Return the lists that are yielded as they are, when they are long enough, and that the loop only adds to.

    None where one of them is emptied in the loop, or more is done with it.
    """
    loop = next(iter(scope.loops_around(node)), None)
    tests = [one.test for one in scope.around(node) if isinstance(one, ast.If)]
    counts = any(last_name(part.func) == "len" for one in tests for part in walk(one) if isinstance(part, ast.Call))
    if loop is None or node.value is None or not counts:
        return []
    inside, found = set(scope.inside(loop)), list[str]()
    parents = {child: parent for parent in scope.nodes for child in ast.iter_child_nodes(parent)}
    for name in dict.fromkeys(one.id for one in walk(node.value) if isinstance(one, ast.Name)):
        used = scope.named(name)
        stored = [one for one in used if not isinstance(one.ctx, ast.Load)]
        kinds = [_use(one, parents, node) for one in used if isinstance(one.ctx, ast.Load)]
        is_list = bool(stored) and all(_is_made_empty(one, scope) for one in stored)
        if not is_list or "added" not in kinds:
            continue
        if None in kinds or inside & set(stored):
            return []  # one alone would not fit to the others
        found.append(name)
    return found


def _use(name: ast.Name, parents: dict[ast.AST, ast.AST], handed_out: ast.Yield) -> str | None:
    """Return what is done with a list: "added", "counted" or "given", as it is yielded; None for anything else."""
    parent = parents.get(name)
    match parent:
        case ast.Attribute(attr=method) if method in _ADDS:
            return "added"
        case ast.Call(func=ast.Name(id="len")):
            return "counted"
        case ast.Call() | ast.Tuple() | ast.Yield() if name in walk(handed_out):
            return "given"
    return None


def _is_made_empty(name: ast.Name, scope: Scope) -> bool:
    """Whether a statement makes an empty list of this name: `x = []`, `x, y = [], []`."""
    match scope.statement_of(name):
        case ast.Assign(targets=[ast.Name()], value=ast.List(elts=[])):
            return True
        case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)):
            return all(isinstance(one, ast.List) and not one.elts for one in values)
    return False
