"""What loops make of all rows before a training: arrays that they fill, and lists that become arrays."""

import ast
from collections.abc import Iterable, Iterator
from textwrap import dedent, indent
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import Store, stores
from ..code.trees import walk
from .keras import known_as
from .torch import Kind, Tensors

_MAKERS = ("zeros", "empty", "ones", "full", "list")
_WRAPPERS = ("tqdm", "trange", "enumerate", "list", "sorted")
_OF_NETWORKS = frozenset({"predict", "predict_on_batch", "forward", "backward", "step", "generate", "fit", "reset"})
_NOT_IN = frozenset({"__getitem__", "__iter__", "forward", "call", "training_step"})
_JOINS = ("array", "asarray", "stack", "vstack", "concatenate", "cat", "tensor", "from_numpy", "pad_sequences")
_TELLS = frozenset({"print", "info", "debug", "update", "set_description", "write"})
_MOST_LINES = 16


class MadeInAdvance(NamedTuple):
    """A loop over rows that puts something into containers for each of them."""

    scope: Scope
    loop: ast.For
    makers: tuple[ast.stmt, ...]
    """The statements that make the containers before the loop."""
    containers: tuple[str, ...]
    rows: tuple[str, ...]
    """The names of what it goes through side by side."""
    of_entries: bool
    """It goes through the entries of a dict."""
    fills_arrays: bool

    @property
    def part(self) -> str:
        """A name for the places of the rows of a batch."""
        return "part" if "rows" in self.rows else "rows"


def made_in_advance(node: ast.stmt, scope: Scope, code: Notebook) -> MadeInAdvance | None:
    """Return the loop that a statement stands in, or the one before that filled the lists it makes arrays of."""
    if scope.function in _NOT_IN or any(isinstance(one, ast.Yield) for one in scope.nodes):
        return None
    around = [one for one in scope.loops_around(node) if isinstance(one, ast.For)][-1:]
    before = [one for one in scope.body if isinstance(one, ast.For) and one.lineno < node.lineno]
    for loop in around or reversed(before):
        makers = [(one, names) for one in _before(loop, scope) for names in [_made(one)] if names]
        made = {name for _, names in makers for name in names}
        kept = [one for one in stores([scope]) if loop in scope.loops_around(one.statement) and one.container in made]
        names = dict.fromkeys(one.container for one in kept)
        if not names or not (around or _joins(node, names)) or not _depends_on_rows_alone(loop, scope, code):
            continue
        if any(one.id in names for one in walk(loop) if isinstance(one, ast.Name) and one not in _filled(loop)):
            continue  # what was made before goes into what is made next
        rows, of_entries = _rows(loop, scope)
        if len(names) == 1 and _leaves_rows_out(loop, kept):
            continue  # what else belongs to the rows would not fit
        if rows and not {*rows} & {*names} and _is_used_as_rows(loop, rows) and not _counts(loop, {*rows, *names}):
            used = tuple(one for one, given in makers if {*given} & {*names})
            fills = any(isinstance(one.statement, ast.Assign | ast.AugAssign) for one in kept)
            return MadeInAdvance(scope, loop, used, tuple(names), rows, of_entries, fills)
    return None


def in_batches(found: MadeInAdvance, package: str, code: Notebook) -> str | None:
    """Return a data set that makes a batch when it is asked for; None where it is not clear what it would be given."""
    base = "torch.utils.data.Dataset" if package == "torch" else f"{known_as(code) or 'keras'}.utils.PyDataset"
    part = f"{{{{key: {{0}}[key] for key in keys[{found.part}]}}}}" if found.of_entries else f"{{0}}[{found.part}]"
    if found.scope.is_cell:
        made = f"made_of({', '.join(map(part.format, found.rows))})"
        return _as_function(found) + _data_set(made, found.rows[0], len(found.containers), base, found)
    origins, scope = Origins(code), found.scope
    calls = [one for one in origins.calls_of(scope) if not origins.is_repeated(*one)]
    several = _returned(scope, found.containers)
    if len(calls) != 1 or not several or scope.owner is not None:
        return None
    call, caller = calls[0]
    given = origins.arguments(call, scope)
    hidden = [one.arg for one in call.keywords]  # None: `**options`
    named, words, total = {id(value): key for key, value in given.items()}, list[str](), ""
    for word, value in [*((None, one) for one in call.args), *((one.arg, one.value) for one in call.keywords)]:
        text = caller.segment(value)
        if named.get(id(value)) in found.rows:
            total = text if named[id(value)] == found.rows[0] else total
            text = part.format(caller.operand(value))
        words.append(f"{word}={text}" if word is not None else text)
    if not total or not {*found.rows} <= {*given} or any(one.startswith("*") for one in words) or None in hidden:
        return None
    return _data_set(f"{scope.function}({', '.join(words)})", total, several, base, found)


