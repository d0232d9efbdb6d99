"""What stands in a comprehension."""

import ast

from .scopes import Scope
from .trees import walk

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def is_in_comprehension(node: ast.AST, scope: Scope) -> bool:
    """Whether a node belongs to what a comprehension makes for each item."""
    statement = scope.tree.statements.get(node)
    around = () if statement is None else (one for one in scope.inside(statement) if isinstance(one, _COMPREHENSIONS))
    return any(node in walk(one) for one in around)
