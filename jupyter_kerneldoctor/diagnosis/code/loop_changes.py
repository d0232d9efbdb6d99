"""What the condition of a loop asks, and whether something in the loop may change that."""

import ast
from collections.abc import Iterator

from .budget import spend
from .calls import last_name
from .notebook import Notebook
from .scopes import Scope
from .trees import unparse, walk

PURE = frozenset({"len", "abs", "int", "float", "min", "max", "sum", "bool", "isinstance", "round"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ASKS_TIME = frozenset({"sleep", "perf_counter", "time", "monotonic"})
_HARMLESS = PURE | {"print", "str", "repr", "range", "sorted", "display"} | _ASKS_TIME
_FILLED = frozenset(
    {"zeros", "zeros_like", "ones", "ones_like", "empty", "full", "array", "tensor", "Value", "asarray"}
)
"""What makes numbers that are changed in place."""
BY_NAME = ("exec(", "eval(", "globals()", "user_ns", "setattr(", "__dict__", "run_cell", "%run", "__main__")


def running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what runs in it; functions are not entered."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        spend(0.5)
        yield one
        if not isinstance(one, FUNCTIONS):
            waiting += ast.iter_child_nodes(one)


def asked_names(test: ast.expr) -> frozenset[str]:
    """Return the names, and attributes of `self`, that a condition asks; none where it asks anything else."""
    found = set[str]()
    waiting: list[ast.AST] = [test]
    while waiting:
        match waiting.pop():
            case ast.Name(id=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                found.add(f"{name}.{attr}")
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in PURE:
                waiting += args
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.BinOp() as inner:
                waiting += [one for one in ast.iter_child_nodes(inner) if isinstance(one, ast.expr)]
            case ast.Constant():
                pass
            case _:
                return frozenset()
    return frozenset(found)


def number_names(test: ast.expr) -> frozenset[str]:
    """Return the names that a condition compares as numbers: only assigned anew can they change, unlike a list."""
    match test:
        case ast.BoolOp(values=values):
            return frozenset().union(*map(number_names, values))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return number_names(inner)
        case ast.Compare(left=left, ops=ops, comparators=others):
            ordered = all(isinstance(one, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Is | ast.IsNot) for one in ops)
            fixed = any(isinstance(one, ast.Constant) for one in others)
            sides = [one for one in (left, *others) if not any(isinstance(part, ast.Call) for part in walk(one))]
            return frozenset().union(*map(asked_names, sides)) if ordered or fixed else frozenset()
    return frozenset()


def is_number(code: Notebook, scope: Scope, loop: ast.While, name: str) -> bool:
    """Whether a name that is used as a number may be one: no array, which is changed in place."""
    bound = code.lookup(name, scope, loop)
    return bound is None or called_name(bound.value) not in _FILLED


def _is_constant(code: Notebook, scope: Scope, loop: ast.While, name: str) -> bool:
    bound = code.lookup(name, scope, loop)
    return bound is not None and isinstance(bound.value, ast.Constant)


def _is_harmless(call: ast.Call) -> bool:
    return called_name(call) in (_HARMLESS if isinstance(call.func, ast.Name) else _ASKS_TIME)


def called_name(call: ast.AST | None) -> str:
    """Return what is called: `pop` of `rows.pop()`."""
    return last_name(call.func) if isinstance(call, ast.Call) else ""


def may_change(code: Notebook, scope: Scope, loop: ast.While, names: frozenset[str], inner: list[ast.AST]) -> bool:
    """Whether something in the loop may change what a name stands for, or the object itself."""
    roots = {one.partition(".")[0] for one in names}
    told = [f"{word} {name}" for name in roots for word in ("global", "nonlocal")]
    if code.has_text(*told, *BY_NAME):
        return True
    constant = {one for one in roots if _is_constant(code, scope, loop, one)}
    numbers = number_names(loop.test) | constant
    entries = {id(one.value) for one in inner if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load)}
    reads = [one for one in inner if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
    attributes = {id(one.value) for one in reads if only_sleeps(loop) or is_plain(code, unparse(one))}
    calls = any(isinstance(one, ast.Call) for one in inner) and not only_sleeps(loop)
    if calls and any("." in one for one in names):
        return True  # whatever it calls may set an attribute
    calls = any(isinstance(one, ast.Call) and not _is_harmless(one) for one in inner)
    if calls and not all((is_number if one in numbers else _is_constant)(code, scope, loop, one) for one in roots):
        return True  # or take something out of a list, which it may know by another name
    for node in inner:
        match node:
            case ast.Name(id=name) if name in roots:
                is_read = name in numbers or id(node) in entries or id(node) in attributes
                if not isinstance(node.ctx, ast.Load) or not is_read:
                    return True
            case ast.keyword(arg="out", value=value) if asked_names(value) & roots:
                return True
            case ast.Attribute() if unparse(node) in names and not isinstance(node.ctx, ast.Load):
                return True
    return False


def is_plain(code: Notebook, name: str) -> bool:
    """Whether asking for a name only looks: an attribute that the cells set, and no property that asks a server."""
    _, dot, attribute = name.partition(".")
    if not dot:
        return True
    scopes = code.scopes_mentioning(attribute)
    stored = (
        one for scope in scopes for one in scope.names if isinstance(one, ast.Attribute) and one.attr == attribute
    )
    is_set = any(isinstance(one.ctx, ast.Store) for one in stored)
    return is_set and not any(code.functions_named(attribute))


def only_sleeps(loop: ast.While) -> bool:
    """Whether a loop does nothing but sleep and tell so."""
    statements = [one for one in loop.body if not isinstance(one, ast.Pass)]
    names = [called_name(one.value) if isinstance(one, ast.Expr) else "" for one in statements]
    return "sleep" in names and all(one in ("sleep", "print") for one in names)
