"""Loops whose end depends on values: a draw of what is used up, Newton's steps, rounds until nothing changes.

The code alone does not show that such a loop is endless: only so many rounds do that a healthy one never takes.
"""

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from .bit_loops import endless_bits
from .calls import plain_names
from .loop_changes import called_name
from .near_loops import never_near, passes_with_errors
from .notebook import Notebook
from .trees import unparse, walk

_DRAWS = frozenset({"randint", "randrange", "choice", "choices", "integers", "randbelow", "sample", "random_integers"})
"""They choose from what is finite: random, numpy.random, secrets."""
_CHEAP = frozenset({"randint", "randrange", "integers", "randbelow", "add", "append", "len", "str", "int"})
_MOST_GIVEN = 2  # a third argument may be how many to draw
_EQUAL = frozenset({"array_equal", "equal", "equals"})
_COPIES = frozenset({"copy", "deepcopy", "clone", "list", "dict", "set", "array"})
_NORMS = frozenset({"norm", "sqrt", "abs", "sum", "std", "mean", "max", "hypot", "len"})
_PLACES = (ast.Name, ast.Attribute)
_MOST_STEPS = 100  # scipy.optimize.newton gives up after 50
_LEAVES = (ast.Break, ast.Return)
_PLAIN = (ast.Assign, ast.AugAssign, ast.If, ast.Pass, ast.Continue, ast.Break, ast.Return)
_OF_NUMBERS = frozenset({"abs", "int", "float", "min", "max", "round", "divmod", "get", "len"})
_BACK = (ast.Sub, ast.Mod, ast.Div, ast.FloorDiv, ast.BitXor, ast.BitAnd, ast.RShift)
"""What may make a number smaller: without any of these it grows, and comes to an end."""


OfValues = Literal[
    "full", "taken", "newton", "settles", "circle", "same", "turns", "drifts", "bits", "stalled", "near", "errors"
]


class ValueLoop(NamedTuple):
    """What brings a loop to its end, and after how many rounds that is not to be expected any more."""

    kind: OfValues
    why: str
    least_rounds: int
    is_cheap: bool = False
    """Whether a round takes some microseconds: then the time alone tells that there were so many."""
    may_repeat: bool = False
    """Whether those rounds tell as much where the loop itself is gone through again and again."""


def value_loops(code: Notebook, loop: ast.While, inner: list[ast.AST]) -> Iterator[ValueLoop]:
    """Find what draws until something new comes, or goes from one value to the next until they are near or equal."""
    if (why := endless_bits(code, loop, inner)) is not None:
        yield ValueLoop("bits", why, 1000, is_cheap=True, may_repeat=True)
    yield from _circle(loop, inner)
    yield from _turns(loop, inner)
    if (why := passes_with_errors(loop)) is not None:
        yield ValueLoop("errors", why, 10_000)
    ways = [one for one in inner if isinstance(one, ast.If) and any(isinstance(part, _LEAVES) for part in walk(one))]
    is_true = isinstance(loop.test, ast.Constant)
    leaves = [part for part in inner if isinstance(part, _LEAVES)]
    if is_true != bool(ways) or len(ways) > 1 or any(isinstance(one, ast.Raise | ast.Assert) for one in inner):
        return
    if ways and len(leaves) != sum(isinstance(part, _LEAVES) for part in walk(ways[0])):
        return
    asked, until = (ways[0].test, True) if ways else (loop.test, False)
    counts = [one for one in inner if isinstance(one, ast.AugAssign) and not _is_newtons(one)]
    if {unparse(one.target) for one in counts} & {unparse(one) for one in walk(asked) if isinstance(one, _PLACES)}:
        return
    given = [one for one in inner if isinstance(one, ast.Assign)]
    drawn = {name for one in given if _draws(code, one.value) for target in one.targets for name in plain_names(target)}
    yield from _full(code, loop, inner, drawn)
    yield from _taken(code, loop, inner, asked, drawn)
    yield from _newton(inner, given, asked)
    yield from _settles(given, asked, until=until)
    if (why := never_near(loop, asked, until=until)) is not None:
        yield ValueLoop("near", why, 200_000)


def _is_newtons(one: ast.AugAssign) -> bool:
    return isinstance(one.op, ast.Sub) and isinstance(one.value, ast.BinOp | ast.Name)


def _draws(code: Notebook, value: ast.AST) -> bool:
    """Whether an expression draws at random from what is finite, or calls a function of the notebook that does."""
    names = [called_name(one) for one in walk(value) if isinstance(one, ast.Call)]
    own = (part for name in names if name for function in code.functions_named(name) for part in function.calls)
    return any(name in _DRAWS for name in names) or any(called_name(one) in _DRAWS for one in own)


