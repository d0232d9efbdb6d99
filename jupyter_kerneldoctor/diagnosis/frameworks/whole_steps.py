"""A step of training that is given all rows in every round of a loop: under a tape, by a gradient of JAX, in a call."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from ..code.calls import last_name
from ..code.notebook import Notebook, Scope
from ..code.origins import Origins, all_origins
from ..code.values import Values
from .gradients import backward_calls
from .rows import bound_with
from .training import is_gradient_of_jax
from .whole_batch import WholeBatch

_LEAST_ROWS = 64
_DEEPEST = 3
_LAST = frozenset({"apply_gradients", "apply", "gradient"})
_NO_ROWS = ("jax.random.", "tensorflow.keras.", "keras.", "optax.", "torch.optim.", "torch.nn.")
_OF_ARRAYS = frozenset({"shape", "T", "dtype", "size", "ndim", "astype", "reshape", "mean", "sum", "std", "min", "max"})
_PICKS = frozenset({"choice", "permutation", "sample", "shuffle", "randint", "dynamic_slice", "take", "split", "batch"})
"""What a function calls that takes some rows of what it is given by itself."""


def find_whole_step(code: Notebook, values: Values) -> WholeBatch | None:
    """Return a loop over rounds with a step that gets the same rows each time, as many of each of its arrays."""
    origins = Origins(code)
    for loop, scope in code.running.nodes(ast.For):
        if not _counts(loop.iter) or loop.orelse:
            continue
        bound = {one.id for one in scope.inside(loop) if isinstance(one, ast.Name) and not _is_read(one)}
        for step, given in _steps(loop, scope, origins):
            fixed = {
                one: is_object
                for one, is_object in given.items()
                if not bound & {part.id for part in _names([one], scope)}
            }
            shapes = {one: shape for one in fixed if (shape := _shape(one, scope, values))}
            most = max((shape[0] for shape in shapes.values()), default=0)
            data = sorted((one for one, shape in shapes.items() if shape[0] == most), key=lambda one: -len(shapes[one]))
            is_graph = any(shape[:2] == (most, most) for shape in shapes.values())  # its nodes need each other
            if most < _LEAST_ROWS or is_graph or all(len(shapes[one]) == 1 for one in data):
                continue
            known = {scope.segment(one) for one in data}
            others = [one for one in fixed if one not in shapes and values.of(one, scope) is None]
            beside = [one for one in others if isinstance(one, ast.Name) and bound_with(one.id, scope) & known]
            data += beside
            is_clear = all(one in beside or fixed[one] or _is_no_array(one, scope, code) for one in others)
            names = tuple(dict.fromkeys(scope.segment(one) for one in data))
            rows = most if values.of(data[0], scope) is not None else None
            return WholeBatch(loop, scope, names, rows, is_clear, most, tuple(step), tuple(data))
    return None


def _steps(loop: ast.For, scope: Scope, origins: Origins) -> Iterator[tuple[Sequence[ast.stmt], dict[ast.expr, bool]]]:
    """Yield the statements of a loop that make a step, and what that is given, and uses as an object, not as rows."""
    code = origins.code
    for at, statement in enumerate(loop.body):
        calls = [one for one in scope.inside(statement) if isinstance(one, ast.Call)]
        if _is_tape(statement, scope, code) or any(is_gradient_of_jax(one.func, scope, code) for one in calls):
            step = _whole_step(loop, at, scope)
            nodes = [one for part in step for one in scope.inside(part)]
            picked = {getattr(one.value, "id", "") for one in nodes if isinstance(one, ast.Subscript)}
            names, objects = [one for one in _names(step, scope) if _is_read(one)], _objects(nodes)
            if not any(isinstance(one, ast.For | ast.While) for one in nodes):
                yield step, {one: one.id in objects for one in names if one.id not in picked}
        elif isinstance(statement, ast.Assign | ast.Expr | ast.AugAssign):
            for call in calls:
                inner = origins.called(call.func, scope)
                if inner is not None and _is_one_step(inner, origins):
                    objects = _objects(inner.nodes)
                    yield [statement], {one: name in objects for name, one in origins.arguments(call, inner).items()}


def _objects(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are called, or asked for what no array has: networks, optimizers, settings."""
    found = set()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute not in _OF_ARRAYS:
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
                found.add(name)
    return found


def _shape(node: ast.expr, scope: Scope, values: Values) -> tuple[int, ...]:
    """Return the shape of an array; of a slice whose ends are not known, that of all of it; none of what is none."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return ()
    whole = node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node
    known = values.of(node, scope) or values.of(whole, scope)
    return known.shape if known is not None and known.dtype else ()


def _is_no_array(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether something of unknown value surely has no rows: a module, a function, a literal, a key of JAX."""
    made = [code.qualified(one.func, at) for one, at in all_origins(node, scope, code) if isinstance(one, ast.Call)]
    is_known = code.qualified(node, scope) is not None or code.definition(node, scope) is not None
    return is_known or isinstance(node, ast.Constant) or any((one or "").startswith(_NO_ROWS) for one in made)


def _is_one_step(function: Scope, origins: Origins, depth: int = 0) -> bool:
    """Whether a function works gradients out once, of all that it is given."""
    words = {last_name(one.func) for one in function.calls}
    taken = (one.value for one in function.nodes if isinstance(one, ast.Subscript))
    picks = any(isinstance(one, ast.Name) and one.id in function.parameters for one in taken) or words & _PICKS
    if picks or any(isinstance(one, ast.For | ast.While) for one in function.nodes):
        return False
    if backward_calls(function.node, function) or any(_is_tape(one, function, origins.code) for one in function.nodes):
        return True
    for call in function.calls:
        inner = origins.called(call.func, function) if depth < _DEEPEST else None
        if is_gradient_of_jax(call.func, function, origins.code) or (inner and _is_one_step(inner, origins, depth + 1)):
            return True
    return False


def _is_tape(node: ast.AST, scope: Scope, code: Notebook) -> bool:
    opened = [one.context_expr for one in node.items] if isinstance(node, ast.With) else []
    calls = (one.func for one in opened if isinstance(one, ast.Call))
    return any(code.qualified(one, scope) == "tensorflow.GradientTape" for one in calls)


def _counts(node: ast.expr) -> bool:
    """Whether a loop goes through numbers: `range(9)`, `trange(9)`, `tqdm(range(9))`."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[*given]):
            return name in ("range", "trange") or (name == "tqdm" and any(map(_counts, given[:1])))
    return False


def _whole_step(loop: ast.For, first: int, scope: Scope) -> list[ast.stmt]:
    """Return the statements of a loop from the one that works gradients out to the last that uses what came of it."""
    made, last = {one.id for one in _names(loop.body[first : first + 1], scope) if not _is_read(one)}, first
    for at, statement in enumerate(loop.body[first + 1 :], first + 1):
        words = {one.attr for one in scope.inside(statement) if isinstance(one, ast.Attribute)}
        names = _names([statement], scope)
        if made & {one.id for one in names if _is_read(one)} and (
            words & _LAST or isinstance(statement, ast.Assign | ast.AugAssign)
        ):
            made, last = made | {one.id for one in names if not _is_read(one)}, at
    return loop.body[first : last + 1]


def _names(nodes: Iterable[ast.AST], scope: Scope) -> list[ast.Name]:
    return [one for node in nodes for one in scope.inside(node) if isinstance(one, ast.Name)]


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)
