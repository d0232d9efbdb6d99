"""Where PyTorch records a graph, where the backward pass uses it up, and what that pass starts from."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..code.notebook import Notebook, Scope, once
from ..code.origins import Origins
from ..code.trees import after_future, walk
from ..edits import Changes, insert_before, wrap
from .whole_numbers import unpacked_with_gradient, without_gradient

_GRADIENTS = ("torch.autograd.grad", "torch.autograd.functional.*", "torch.func.*")
_ASK_FOR_GRADIENTS = frozenset({"grad", "requires_grad_", "train_on_batch", "training_step"})
_DEEPEST = 4
_FEW_CALLS = 6  # of a function: `Origins` follows its parameters to all of them
CUTS = frozenset({"detach", "item", "tolist", "numpy"})
"""Methods that give values without their graph."""
_EVALUATING_STEPS = frozenset({"validation_step", "test_step", "predict_step"})
_GRAPH_OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})


@dataclass(frozen=True)
class Backward:
    """A call that runs the backward pass."""

    node: ast.Call
    target: ast.expr
    """Where it starts: the loss."""
    keeps_graph: bool


def backward_calls(node: ast.AST, scope: Scope) -> list[Backward]:
    """Return `loss.backward()`, `accelerator.backward(loss)` and the like among what runs in a node of the scope."""
    found = []
    for one in scope.calls if node is scope.node else scope.inside(node):
        match one:
            case ast.Call(func=ast.Attribute(attr="backward", value=owner), args=given, keywords=words):
                keeps = any(word.arg == "retain_graph" and _is_not_false(word.value) for word in words)
                target = given[0] if given and isinstance(given[0], ast.Name) else owner
                found.append(Backward(one, target, keeps))
    return found


def goes_backward(code: Notebook) -> bool:
    """Whether what may be running has a backward pass."""
    return any(backward_calls(scope.node, scope) for scope in code.running)


def iterated(name: ast.Name, scope: Scope) -> ast.expr | None:
    """Return what a loop goes through whose target is a name: `rows` of `for i, row in enumerate(rows)`.

    Of `for key, row in rows.items()` it is `rows.items()`, of `for x, row in zip(xs, rows)` `rows`. So it is with the
    loops of a comprehension.
    """
    statement = scope.statement_of(name)
    inner = () if statement is None or hasattr(statement, "body") else scope.inside(statement)
    for one in inner:
        for made in one.generators if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.SetComp) else ():
            if getattr(made.target, "id", None) == name.id and name in walk(one):
                return made.iter
    for loop in scope.loops_around(name):
        match loop:
            case ast.For(target=ast.Name(id=target), iter=gone_through) if target == name.id:
                return gone_through
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=target)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[gone_through, *_]),
            ) if target == name.id:
                return gone_through
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=target)]),
                iter=ast.Call(func=ast.Attribute(attr="items"), args=[]) as gone_through,
            ) if target == name.id:
                return gone_through
            case ast.For(target=ast.Tuple(elts=parts), iter=ast.Call(func=ast.Name(id="zip"), args=given)):
                pairs = zip(parts, given, strict=False)
                return next((one for part, one in pairs if isinstance(part, ast.Name) and part.id == name.id), None)
    return None


def starts_of_backward(scope: Scope, code: Notebook) -> Iterator[ast.expr]:
    """Yield the expressions whose gradients something in the scope works out."""
    yield from (call.target for call in backward_calls(scope.node, scope))
    yield from (call.args[0] for call in _calls_for_gradients(scope, code))


def _calls_for_gradients(scope: Scope, code: Notebook) -> Iterator[ast.Call]:
    return (call.node for call in code.calls_in([scope], *_GRADIENTS) if call.node.args)


def hides_gradients(code: Notebook) -> bool:
    """Whether the code does not show what asks for gradients, as in a trainer's method, or switches them off."""
    switched = ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
    if any(isinstance(call.statement, ast.Expr) for call in code.calls(*switched)):
        return True
    origins, starts = Origins(code), any(True for scope in code.running for _ in starts_of_backward(scope, code))
    for scope in code.running:
        if any(isinstance(one, ast.Assign) and _asks_for_gradients(one) for one in scope.nodes):
            return True
        frozen = {one.func for one in scope.calls if any(getattr(given, "value", None) is False for given in one.args)}
        for node in scope.names:
            if isinstance(node, ast.Attribute) and node.attr in _ASK_FOR_GRADIENTS and node not in frozen:
                is_shown = starts if node.attr == "grad" else origins.called(node, scope) is not None
                if not is_shown:
                    return True
    return False


