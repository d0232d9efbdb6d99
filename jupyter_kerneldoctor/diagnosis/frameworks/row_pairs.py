"""Pairs and triplets of rows of an array that loops put into lists: each row is there as often as it is in a pair."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.loop_changes import called_name
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.stores import Store
from ..code.trees import unparse, walk
from .item_forms import parts_of

_JOINS = frozenset(
    (
        "array",
        "asarray",
        "stack",
        "concatenate",
        "vstack",
        "tensor",
        "as_tensor",
        "cat",
        "constant",
        "convert_to_tensor",
    )
)
_SAME = frozenset(("copy", "astype", "clone", "float", "reshape", "unsqueeze", "numpy", "flatten"))
_CONTAINERS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp)
_MAKERS = frozenset({"dict", "defaultdict", "list", "OrderedDict"})
_FORMS = {
    "torch": (
        "class Pairs(torch.utils.data.Dataset):\n    def __len__(self):\n        return len(positions)\n"
        "    def __getitem__(self, n):  # takes the rows when they are needed\n        {indices} = positions[n]\n"
        "        return {rows}"
    ),
    "keras": (
        "class Batches(keras.utils.PyDataset):  # or a generator that yields batches\n    def __len__(self):\n"
        "        return len(positions) // 64\n"
        "    def __getitem__(self, n):  # takes the rows of a batch when it is needed\n"
        "        part = positions[n * 64 : n * 64 + 64]\n"
        "        return ({taken}), labels[n * 64 : n * 64 + 64]"
    ),
    "": (
        "for at in range(0, len(positions), 64):  # takes the rows of a batch when it is needed\n"
        "    part = positions[at : at + 64]\n    {names} = {taken}"
    ),
}


class Row(NamedTuple):
    """A row of an array: `x[i]`."""

    array: str
    at: str
    node: ast.expr
    """The array."""


class RowPairs(NamedTuple):
    """What puts rows of arrays into one list, or into several in the same round."""

    stores: tuple[Store, ...]
    rows: tuple[Row, ...]

    @property
    def names(self) -> set[str]:
        """The names of the lists."""
        return {one.container for one in self.stores}

    def are_arrays(self, code: Notebook) -> bool:
        """Whether several rows can be taken at once: not of lists and dicts, as far as the code shows that."""
        scope = self.stores[0].scope
        made = [one.node for row in self.rows for one in all_origins(row.node, scope, code)]
        return not any(isinstance(one, _CONTAINERS) or called_name(one) in _MAKERS for one in made)

    def code(self, package: str, *, are_arrays: bool = True) -> str:
        """Return how positions are kept in place of the rows, and how the rows of a batch are taken."""
        indices = ", ".join(one.at for one in self.rows)
        names = ", ".join(f"rows_{at}" for at in range(1, len(self.rows) + 1))
        each = "{0}[part[:, {1}]]" if are_arrays else "np.stack([{0}[one[{1}]] for one in part])"
        taken = ", ".join(each.format(one.array, at) for at, one in enumerate(self.rows))
        short = [f"i{at}" for at in range(1, len(self.rows) + 1)]
        form = _FORMS[package].format(
            indices=", ".join(short),
            rows=", ".join(f"{one.array}[{i}]" for one, i in zip(self.rows, short, strict=True)),
            taken=taken,
            names=names,
        )
        arrays = " and ".join(dict.fromkeys(one.array for one in self.rows))
        return (
            f"positions.append(({indices}))  # in the loop, in place of rows of {arrays}: some bytes each\n"
            + "positions = np.array(positions)  # behind it\n" * are_arrays
            + f"\n{form}"
        )


def row_pairs(stores: Sequence[Store]) -> Iterator[RowPairs]:
    """Yield what puts two or more rows of arrays into lists in each round."""
    alone = dict[tuple[Scope, tuple[ast.AST, ...]], list[tuple[Store, Row]]]()
    for store in stores:
        scope = store.scope
        loops = tuple(scope.loops_around(store.statement))
        if not loops or not isinstance(store.statement, ast.Expr | ast.AugAssign):
            continue
        for value in store.values:
            found = _rows(value, scope)
            if _are_apart(found):
                yield RowPairs((store,), tuple(found))
            elif len(found) == 1 and len(store.values) == 1:
                alone.setdefault((scope, loops), []).append((store, found[0]))
    for pairs in alone.values():
        rows = [row for _, row in pairs]
        if len({store.container for store, _ in pairs}) > 1 and _are_apart(rows):
            yield RowPairs(
                tuple(store for store, _ in pairs), tuple({(one.array, one.at): one for one in rows}.values())
            )


def made_row_pairs(statement: ast.stmt, scope: Scope) -> Iterator[RowPairs]:
    """Yield what a comprehension makes of pairs of rows: `[(x[i], x[j]) for i, j in pairs]`."""
    for node in walk(statement):
        if isinstance(node, ast.ListComp):
            found = _rows(node.elt, scope)
            targets = plain_names(*(one.target for one in node.generators))
            if _are_apart(found) and all(targets & {*one.at.replace("[", " ").split()} for one in found):
                yield RowPairs((Store(statement, scope, "", (node.elt,)),), tuple(found))


def joins(names: set[str], calls: Iterable[ast.Call]) -> Iterator[ast.Call]:
    """Yield the calls that make one array of a list: `np.array(pairs)`, `np.stack([one[0] for one in pairs])`."""
    for call in calls:
        if last_name(call.func) in _JOINS and call.args and names & _containers(call.args[0]):
            yield call


def _containers(node: ast.expr) -> set[str]:
    match node:
        case ast.ListComp(generators=[first, *_]):
            return _containers(first.iter)
        case ast.Call(args=[inner, *_]):
            return _containers(inner)
    return {unparse(node)} if isinstance(node, ast.Name | ast.Attribute) else set()


def _rows(value: ast.expr, scope: Scope) -> list[Row]:
    return [row for part in _parts(value) if (row := _row(part, scope)) is not None]


def _are_apart(rows: Sequence[Row]) -> bool:
    """Whether they are rows at two places or more: not a row and its label."""
    return len({one.at for one in rows}) > 1


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.Call(args=[ast.Tuple() | ast.List() as inner, *_], func=function) if last_name(function) in _JOINS:
            value = inner  # np.stack([x[i], x[j]])
    parts = parts_of(value)
    for part in parts:
        if parts != [value] and isinstance(part, ast.Tuple | ast.List | ast.Dict):
            yield from _parts(part)
        else:
            yield part


def _row(node: ast.expr, scope: Scope, depth: int = 0) -> Row | None:
    """Return which row of which array an expression is, also through a name in the same function, or a cast."""
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as array, slice=index):
            if isinstance(index, ast.Slice | ast.UnaryOp | ast.Constant | ast.Tuple):
                return None
            return Row(scope.segment(array), " ".join(scope.segment(index).split()), array)
        case ast.Call(func=ast.Attribute(attr=method, value=inner)) if method in _SAME:
            return _row(inner, scope, depth)
        case ast.Call(args=[ast.Subscript() | ast.Name() as inner, *_], func=function):
            is_cast = last_name(function) in ("expand_dims", "asarray", "array", "tensor", "as_tensor", "from_numpy")
            return _row(inner, scope, depth) if is_cast else None
        case ast.BinOp(op=ast.Div() | ast.Mult() | ast.Sub(), left=inner, right=ast.Constant()):
            return _row(inner, scope, depth)
        case ast.Name(id=name) if depth < 2:
            return _named_row(name, scope, depth)
    return None


def _named_row(name: str, scope: Scope, depth: int) -> Row | None:
    made = [
        one.value
        for one in scope.nodes
        if isinstance(one, ast.Assign) and any(getattr(target, "id", "") == name for target in one.targets)
    ]
    if made:
        found = {(one.array, one.at): one for value in made if (one := _row(value, scope, depth + 1)) is not None}
        return next(iter(found.values())) if len(found) == 1 else None
    for loop in scope.nodes:
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=row)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name() | ast.Attribute() as array, *_]),
            ) if row == name:
                return Row(scope.segment(array), index, array)
    return None
