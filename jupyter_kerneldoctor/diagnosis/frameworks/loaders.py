"""PyTorch's data loaders that start worker processes, and the data sets that these copy."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.attributes import Origin
from ..code.notebook import Binding, Call, Notebook
from ..code.origins import Origins

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


class Loader(NamedTuple):
    """A data loader with workers."""

    call: Call
    workers: int
    number: Origin
    """Where the number of workers is written."""


def loaders_with_workers(code: Notebook) -> Iterator[Loader]:
    """Yield the loaders that cells make with workers, newest cell first."""
    origins = Origins(code)
    for call in code.calls(*LOADERS):
        given = call.argument("num_workers")
        found = None if given is None else origins.number(given, call.scope)
        if found is not None and found[0] > 0:
            yield Loader(call, *found)


class Items(NamedTuple):
    """What a data set keeps as one Python object for each sample."""

    name: str
    """`self.samples`"""
    made: ast.expr
    origin: Origin


def items_of(loader: Loader, code: Notebook) -> Iterator[Items]:
    """Yield the lists and dicts of Python objects that the data set of a loader keeps."""
    given = loader.call.argument("dataset", 0)
    owner = None if given is None else code.definition(given, loader.call.scope, made=True)
    if owner is None:
        owner = _only_dataset(code)
    if owner is None or not isinstance(owner.definition, ast.ClassDef):
        return
    for method in code.scopes(owner.cell):
        if method.owner != owner.definition.name:
            continue
        for node in method.nodes:
            match node:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                    yield from (
                        Items(f"self.{name}", one.node, one) for one in _lists(Origin(value, method), Origins(code))
                    )


def _lists(value: Origin, origins: Origins, depth: int = 0) -> Iterator[Origin]:
    match value.node:
        case ast.ListComp() | ast.DictComp() | ast.Call(func=ast.Name(id="list" | "sorted")):
            yield value
        case ast.Name() | ast.Attribute() if depth < 4:
            for one in origins.of(*value):
                yield from _lists(one, origins, depth + 1)


def _only_dataset(code: Notebook) -> Binding | None:
    found = [
        bound[-1]
        for scope in code.mentioning("__getitem__")
        for bound in scope.bindings.values()
        if isinstance(bound[-1].definition, ast.ClassDef)
        and any(getattr(one, "name", "") == "__getitem__" for one in bound[-1].definition.body)
    ]
    return found[0] if len(found) == 1 else None