def _asks_for_gradients(statement: ast.Assign) -> bool:
    """Whether it is `x.requires_grad = True`."""
    named = any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in statement.targets)
    return named and _is_not_false(statement.value)


def without_gradients(statement: ast.stmt, scope: Scope, code: Notebook) -> Changes:
    """Put a statement under `torch.no_grad()`; import PyTorch at the top of its cell where no cell did by name."""
    name = name_of_torch(code)
    top, wrapped = code.module(scope.cell), wrap(scope, [statement], f"with {name or 'torch'}.no_grad():")
    if name is not None or top is None:
        return wrapped
    first = after_future(top.body) or statement
    return insert_before(top, first, "import torch") + wrapped


def name_of_torch(code: Notebook) -> str | None:
    """Return the name by which the cells know PyTorch; None where none imported it as a whole."""
    for scope in code.mentioning("torch"):
        for name, bound in scope.bindings.items():
            if bound[-1].imported == "torch":
                return name
    return None


def graph_is_off(expressions: Sequence[ast.expr], scope: Scope, code: Notebook) -> bool:
    """Whether one of these (decorators, or what a `with` enters) is torch's no_grad or inference_mode."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in expressions]
    return any(code.qualified(call, scope) in _GRAPH_OFF for call in calls) or any(
        code.qualified(one.func, scope) == "torch.set_grad_enabled" and not _turns_on(one)
        for one in expressions
        if isinstance(one, ast.Call)
    )


def graph_is_off_at(node: ast.AST, scope: Scope, code: Notebook) -> bool:
    """Whether a node stands below such a `with`, or in a function with such a decorator."""
    around = [one for one in scope.around(node) if isinstance(one, ast.With | ast.AsyncWith)]
    return graph_is_off([*scope.decorators, *(item.context_expr for one in around for item in one.items)], scope, code)


def records_graph(node: ast.AST, scope: Scope, code: Notebook, depth: int = 0) -> bool:
    """Whether PyTorch remembers how tensors come about where a node runs; of a function, in one of its calls."""
    if depth > _DEEPEST or graph_is_off_at(node, scope, code):
        return False
    if scope.function in _EVALUATING_STEPS and is_of_lightning(scope, code):
        return False
    calls = [] if scope.is_cell else Origins(code).calls_of(scope)
    return not calls or any(records_graph(call, caller, code, depth + 1) for call, caller in calls)


def is_of_lightning(scope: Scope, code: Notebook) -> bool:
    """Whether a function is a method of a `LightningModule`: a trainer calls it in each step and runs `backward()`."""
    return any(name.endswith(".LightningModule") for name in code.bases_of(scope))


def backward_below(node: ast.AST, scope: Scope, origins: Origins, depth: int = 0) -> list[Backward]:
    """Return the backward passes that run in a node, also in the user's functions that it calls."""
    found = backward_calls(node, scope)
    calls = scope.calls if node is scope.node else [one for one in scope.inside(node) if isinstance(one, ast.Call)]
    asked = (one for one in _calls_for_gradients(scope, origins.code) if one in calls)
    found += [Backward(one, one.args[0], keeps_graph=True) for one in asked]
    for call in calls if depth < _DEEPEST else ():
        inner = origins.called(call.func, scope)
        if inner is not None and inner is not scope:
            found += backward_below(inner.node, inner, origins, depth + 1)
    return found


@once
def sources_of_gradients(code: Notebook) -> set[ast.AST]:
    """Return all nodes that a backward pass of the running code may start from, step by step back."""
    return _sources(code, frozenset())


