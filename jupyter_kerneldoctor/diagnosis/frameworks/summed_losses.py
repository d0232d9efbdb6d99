"""Losses that a loop adds up, or puts into a list, for one backward pass behind the loop."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..code.calls import plain_names
from ..code.scopes import Scope
from ..code.trees import walk
from ..code.unpacking import part_of_call
from .gradients import Backward, backward_calls
from .kept import UNNAMED, Kept, kept_values, stored
from .torch import Kind, Tensors

Loop: TypeAlias = ast.stmt | ast.ListComp | ast.GeneratorExp
_DEEPEST = 6
_SUMS = ("builtins.sum", "torch.sum", "torch.stack", "torch.mean")
_LOADERS = ("torch.utils.data.DataLoader", "builtins.list", "torch.split")
_GROWS = ("append", "extend", "insert")
_OF_THE_STEP = frozenset({"zero_grad", "step", "backward"})


@dataclass(frozen=True)
class SummedLoss:
    """A backward pass that starts from the losses of all rounds of a loop."""

    kept: Kept
    backward: Backward
    loop: Loop
    divisor: str | None
    """What the sum is divided by, as it can be written in the loop; "" for a plain sum, None where it cannot."""
    zero_grad: ast.stmt | None
    """A `zero_grad()` between the loop and the backward pass."""
    fresh: ast.stmt | None = None
    """Where the pass runs inside of the loop, after every so many rounds: the statement that begins the next sum."""


def summed_losses(tensors: Tensors) -> Iterator[SummedLoss]:
    """Yield the backward passes whose gradient is the sum of those of the rounds, each of which stands alone."""
    for one, call, loops, divisors in _losses_behind_loops(tensors):
        scope = one.scope
        if _stands_alone(one, loops, scope, tensors):
            divisor = None if None in divisors else " / ".join(one for one in divisors if one)
            zero = [node for node in scope.calls if getattr(node.func, "attr", "") == "zero_grad"]
            between = [node for node in zero if loops[-1].lineno < node.lineno < call.node.lineno]
            yield SummedLoss(one, call, loops[-1], divisor, scope.statement_of(between[0]) if between else None)


def kept_for_one_backward(tensors: Tensors) -> Iterator[Kept]:
    """Yield the losses of the rounds of a loop that a backward pass behind it starts from: they have their graphs."""
    yield from (one for one, *_ in _losses_behind_loops(tensors))


def _losses_behind_loops(tensors: Tensors) -> Iterator[tuple[Kept, Backward, list[Loop], list[str | None]]]:
    for scope in tensors.code.running if tensors.in_use else ():
        calls = [one for one in backward_calls(scope.node, scope) if not (one.node.args or one.node.keywords)]
        kept = [one for one in kept_values([scope], tensors.origins) if one.scope is one.caller] if calls else []
        kept += _in_generators(scope) if calls else ()
        for call in calls:
            for one in kept:
                loops = [loop for loop in one.loops if isinstance(loop, Loop) and _is_behind(call.node, loop)]
                loops = loops[:1] if loops and not isinstance(loops[0], ast.stmt) else loops
                divisors = _divisors(call.target, one, loops[-1], tensors) if loops else None
                if divisors is not None:
                    yield one, call, loops, divisors


def grouped_losses(tensors: Tensors) -> Iterator[SummedLoss]:
    """Yield the backward passes that start from the sum of some rounds' losses, below an `if` of the loop."""
    for scope in tensors.code.running if tensors.in_use else ():
        for call in backward_calls(scope.node, scope):
            loop = next(iter(scope.loops_around(call.node)), None)
            branch = next((one for one in scope.around(call.node) if isinstance(one, ast.If)), None)
            total = call.target
            if not isinstance(loop, ast.For) or branch not in loop.body or not isinstance(total, ast.Name):
                continue
            if branch is None or branch.orelse or call.node.args or call.node.keywords:
                continue
            fresh = [one for one in branch.body if _begins(one, total.id) and one.lineno > call.node.lineno]
            zero = [one for one in branch.body if _calls(one, "zero_grad")]
            step = [one for one in branch.body if _calls(one, "step")]
            kept = [
                Kept(value, name, (loop,), scope, scope)
                for one in loop.body
                for value, name, is_longer in stored(one, scope)
                if name == total.id and not is_longer
            ]
            if not len(fresh) == len(zero) == len(kept) == len(step) == 1 or len(backward_calls(loop, scope)) > 1:
                continue
            in_order = call.node.lineno < step[0].lineno < fresh[0].lineno
            if in_order and _stands_alone(kept[0], [loop], scope, tensors, branch):
                yield SummedLoss(kept[0], call, loop, "", zero[0], fresh[0])


