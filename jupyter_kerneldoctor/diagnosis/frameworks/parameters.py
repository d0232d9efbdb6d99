"""Parameters of networks: names that stand for one, and objects that are asked for theirs."""

import ast

from ..code.notebook import Notebook, Scope, once
from ..code.trees import walk

_GIVE_PARAMETERS = ("parameters", "named_parameters")
_ONLY_OF_NETWORKS = ("parameters", "named_parameters", "eval")


def is_parameter(node: ast.Name, scope: Scope) -> bool:
    """Whether a name stands for each parameter of a network in turn: `for p in net.parameters()`."""
    for loop in scope.loops_around(node):
        if isinstance(loop, ast.For) and any(getattr(one, "id", "") == node.id for one in walk(loop.target)):
            calls = (one.func for one in walk(loop.iter) if isinstance(one, ast.Call))
            return any(isinstance(one, ast.Attribute) and one.attr in _GIVE_PARAMETERS for one in calls)
    return False


@once
def asked_for_parameters(code: Notebook) -> set[str]:
    """Return the texts of the objects that are asked for their parameters."""
    found: set[str] = set()
    for scope in code.scopes_mentioning(*_ONLY_OF_NETWORKS):
        for call in scope.calls:
            match call:
                case ast.Call(func=ast.Attribute(attr=method, value=owner), args=[], keywords=[]) if (
                    method in _ONLY_OF_NETWORKS and isinstance(owner, ast.Name | ast.Attribute)
                ):
                    found.add(scope.segment(owner))
    return found