@once
def reached_by_gradients(code: Notebook) -> set[ast.AST]:
    """Return those of them that the gradients reach: what is detached on the way is none."""
    return _sources(code, CUTS)


def _sources(code: Notebook, cuts: frozenset[str]) -> set[ast.AST]:
    origins = Origins(code)
    waiting: list[tuple[ast.AST, Scope]] = [
        (start, scope) for scope in code.running for start in starts_of_backward(scope, code)
    ]
    seen: set[ast.AST] = set()
    names: set[tuple[str, Scope | None]] = set()
    while waiting:
        root, scope = waiting.pop()
        if root in seen:
            continue
        inner = scope.inside(root)
        behind = {
            one
            for call in inner
            for cut in ([call] if is_cut(call, cuts) else _given_by_name(call, scope, origins) if cuts else ())
            for one in walk(cut)
        } | {one for part in inner for cut in without_gradient(part) for one in walk(cut)}
        for node in inner:
            if node in behind:
                continue
            seen.add(node)
            if isinstance(node, ast.Call):
                waiting += [(one.node, one.scope) for one in origins.returned(node, scope)]
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                waiting += [(one.node, one.scope) for one in origins.of(node, scope)]
                waiting += _put_into(node, code) if (node.attr, None) not in names else []
                names.add((node.attr, None))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                waiting += [(one.node, one.scope) for one in origins.of(node, scope)]
                is_self = bool(cuts) and scope.owner is not None and node.id in scope.parameters[:1]
                is_new = not is_self and (node.id, scope) not in names and code.qualified(node, scope) is None
                waiting += _added_to(node, scope) if is_new else []
                binding = code.lookup(node.id, scope, node)
                whole = None if binding is None else unpacked_with_gradient(node.id, binding, code)
                waiting += [(whole, binding.scope)] if binding is not None and whole is not None else []
                names.add((node.id, scope))
    return seen


def _given_by_name(call: ast.AST, scope: Scope, origins: Origins) -> list[ast.expr]:
    """Return the arguments of a call that are followed where the function of the user's uses them, if it does."""
    if not isinstance(call, ast.Call) or (inner := origins.called(call.func, scope)) is None:
        return []
    given = [*origins.arguments(call, inner).values()]
    is_known = len(given) == len(call.args) + len(call.keywords) and len(origins.calls_of(inner)) <= _FEW_CALLS
    return given if is_known and any(origins.returned(call, scope)) else []


def is_cut(node: ast.AST, cuts: frozenset[str]) -> bool:
    """Whether a node is the call of a method that gives values without their graph: `out.detach()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in cuts
    return False


def _entry_of(node: ast.expr) -> str | None:
    """Return the name of what an expression is an entry of: `d` for `d["a"]` and for `d.setdefault("a", [])`."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(attr="setdefault", value=inner)):
                node = inner
            case _:
                return None
    return node.id


def _added_to(name: ast.Name, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    """Return what was added to a name, `total += loss`, and what was put into it, `losses.append(loss)`."""
    found: list[tuple[ast.AST, Scope]] = []
    for node in scope.nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name.id:
                found.append((value, scope))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=target))], value=value) if target == name.id:
                found.append((value, scope))
            case ast.Call(func=ast.Attribute(value=owner), args=given, keywords=words) if _entry_of(owner) == name.id:
                found += [(one, scope) for one in (*given, *(word.value for word in words))]
            case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated) if name.id in {
                one.id for one in walk(target) if isinstance(one, ast.Name)
            }:
                found.append((iterated, scope))
    return found


def _put_into(attribute: ast.Attribute, code: Notebook) -> list[tuple[ast.AST, Scope]]:
    """Return what methods put into an attribute of this name, whichever object's: `self.memory.append(step)`."""
    found: list[tuple[ast.AST, Scope]] = []
    for scope in code.running.functions:
        for call in scope.calls:
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="append"), args=given):
                    found += [(one, scope) for one in given] if name == attribute.attr else []
    return found


def _turns_on(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Constant) and one.value is True for one in call.args[:1])


def _is_not_false(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and not node.value)
