"""Whether a training loop keeps something of each step, so that memory grows with the steps, and what that is."""

import ast
import re
from collections.abc import Iterator

from ..code.notebook import Notebook, once
from ..code.scopes import Scope
from .gradients import Backward, backward_calls, sources_of_gradients
from .hooks import code_of_hooks
from .kept import KEEPERS, Kept, kept_values, outliving, root
from .kept_graphs import kept_graphs
from .recurrent import carried_states, kept_states
from .small_values import is_small
from .torch import Kind, Tensors

_RUN_EACH_STEP = re.compile(
    r"forward|call|__getitem__|__call__|(?:train|validation|test|predict)_step|on_\w{0,60}?(?:batch|step|epoch)\w{0,60}"
)
"""Methods of networks, data sets, layers and callbacks."""
_ARRAY_METHODS = frozenset({"copy", "clone", "numpy", "cpu", "detach", "tolist", "to", "contiguous"})


@once
def grows_by_the_step(code: Notebook) -> bool:
    """Whether a training loop keeps more than numbers of each step, so that memory grows however small a step is."""
    tensors = Tensors(code)
    graphs = {one.kept.value: one for one in kept_graphs(code)}
    if any(not one.is_freed for one in graphs.values()):
        return True
    if any(getattr(call.func, "attr", "") in KEEPERS for scope in code_of_hooks(code) for call in scope.calls):
        return True
    retained = [(loop, scope) for backward, loop, scope in _steps(code) if backward.keeps_graph]
    if any(carried_states(loop, scope, tensors) for loop, scope in retained):
        return True
    if retained and kept_states(code, tensors):
        return True
    each = [one for one in code.running.functions if one.owner and _RUN_EACH_STEP.fullmatch(one.function)]
    each += _methods_of_data_sets(code)
    if any(not is_small(value, scope, tensors) for scope in each for value, _ in outliving(scope)):
        return True
    losses = {value for value, one in graphs.items() if one.is_loss}
    trains = _of_training(code, tensors)
    return any(
        one.is_added_to and one.value not in losses and not is_small(one.value, one.scope, tensors) for one in trains
    )


def kept_tensors(code: Notebook, tensors: Tensors) -> list[Kept]:
    """Return the tensors and arrays without a graph that training loops, and hooks of networks, keep of each step.

    Not those that a later step learns from.
    """
    if not tensors.in_use:
        return []
    graphs = {one.kept.value for one in kept_graphs(code) if one.is_loss or not one.is_freed}
    learned_from = {root(one) for one in sources_of_gradients(code) if isinstance(one, ast.Name | ast.Attribute)}
    found = _of_training(code, tensors)
    found += [one.kept for one in kept_graphs(code) if one.in_hook and one.is_freed]
    return [
        one
        for one in found
        if one.is_added_to
        and one.value not in graphs
        and one.container not in learned_from
        and not is_small(one.value, one.scope, tensors)
        and (one.value in {kept.value for kept in found if not kept.loops} or _is_tensor(one.value, one.scope, tensors))
        and not any(isinstance(around, ast.If) for around in one.scope.around(one.value))
    ]


def _steps(code: Notebook) -> Iterator[tuple[Backward, ast.For | ast.While, Scope]]:
    """Yield the backward passes of the running code, each with the loops around it."""
    for scope in code.running:
        for one in backward_calls(scope.node, scope):
            yield from (
                (one, loop, scope) for loop in scope.loops_around(one.node) if not isinstance(loop, ast.AsyncFor)
            )


def _methods_of_data_sets(code: Notebook) -> Iterator[Scope]:
    """Yield the methods by which loaders get the items of the user's data sets."""
    for call in code.calls("torch.utils.data.DataLoader"):
        given = call.argument("dataset", 0)
        node = given.func if isinstance(given, ast.Call) else given
        made = None if node is None else code.definition(node, call.scope, made=True)
        if made is not None and isinstance(made.definition, ast.ClassDef):
            name = made.definition.name
            yield from (one for one in code.scopes(made.cell) if one.owner == name and one.function == "__getitem__")


def _is_tensor(value: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a value is a tensor, or an array of one."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ARRAY_METHODS:
        value = value.func.value
    is_parameter = isinstance(value, ast.Attribute) and value.attr in ("weight", "bias", "grad", "data")
    return is_parameter or tensors.kind(value, scope) in (Kind.TENSOR, Kind.GRAPH)


def _of_training(code: Notebook, tensors: Tensors) -> list[Kept]:
    """Return what the loops keep that train."""
    found = kept_values(code.running, tensors.origins)
    return [one for one in found if one.is_trained or one.backward_calls(tensors.origins)]