def _in_generators(scope: Scope) -> Iterator[Kept]:
    """Yield what is added up without a list: `sum(loss(net(x), y) for x, y in batches)`."""
    for call in scope.calls:
        match call:
            case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp(elt=value) as made]):
                yield Kept(value, UNNAMED, (made, *scope.loops_around(made)), scope, scope, is_added_to=False)


def _begins(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=int() | float())):
            return target == name
    return False


def _begins_anew(name: str, loop: Loop, scope: Scope) -> bool:
    """Whether a sum begins with a number before each run of a loop, so that nothing of it comes back."""
    holder = next(scope.around(loop), scope.node)
    body = getattr(holder, "body", [])
    return loop in body and any(_begins(one, name) for one in body[: body.index(loop)])


def _calls(node: ast.stmt, method: str) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr == method
    return False


def _is_behind(node: ast.Call, loop: Loop) -> bool:
    return node.lineno > (loop.end_lineno or loop.lineno)


def _divisors(node: ast.expr, kept: Kept, loop: Loop, tensors: Tensors, depth: int = 0) -> list[str | None] | None:
    """Return what the losses of a container are divided by on their way to an expression; None for another way."""
    scope, container = kept.scope, kept.container
    if depth > _DEEPEST or node is loop:
        return None if node is not loop else []
    inner: ast.expr
    more: list[str | None] = []
    match node:
        case ast.Name(id=name):
            binding = tensors.code.lookup(name, scope, node)
            if binding is None or binding.scope is not scope or (binding.value is None and name != container):
                return None
            if name == container and binding.position[0] <= (loop.end_lineno or loop.lineno):
                return []
            inner = binding.value or node
        case ast.BinOp(op=ast.Div(), left=left, right=right):
            inner, more = left, [_divisor(right, container, loop, scope, tensors)]
        case ast.Call(func=ast.Attribute(value=owner, attr="sum" | "mean" | "values" as method), args=[], keywords=[]):
            inner, more = owner, [_rounds(loop, scope, tensors)] if method == "mean" else []
        case ast.Call(args=[given], keywords=[]):
            name_of = tensors.code.qualified(node.func, scope)
            if name_of not in _SUMS:
                return None
            inner, more = given, [_rounds(loop, scope, tensors)] if name_of == "torch.mean" else []
        case _:
            return None
    rest = _divisors(inner, kept, loop, tensors, depth + 1)
    return None if rest is None else [*rest, *more]


