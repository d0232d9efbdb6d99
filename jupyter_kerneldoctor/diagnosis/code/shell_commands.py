"""What a shell is given to run: in `!…`, and as an argument of `os.system` and the like.

The kernel's own id becomes `$PPID`, which is what it is to the shell; what is not known before it runs, a `?`.
"""

import ast
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from .notebook import Notebook
from .scopes import Scope
from .shell import PARENT

_UNKNOWN = "?"
_LONGEST = 200  # characters that stand in braces
_DEEPEST = 50


@dataclass(frozen=True)
class ShellCommands:
    """Tells what shells are given to run in a scope."""

    scope: Scope
    code: Notebook

    def of_magic(self, line: str, number: int) -> str:
        """Return what `!…` runs; IPython puts in what stands in braces, or behind a `$` if that is a name of Python."""
        script = re.sub(r"\{([^{}]+)\}", lambda found: self._expanded(found, number), line.lstrip("!"))
        return re.sub(r"(?<!\$)\$+(\w+)", lambda found: self._expanded(found, number), script)

    def _expanded(self, found: re.Match[str], number: int) -> str:
        """What is put in; what names nothing in Python stays, for the shell to know."""
        if len(found[1]) > _LONGEST:
            return _UNKNOWN
        try:
            node = ast.parse(found[1].strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return found[0]
        ast.increment_lineno(node, number - 1)
        if self.code.is_own_process(node, self.scope):
            return PARENT
        return found[0] if self.code.described(node, self.scope) == found[1] else _UNKNOWN

    def of_expression(self, node: ast.expr, depth: int = 0) -> str:
        """Return what is given to a shell as a string or a list of words."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if self.code.is_own_process(node, self.scope):
            return PARENT
        if isinstance(node, ast.Name) and depth < _DEEPEST:
            bound = self.code.lookup(node.id, self.scope, node)
            if bound is not None and bound.value is not None and bound.scope is self.scope:
                return self.of_expression(bound.value, depth + 1)
        parts = _parts(node) if depth < _DEEPEST else []
        texts = [self.of_expression(part, depth + 1) for part in parts]
        match node:
            case ast.List() | ast.Tuple():
                words = zip(parts, texts, strict=True)
                return " ".join(shlex.quote(text) if isinstance(part, ast.Constant) else text for part, text in words)
            case ast.BinOp(op=ast.Mod()) if texts:
                return _filled(r"%[\w.]+", texts)
            case ast.Call() if texts:
                return _filled(r"\{\w*\}", texts)
        return "".join(texts) if parts else _UNKNOWN


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """What an expression puts together to a text."""
    match node:
        case ast.List() | ast.Tuple():
            return node.elts
        case ast.JoinedStr():
            return node.values
        case ast.FormattedValue():
            return [node.value]
        case ast.BinOp(op=ast.Add()):
            return [node.left, node.right]
        case ast.BinOp(op=ast.Mod()):
            return [node.left, *(node.right.elts if isinstance(node.right, ast.Tuple) else [node.right])]
        case ast.Call(func=ast.Attribute(attr="format", value=text)):
            return [text, *node.args]
    return []


def _filled(place: str, texts: Sequence[str]) -> str:
    """A text with others in its places, in their order."""
    rest = iter(texts[1:])
    return re.sub(place, lambda _: next(rest, _UNKNOWN), texts[0])
