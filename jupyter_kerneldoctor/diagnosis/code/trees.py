"""The functions of `ast` that look at whole trees, counted: rules call them at each node, and trees are deep.

Each raises CodeTooLargeError within a block that is `charged` for it, as soon as more was looked at than there is time
for.
"""

import ast
from collections import deque
from collections.abc import Iterator

from .budget import spend

_WORD = 5
"""What it takes to write down one name, in microseconds."""


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all that it holds, level by level, as `ast.walk` does."""
    waiting = deque([node])
    while waiting:
        current = waiting.popleft()
        spend(1)
        waiting.extend(ast.iter_child_nodes(current))
        yield current


def unparse(node: ast.AST) -> str:
    """Return the text of a node as `ast.unparse` writes it."""
    text = ast.unparse(node)
    spend(_WORD + len(text) / 2)
    return text


def dump(node: ast.AST) -> str:
    """Return what tells a tree from another, as `ast.dump` writes it."""
    text = ast.dump(node)
    spend(_WORD + len(text) / 8)
    return text
