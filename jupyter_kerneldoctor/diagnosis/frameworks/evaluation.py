"""Calls of networks whose results no backward pass needs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from .gradients import backward_below, hides_gradients, records_graph, sources_of_gradients
from .torch import Kind, Tensors, is_module_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..code.notebook import Notebook, Scope


class Evaluation(NamedTuple):
    """A call of a network, and the outermost statement around it that trains nothing."""

    call: ast.Call
    statement: ast.stmt
    scope: Scope


def evaluations(code: Notebook) -> Iterator[Evaluation]:
    """Yield the calls of networks that record a graph for a backward pass which never comes."""
    tensors = Tensors(code)
    if not tensors.in_use or hides_gradients(code):
        return
    needed = sources_of_gradients(code, tensors.origins)
    for scope in code.running:
        if _is_forward(scope, code):
            continue  # a network's own: whether gradients are needed is up to who calls it
        for call in scope.calls:
            if call in needed or tensors.kind(call.func, scope) is not Kind.MODULE or tensors.is_scalar(call, scope):
                continue
            statement = scope.tree.statements[call]
            for loop in scope.loops_around(call):
                if backward_below(loop, scope, tensors.origins):
                    break
                statement = loop
            if records_graph(call, scope, code) and not backward_below(statement, scope, tensors.origins):
                yield Evaluation(call, statement, scope)


def _is_forward(scope: Scope, code: Notebook) -> bool:
    owner = code.lookup(scope.owner, scope.parent or scope) if scope.owner else None
    return owner is not None and is_module_class(owner, code)
