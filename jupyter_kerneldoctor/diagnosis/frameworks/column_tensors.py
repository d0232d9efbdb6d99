"""Tensors of one number that a loop makes for each row of a table, where one for each column would do."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.stores import Store, container_name
from .item_forms import parts_of
from .row_numbers import Loop, column_of, without_cast

_MAKERS = {
    **dict.fromkeys(("torch.tensor", "torch.as_tensor", "torch.scalar_tensor"), ""),
    **{f"torch.{name}Tensor": f"torch.{kind}" for name, kind in (("Float", "float"), ("Long", "long"), ("Int", "int"))},
    "torch.DoubleTensor": "torch.double",
}
"""What makes a tensor, and the type that its name says."""
_CASTS = {"long": "torch.long", "float": "torch.float", "int": "torch.int", "double": "torch.double"}
_PLAIN = {"int": "torch.long", "float": "torch.float", "bool": "torch.bool"}
_COLUMN = "{name} = torch.as_tensor({column}{dtype}){shape}"


class Column(NamedTuple):
    """A column of which each number becomes a tensor."""

    name: str
    """What the tensor of the column may be called."""
    text: str
    """The column: `df.userId`."""
    dtype: str
    key: str = ""
    """Under what it stands in a dict."""
    shape: str = ""
    """What gives a row the form that it had: `[:, None]` of `torch.tensor([y])`."""


class Columns(NamedTuple):
    """What a loop puts into a container of each row, or into several."""

    containers: tuple[str, ...]
    scope: Scope
    statement: ast.stmt
    columns: tuple[Column, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The last words of the containers' names."""
        return tuple(one.rpartition(".")[2] for one in self.containers)

    def has_in_its_loop(self, statement: ast.stmt, scope: Scope) -> bool:
        """Whether another statement is the same, or of the same loop."""
        loops = self.scope.loops_around(self.statement)[:1]
        return scope is self.scope and (statement is self.statement or {*loops} <= {*scope.loops_around(statement)})

    def code(self, getitem: str) -> str:
        """Return how one tensor for each column is made; `getitem` is the name of the index where rows are taken."""
        owner = "self." if self.containers[0].startswith("self.") else ""
        names = [f"{owner}{one.name}" for one in self.columns]
        is_each = len(self.containers) == len(names)
        if is_each:
            names = list(self.containers)
        lines = [
            _COLUMN.format(name=name, column=one.text, dtype=one.dtype, shape=one.shape)
            for name, one in zip(names, self.columns, strict=True)
        ]
        lines[0] += "  # one tensor for each column, in place of the loop"
        taken = [f"{name}[{getitem or 'i'}]" for name in names]
        row = ", ".join(taken)
        if any(one.key for one in self.columns):
            row = "{" + ", ".join(f"{one.key}: {text}" for one, text in zip(self.columns, taken, strict=True)) + "}"
        if is_each:
            lines.append(f"row = {row}  # as before, one number of each")
        elif getitem:
            lines += ["", "def __len__(self):", f"    return len({names[0]})", ""]
            lines += [f"def __getitem__(self, {getitem}):  # indexes them", f"    return {row}"]
        else:
            lines += ["", f"data = torch.utils.data.TensorDataset({', '.join(names)})  # data[i]: one number of each"]
        return "\n".join(lines)


def filled_columns(stores: Sequence[Store], code: Notebook) -> Iterator[Columns]:
    """Yield what loops put into containers, where all of it is tensors of single numbers."""
    alone = dict[ast.AST, list[tuple[Store, Column]]]()
    for store in stores:
        loops = [one for one in store.scope.loops_around(store.statement) if isinstance(one, ast.For)]
        if not loops or len(store.values) != 1:
            continue
        columns = _columns(store.values[0], store.scope, loops, code)
        if len(columns) > 1:
            yield Columns((store.container,), store.scope, store.statement, columns)
        elif columns:
            alone.setdefault(loops[0], []).append((store, columns[0]))
    for found in alone.values():
        first, names = found[0][0], tuple(store.container for store, _ in found)
        if len({*names}) == len(names):
            yield Columns(names, first.scope, first.statement, tuple(column for _, column in found))


def made_columns(statement: ast.stmt, scope: Scope, code: Notebook) -> Iterator[Columns]:
    """Yield what a comprehension makes: `[torch.tensor(y) for y in df.label]`."""
    match statement:
        case ast.Assign(targets=[target], value=ast.ListComp(elt=value, generators=[loop])):
            if columns := _columns(value, scope, [loop], code):
                yield Columns((container_name(target),), scope, statement, columns)


def index_of_items(scope: Scope, code: Notebook) -> str:
    """Return how `__getitem__` of the class calls its index; "" where there is none."""
    for one in code.scopes(scope.cell) if scope.owner else ():
        if one.owner == scope.owner and one.function == "__getitem__" and isinstance(one.node, ast.FunctionDef):
            names = [each.arg for each in one.node.args.args]
            return names[-1] if len(names) > 1 else ""
    return ""


def _columns(value: ast.expr, scope: Scope, loops: Sequence[Loop], code: Notebook) -> tuple[Column, ...]:
    """Return the columns of which a value has a number each; nothing where a part of it is something else."""
    keys = value.keys if isinstance(value, ast.Dict) else ()
    found = []
    for at, part in enumerate(parts_of(value)):
        key = keys[at] if keys else None
        column = _column(part, scope, loops, code)
        if column is None or (keys and key is None):
            return ()
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else column.name
        found.append(column._replace(name=str(name), key="" if key is None else scope.segment(key)))
    names = [one.name for one in found]
    return tuple(found) if len({*names}) == len(names) else ()


def _column(part: ast.expr, scope: Scope, loops: Sequence[Loop], code: Notebook) -> Column | None:
    name, cast = "", ""
    if isinstance(part, ast.Name):
        made = [one.value for loop in loops for one in getattr(loop, "body", ()) if _is_given(one, part.id)]
        if len(made) != 1:
            return None
        name, part = part.id, made[0]
    while isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _CASTS:
        cast, part = cast or _CASTS[part.func.attr], part.func.value
    if not isinstance(part, ast.Call) or len(part.args) != 1:
        return None
    maker = code.qualified(part.func, scope) or ""
    if maker not in _MAKERS:
        return None
    typed = next((scope.segment(word.value) for word in part.keywords if word.arg == "dtype"), "")
    is_list = isinstance(part.args[0], ast.List | ast.Tuple)
    numbers = part.args[0].elts if isinstance(part.args[0], ast.List | ast.Tuple) else [part.args[0]]
    columns = [one for number in numbers if (one := column_of(without_cast(number), loops, scope)) is not None]
    if not columns or len(columns) < len(numbers):
        return None
    kinds = {_PLAIN.get(getattr(getattr(one, "func", None), "id", ""), "") for one in numbers}
    dtype = cast or typed or _MAKERS[maker] or (kinds.pop() if len(kinds) == 1 else "")
    texts = [one.array if dtype else one.plain or one.array for one in columns]
    text = texts[0]
    if len(columns) > 1:
        text = f"np.stack([{', '.join(texts)}], axis=1)"
        if not dtype and any(one.plain for one in columns):
            text = f"torch.stack([{', '.join(f'torch.as_tensor({one})' for one in texts)}], dim=1)"
    shape = "[:, None]" if is_list and len(columns) == 1 else ""
    return Column(name or columns[0].name, text, f", dtype={dtype}" if dtype else "", shape=shape)


def _is_given(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)]):
            return target == name
    return False
