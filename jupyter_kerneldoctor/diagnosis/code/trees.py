"""What is asked of syntax trees. What looks at a whole one is counted: rules call it at each node, and trees are deep.

What is counted raises CodeTooLargeError within a block that is `charged` for it, as soon as more was looked at than
there is time for.
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


def holds(node: ast.AST, line: int) -> bool:
    """Whether a line is one of a node's."""
    return bool(getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", 0) or 0))


def unparse(node: ast.AST) -> str:
    """Return the text of a node as `ast.unparse` writes it."""
    text = ast.unparse(node)
    spend(_WORD + len(text) / 2)
    return text


def waits(node: ast.AST) -> bool:
    """Whether a comprehension waits for what is asynchronous: without its brackets only `async for` could go on."""
    return any(isinstance(one, ast.Await) or getattr(one, "is_async", 0) for one in walk(node))


def dump(node: ast.AST) -> str:
    """Return what tells a tree from another, as `ast.dump` writes it."""
    text = ast.dump(node)
    spend(_WORD + len(text) / 8)
    return text


def after_future(body: list[ast.stmt]) -> ast.stmt | None:
    """Return the first statement that others may be written in front of: `from __future__` has to stay above."""
    above = [at for at, one in enumerate(body) if getattr(one, "module", "") == "__future__"]
    return next(iter(body[above[-1] + 1 if above else 0 :]), None)


def does_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is a text, `pass` or `raise`, as all that the body of a base class's method has."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass | ast.Raise)