def _as_function(found: MadeInAdvance) -> str:
    """Return the loop of a cell as a function of some rows."""
    parts = [dedent(found.scope.segment(one)) for one in (*found.makers, found.loop)]
    if sum(one.count("\n") for one in parts) > _MOST_LINES:
        parts[-1] = parts[-1].split("\n")[0] + "\n    ...  # as it is"
    return (
        f"def made_of({', '.join(found.rows)}):  # of some rows: their number is len({found.rows[0]})\n"
        f"{indent(chr(10).join(parts), ' ' * 4)}\n    return {', '.join(found.containers)}\n\n"
    )


def _data_set(made: str, total: str, several: int, base: str, found: MadeInAdvance) -> str:
    begin = f"keys = list({total})\n" if found.of_entries else ""
    answer = (
        f"        return x[{found.part}], {made}  # x: what else belongs to these rows; inputs before targets\n"
        if several == 1
        else f"        *inputs, target = {made}\n        return tuple(inputs), target\n"
    )
    use = (
        "loader = torch.utils.data.DataLoader(Batches(), batch_size=None, shuffle=True)  # batch_size=None: it is one"
        if base.startswith("torch")
        else "model.fit(Batches())  # or tf.data.Dataset.from_generator, with a function that yields batches"
    )
    return (
        f"{begin}class Batches({base}):\n    def __len__(self):\n        return -(-len({total}) // 32)\n"
        "    def __getitem__(self, i):  # makes a batch when it is asked for, and forgets it\n"
        f"        {found.part} = slice(i * 32, i * 32 + 32)\n{answer}\n{use}"
    )


def _before(loop: ast.For, scope: Scope) -> Iterator[ast.stmt]:
    return (one for one in scope.body if one.lineno < loop.lineno and not hasattr(one, "body"))


