"""Variables that two processes are to share: a child process has a copy of its own, and neither sees the other's."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .calls import last_name
from .child_processes import run_in_children
from .flag_loops import flag_loop
from .loop_changes import asked_names, called_name, only_sleeps
from .notebook import Notebook
from .scopes import Scope
from .stores import stores
from .trees import holds, unparse

_SHARED = ("Manager", "Value(", "Array(", "shared_memory", "share_memory", "mmap", "memmap", "ctypes")
_OTHERS = ("Thread", "Timer(", "Pool", "Executor", "callback", "observe", "on_click", "asyncio")
"""What runs within the process meanwhile, and may change a variable of it."""
_LEAVES = frozenset({"exit", "_exit", "quit", "kill", "abort", "next", "Thread", "Timer", "signal"})
"""What may end the process, or set a variable of its own copy."""


class OwnCopy(NamedTuple):
    """A loop of one process that asks a variable, which only another process changes."""

    name: str
    """As the loop has it: `running`, `self.running`."""
    head: str
    function: str
    """What runs in the child process; for a method with its class."""
    parameters: tuple[str, ...]
    asked_by_child: bool
    """Whether the child asks and the notebook changes it; else it is the other way round."""
    change: str
    """The statement that changes it: `running = False`."""


def asked_in_child(code: Notebook, cell: Cell, line: int) -> OwnCopy | None:
    """Return the flag that the loop of a child process asks around a line, and that only the notebook sets."""
    found = flag_loop(code, cell, line)
    scope = _scope_at(code, cell, line)
    if found is None or scope is None or scope.is_cell or code.has_text(*_SHARED):
        return None
    if any(called_name(call) in _LEAVES for call in scope.calls):
        return None
    loop = next(one for one in scope.nodes if isinstance(one, ast.While) and holds(one, line))
    root, _, attribute = found.flag.partition(".")
    if not attribute and root in scope.bindings and root not in scope.outside:
        return None  # a name of the function's own
    children = _children(code)
    changes = [one for one in _changes(code, attribute or root, is_attribute=bool(attribute)) if one[1] not in children]
    changes = [one for one in changes if one[1].function != "__init__" and one[1] is not scope]
    if len(changes) < (1 if attribute else 2):  # the first one made the variable
        return None
    head, change = f"while {scope.segment(loop.test)}", unparse(changes[-1][0])
    return OwnCopy(found.flag, head, scope.name, (*scope.parameters,), asked_by_child=True, change=change)


def asked_in_notebook(code: Notebook, cell: Cell, line: int) -> OwnCopy | None:
    """Return what a loop around a line sleeps for, and what only the function of a child process changes."""
    scope = _scope_at(code, cell, line)
    loops = [] if scope is None else [one for one in scope.nodes if isinstance(one, ast.While) and holds(one, line)]
    if scope is None or not loops or not only_sleeps(loops[-1]) or code.has_text(*_SHARED, *_OTHERS):
        return None
    names = asked_names(loops[-1].test)
    children = _children(code)
    if len(names) != 1 or scope in children:
        return None
    (name,) = names
    if "." in name:
        return None
    for child in children:
        shared = name not in child.bindings or name in child.outside
        for statement in (*_filled(child, name), *_assigned(child, name)) if shared else ():
            head = f"while {scope.segment(loops[-1].test)}"
            given = (*child.parameters,)
            return OwnCopy(name, head, child.name, given, asked_by_child=False, change=unparse(statement))
    return None


def _children(code: Notebook) -> set[Scope]:
    """Return what runs in child processes, also in those that an earlier cell has started."""
    targets = (
        last_name(one.value)
        for scope in code.scopes_mentioning("Process")
        for call in scope.calls
        if called_name(call) == "Process"
        for one in call.keywords
        if one.arg == "target"
    )
    return {*run_in_children(code), *(one for name in {*targets} - {""} for one in code.functions_named(name))}


def _scope_at(code: Notebook, cell: Cell, line: int) -> Scope | None:
    return next((one for one in reversed(code.scopes(code.index(cell))) if one.is_cell or holds(one.node, line)), None)


def _changes(code: Notebook, name: str, *, is_attribute: bool) -> Iterator[tuple[ast.stmt, Scope]]:
    """Yield where the cells set a variable of the notebook, or an attribute, in the order in which they ran."""
    for scope in reversed([*code.scopes_mentioning(name)]):
        if not is_attribute and not scope.is_cell and name not in scope.outside:
            continue
        for one in scope.nodes:
            if isinstance(one, ast.Assign):
                targets = [*one.targets]
                if any(_is_it(target, name, is_attribute=is_attribute) for target in targets):
                    yield one, scope


def _is_it(target: ast.expr, name: str, *, is_attribute: bool) -> bool:
    match target:
        case ast.Name(id=found):
            return found == name and not is_attribute
        case ast.Attribute(attr=found):
            return found == name and is_attribute
    return False


def _filled(scope: Scope, name: str) -> Iterator[ast.stmt]:
    return (one.statement for one in stores([scope]) if one.container == name)


def _assigned(scope: Scope, name: str) -> Iterator[ast.stmt]:
    if name in scope.outside:
        for one in scope.nodes:
            if isinstance(one, ast.Assign) and any(_is_it(part, name, is_attribute=False) for part in one.targets):
                yield one
