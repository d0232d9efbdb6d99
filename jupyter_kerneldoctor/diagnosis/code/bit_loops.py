"""Loops over the bits or digits of an integer: Python's integers have no last bit, so some of them never come to 0.

In C a carry falls off the end after 32 rounds. Here that of a negative number moves left for ever, and -1 stays -1
however often it is shifted to the right.
"""

import ast
from collections.abc import Iterator

from .calls import plain_names
from .drifting_loops import stored_values
from .literals import number
from .loop_changes import called_name
from .notebook import Notebook
from .trees import unparse, walk

_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Pass, ast.Continue, ast.Break, ast.Return, ast.Expr)
_CALLS = frozenset({"abs", "append", "divmod", "insert", "int", "len", "max", "min", "str"})
_LEAVES = (ast.Break, ast.Return)
_LARGE = ("factorial", "getrandbits", "from_bytes", "getPrime", "pow(")
"""What makes numbers of so many bits that a loop over them takes long, and ends."""
_SCALES = (ast.Mult, ast.Pow, ast.Mod)


def endless_bits(code: Notebook, loop: ast.While, inner: list[ast.AST]) -> str | None:
    """Return why the bits of a number that a loop asks for do not come to an end; None where they do."""
    if not all(isinstance(one, _PLAIN) for one in inner if isinstance(one, ast.stmt)):
        return None
    if not {called_name(one) for one in inner if isinstance(one, ast.Call)} <= _CALLS or _scales(inner):
        return None
    ways = [one for one in inner if isinstance(one, _LEAVES)]
    test, is_left = loop.test, False
    if isinstance(test, ast.Constant):
        asked = [one for one in loop.body if isinstance(one, ast.If) and one.body[-1] in ways and not one.orelse]
        if len(ways) != 1 or len(asked) != 1:
            return None
        test, is_left = asked[0].test, True
    elif ways:
        return None
    made: dict[str, list[ast.expr]] = {}
    for name, value in (*stored_values(inner), *_divided(inner)):
        made.setdefault(name, []).append(value)
    return next(_reasons(code, test, made, is_left=is_left), None)


def _reasons(code: Notebook, test: ast.expr, made: dict[str, list[ast.expr]], *, is_left: bool) -> Iterator[str]:
    is_large = code.has_text(*_LARGE)
    for name in _against_zero(test, is_left=is_left):
        values = made.get(name, [])
        if not values or any(isinstance(one, ast.Constant) for one in values):
            continue
        if all(_is_carry(one, made) for one in values):
            told = "with a negative number it moves left for ever"
            yield f"`{name}` never becomes 0: {told}, as an integer of Python has no last bit where it would fall off"
        elif not is_large and all(_takes_a_bit(name, one) for one in values):
            yield f"each round takes one bit from `{name}`, and a negative integer has no last one: it never becomes 0"
        elif not is_large and all(_shrinks(name, one) for one in values):
            step = unparse(values[0])
            yield f"`{name}` never becomes 0 where it is negative: `{step}` goes to -1 and stays there"
    if not (is_left or is_large):
        yield from _of_tests(test, made)


def _of_tests(test: ast.expr, made: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Yield what keeps true a test of one bit, or of a number that is to be met."""
    for name in _even(test):
        values = made.get(name, [])
        if values and all(_shrinks(name, one) for one in values):
            yield f"0 can be divided again and again: where `{name}` is 0, `{unparse(test)}` stays true"
    for name, end in _until(test):
        values = made.get(name, [])
        if values and all(_shifts_left(name, one) for one in values) and not plain_names(end) & made.keys():
            told = "moves left for ever, as an integer of Python has no last bit"
            yield f"`{name}` {told}: it has passed `{unparse(end)}`"


def _against_zero(test: ast.expr, *, is_left: bool) -> Iterator[str]:
    """Yield the names that have to become 0 before a loop ends; with `is_left` the test says when it does."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _against_zero(inner, is_left=not is_left)
        case ast.Name(id=name) if not is_left:
            yield name
        case ast.BoolOp(op=ast.Or(), values=values) if not is_left:
            for one in values:
                yield from _against_zero(one, is_left=False)
        case (
            ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=0)])
            | ast.Compare(left=ast.Constant(value=0), ops=[op], comparators=[ast.Name(id=name)])
        ) if isinstance(op, ast.Eq if is_left else ast.NotEq):
            yield name


