"""Lists of what an agent saw, read by the function that learns of them, and emptied by nobody."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import stores
from .gradients import backward_calls

_LEARNS = frozenset({"apply_gradients", "fit", "train_on_batch", "partial_fit"})
_DEEPEST = 3  # functions that call each other
_DRAWS = frozenset({"sample", "choice", "choices", "randint", "integers"})


class Rollout(NamedTuple):
    """The lists of one object, and who learns of them."""

    lists: tuple[str, ...]
    """As they are called where they are read: `memory.states`, `self.states`."""
    learner: Scope
    draws: bool
    """It draws some at random, and so needs the past: a replay memory."""
    is_alone: bool
    """Nothing else reads them, and the learner reads them whole."""
    is_read_outside: bool
    """What is no method reads them, too: to draw them at the end."""


def rollout_of(name: str, code: Notebook) -> Rollout | None:
    """Return the rollout that a list belongs to, `memory.states`; None where it is none, or something empties it."""
    _, dot, attribute = name.rpartition(".")
    kept = {one.container.rpartition(".")[2] for one in stores(code.running) if "." in one.container} if dot else set()
    if attribute not in kept or any(_empties(node, attribute, scope) for scope, node in _statements(code)):
        return None
    for learner in code.running.functions:
        calls = {getattr(one.func, "attr", "") for one in learner.calls}
        reads = list(_reads(learner, {attribute}))
        if not reads or not (backward_calls(learner.node, learner) or calls & _LEARNS):
            continue
        if not _is_filled_between(learner, attribute, code):
            continue
        owner = learner.segment(reads[0].value)
        lists = dict.fromkeys(one.attr for one in _reads(learner, kept) if learner.segment(one.value) == owner)
        others = [one for one in code.running if one is not learner]
        is_read = any(True for one in others for _ in _reads(one, {*lists}))
        whole = {id(one) for one in _reads(learner, kept)}
        is_cut = any(
            isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice) and id(one.value) in whole
            for one in learner.nodes
        )
        names = tuple(f"{owner}.{one}" for one in lists)
        is_read_outside = any(True for one in others if not one.owner for _ in _reads(one, {*lists}))
        return Rollout(names, learner, bool(calls & _DRAWS), not is_read and not is_cut, is_read_outside)
    return None


def _is_filled_between(learner: Scope, attribute: str, code: Notebook) -> bool:
    """Whether the same loop fills a list and learns of it: else it is data that is gone through again and again."""
    filled = [one for one in stores(code.running) if one.container.rpartition(".")[2] == attribute]
    fills, learns = {one.scope.function for one in filled} - {""}, {learner.function}
    for _ in range(_DEEPEST):
        for scope in code.running:
            if scope.function in fills or any(last_name(one.func) in fills for one in scope.calls):
                fills = fills | {scope.function} - {""}
    for _ in range(_DEEPEST):
        for scope in code.running:
            for call in (one for one in scope.calls if last_name(one.func) in learns):
                loops = scope.loops_around(call)
                inside = {part for loop in loops for part in scope.inside(loop)} or {*scope.nodes}
                if any(one.scope is scope and one.statement in inside for one in filled) or any(
                    isinstance(one, ast.Call) and one is not call and last_name(one.func) in fills - learns
                    for one in inside
                ):
                    return True
                learns = learns | ({scope.function} if not loops else set()) - {""}
    return learner.function in fills


def clearing_method(rollout: Rollout, code: Notebook) -> str | None:
    """Return the method of the object that empties its lists, which nobody calls: `clear_memory`."""
    wanted = {one.rpartition(".")[2] for one in rollout.lists}
    for cell in range(len(code.cells)):
        for method in code.scopes(cell):
            if method.owner and method.function != "__init__" and len(method.parameters) == 1:
                emptied = {
                    one
                    for one in wanted
                    for node in method.nodes
                    if isinstance(node, ast.stmt) and _empties(node, one, method)
                }
                if emptied == wanted:
                    return method.function
    return None


def calls_of_learner(rollout: Rollout, code: Notebook) -> Iterator[tuple[ast.Call, Scope, str]]:
    """Yield where the learner is called, and what it is given there for the object that has the lists."""
    owner = rollout.lists[0].rpartition(".")[0]
    for call, caller in Origins(code).calls_of(rollout.learner):
        given = Origins(code).arguments(call, rollout.learner).get(owner)
        if given is not None:
            yield call, caller, caller.segment(given)
        elif owner not in rollout.learner.parameters:
            yield call, caller, owner


def _reads(scope: Scope, attributes: set[str]) -> Iterator[ast.Attribute]:
    """Yield where these attributes are read: not where something is put into them."""
    put = {one.func.value for one in scope.calls if isinstance(one.func, ast.Attribute) and one.func.attr == "append"}
    for node in scope.names if scope.function != "__init__" else ():
        is_one = isinstance(node, ast.Attribute) and node.attr in attributes and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Attribute) and is_one and node not in put:
            yield node


def _statements(code: Notebook) -> Iterator[tuple[Scope, ast.stmt]]:
    for scope in code.running:
        if scope.function != "__init__":
            yield from ((scope, node) for node in scope.nodes if isinstance(node, ast.stmt))


def _empties(node: ast.stmt, attribute: str, scope: Scope) -> bool:
    """Whether a statement takes something out of a list, or puts another list in its place."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.For | ast.While | ast.If | ast.With):
        return False
    name = rf"\.{re.escape(attribute)}\b"
    taken = (
        rf"del\s.{{0,200}}{name}|{name}\s*(\.(clear|pop|popleft|remove)\(|(\[[^\]]{{0,80}}\])?\s*(:[^=]{{0,80}})?=[^=])"
    )
    return re.search(taken, scope.segment(node)) is not None
