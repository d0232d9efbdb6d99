"""Blocks of a network that run one after the other: `for block in self.blocks`."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..code.notebook import Notebook, Scope
from ..code.origins import Origins
from .torch import Tensors, is_module_class

_FEWEST = 4
_ONE_LAYER = re.compile(r"torch\.nn\.Conv(Transpose)?[123]d$")


class BlockCall(NamedTuple):
    """A call of one of the blocks."""

    call: ast.Call
    scope: Scope
    blocks: str
    """What the loop goes through, `self.blocks`; "" where each round is given what the round before made."""


def _save_nothing(blocks: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether there are so few blocks that one needs most of it, or each is one layer, which keeps its input only."""
    origins = Origins(code)
    for one, where in origins.of(blocks, scope):
        match one:
            case ast.Call(
                args=[
                    ast.ListComp(elt=each_made, generators=[each]) | ast.GeneratorExp(elt=each_made, generators=[each])
                ]
            ):
                made = each_made.func if isinstance(each_made, ast.Call) else each_made
                if _ONE_LAYER.match(code.qualified(made, where) or ""):
                    return True
                match each.iter:
                    case ast.Call(func=ast.Name(id="range"), args=[*_, last]):
                        found = origins.number(last, where)
                        return found is not None and found[0] < _FEWEST
            case ast.Call(args=[ast.List(elts=parts)]):
                return len(parts) < _FEWEST
    return False


def block_calls(code: Notebook) -> Iterator[BlockCall]:
    """Yield the calls `block(x)` in `for block in self.blocks` of a network's `forward`."""
    tensors = Tensors(code)
    for scope in code.running.functions:
        owner = code.class_around(scope) if scope.function == "forward" else None
        if owner is None or not is_module_class(owner, code) or not tensors.in_use:
            continue
        for call in scope.calls:
            if isinstance(scope.statement_of(call), ast.AugAssign):
                continue  # `x += block(x)`: run again, the block would get what became of `x`
            for loop in scope.loops_around(call)[:1]:
                match loop, call.func:
                    case ast.For(target=ast.Name(id=name), iter=ast.Attribute() as blocks), ast.Name(id=called):
                        if name == called and call.args and not _save_nothing(blocks, scope, code):
                            yield BlockCall(call, scope, scope.segment(blocks))
            if _is_round(call, scope):
                yield BlockCall(call, scope, "")


def _is_round(call: ast.Call, scope: Scope) -> bool:
    """Whether each round of a loop gives the network's own method what the round before made: `x = self.step(x)`."""
    loop = next(iter(scope.loops_around(call)), None)
    match loop, scope.statement_of(call):
        case (
            ast.For(iter=ast.Call(func=ast.Name(id="range")), body=[*_]),
            ast.Assign(targets=[ast.Name(id=made)], value=value),
        ):
            is_own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "self"
            return value is call and is_own and any(getattr(one, "id", "") == made for one in call.args)
    return False
