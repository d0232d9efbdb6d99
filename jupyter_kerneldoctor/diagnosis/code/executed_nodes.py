"""The nodes of a syntax tree that run together: a function that is defined there runs when it is called."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)


def executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs in a node, in the order of the text, without what functions hold that are defined inside."""
    waiting = list(reversed(node.body if isinstance(node, ast.Module | Definition) else [node]))
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(children(current))


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that run where it does; of a function only what is worked out when it is defined."""
    if isinstance(node, FUNCTIONS):
        defaults = [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
        return [*getattr(node, "decorator_list", []), *defaults]
    found: list[ast.AST] = []
    for name in node._fields:  # what ast.iter_child_nodes does takes twice as long
        part = getattr(node, name, None)
        if isinstance(part, list):
            found += [one for one in part if isinstance(one, ast.AST)]
        elif isinstance(part, ast.AST) and not isinstance(part, _MARKS):
            found.append(part)
    return found