def _is_cheap(inner: list[ast.AST]) -> bool:
    """Whether what a loop calls only draws one value, and puts it into a container."""
    names = {called_name(one) for one in inner if isinstance(one, ast.Call)}
    given = (one for one in inner if isinstance(one, ast.Call))
    sized = any(one.keywords or len(one.args) > _MOST_GIVEN for one in given)
    repeats = any(isinstance(one, ast.For | ast.While | ast.ListComp | ast.GeneratorExp) for one in inner)
    return names <= _CHEAP and not sized and not repeats


def _full(code: Notebook, loop: ast.While, inner: list[ast.AST], drawn: set[str]) -> Iterator[ValueLoop]:
    """Find `while len(used) < n`, where only what is drawn and new makes it longer."""
    match loop.test:
        case (
            ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[held]), ops=[ast.Lt() | ast.LtE() | ast.NotEq()])
            | ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[ast.Call(func=ast.Name(id="len"), args=[held])])
        ):
            name = unparse(held)
        case _:
            return
    filled = [one for one in inner if isinstance(one, ast.Call) and _owner(one) == name]
    is_new = any(isinstance(one, ast.Compare) and unparse(one).endswith(f" not in {name}") for one in inner)
    kinds = {called_name(one) for one in filled}
    new = [part for one in filled for part in one.args]
    only_new = kinds == {"add"} or (kinds == {"append"} and is_new)
    if only_new and all(_draws(code, one) or plain_names(one) & drawn for one in new):
        why = f"each round draws again, and `{name}` gets no longer where nothing new is left to be drawn"
        yield ValueLoop("full", why, 1000, is_cheap=_is_cheap(inner))


def _taken(
    code: Notebook, loop: ast.While, inner: list[ast.AST], asked: ast.expr, drawn: set[str]
) -> Iterator[ValueLoop]:
    """Find a draw that is repeated until it is free: `while taken[i]: i = randrange(9)`."""
    plain = [one for one in loop.body if not isinstance(one, ast.If)]
    only_draws = all(isinstance(one, ast.Assign) and _draws(code, one.value) for one in plain) and bool(plain)
    if not only_draws or len(loop.body) > len(plain) + 1 or any(isinstance(one, ast.Call) for one in walk(asked)):
        return
    for one in walk(asked):
        match one:
            case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Eq() | ast.NotEq()]) | ast.Subscript():
                if names := sorted(plain_names(one) & drawn):
                    why = f"each round only draws `{'` and `'.join(names)}` again, and no draw was a good one"
                    yield ValueLoop("taken", why, 1000, _is_cheap(inner), may_repeat=True)
                    return


def _newton(inner: list[ast.AST], given: list[ast.Assign], asked: ast.expr) -> Iterator[ValueLoop]:
    """Find Newton's step, `x = x - f(x) / df(x)`, without a limit for the number of steps."""
    made = {one.targets[0].id: one.value for one in given if isinstance(one.targets[0], ast.Name)}
    steps: list[tuple[ast.expr, ast.expr]]
    steps = [(one.target, one.value) for one in inner if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Sub)]
    for one in made.values():
        match one:
            case ast.BinOp(left=ast.Name() as start, op=ast.Sub(), right=step):
                steps.append((start, step))
    for begun, step in steps:
        value = made.get(step.id, step) if isinstance(step, ast.Name) else step
        match begun, value:
            case ast.Name(id=name), ast.BinOp(op=ast.Div(), left=above, right=below):
                is_scaled = any(called_name(one) in _NORMS for one in walk(value))  # along the gradient, so far
                if not is_scaled and all(name in _depends_on(one, made) for one in (above, below, asked)):
                    why = f"nothing limits the steps of `{name}`: from some starts they jump to and fro, or get NaN"
                    yield ValueLoop("newton", why, _MOST_STEPS)
                    return


def _circle(loop: ast.While, inner: list[ast.AST]) -> Iterator[ValueLoop]:
    """Find a walk from one object to the next, `node = node.next`, that calls nothing on its way."""
    asked = loop.test
    if isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.IsNot):
        asked = asked.left
    match asked:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
            pass
        case _:
            return
    if any(isinstance(one, ast.Call | ast.For | ast.While | ast.Await | ast.ListComp) for one in inner):
        return
    stores = [one for one in inner if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)]
    for one in inner:
        match one:
            case ast.Assign(targets=[ast.Name(id=to)], value=ast.Attribute(value=ast.Name(id=of), attr=attr)):
                if to == of == name and len(stores) == 1:
                    why = f"so many objects do not fit into its memory: `{name}.{attr}` has led back to an earlier one"
                    yield ValueLoop("circle", why, 1000, is_cheap=True)


