"""Loops that ask for the same page again and again: where the next one begins is given to a call, and never changed."""

import ast
import re

from .calls import given_to
from .loop_changes import called_name, running_nodes
from .notebook import Notebook
from .scopes import Scope
from .trees import walk

_WHERE = re.compile(
    r"(?i)(?:\w*_)?(?:page|page_?(?:token|number|no|index)|offset|cursor|skip|marker|continuation(?:_token)?"
    r"|next_?token|next_?page|start_?(?:at|index|row)|scroll_id)"
)
"""What interfaces that answer in pages call the place to go on from."""
_RELATIVE = re.compile(r"(?i)offset|skip|start")
_READS_ON = re.compile(r"(?i)_*(?:read|fetch|next|poll|pull|recv|receive|take|consume|get_?updates|more)\w*")
"""Methods of objects that know by themselves how far they are, and may count `offset` from there."""
_GROWS = frozenset({"append", "extend", "update", "add"})


def same_page(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> ast.Name | None:
    """Return `cursor` of `page = client.get(cursor=cursor)`, where the loop adds up pages and always asks from None."""
    stored = {one.id for one in inner if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    if not any(_adds_up(one) for one in inner):
        return None
    if isinstance(loop.test, ast.Constant) and not any(isinstance(one, ast.Break | ast.Return) for one in inner):
        return None  # it watches, and is meant to go on
    for answer in (one for one in inner if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)):
        call = answer.value
        assert isinstance(call, ast.Call)
        for name in (one for given in given_to(call) for one in walk(given) if isinstance(one, ast.Name)):
            is_place = name.id not in stored and _WHERE.fullmatch(name.id) is not None
            is_place = is_place and not (_RELATIVE.search(name.id) and _goes_on_by_itself(code, scope, call))
            if is_place and _begins_at_the_first(code, scope, loop, name.id):
                told = (f"global {name.id}", f"nonlocal {name.id}")
                return None if code.has_text(*told) or _is_given_on(inner, call, name.id) else name
    return None


def _goes_on_by_itself(code: Notebook, scope: Scope, call: ast.Call) -> bool:
    """Whether a method may go on from where its object is, whatever it is given: `reader.read(offset=offset)`."""
    name = called_name(call)
    if not isinstance(call.func, ast.Attribute) or _READS_ON.fullmatch(name) is None:
        return False
    return code.qualified(call.func, scope) is None and not any(code.functions_named(name))


def _adds_up(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called_name(node) in _GROWS


def _begins_at_the_first(code: Notebook, scope: Scope, loop: ast.While, name: str) -> bool:
    bound = code.lookup(name, scope, loop)
    value = None if bound is None else bound.value
    return isinstance(value, ast.Constant) and value.value in (None, 0, 1, "")


def _is_given_on(inner: list[ast.AST], call: ast.Call, name: str) -> bool:
    """Whether what the loop does else depends on it, too: it is then no place in what is asked for."""
    own = {id(one) for one in running_nodes(call)}
    return any(isinstance(one, ast.Name) and one.id == name and id(one) not in own for one in inner)