def _made(statement: ast.stmt) -> list[str]:
    """Return the names that a statement gives an empty list, or an array to be filled."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = list(zip(names, values, strict=False))
        case ast.Assign(targets=names, value=value):
            pairs = [(name, value) for name in names]
        case _:
            return []
    return [name.id for name, value in pairs if isinstance(name, ast.Name) and _is_empty(value)]


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]):
            return True
        case ast.Call(func=function):
            return last_name(function) in _MAKERS and (last_name(function) != "list" or not value.args)
    return False


def _rows(loop: ast.For, scope: Scope) -> tuple[tuple[str, ...], bool]:
    """Return the names of what a loop goes through, the first that counts them, and whether it is a dict."""
    gone_through, index = loop.iter, _index(loop)
    while isinstance(gone_through, ast.Call) and last_name(gone_through.func) in _WRAPPERS and gone_through.args:
        gone_through = gone_through.args[0]
    beside: list[str] = []
    match gone_through:
        case ast.Name(id=name):
            beside = [name]
        case ast.Call(func=ast.Name(id="zip"), args=given) if all(isinstance(one, ast.Name) for one in given):
            beside = [one.id for one in given if isinstance(one, ast.Name)]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items"), args=[]):
            return (name,), True
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])]):
            beside = [name]
        case ast.Call(
            func=ast.Name(id="range"),
            args=[ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(0))],
        ):
            beside = [name]
    for node in scope.inside(loop) if index is not None and beside else ():
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()) if _first(node) == index:
                beside.append(name)
    stored = {one.container for one in stores([scope])}
    return tuple(dict.fromkeys(one for one in beside if one not in stored)), False


def _index(loop: ast.For) -> str | None:
    """Return the name of the number of a round: `i` of `for i, x in enumerate(xs)` and `for i in range(n)`."""
    for one in walk(loop.iter):
        if isinstance(one, ast.Call) and last_name(one.func) in ("enumerate", "range", "trange"):
            number = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
            return getattr(number, "id", None)
    return None


def _first(node: ast.Subscript) -> str | None:
    """Return the name of the first index: `i` of `x[i]` and `x[i, 0]`."""
    at = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    return at.id if isinstance(at, ast.Name) else None


def _is_used_as_rows(loop: ast.For, rows: tuple[str, ...]) -> bool:
    """Whether no row is made of its neighbours: `x[i - 1]`, `x[i : i + 9]`, or of all: `x.mean()`."""
    index = {one.id for one in walk(loop.target) if isinstance(one, ast.Name)}
    plain = [one for one in walk(loop) if isinstance(one, ast.Subscript) and _first(one) in index]
    fine = {id(one.value) for one in plain} | {id(one) for one in walk(loop.iter)}
    return all(id(one) in fine for one in walk(loop) if isinstance(one, ast.Name) and one.id in rows)


def _leaves_rows_out(loop: ast.For, kept: Iterable[Store]) -> bool:
    """Whether some rounds put nothing into the container."""
    chosen = [one for one in walk(loop) if isinstance(one, ast.If) and not one.orelse]
    skips = any(isinstance(one, ast.Continue) for one in walk(loop))
    return skips or all(any(store.statement in walk(one) for one in chosen) for store in kept)


def _counts(loop: ast.For, owners: set[str]) -> bool:
    """Whether the number of a round is used for more than as an index, or to print: it begins anew in each batch."""
    index = _index(loop)
    told = {id(part) for one in walk(loop) if _only_tells(one) for part in walk(one)}
    places = {
        id(part)
        for one in walk(loop)
        if isinstance(one, ast.Subscript)
        for part in walk(one.slice)
        if isinstance(one.value, ast.Name) and one.value.id in owners
    }
    uses = [
        one for one in walk(loop) if isinstance(one, ast.Name) and one.id == index and isinstance(one.ctx, ast.Load)
    ]
    return any(id(one) not in told | places for one in uses)


def _only_tells(node: ast.AST) -> bool:
    """Whether a statement only prints, also every now and then."""
    match node:
        case ast.Expr(value=ast.Call(func=function)):
            return last_name(function) in _TELLS
        case ast.If(body=[ast.Expr() as told], orelse=[]):
            return _only_tells(told)
    return False


def _joins(node: ast.stmt, names: Iterable[str]) -> bool:
    """Whether a statement makes an array of one of these lists."""
    calls = [one for one in walk(node) if isinstance(one, ast.Call) and last_name(one.func) in _JOINS]
    return any({*names} & plain_names(*one.args[:1]) for one in calls)


def _filled(loop: ast.For) -> set[ast.AST]:
    """Return the names in a loop that something is put into."""
    found: set[ast.AST] = set()
    for node in walk(loop):
        match node:
            case ast.Subscript(ctx=ast.Store(), value=owner):
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                found.add(owner)
            case ast.Call(func=ast.Attribute(value=owner, attr="append" | "extend" | "add")):
                found.add(owner)
            case ast.AugAssign(target=owner):
                found.add(owner)
    return found


def _depends_on_rows_alone(loop: ast.For, scope: Scope, code: Notebook) -> bool:
    """Whether a round uses no network, and nothing of the round before."""
    tensors = Tensors(code)
    for node in scope.inside(loop):
        match node:
            case ast.Call() if last_name(node.func) in _OF_NETWORKS or tensors.kind(node.func, scope) is Kind.MODULE:
                return False
            case ast.AugAssign(target=ast.Name(), value=value) if not isinstance(value, ast.List | ast.Constant):
                return False
            case ast.Break():
                return False
    return True


def _returned(function: Scope, containers: tuple[str, ...]) -> int:
    """Return how many of the containers a function returns, as they are or as arrays; 0 where it returns others."""
    found = [one.value for one in function.nodes if isinstance(one, ast.Return)]
    if len(found) != 1 or found[0] is None:
        return 0
    values = found[0].elts if isinstance(found[0], ast.Tuple) else [found[0]]
    return len(values) if all(_is_whole(one, containers) for one in values) else 0


def _is_whole(value: ast.expr, containers: tuple[str, ...]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in containers
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="astype")):
            return name in containers
        case ast.Call(args=[inner, *_]):
            return last_name(value.func) in _JOINS and _is_whole(inner, containers)
    return False
