"""Windows of a series that are taken one step after the other: `x[i:i + width]` for each `i`."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.notebook import Call, Notebook
from ..code.scopes import Scope
from ..code.trees import unparse, walk

_WRAPPERS = ("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "array", "asarray")


class Windows(NamedTuple):
    """The windows `x[i + offset : i + offset + width]` for each `i` below `count`."""

    part: ast.Subscript
    at: str
    rounds: ast.expr
    offset: tuple[ast.expr, ...]
    width: tuple[ast.expr, ...]

    def text(self, scope: Scope) -> str:
        """Return the call that shows them as a view, without what stands before it."""
        offset, width = (" + ".join(map(scope.segment, some)) for some in (self.offset, self.width))
        series = scope.segment(self.part.value) + (f"[{offset}:]" if offset else "")
        return f"sliding_window_view({series}, {width})[:{scope.segment(self.rounds)}]"

    def of_tensor(self, scope: Scope) -> str:
        """Return the call that shows them as a view of a tensor, or of an array that it shares its memory with."""
        offset, width = (" + ".join(map(scope.segment, some)) for some in (self.offset, self.width))
        series = scope.segment(self.part.value) + (f"[{offset}:]" if offset else "")
        return f"torch.as_tensor({series}).unfold(0, {width}, 1)[:{scope.segment(self.rounds)}]"


def _unwrapped(part: ast.expr) -> ast.expr:
    """Return what is made a tensor or an array: `x[i:i + n]` of `torch.tensor(x[i:i + n])`."""
    match part:
        case ast.Call(func=function, args=[inner]) if last_name(function) in _WRAPPERS:
            return inner
    return part


def windows(node: ast.For | ast.Call, scope: Scope) -> list[Windows]:
    """Return the windows that a loop or a list goes through one step at a time."""
    match node:
        case ast.For(target=ast.Name(id=at), iter=steps):
            parts = [one.value for one in node.body if isinstance(one, ast.Assign)]
        case ast.Call(
            args=[ast.ListComp(elt=part, generators=[ast.comprehension(ast.Name(id=at), steps, ifs=[])]), *_]
        ):
            parts = [_unwrapped(part)]
        case _:
            return []
    match steps:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            pass
        case _:
            return []
    found = []
    for part in parts:
        match part:
            case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=None)):
                first, last = _terms(lower), _terms(upper)
                texts = [scope.segment(one) for one in first]
                width = [one for one in last if scope.segment(one) not in texts]
                offset = [one for one in first if scope.segment(one) != at]
                named = [one.id for x in width + offset for one in walk(x) if isinstance(one, ast.Name)]
                if at in texts and len(width) == len(last) - len(first) > 0 and at not in named:
                    found.append(Windows(part, at, count, tuple(offset), tuple(width)))
    return found


class Appended(NamedTuple):
    """Windows that a loop puts into a list: `X.append(x[i:i + width])`, or `x[i - width:i]`."""

    part: ast.Subscript
    name: str
    width: ast.expr


def appended_windows(loop: ast.AST) -> Iterator[Appended]:
    """Yield the windows that a loop over a range puts into lists, one step at a time."""
    match loop:
        case ast.For(target=ast.Name(id=at), iter=ast.Call(func=ast.Name(id="range"), args=[_] | [_, _])):
            pass
        case _:
            return
    named = {
        one.targets[0].id: one.value
        for one in loop.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    for statement in loop.body:
        match statement:
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=name)), args=[value]))
                | ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=[value]))
            ):
                for part in walk(named.get(value.id, value) if isinstance(value, ast.Name) else value):
                    width = _width(part, at) if isinstance(part, ast.Subscript) else None
                    if isinstance(part, ast.Subscript) and width is not None:
                        yield Appended(part, name, width)


def _width(part: ast.Subscript, at: str) -> ast.expr | None:
    """Return how long a window at `i` is, where that is the same for each; None for what is no window."""
    cut = part.slice.elts[0] if isinstance(part.slice, ast.Tuple) and part.slice.elts else part.slice
    match cut:
        case (
            ast.Slice(
                lower=ast.Name(id=first), upper=ast.BinOp(left=ast.Name(id=last), op=ast.Add(), right=width), step=None
            )
            | ast.Slice(
                lower=ast.BinOp(left=ast.Name(id=first), op=ast.Sub(), right=width), upper=ast.Name(id=last), step=None
            )
        ) if first == last == at and at not in plain_names(width):
            return width
    return None


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return what is added up: `i`, `a` and `b` of `i + a + b`."""
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [*_terms(left), right]
    return [node]


def put_into(
    node: ast.For | ast.Call, found: Windows, scope: Scope, code: Notebook
) -> tuple[ast.Assign | None, Call | None]:
    """Return the statement that puts a window into an array, None for a list, and the call that makes the array."""
    if isinstance(node, ast.Call):
        return None, Call(node, scope, code.qualified(node.func, scope) or "")
    for store in node.body:
        match store:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=at))], value=part):
                made = [one.value for one in scope.bindings.get(name, ())]
                if part is found.part and at == found.at and len(made) == 1 and isinstance(made[0], ast.Call):
                    return store, Call(made[0], scope, code.qualified(made[0].func, scope) or "")
    return None, None


def is_only_filled(store: ast.Assign, made: Call, loop: ast.For) -> bool:
    """Whether an array of two axes is filled by each round of a loop, and by nothing else."""
    shape, (target,), scope = made.argument("shape", 0), store.targets, made.scope
    name = unparse(target).partition("[")[0]
    named = plain_names(store.value, loop.iter)
    bound = [one.position[0] for key in named for one in scope.bindings.get(key, ())]
    leaves = any(isinstance(one, ast.Continue | ast.Break | ast.Return) for one in scope.inside(loop))
    changed = [
        one
        for one in scope.nodes
        if isinstance(one, ast.Subscript | ast.Name) and unparse(one).partition("[")[0] == name
        if not isinstance(one.ctx, ast.Load)
    ]
    is_early = all(line < made.node.lineno or line >= loop.lineno for line in bound)
    return isinstance(shape, ast.Tuple) and len(shape.elts) == 2 and not leaves and len(changed) == 2 and is_early
