"""Blocks that keep a permit of a semaphore, or a lock, while they wait for others that need one, too."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import given_to, last_name, plain_names
from ..code.loop_changes import called_name, running_nodes
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import unparse, walk

_PERMITS = frozenset({"Semaphore", "BoundedSemaphore", "Lock", "CapacityLimiter"})
_HANDS_OUT = frozenset({"map", "submit", "Thread", "starmap", "run_in_executor", "to_thread", "start_soon"})
_WAITS = frozenset({"result", "join", "list", "wait", "as_completed", "sum", "dict", "tuple", "sorted"})
_GROUPS = frozenset({"TaskGroup", "create_task_group", "open_nursery", "ThreadPoolExecutor"})
_MOST_CALLS = 3
"""So many functions may call each other on the way to the one that needs a permit."""


Block = ast.With | ast.AsyncWith | ast.Try


class KeptPermit(NamedTuple):
    """A block with a permit, and what waits in it for others."""

    scope: Scope
    block: Block
    """The `with`, or the `try` that gives it back in `finally`."""
    permit: str
    waits: ast.stmt
    """The first statement of the block that has to do with the wait."""
    call: ast.expr
    """What needs a permit."""
    function: str
    is_lock: bool
    """Whether only one can have it: it may protect what comes behind the wait."""

    @property
    def is_async(self) -> bool:
        """Whether it is a block of a coroutine."""
        return isinstance(self.scope.node, ast.AsyncFunctionDef)

    @property
    def may_move(self) -> bool:
        """Whether the statements from the wait on may come behind the block: they need neither permit nor lock."""
        if isinstance(self.block, ast.Try):
            return False
        moved = self.block.body[self.block.body.index(self.waits) :]
        inner = [part for one in moved for part in walk(one)]
        made = {name for one in inner if isinstance(one, ast.Assign) for name in plain_names(*one.targets)}
        awaits = [one for one in inner if isinstance(one, ast.Await)]
        only_waits = all(self.call in walk(one) or plain_names(one) & made for one in awaits)
        opened = [item.context_expr for one in inner if isinstance(one, ast.With | ast.AsyncWith) for item in one.items]
        if not only_waits or len(self.block.items) != 1 or not all(called_name(one) in _GROUPS for one in opened):
            return False  # what it opens may be the work that is to be limited
        return not self.is_lock or (len(moved) == 1 and self._changes_only_names_of_its_own(moved[0]))

    def _changes_only_names_of_its_own(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name not in self.scope.outside
            case ast.Expr(value=value):
                return value is self.call or isinstance(value, ast.Await)
        return isinstance(statement, ast.Return)


def kept_permit(code: Notebook) -> KeptPermit | None:
    """Return the block of a running function that waits for others while it keeps what they need."""
    if not code.has_text(*(f"{one}(" for one in _PERMITS)):
        return None
    return next((found for scope in code.running.functions for found in _in(scope, code)), None)


def _in(scope: Scope, code: Notebook) -> Iterator[KeptPermit]:
    for block, permit in _taken(scope):
        made = None if _is_local(permit, scope) else _made_by(permit, scope, code)
        for statement in block.body if made is not None else ():
            for call, name in _handed(statement):
                if _needs(name, unparse(permit), scope, code) and _is_awaited(statement, call, block):
                    yield KeptPermit(scope, block, scope.segment(permit), statement, call, name, _is_lock(made))


def _taken(scope: Scope) -> Iterator[tuple[Block, ast.expr]]:
    """Yield the blocks of a function that may have a permit, and what gives it."""
    for node in scope.nodes:
        match node:
            case ast.With(items=items) | ast.AsyncWith(items=items) as block:
                yield from ((block, one.context_expr) for one in items)
            case ast.Try(finalbody=[ast.Expr(value=ast.Call(func=ast.Attribute(attr="release", value=permit)))]):
                yield node, permit


def _made_by(node: ast.expr, scope: Scope, code: Notebook) -> ast.Call | None:
    """Return the call that made a semaphore or lock, None for anything else."""
    origins = all_origins(node, scope, code) if isinstance(node, ast.Name | ast.Attribute) else []
    calls = (one.node for one in origins if isinstance(one.node, ast.Call))
    return next((one for one in calls if called_name(one) in _PERMITS), None)


def _is_lock(made: ast.Call | None) -> bool:
    """Whether there is one permit: of a lock, and of a semaphore that was not given another number."""
    if made is None or called_name(made) == "Lock":
        return True
    return all(isinstance(one, ast.Constant) and one.value == 1 for one in given_to(made))


def _is_local(permit: ast.expr, scope: Scope) -> bool:
    """Whether a permit is of a function's own making: another function's of the same name is another one."""
    if not isinstance(permit, ast.Name) or scope.is_cell or permit.id in scope.outside:
        return False
    return permit.id in scope.bindings and permit.id not in scope.parameters


def _handed(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """Yield the calls of functions in a statement, and those that are given to others to call, with their names."""
    for node in running_nodes(statement):
        if isinstance(node, ast.Call):
            yield node, called_name(node)
            if called_name(node) in _HANDS_OUT:
                yield from (
                    (node, last_name(one)) for one in given_to(node) if isinstance(one, ast.Name | ast.Attribute)
                )


def _needs(name: str, permit: str, holder: Scope, code: Notebook, depth: int = _MOST_CALLS) -> bool:
    """Whether a function of the cells takes a permit itself, or calls one that does."""
    for function in code.functions_named(name) if name else ():
        is_other = permit.startswith("self.") and function.owner != holder.owner  # a semaphore of its own
        if not is_other and any(unparse(one) == permit for _, one in _taken(function)):
            return True
        called = {called_name(one) for one in function.calls} - {name}
        if depth > 1 and any(_needs(one, permit, holder, code, depth - 1) for one in called):
            return True
    return False


def _is_awaited(statement: ast.stmt, call: ast.expr, block: Block) -> bool:
    """Whether the block waits until a call has come to its end."""
    inner = [*walk(statement)]
    awaits = [one for one in inner if isinstance(one, ast.Await) and any(part is call for part in walk(one))]
    groups = [item.context_expr for one in inner if isinstance(one, ast.With | ast.AsyncWith) for item in one.items]
    if awaits or any(called_name(one) in _GROUPS for one in groups):
        return True
    made = {name for one in inner if isinstance(one, ast.Assign) for name in plain_names(*one.targets)}
    behind = [part for one in block.body[block.body.index(statement) :] for part in walk(one)]
    if isinstance(block, ast.AsyncWith) or any(isinstance(one, ast.Await) for one in behind):
        return any(isinstance(one, ast.Await) and plain_names(one) & made for one in behind)
    is_handed = called_name(call) in _HANDS_OUT
    waits = [one for one in behind if isinstance(one, ast.Call) and called_name(one) in _WAITS]
    return not is_handed or bool(waits) or any(isinstance(one, ast.For) and call in walk(one.iter) for one in behind)
