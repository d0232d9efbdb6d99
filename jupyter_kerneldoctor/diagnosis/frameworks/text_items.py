"""Lists of texts: `[m.lower() for m in messages]`, `df["text"].astype(str).tolist()`, a list of lines."""

import ast

from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.stores import stores

_TEXT_METHODS = frozenset(
    (
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "join", "format", "capitalize", "casefold"),
        *("decode", "read_text", "removeprefix", "removesuffix", "zfill", "get_text", "getvalue"),
    )
)
_TEXT_FUNCTIONS = ("builtins.str", "builtins.repr", "re.sub", "json.dumps", "builtins.input")
_GATHER = ("builtins.list", "builtins.sorted", "builtins.tuple")


def is_of_texts(node: ast.expr | None, scope: Scope, code: Notebook) -> bool:
    """Whether a list or column holds texts, as far as the code says so; False where that is not sure."""
    for one, where in all_origins(node, scope, code) if node is not None else ():
        match one:
            case ast.ListComp(elt=element):
                return _is_text(element, where, code)
            case ast.List(elts=[first, *_]):
                return _is_text(first, where, code)
            case ast.List(elts=[]):
                return _are_put_in(node, scope, code)
            case ast.Call(func=ast.Attribute(attr="astype"), args=[ast.Name(id="str") | ast.Constant(value="str")]):
                return True
            case ast.Call(func=ast.Attribute(attr="splitlines" | "readlines")):
                return True
            case ast.Call(func=function, args=[ast.GeneratorExp(elt=element), *_]):
                return code.qualified(function, where) in _GATHER and _is_text(element, where, code)
    return False


def _is_text(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Attribute(attr=name)) if name in _TEXT_METHODS:
            return True
        case ast.Call(func=function):
            return code.qualified(function, scope) in _TEXT_FUNCTIONS
    return False


def _are_put_in(node: ast.expr | None, scope: Scope, code: Notebook) -> bool:
    """Whether all that is put into a list are texts."""
    name = node.id if isinstance(node, ast.Name) else ""
    values = [value for one in stores([scope]) if one.container == name for value in one.values]
    return bool(values) and all(_is_text(value, scope, code) for value in values)
