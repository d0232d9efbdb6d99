"""What a shell is given to run: in `!…`, and as an argument of `os.system` and the like.

The kernel's own id becomes `$PPID`, which is what it is to the shell; what is not known before it runs, a `?`.
"""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

from .shell import PARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .names import Names

_UNKNOWN = "?"


def of_magic(line: str, names: Names) -> str:
    """Return what `!…` runs: IPython puts in what stands in braces, or behind a `$` if that is a name of Python's."""
    script = re.sub(r"\{([^{}]+)\}", lambda found: _expanded(found, names), line.lstrip("!"))
    return re.sub(r"\$+(\w+)", lambda found: _expanded(found, names), script)


def of_expression(node: ast.expr, names: Names) -> str:
    """What is given to a shell, as a string or a list of words; the kernel's own id is the shell's `$PPID`."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if names.is_own(node):
        return PARENT
    if isinstance(node, ast.List | ast.Tuple):
        words = ((part, of_expression(part, names)) for part in node.elts)
        return " ".join(shlex.quote(word) if isinstance(part, ast.Constant) else word for part, word in words)
    if isinstance(node, ast.JoinedStr):
        return "".join(of_expression(part, names) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return of_expression(node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return of_expression(node.left, names) + of_expression(node.right, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _filled(r"%[\w.]+", of_expression(node.left, names), given, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _filled(r"\{\w*\}", of_expression(node.func.value, names), node.args, names)
    return _UNKNOWN


def _filled(place: str, text: str, values: Sequence[ast.expr], names: Names) -> str:
    rest = iter(values)
    return re.sub(
        place, lambda _: of_expression(value, names) if (value := next(rest, None)) is not None else _UNKNOWN, text
    )


def _expanded(found: re.Match[str], names: Names) -> str:
    """What is put in; what names nothing in Python stays, for the shell to know."""
    try:
        node = ast.parse(found[1].strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return found[0]
    if names.is_own(node):
        return PARENT
    return found[0] if names.resolve(node) == found[1] else _UNKNOWN
