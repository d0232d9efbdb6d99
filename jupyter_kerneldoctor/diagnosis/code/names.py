"""Which thing a name in a cell stands for: `k` is `os.kill` after `from os import kill as k`."""

from __future__ import annotations

import ast
from collections import ChainMap
from itertools import takewhile
from typing import TYPE_CHECKING

from .cellsource import parse

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, MutableMapping

    from jupyter_kerneldoctor.recording.model import Cell

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_OWN = (
    *("os.getpid()", "os.getpgrp()", "os.getpgid()", "psutil.Process().pid"),
    *("threading.get_ident()", "threading.main_thread().ident", "threading.current_thread().ident"),
)
_CHILDREN = tuple(f"{call}.pid" for call in ("subprocess.Popen(…)", "multiprocessing.Process(…)"))
"""Processes that stay in the group of the process that started them."""
_APART = ("start_new_session", "process_group", "preexec_fn", None)
"""What makes a child of `subprocess.Popen` leave that group, or may; None: words that are not written out."""
_LONGEST = 200  # characters; a chain beyond that is no name of anything
_SAME = ("str", "int")
"""Functions that give back what they are given, as far as a name can tell: `str(os.getpid())`."""


class Names:
    """The names that were bound, in the order the cells ran: by imports and plain assignments to what they stand for.

    What a name stands for that was bound in another way, as by a loop, is not known.
    """

    def __init__(self, known: MutableMapping[str, str | None] | None = None) -> None:
        self._known = {} if known is None else known

    def learn(self, tree: ast.AST) -> None:
        """Take in what a cell binds, also inside of functions and branches; a function's own name hides no other."""
        local = {id(node) for function in ast.walk(tree) if isinstance(function, Function) for node in _body(function)}
        for node in sorted(_binding(tree), key=_position):
            for name, value in self._bound_by(node):
                if id(node) not in local or name not in self._known:
                    self._known[name] = value

    def within(self, function: Function) -> Names:
        """Return the names as the body of a function sees them: what it is given may be anything."""
        inner = Names(ChainMap({}, self._known))
        given = function.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if argument is not None:
                inner._known[argument.arg] = None
        if isinstance(function, ast.Lambda):  # `lambda pid=os.getpid(): …` is given nothing else as a rule
            plain = [*given.posonlyargs, *given.args]
            defaults = zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=True)
            for argument, default in (*defaults, *zip(given.kwonlyargs, given.kw_defaults, strict=True)):
                inner._known[argument.arg] = self.resolve(default)
        else:
            inner.learn(ast.Module(function.body, []))
        return inner

    def resolve(self, node: ast.expr | None) -> str | None:
        """Return the dotted name an expression stands for.

        A call is its name with `()`, or with `(…)` if its arguments name anything but this process itself:
        `psutil.Process()` and `psutil.Process(os.getpid())` are the same, `psutil.Process(42)` is another.
        """
        if isinstance(node, ast.Name):
            return self._known.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None or len(owner) > _LONGEST else f"{owner}.{node.attr}"
        if isinstance(node, ast.Call):
            function = self.resolve(node.func)
            if function is None or len(function) > _LONGEST:
                return None
            if function in _SAME and len(node.args) == 1 and not node.keywords:
                return self.resolve(node.args[0])
            if function == "subprocess.Popen" and any(word.arg in _APART for word in node.keywords):
                return f"{function}(apart)"
            own = not node.keywords and all(self.is_own(argument) for argument in node.args)
            if function == "os.getpgid" and len(node.args) == 1:
                own = own or self.resolve(node.args[0]) in _CHILDREN
            return f"{function}()" if own else f"{function}(…)"
        return None

    def is_own(self, node: ast.expr) -> bool:
        """Whether an expression stands for the id of this process, its group, or its thread (0 is short for them)."""
        if isinstance(node, ast.Constant):
            return node.value == 0
        return self.resolve(node) in _OWN

    def standing_for(self, wanted: re.Pattern[str]) -> set[str]:
        """Return the names that stand for this process, or for something whose own name holds what is wanted."""
        return {name for name, value in self._known.items() if value and (value in _OWN or wanted.search(value))}

    def _bound_by(self, node: ast.AST) -> list[tuple[str, str | None]]:
        """The names that a statement or a part of one binds, each with what it stands for from then on."""
        if isinstance(node, ast.Import):
            tops = [(alias, alias.name.split(".")[0]) for alias in node.names]
            return [(alias.asname or top, alias.name if alias.asname else top) for alias, top in tops]
        if isinstance(node, ast.ImportFrom):
            return [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return [(node.name, node.name)]
        if isinstance(node, ast.Assign):
            return [bound for target in node.targets for bound in self._assigned(target, node.value)]
        if isinstance(node, ast.AnnAssign | ast.NamedExpr):
            return list(self._assigned(node.target, node.value))
        return [(node.id, None)] if isinstance(node, ast.Name) else []

    def _assigned(self, target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, str | None]]:
        if isinstance(target, ast.Name):
            yield target.id, self.resolve(value)
        elif isinstance(target, ast.Tuple | ast.List):
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            values = value.elts if same and isinstance(value, ast.Tuple | ast.List) else [None] * len(target.elts)
            for inner, part in zip(target.elts, values, strict=True):
                yield from self._assigned(inner, part)
        elif isinstance(target, ast.Starred):
            yield from self._assigned(target.value, None)


def ran_before(cells: Iterable[Cell], cell: Cell | None) -> Iterator[Cell]:
    """Return the cells up to this one, which is left out; all of them where there is none."""
    return takewhile(lambda one: one is not cell, cells)


def names_of(cells: Iterable[Cell], teaches: Callable[[Cell], object]) -> Names:
    """Return the names that these cells bound, but for those that teach nothing: to parse a day of cells takes long."""
    names = Names()
    for cell in cells:
        if teaches(cell) and (tree := parse(cell.source)) is not None:
            names.learn(tree)
    return names


def _binding(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that bind names, each name's own only where nothing around it says what it stands for."""
    told: set[int] = set()
    for node in ast.walk(tree):  # what is around comes first
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            told.update(id(inner) for target in targets for inner in ast.walk(target))
            if node.value is not None:
                yield node
        elif isinstance(node, ast.Import | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level:
                yield node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in told:
            yield node


def _body(function: Function) -> Iterator[ast.AST]:
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return (node for statement in body for node in ast.walk(statement))


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
