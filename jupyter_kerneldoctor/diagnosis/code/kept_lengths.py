"""The length at which the code keeps a container: `len(pool) < n`, `deque(maxlen=n)`."""

import ast

from .attributes import Origin
from .calls import last_name
from .notebook import Notebook
from .origins import Origins
from .scopes import Scope
from .stores import stores
from .trees import walk


def kept_length(code: Notebook, name: str) -> tuple[int, Origin] | None:
    """Return the length at which the code keeps a container, and where that number is written."""
    word, origins = name.rpartition(".")[2], Origins(code)
    for scope in code.scopes_mentioning(word):
        for node in scope.nodes:
            given: ast.expr | None = None
            match node:
                case ast.Compare(
                    left=ast.Call(func=ast.Name(id="len"), args=[held]),
                    ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()],
                    comparators=[limit],
                ) if last_name(held) == word and _is_kept_at(node, word, scope):
                    given = limit
                case ast.Assign(targets=[target], value=ast.Call(keywords=words)) if last_name(target) == word:
                    given = next((one.value for one in words if one.arg == "maxlen"), None)
            if given is not None and (found := origins.number(given, scope)) is not None and found[0] > 1:
                return found
    return None


def _is_kept_at(test: ast.Compare, word: str, scope: Scope) -> bool:
    """Whether a test keeps a container at a length: nothing is added above it, or something goes, or the loop ends."""
    at = scope.statement_of(test)
    if not isinstance(at, ast.If | ast.While):
        return False
    below, above = (at.body, at.orelse) if isinstance(test.ops[0], ast.Lt | ast.LtE) else (at.orelse, at.body)
    adds = {one.statement for one in stores([scope]) if one.container.rpartition(".")[2] == word}
    return any(one in adds for part in below for one in walk(part)) or any(
        isinstance(one, ast.Break | ast.Continue | ast.Return | ast.Delete) or _takes_out(one, word)
        for part in above
        for one in walk(part)
    )


def _takes_out(node: ast.AST, word: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="pop" | "popleft" | "popitem" | "remove" | "clear", value=held)):
            return last_name(held) == word
        case ast.Assign(targets=[target]):
            return last_name(target) == word
    return False
