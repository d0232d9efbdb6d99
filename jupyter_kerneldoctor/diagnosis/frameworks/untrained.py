"""Networks that no optimizer trains: a teacher, a target network, a backbone whose weights stay as they are."""

import ast

from ..code.calls import given_to
from ..code.notebook import Notebook, Scope, once
from ..code.origins import all_origins
from ..code.trees import walk
from .gradients import sources_of_gradients
from .torch import Kind, Tensors, is_module_class

_MOST_PARTS = 300


@once
def calls_of_untrained(code: Notebook) -> set[ast.Call]:
    """Return the calls of networks whose weights no optimizer has, and which are given nothing that is trained.

    Also the calls of functions that such a network is handed to.

    A backward pass may go through them, but gives gradients that nobody uses. Where the code does not show all that the
    optimizers have, or of what a network was made, there are none.
    """
    tensors = Tensors(code)
    trained = _trained(code, tensors)
    if not trained:
        return set()
    needed, found = sources_of_gradients(code), set()
    for scope in code.running:
        for call in scope.calls if _is_outside(scope, code) else ():
            if call in needed and tensors.kind(call.func, scope) is Kind.MODULE:
                made = _made_by(call.func, scope, tensors)
                if made is not None and made not in trained and not _is_given_graph(given_to(call), scope, tensors):
                    found.add(call)
            elif call in needed and tensors.origins.called(call.func, scope) is not None:  # `score(teacher, x)`
                given = given_to(call)
                networks = [one for one in given if tensors.kind(one, scope) is Kind.MODULE]
                made_by = [_made_by(one, scope, tensors) for one in networks]
                if networks and None not in made_by and not trained & {*made_by}:
                    others = [one for one in given if one not in networks]
                    found |= set() if _is_given_graph(others, scope, tensors) else {call}
    return found


def _is_outside(scope: Scope, code: Notebook) -> bool:
    """Whether a function is no method of a network, whose parts are trained with it."""
    owner = code.class_around(scope)
    return owner is None or not is_module_class(owner, code)


def _trained(code: Notebook, tensors: Tensors) -> set[ast.expr]:
    """Return the calls that made what the optimizers have; none where that is not all known."""
    calls = [one for one in code.calls("torch.optim.*") if one.name.count(".") == 2 and one.name[12:13].isupper()]
    waiting: list[tuple[ast.expr, Scope]] = [(one.node, one.scope) for one in calls]
    seen: set[ast.AST] = set()
    found: set[ast.expr] = set()
    for root, scope in waiting:  # it grows meanwhile
        for node in walk(root):
            if node in seen or not isinstance(node, ast.expr):
                continue
            seen.add(node)
            if len(seen) > _MOST_PARTS or (isinstance(node, ast.List) and not node.elts):
                return set()
            if isinstance(node, ast.Call):
                found.add(node)
            if isinstance(node, ast.Call) or isinstance(getattr(node, "ctx", None), ast.Load):
                waiting += all_origins(node, scope, code, parts=True)[1:]
    has_network = any(isinstance(one, ast.Call) and tensors.kind(one, scope) is Kind.MODULE for one, scope in waiting)
    return found if has_network and not any(code.mentioning("add_param_group")) else set()


def _made_by(function: ast.expr, scope: Scope, tensors: Tensors) -> ast.expr | None:
    """Return the call that made a network; None where that is not known, or it is a part of another one."""
    for node, where in all_origins(function, scope, tensors.code):
        if not _is_outside(where, tensors.code):
            return None
        match node:
            case ast.Call(func=ast.Attribute(value=owner)) if tensors.kind(owner, where) is Kind.MODULE:
                continue  # net.eval()
            case ast.Call() if tensors.kind(node, where) is Kind.MODULE:
                return node
            case ast.Attribute(value=owner) if tensors.kind(owner, where) is Kind.MODULE:
                return None
    return None


def _is_given_graph(parts: list[ast.expr], scope: Scope, tensors: Tensors) -> bool:
    """Whether what a network is given beside itself may come from one that is trained."""
    return any(
        tensors.kind(one, where) is Kind.GRAPH
        or (isinstance(one, ast.Call) and tensors.kind(one.func, where) is Kind.MODULE)
        for given in parts
        for one, where in all_origins(given, scope, tensors.code, parts=True)
    )
