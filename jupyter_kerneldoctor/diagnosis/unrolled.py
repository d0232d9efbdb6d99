"""A training step through time: how many of its rounds were done when memory ran out, and how many there are."""

import ast
from typing import NamedTuple

from .code.scopes import Loop, Scope
from .code.stores import stores
from .code.trees import walk
from .death import Death
from .frameworks.unrolled_loops import unrolled_loops

_FEW_ROUNDS = 8


class Unrolled(NamedTuple):
    """A loop over the steps of a sequence, which keeps the graph of each of them."""

    loop: Loop
    scope: Scope
    done: int
    rounds: int | None
    """How many it has; None where that is not known."""
    states: tuple[str, ...]
    """What it carries from step to step: `h`, `c`."""

    @property
    def whole(self) -> float:
        """How many times as much all rounds take as those that were done, at least."""
        return max(1.0, self.rounds / self.done) if self.rounds else 1.0


def unrolled_step(death: Death) -> Unrolled | None:
    """Return the loop in a step of the training that had put something with a graph into a list in each round."""
    for one in death.growth.objects:
        done = death.growth.items_gained(one)
        if not one.with_graph or not f"{one.where}".startswith("local of") or one.type != "list":
            continue
        done = max(done, one.length or 0)
        for store in stores(death.code.running.functions) if done > 1 else ():
            loop = next(iter(store.scope.loops_around(store.statement)), None)
            if store.container == one.name and isinstance(loop, ast.For) and (states := _states(loop, store.scope)):
                return Unrolled(loop, store.scope, done, rounds_of(loop, store.scope, death), states)
    return None


def may_be_early(death: Death) -> bool:
    """Whether memory ran out within a loop of a solver, which keeps all rounds, and how many it had done is not known.

    The rest of a step may then take many times as much as what was seen of it.
    """
    for found in unrolled_loops(death.code) if death.user_frames else ():
        if found.is_iteration and death.was_running(found.loop, found.scope):
            rounds = rounds_of(found.loop, found.scope, death)
            return rounds is None or rounds > _FEW_ROUNDS
    return False


def _states(loop: ast.For, scope: Scope) -> tuple[str, ...]:
    """Return the names that a call in each round reads and gives anew: `h, c = self.cell(x, (h, c))`."""
    found: dict[str, None] = {}
    for node in scope.inside(loop):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                made = [one.id for one in walk(target) if isinstance(one, ast.Name)]
                read = {one.id for one in walk(call) if isinstance(one, ast.Name)}
                found |= dict.fromkeys(name for name in made if name in read)
    return tuple(found)


def rounds_of(loop: Loop, scope: Scope, death: Death) -> int | None:
    """Return how many rounds a loop over a range has, also where that is read off a shape: `b, t, *_ = x.shape`."""
    if not isinstance(loop, ast.For):
        return None
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            if (known := death.values.number(count, scope)) is not None:
                return known
        case given:
            return death.values.rows(given, scope)
    for node in scope.nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(attr="shape", value=array))
                | ast.Assign(
                    targets=[ast.Tuple(elts=parts)],
                    value=ast.Call(func=ast.Attribute(attr="size", value=array), args=[]),
                )
            ):
                value, names = death.values.of(array, scope), [getattr(one, "id", None) for one in parts]
                name = getattr(count, "id", "")
                if name in names and value is not None and len(value.shape) > (at := names.index(name)):
                    return value.shape[at]
    return None