def _turns(loop: ast.While, inner: list[ast.AST]) -> Iterator[ValueLoop]:
    """Find a loop that only works out numbers, none of which counts up or down to an end: they come back.

    Where an entry is looked up by the last one, `x = parent[x]`, that is a walk in a circle.
    """
    plain = all(isinstance(one, _PLAIN) for one in inner if isinstance(one, ast.stmt))
    if not plain or not {called_name(one) for one in inner if isinstance(one, ast.Call)} <= _OF_NUMBERS:
        return
    given = dict[str, list[ast.expr]]()
    for name, value in (pair for one in inner for pair in _pairs(one)):
        given.setdefault(name, []).append(value)
    tests = [loop.test, *(one.test for one in inner if isinstance(one, ast.If))]
    asked = {name for one in tests for name in plain_names(one) & given.keys()}
    values = [value for name in asked for value in given[name]]
    if not asked or any(all(_counts(name, one, given) for one in given[name]) for name in asked):
        return
    steps = [one for value in values for one in walk(value) if isinstance(one, ast.BinOp)]
    if any(isinstance(one.op, ast.Mod) and _multiplies(one.left) for one in steps):
        return  # a generator of numbers comes back only after as many
    halves = any(unparse(one).endswith(") / 2") for one in steps)
    near = any(called_name(one) in _NORMS or isinstance(getattr(one, "value", None), float) for one in walk(loop.test))
    if near and not halves:
        return  # it may come nearer for long
    told = " and ".join(f"`{one}`" for one in sorted(asked))
    for name in sorted(asked):
        for value in given[name]:
            match value:
                case ast.Subscript(slice=ast.Name(id=at)) if at == name:
                    led = f"`{unparse(value)}` has led back to an earlier `{at}`"
                    why = f"so many entries do not fit into its memory: {led}"
                    yield ValueLoop("circle", why, 1000, is_cheap=True)
                    return
    if any(isinstance(one.op, _BACK) for one in steps):
        why = f"after so many rounds {told} must have come back to what was there before, or have got stuck"
        yield ValueLoop("turns", why, 1000, is_cheap=True)


def _multiplies(node: ast.expr) -> bool:
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Pow) for one in walk(node))


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that a statement sets, and to what: `a, b = b, a % b` sets two."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            yield from ((one.id, value) for one, value in zip(names, values, strict=True) if isinstance(one, ast.Name))
        case ast.Assign(targets=targets, value=value):
            yield from ((name, value) for one in targets for name in plain_names(one))
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            yield name, ast.BinOp(target, op, value)


def _counts(name: str, value: ast.expr, given: dict[str, list[ast.expr]]) -> bool:
    """Whether a value is the last one and a step that does not change, or a part of it."""
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() | ast.FloorDiv() | ast.Div(), right=step):
            return left == name and not plain_names(step) & given.keys()
    return False


def _depends_on(node: ast.expr, made: dict[str, ast.expr]) -> set[str]:
    """Return the names in an expression, and in what the loop has made some of them of."""
    names = plain_names(node)
    return names | plain_names(*(made[one] for one in names if one in made))


def _settles(given: list[ast.Assign], asked: ast.expr, *, until: bool) -> Iterator[ValueLoop]:
    """Find a loop that goes on until a value is exactly what it was one round before."""
    pairs = {frozenset((unparse(one.targets[0]), source)) for one in given if (source := _copied(one.value))}
    for left, right in _compared(asked, until=until):
        if frozenset((unparse(left), unparse(right))) in pairs:
            told = f"`{unparse(left)}` and `{unparse(right)}`"
            why = f"{told} are to be exactly the same: values that take turns never are, and NaN never equals itself"
            yield ValueLoop("settles", why, 3000)
            return


def _copied(value: ast.expr) -> str | None:
    """Return what an expression is, or is a copy of."""
    match value:
        case ast.Name() | ast.Attribute():
            return unparse(value)
        case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None)):
            return unparse(inner)
        case ast.Call(func=ast.Attribute(attr=attr, value=inner), args=[]) if attr in _COPIES:
            return unparse(inner)
        case ast.Call(args=[inner]) if called_name(value) in _COPIES:
            return unparse(inner)
    return None


def _compared(asked: ast.expr, *, until: bool) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what has to be equal for a loop to be left."""
    match asked:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _compared(inner, until=not until)
        case (
            ast.Call(func=ast.Attribute(attr="all" | "any", value=inner), args=[])
            | ast.Call(args=[inner], func=ast.Attribute(attr="all" | "any") | ast.Name(id="all" | "any"))
        ):
            yield from _compared(inner, until=until)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            if isinstance(op, ast.Eq) == until:
                yield left, right
        case ast.Call(args=[left, right]) if called_name(asked) in _EQUAL and until:
            yield left, right
        case ast.Call(func=ast.Attribute(attr=attr, value=left), args=[right]) if attr in _EQUAL and until:
            yield left, right


def _owner(call: ast.Call) -> str:
    return unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
