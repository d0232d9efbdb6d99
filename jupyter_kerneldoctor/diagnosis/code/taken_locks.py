"""Locks that are taken and given back by a call each."""

import ast
import re
from collections.abc import Iterator

from .scopes import Scope
from .trees import unparse


def taken_and_given_back(scope: Scope, name: str) -> Iterator[tuple[ast.stmt, list[ast.stmt], ast.stmt]]:
    """Yield the statements that take and give back a lock in the same block, and those between them."""
    holders = [scope.node, *(one for one in scope.nodes if isinstance(one, ast.stmt))]
    for holder in holders:
        body = getattr(holder, "body", None)
        if not isinstance(body, list):
            continue
        texts = [unparse(one) if isinstance(one, ast.Expr) else "" for one in body]
        takes = [at for at, text in enumerate(texts) if re.fullmatch(rf"(?:\w+\.)*{name}\.acquire\(\)", text)]
        for at in takes[:1]:
            end = texts[at].replace(".acquire()", ".release()")
            if end in texts[at + 2 :]:
                last = texts.index(end, at)
                if any(end in unparse(one) for one in body[at + 1 : last]):
                    continue  # it is given back on another way out, too: the block would do that again
                yield body[at], body[at + 1 : last], body[last]