def _divisor(node: ast.expr, container: str, loop: Loop, scope: Scope, tensors: Tensors) -> str | None:
    """Return a divisor as it can be written inside of the loop: it must not count what the loop does."""
    names = plain_names(node)
    stored = {one.id for one in scope.inside(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return _rounds(loop, scope, tensors) if names & (stored | {container}) else scope.segment(node)


def _rounds(loop: Loop, scope: Scope, tensors: Tensors) -> str | None:
    """Return how often a loop runs, as an expression; None where that cannot be asked beforehand."""
    over = loop.iter if isinstance(loop, ast.For) else None
    if isinstance(loop, ast.ListComp | ast.GeneratorExp) and len(loop.generators) == 1:
        over = loop.generators[0].iter
    match over:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return scope.segment(count)
        case ast.Call(func=ast.Name(id="enumerate" | "tqdm"), args=[over, *_]):
            pass
    made = [over, *(one.node for one in tensors.origins.of(over, scope))] if over is not None else []
    names = [tensors.code.qualified(one.func, scope) for one in made if isinstance(one, ast.Call)]
    return f"len({scope.segment(over)})" if over is not None and any(one in _LOADERS for one in names) else None


def _stands_alone(
    kept: Kept, loops: Sequence[Loop], scope: Scope, tensors: Tensors, step: ast.If | None = None
) -> bool:
    """Whether nothing is seen but the losses that goes into the sum, or goes on to the next round."""
    loop, statement = loops[-1], scope.statement_of(kept.value)
    apart = set() if step is None else set(scope.inside(step))
    nodes = [one for one in scope.inside(loop) if one not in apart]
    if any(isinstance(one, ast.Attribute) and one.attr in _OF_THE_STEP for one in nodes):
        return False
    if sum(scope.segment(one.func) in {f"{kept.container}.{how}" for how in _GROWS} for one in scope.calls) > 1:
        return False
    is_fresh = _begins_anew(kept.container, loop, scope)
    last = (loop.end_lineno or loop.lineno) if is_fresh else None
    bound = (one for one in scope.bindings.get(kept.container, ()) if last is None or one.position[0] <= last)
    others = [one.value for one in bound if one.value is not None]
    if any(tensors.kind(one, scope) is Kind.GRAPH for one in others if scope.statement_of(one) is not statement):
        return False
    return is_made_in(kept.value, loops[0], scope, tensors, least=0) and not _carried(nodes, kept, scope)


def is_surely_apart(found: SummedLoss, tensors: Tensors) -> bool:
    """Whether the code shows that each round's loss has a graph, which a network made in that round."""
    kept = found.kept
    has_graph = tensors.kind(kept.value, kept.scope) is Kind.GRAPH
    return has_graph and is_made_in(kept.value, kept.loops[0], kept.scope, tensors)


def _carried(inside: Sequence[ast.AST], kept: Kept, scope: Scope) -> bool:
    """Whether a round reads what an earlier one left: a hidden state. What is only added up does not count."""
    own = scope.statement_of(kept.value)
    added = {node for one in inside if isinstance(one, ast.AugAssign) for node in walk(one.target)}
    first: dict[str, int] = {}
    for one in inside:
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one not in added:
            first[one.id] = min(one.lineno, first.get(one.id, one.lineno))
    for one in inside:
        if isinstance(one, ast.Name | ast.Attribute) and scope.statement_of(one) is not own:
            is_stored = isinstance(one.ctx, ast.Store)
            if isinstance(one, ast.Attribute) and is_stored:
                return True
            if isinstance(one, ast.Name) and not is_stored and one.lineno <= first.get(one.id, -1):
                return True
    return False


def is_made_in(node: ast.expr, loop: ast.AST, scope: Scope, tensors: Tensors, *, least: int = 1) -> bool:
    """Whether the graph behind an expression is all made in a round of a loop, by so many calls of networks."""
    waiting, seen, calls, code = [node], {node}, 0, tensors.code
    first = getattr(loop, "lineno", 0)
    lines = range(first, getattr(loop, "end_lineno", first) + 1)
    while waiting:
        for part in scope.inside(waiting.pop()):
            if isinstance(part, ast.Call):
                inner = tensors.origins.called(part.func, scope)
                if inner is not None and _brings_in(inner, tensors):
                    return False
                own = [(part, scope)] if inner is None else [(one, inner) for one in inner.calls]
                calls += any(tensors.kind(one.func, where) is Kind.MODULE for one, where in [(part, scope), *own])
            if not isinstance(part, ast.Name):
                continue
            binding = code.lookup(part.id, scope, part)
            line = binding.position[0] if binding is not None and binding.scope is scope else 0
            if binding is None or line not in lines:
                if tensors.kind(part, scope) is Kind.GRAPH:
                    return False
                continue
            unpacked = part_of_call(part, scope, code)
            made = binding.value if unpacked is None else unpacked[1]
            if made is not None and made not in seen:
                seen.add(made)
                waiting.append(made)
    return calls >= least


def _brings_in(function: Scope, tensors: Tensors) -> bool:
    """Whether a function reads something with a graph that was there before it was called."""
    for node in function.names:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                is_outer = name not in function.bindings
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Load()):
                is_outer = name in function.parameters[:1] and bool(function.owner)
            case _:
                continue
        if is_outer and tensors.kind(node, function) is Kind.GRAPH:
            return True
    return False
