"""A data set that goes through a network as one batch, in every round of the loop that trains."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.diagnosis.code.cellsource import mask, offset, span
from jupyter_kerneldoctor.diagnosis.code.literals import number

from ._accumulation import backward_calls
from ._edits import Replacement, replace_node
from ._rule import CellEdit
from ._torch import Kind, Tensors

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope

_FILLED = frozenset({"randn", "rand", "zeros", "ones", "empty", "randint", "full"})


@dataclass(frozen=True)
class WholeBatch:
    """A loop whose every round takes all the data."""

    loop: ast.For
    scope: Scope
    names: tuple[str, ...]
    """The data that go in first, then what is compared with the result row by row."""
    rows: int | None


def find_whole_batch(code: Notebook) -> WholeBatch | None:
    """A loop with a backward pass that gives a network the same whole tensor again and again."""
    tensors = Tensors(code)
    if not tensors.in_use:
        return None
    for scope in code.running:
        for loop in scope.walk():
            if not (isinstance(loop, ast.For) and backward_calls(scope, loop)) or _holds_loop(loop, scope):
                continue
            bound = _bound_in(loop, scope)
            through = [call for call in _calls(loop, scope) if _is_network(call, scope, tensors)]
            data = [name for call in through for name in _given(call, bound)]
            data = [name for name in data if tensors.kind(_name_in(loop, name, scope), scope) is Kind.TENSOR]
            if len(set(data)) == 1:
                others = _row_by_row(loop, data[0], bound, scope, tensors)
                return WholeBatch(loop, scope, (data[0], *others), _rows(_name_in(loop, data[0], scope), scope, code))
    return None


def split_edits(found: WholeBatch, batch_size: int, code: Notebook) -> tuple[tuple[CellEdit, ...], str]:
    """Put a loop over pieces around what makes a step; also as text, for where that cannot be edited."""
    source = code.source(found.scope.cell)
    data = found.names[0]
    piece = f"[start:start + {batch_size}]"
    header = f"for start in range(0, len({data}), {batch_size}):"
    snippet = "\n".join(
        [header, *(f"    {name}_part = {name}{piece}" for name in found.names), "    …  # the step, with the parts"]
    )
    step = _step(found)
    if not step or not _can_be_indented(source, step, found.loop):
        return (), snippet
    first, last = step[0].lineno, step[-1].end_lineno or step[-1].lineno
    indent = source[offset(source, first, 0) : span(source, step[0])[0]]
    unit = indent[step[0].col_offset - (step[0].col_offset - found.loop.col_offset) :] or "    "
    end_of_line = (re.search(r"\r\n|\r|\n", source) or [("\n")])[0]
    edits = [Replacement(offset(source, first, 0), offset(source, first, 0), f"{indent}{header}{end_of_line}{unit}")]
    for line in range(first + 1, last + 1):
        start = offset(source, line, 0)
        if source[start : start + 1] not in ("\n", "\r", ""):
            edits.append(Replacement(start, start, unit))
    edits += [
        replace_node(source, node, node.id + piece)
        for statement in step
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id in found.names
    ]
    return (CellEdit(found.scope.cell, tuple(edits)),), snippet


def _step(found: WholeBatch) -> list[ast.stmt]:
    """The statements of the loop from the first to the last that have to do with the step."""
    marks = [_is_of_step(statement, found.names) for statement in found.loop.body]
    if True not in marks:
        return []
    last = len(marks) - marks[::-1].index(True)
    return found.loop.body[marks.index(True) : last]


def _is_of_step(statement: ast.stmt, names: tuple[str, ...]) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("zero_grad", "backward"):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "step":
            return not (isinstance(node.value, ast.Name) and "sched" in node.value.id.lower())
    return False


def _can_be_indented(source: str, step: list[ast.stmt], loop: ast.For) -> bool:
    """Whether each statement begins its own line, and none holds a text or a magic that goes over lines."""
    masked = mask(source)
    if masked is None or step[0].lineno == loop.lineno or loop.orelse:
        return False
    start, end = offset(source, step[0].lineno, 0), span(source, step[-1])[1]
    if any(a < end and start < b for a, b in masked.spans):
        return False
    if source[start : span(source, step[0])[0]].strip():
        return False
    following = [one for one in loop.body if one.lineno == step[-1].end_lineno and one not in step]
    texts = (ast.Constant, ast.JoinedStr)
    long = [
        node for one in step for node in ast.walk(one) if isinstance(node, texts) and node.end_lineno != node.lineno
    ]
    return not following and not long and "\\\n" not in source[start:end]


def _holds_loop(loop: ast.For, scope: Scope) -> bool:
    return any(isinstance(node, ast.For | ast.While) and node is not loop for node in scope.inside(loop))


def _bound_in(loop: ast.For, scope: Scope) -> set[str]:
    names = {node.id for node in scope.inside(loop) if isinstance(node, ast.Name)}
    lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    return {name for name in names if any(one.position[0] in lines for one in scope.bindings.get(name, ()))}


def _calls(loop: ast.For, scope: Scope) -> list[ast.Call]:
    return [node for node in scope.inside(loop) if isinstance(node, ast.Call)]


def _is_network(call: ast.Call, scope: Scope, tensors: Tensors) -> bool:
    return tensors.kind(call.func, scope) is Kind.MODULE and not tensors.is_scalar(call, scope)


def _given(call: ast.Call, bound: set[str]) -> list[str]:
    return [one.id for one in call.args if isinstance(one, ast.Name) and one.id not in bound]


def _name_in(loop: ast.For, name: str, scope: Scope) -> ast.Name:
    return next(node for node in scope.inside(loop) if isinstance(node, ast.Name) and node.id == name)


def _row_by_row(loop: ast.For, data: str, bound: set[str], scope: Scope, tensors: Tensors) -> list[str]:
    """Other whole tensors that are given to a call together with a result of the loop."""
    found: dict[str, None] = {}
    for call in _calls(loop, scope):
        names = [name for name in _given(call, bound) if name != data] if len(call.args) > 1 else []
        nodes = ((name, _name_in(loop, name, scope)) for name in names)
        found |= {name: None for name, node in nodes if tensors.kind(node, scope) is Kind.TENSOR}
    return list(found)


def _rows(name: ast.Name, scope: Scope, code: Notebook) -> int | None:
    """How many rows a tensor has, where it is made with a number for that."""
    binding = code.lookup(name.id, scope, name)
    value = None if binding is None else binding.value
    if binding is None or not isinstance(value, ast.Call):
        return None
    full = code.qualified(value.func, binding.scope) or ""
    if not full.startswith("torch.") or full.rsplit(".", 1)[-1] not in _FILLED or not value.args:
        return None
    shape = next((one for one in value.args if isinstance(one, ast.Tuple | ast.List)), None)
    if shape is not None:
        return number(shape.elts[0]) if shape.elts else None
    return number(value.args[0])
