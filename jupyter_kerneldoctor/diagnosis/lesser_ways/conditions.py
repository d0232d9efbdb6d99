"""What must be so of a call for an entry to be about it: what it is given, and what it is called on."""

import ast
from collections.abc import Iterator, Mapping

from ..calls import is_of
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from ..death import Death
from ..place import grew_in
from ..units import size
from .way import Test, called_object, names

_GATHER = ("list", "tuple", "set", "sorted", "dict", "max", "min")
_FEW = 8  # of the missing memory: a table of all pairs that is smaller does not explain it


def without(*names: str | int) -> Test:
    """Return a test whether a call is surely given nothing under any of these keywords and positions."""
    return lambda call, _death: call.is_written_out and call.argument(*names) is None


def not_seen(*names: str | int) -> Test:
    """Return a test whether nothing is written there; `*rest` and `**options` may still hold it."""
    return lambda call, _death: call.argument(*names) is None


def given(value: object, *names: str | int) -> Test:
    """Return a test whether a call is given this value, as it is written, under one of these names."""
    return lambda call, _death: is_written(call.argument(*names), value)


def is_written(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is this constant."""
    return isinstance(node, ast.Constant) and node.value == value and type(node.value) is type(value)


def both(*tests: Test) -> Test:
    """Return a test whether all of these are so."""
    return lambda call, death: all(test(call, death) is not False for test in tests)


def where_it_grew(test: Test) -> Test:
    """Return the same test of a call in which memory surely grew: for calls that mostly take little."""
    return lambda call, death: test(call, death) if grew_in(death, call.node, call.scope) is True else False


def made(package: str, *makers: str, told: Test | None = None, parts: bool = False) -> Test:
    """Return a test whether a method is called on what one of these made, or what they made is called.

    Parameters
    ----------
    package
        The package they are from, in whichever of its modules.
    makers
        Their last names; none for all of the package.
    told
        What must be so of the call that made it.
    parts
        Whether it may be a part of a larger one, as of a pipeline.
    """

    def test(call: Call, death: Death) -> bool | Mapping[str, str]:
        if not death.code.imports(package):
            return False
        for one, where in all_origins(called_object(call), call.scope, death.code, parts=parts):
            name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
            if not isinstance(one, ast.Call) or name is None or name.split(".")[0] != package:
                continue
            if not makers or name.rpartition(".")[2] in makers:
                return told is None or told(Call(one, where, name), death)
        return False

    return test


def maker(package: str, *makers: str, told: Test | None = None) -> Test:
    """Return a test that names which of these made what a method is called on."""

    def test(call: Call, death: Death) -> bool | Mapping[str, str]:
        fits = (name for name in makers if made(package, name, told=told, parts=True)(call, death))
        name = next(fits, None)
        return False if name is None else {"maker": name}

    return test


def to_rows(test: Test) -> Test:
    """Return the same test; rows do not get the name that a call of `.fit` gives to the model."""
    return lambda call, death: test(call, death) and ({"to": "Z"} if call.name == ".fit" else True)


def of_many_rows(call: Call, death: Death) -> bool:
    """Whether a number for each pair of the rows of what a call is given first may explain the missing memory."""
    value = death.values.of(call.node.args[0], call.scope) if call.node.args else None
    rows = None if value is None else value.rows
    return rows is None or rows * rows * 8 >= (death.memory.missing_bytes or 0) // _FEW


def in_a_file(call: Call, shape: str, death: Death) -> str:
    """Return how the array is made in a file of float32, with its size where it is known; "" where the disk is smaller.

    The disk is that of the working directory.
    """
    half, free = (
        half_bytes(call, death),
        [one.free_bytes for one in death.environment.filesystems if "cwd" in one.roles],
    )
    if half is not None and any(one is not None and one < half for one in free):
        return ""
    of = "" if half is None else f" of {size(half)}"
    line = f"{names(call)['to']} = np.memmap('scratch.dat', 'float32', 'w+', shape={shape})"
    return f"{line}  # or in a file{of}: float32 takes half of float64"


def half_bytes(call: Call, death: Death) -> int | None:
    """Return what an array that is made as float64 takes in float32; None where its shape is not known."""
    value = death.values.of(call.node, call.scope)
    return None if value is None or value.bytes is None else value.bytes // 2


def is_made_by(*makers: str) -> Test:
    """Return a test whether what a method is called on, or an object that is called, was made by one of these."""

    def test(call: Call, death: Death) -> bool:
        owner = called_object(call)
        return any(name.endswith(makers) for name in made_by(owner, call, death))

    return test


def is_method_of(*packages: str) -> Test:
    """Return a test whether a method is called on an object of these packages."""

    def test(call: Call, death: Death) -> bool:
        if not any(map(death.code.imports, packages)) or death.code.qualified(call.node.func, call.scope) is not None:
            return False
        match call.node.func:
            case ast.Attribute(value=owner):
                return is_of(packages, owner, call.scope, death)
        return False

    return test


def made_by(node: ast.expr, call: Call, death: Death) -> Iterator[str]:
    """Yield the full names of the functions that may have made what an expression stands for."""
    for one, where in all_origins(node, call.scope, death.code):
        if isinstance(one, ast.Call) and (name := death.code.qualified(one.func, where)):
            yield name
        if isinstance(one, ast.Name):
            yield from _opened_as(one.id, where, death)


def _opened_as(name: str, scope: Scope, death: Death) -> Iterator[str]:
    """Yield what made the object of `with Pool(2) as pool`."""
    for node in scope.nodes:
        for item in node.items if isinstance(node, ast.With) else ():
            match item:
                case ast.withitem(context_expr=ast.Call(func=function), optional_vars=ast.Name(id=given)):
                    if given == name and (found := death.code.described(function, scope)):
                        yield found


def is_gathered(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether all that a call gives one by one is put into a list, or the like, on the same line."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[given, *_]) if name in _GATHER and given is call.node:
                return True
            case ast.ListComp() | ast.DictComp() | ast.SetComp() if any(one is call.node for one in walk(node)):
                return True
    return False


def over_rows(call: Call, death: Death) -> bool | dict[str, str]:
    """Say how `jax.lax.map` is called in place of what `jax.vmap` made: it gives one thing to its function."""
    if not is_made_by("jax.vmap")(call, death) or not call.is_written_out or call.node.keywords or not call.node.args:
        return False
    given, axes = [call.scope.segment(one) for one in call.node.args], [0] * len(call.node.args)
    for one, where in all_origins(call.node.func, call.scope, death.code):
        match Call(one, where, "").argument("in_axes", 1) if isinstance(one, ast.Call) else None:
            case None:
                pass
            case ast.Tuple(elts=elts) if len(elts) == len(given):
                axes = [getattr(axis, "value", -1) for axis in elts]
            case _:
                return False
    mapped = [one for one, axis in zip(given, axes, strict=True) if axis == 0]
    if not mapped or any(axis not in (0, None) for axis in axes):
        return False
    if len(given) == 1:
        return {"mapped": f"f, {given[0]}"}
    cells = iter(["row"] if len(mapped) == 1 else [f"row[{at}]" for at in range(len(mapped))])
    inner = ", ".join(next(cells) if axis == 0 else one for one, axis in zip(given, axes, strict=True))
    rows = mapped[0] if len(mapped) == 1 else f"({', '.join(mapped)})"
    return {"mapped": f"lambda row: f({inner}), {rows}"}
