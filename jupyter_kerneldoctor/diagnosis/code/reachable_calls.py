"""The calls that run when a statement runs, and whether they take time."""

import ast
from collections.abc import Iterator

from .calls import last_name
from .executed_nodes import FUNCTIONS
from .trees import walk

_QUICK = frozenset(
    {"print", "flush", "getpid", "getppid", "getpgrp", "getpgid", "get_ident", "main_thread", "current_thread"}
    | {"Process", "CDLL", "dict"}
)
"""Calls by the last part of their name: what is written before, and what finds the own process."""
_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.AsyncFor, ast.AsyncWith, ast.IfExp, ast.BoolOp)


def reachable_calls(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """The calls that run when the statement runs, each with whether it always does. Functions are not entered."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, True)]
    while waiting:
        node, certain = waiting.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Constant):
            yield node.value, certain  # `exit` alone on a line: IPython calls it; and `!…`, which is masked as a number
        elif isinstance(node, ast.Call):
            yield node, certain
        inner = certain and not isinstance(node, _COMPOUND)
        waiting += [(child, inner) for child in reversed([*ast.iter_child_nodes(node)])]


def takes_no_time(statement: ast.stmt) -> bool:
    """Imports, definitions and plain values; of calls only those that are known to be quick."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    slow = (ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.comprehension)
    return not any(
        isinstance(node, slow) or (isinstance(node, ast.Call) and not _is_quick(node)) for node in walk(statement)
    )


def _is_quick(call: ast.Call) -> bool:
    name = last_name(call.func)
    return name in _QUICK
