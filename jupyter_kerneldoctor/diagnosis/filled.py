"""What fills the container that memory grew in: the statements that put something into it, again and again."""

import ast
from collections.abc import Iterator, Sequence

from .code.calls import plain_names
from .code.notebook import Notebook
from .code.origins import all_origins
from .death import Death
from .frameworks.kept_items import KeptItem, made_items
from .place import guilty_place

_ARRAYS = ("numpy.", "torch.", "tensorflow.", "pandas.")


def filling(death: Death, fillers: Sequence[KeptItem]) -> Iterator[KeptItem]:
    """Yield what fills the container that grew; else what the statement that memory grew in keeps.

    `fillers` is all that is put into containers in the running code.
    """
    container, at = death.growth.container, guilty_place(death)
    if container is not None:
        word = container.name.rpartition(".")[2]
        yield from (one for one in fillers if one.name.rpartition(".")[2] == word)
    elif at is not None:
        names = at.scope.assigned_by(at.node)  # what it makes may be kept behind it, in the same round
        near = [one for one in fillers if one.scope is at.scope and names & plain_names(one.value)]
        repeated = (one for one in (*fillers, *near) if one.statement is at.node or one in near)
        yield from (one for one in repeated if not one.scope.is_cell or one.scope.loops_around(one.statement))
    elif death.growth.goes_on and (loop := guilty_place(death, (ast.For,))) is not None:  # its head makes each item
        yield from (one for one in fillers if loop.node in one.scope.loops_around(one.statement))
    if at is not None and (made := made_items(at.node, at.scope)) is not None:
        yield made


def is_array_filled(kept: KeptItem, code: Notebook) -> bool:
    """Whether the items go into an array that was made before, `X[i] = x`, which takes no less by what is put in."""
    match kept.statement:
        case ast.Assign(targets=[ast.Subscript(value=owner)]):
            made = ((one, where) for one, where in all_origins(owner, kept.scope, code) if isinstance(one, ast.Call))
            return any((code.qualified(one.func, where) or "").startswith(_ARRAYS) for one, where in made)
    return False
