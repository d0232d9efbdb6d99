"""Calls that only work something out: the same for the same, and they leave all else as it is."""

import ast
from collections.abc import Iterable, Iterator

from .loop_changes import PURE, called_name, running_nodes
from .notebook import Notebook
from .scopes import Scope
from .trees import walk

_WORKS_OUT = PURE | {
    *("all", "any", "range", "str", "repr", "ord", "chr", "sorted", "reversed", "enumerate", "zip", "list", "tuple"),
    *("set", "dict", "frozenset", "pow", "divmod", "map", "filter", "hash", "bin", "hex", "format", "complex"),
}
READS = frozenset(
    {
        *("replace", "strip", "lstrip", "rstrip", "split", "splitlines", "join", "lower", "upper", "startswith"),
        *(
            "endswith",
            "isdigit",
            "isalpha",
            "isspace",
            "format",
            "zfill",
            "bit_length",
            "is_integer",
            "encode",
            "decode",
        ),
    }
)
"""Methods of texts and numbers."""
LOOKS = frozenset({"find", "index", "count", "items", "keys", "values", "get", "copy", "union", "intersection"})
"""Methods of containers that leave them as they are; others may have methods of these names, too."""
_CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp, ast.Constant)
_MODULES = ("math.", "cmath.", "re.", "operator.", "statistics.", "fractions.", "decimal.")
TELLS = frozenset({"print", "display"})
_ERRORS = ("Error", "Exception", "Warning", "Interrupt", "StopIteration")
_DEEPEST = 4


def free_names(code: Notebook, read: Iterable[ast.AST], depth: int) -> Iterator[str]:
    """Yield the names from outside that the functions read which some expressions call."""
    for one in (part for node in read for part in walk(node) if isinstance(part, ast.Call)):
        for own in code.functions_named(called_name(one)) if depth < _DEEPEST else ():
            yield from (name.id for name in own.names if isinstance(name, ast.Name) and _is_of_outside(code, own, name))
            yield from free_names(code, own.calls, depth + 1)


def _is_of_outside(code: Notebook, own: Scope, name: ast.Name) -> bool:
    bound = None if name.id in own.bindings or name.id in own.parameters else code.lookup(name.id, own, name)
    return bound is not None and bound.definition is None and bound.imported is None


def works_out(code: Notebook, scope: Scope, node: ast.AST, depth: int = 0) -> bool:
    """Whether an expression, or a function's body, only works something out, the same each time."""
    for one in running_nodes(node):
        match one:
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.Lambda() | ast.NamedExpr():
                return False
            case ast.Call() if not is_of_values(code, scope, one, depth):
                return False
    return True


def is_of_values(code: Notebook, scope: Scope, call: ast.Call, depth: int) -> bool:
    match call.func:
        case ast.Name(id=name):
            own = [*code.functions_named(name)]
            if len(own) == 1 and code.lookup(name, scope, call) is not None:
                return depth < _DEEPEST and _is_function_of_values(code, own[0], depth + 1)
            is_error = name.endswith(_ERRORS)
            return not own and (is_error or (name in _WORKS_OUT and code.lookup(name, scope, call) is None))
        case ast.Attribute(attr=attr, value=ast.Name(id=name)) if attr in LOOKS:
            bound = code.lookup(name, scope, call)
            return bound is not None and isinstance(bound.value, _CONTAINERS)
        case ast.Attribute(attr=attr):
            return attr in READS or (code.qualified(call.func, scope) or "").startswith(_MODULES)
    return False


def _is_function_of_values(code: Notebook, own: Scope, depth: int) -> bool:
    """Whether a function of the cells gives the same for the same, and leaves all else as it is."""
    if not isinstance(own.node, ast.FunctionDef) or own.decorators or own.owner is not None:
        return False
    for one in own.nodes:
        match one:
            case ast.Global() | ast.Nonlocal() | ast.FunctionDef() | ast.ClassDef() | ast.With() | ast.Delete():
                return False
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                return False
    others = (one for one in own.calls if called_name(one) not in (*TELLS, own.function))
    return all(works_out(code, own, one, depth) for one in others)