def _even(test: ast.expr) -> Iterator[str]:
    """Yield the name of `n % 2 == 0`, `n & 1 == 0` or `not n & 1`."""
    match test:
        case (
            ast.Compare(
                left=ast.BinOp(left=ast.Name(id=name), op=ast.Mod() | ast.BitAnd(), right=ast.Constant()),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            )
            | ast.UnaryOp(
                op=ast.Not(),
                operand=ast.BinOp(left=ast.Name(id=name), op=ast.Mod() | ast.BitAnd(), right=ast.Constant()),
            )
        ):
            yield name


def _until(test: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that have to become equal to something, or to meet a bit of it, and that."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.NotEq()], comparators=[end]) if number(end) != 0:
            yield name, end
        case ast.UnaryOp(op=ast.Not(), operand=ast.BinOp(left=left, op=ast.BitAnd(), right=right)):
            yield from ((one.id, end) for one, end in ((left, right), (right, left)) if isinstance(one, ast.Name))
        case ast.Compare(
            left=ast.BinOp(left=left, op=ast.BitAnd(), right=right), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            yield from ((one.id, end) for one, end in ((left, right), (right, left)) if isinstance(one, ast.Name))


def _is_carry(value: ast.expr, made: dict[str, list[ast.expr]]) -> bool:
    """Whether a value is what two numbers of the loop have in common, moved left, and nothing cuts any of them off."""
    match value:
        case ast.BinOp(left=left, op=ast.LShift()) | ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=2)):
            common = made.get(left.id, []) if isinstance(left, ast.Name) else [left]
        case _:
            return False
    every = [part for values in made.values() for one in values for part in walk(one) if isinstance(part, ast.BinOp)]
    ands = [one for one in every if isinstance(one.op, ast.BitAnd)]
    is_cut = any(not plain_names(side) & made.keys() for one in ands for side in (one.left, one.right))
    meets = any(one in ands for other in common for one in walk(other))
    return meets and not is_cut and any(isinstance(one.op, ast.BitXor) for one in every)


def _takes_a_bit(name: str, value: ast.expr) -> bool:
    """Whether a value is the last one without its lowest bit: `n & (n - 1)`, `n - (n & -n)`."""
    below, lowest = {f"{name} - 1"}, {f"{name} & -{name}", f"-{name} & {name}"}
    match value:
        case ast.BinOp(left=ast.Name() as left, op=ast.BitAnd(), right=right):
            return left.id == name and unparse(right) in below
        case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Name(id=right)):
            return right == name and unparse(left) in below
        case ast.BinOp(left=ast.Name() as left, op=ast.Sub() | ast.BitXor(), right=right):
            return left.id == name and unparse(right) in lowest
    return False


def _shrinks(name: str, value: ast.expr) -> bool:
    """Whether a value is the last one, moved right or divided and rounded down."""
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.RShift(), right=right):
            return left == name and (number(right) or 0) > 0
        case ast.BinOp(left=ast.Name(id=left), op=ast.FloorDiv(), right=right):
            return left == name and (number(right) or 0) > 1
    return False


def _shifts_left(name: str, value: ast.expr) -> bool:
    match value:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant()):
            return _shifts_left(name, left)
        case ast.BinOp(left=ast.Name(id=left), op=ast.LShift(), right=right):
            return left == name and (number(right) or 0) > 0
    return False


def _divided(inner: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield what `n, digit = divmod(n, 10)` makes of a number, as a division."""
    for one in inner:
        match one:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=name), _])],
                value=ast.Call(func=ast.Name(id="divmod"), args=[n, by]),
            ):
                yield name, ast.BinOp(n, ast.FloorDiv(), by)


def _scales(inner: list[ast.AST]) -> bool:
    """Whether a round multiplies or divides by what is not written: numbers may get large, and rounds take long."""
    steps = [one for one in inner if isinstance(one, ast.BinOp | ast.AugAssign) and isinstance(one.op, _SCALES)]
    sides = [(one.left, one.right) if isinstance(one, ast.BinOp) else (one.value,) for one in steps]
    return not all(any(isinstance(side, ast.Constant) for side in both) for both in sides)
