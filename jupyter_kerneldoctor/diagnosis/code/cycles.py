"""`itertools.cycle`, which keeps each item that it ever gave, to begin again: `batches = cycle(loader)`."""

import ast

from .calls import Call, last_name
from .notebook import Notebook
from .origins import all_origins

_READS = ("__iter__", "__next__", "__getitem__")


def cycle_of(code: Notebook, function: str | None) -> Call | None:
    """Return the one call of `itertools.cycle` of the running code that is given what a function of a cell makes.

    `function` is that function as a stack names it, `Recording.batches`; a method of an object that is gone through
    belongs to its class.
    """
    found = [*code.running.calls("itertools.cycle")]
    if len(found) != 1 or len(found[0].node.args) != 1 or function is None:
        return None
    owner, _, name = function.rpartition(".")
    sought = owner.rpartition(".")[2] if name in _READS else name
    given = [found[0].node.args[0], *(one for one, _ in all_origins(found[0].node.args[0], found[0].scope, code))]
    names = {last_name(one.func if isinstance(one, ast.Call) else one) for one in given}
    return found[0] if sought and sought in names else None
