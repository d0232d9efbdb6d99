"""One step of a PyTorch training loop: which statements make it, and which names are the batch."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Notebook, Scope
from ..code.values import Values
from ..units import quote
from .gradients import backward_calls
from .joined_items import have_other_lengths, joins_items
from .related_rows import compares_rows, has_time_first
from .rows import compared_with, name_of_rows, picks_rows
from .torch import Kind, Tensors

_DEEPEST = 12
_MEAN_LOSSES = frozenset(
    [
        *(f"torch.nn.{one}Loss" for one in ("CrossEntropy", "NLL", "MSE", "L1", "SmoothL1", "Huber", "BCE")),
        *(f"torch.nn.functional.{one}_loss" for one in ("nll", "mse", "l1", "smooth_l1", "huber")),
        *(
            "torch.nn.BCEWithLogitsLoss",
            "torch.nn.functional.cross_entropy",
            "torch.nn.functional.binary_cross_entropy",
        ),
        "torch.nn.functional.binary_cross_entropy_with_logits",
    ]
)
"""Losses that are a mean over rows, unless they are told otherwise."""
_PLAIN_WORDS = ("label_smoothing", "beta", "delta", "input", "target")
_SCHEDULER = ("torch.optim.lr_scheduler.", "transformers.get_")


@dataclass(frozen=True)
class Step:
    """A step that can be taken in parts: zero_grad, the network and its loss, backward, the optimiser."""

    scope: Scope
    statements: list[ast.stmt]
    """From the first that calls a network to the one that calls `backward()`, without `zero_grad()`."""
    backward: ast.stmt
    loss: ast.Name
    zero_grad: ast.stmt
    batch: tuple[str, ...]
    """The names that hold a part for each sample: `x`, `y`."""
    body: list[ast.stmt]
    """The statements of the loop or function that the step is in."""

    @property
    def clears_between(self) -> bool:
        """Whether `zero_grad()` stands between the network and `backward()`, so that it must move."""
        return self.statements[0].lineno < self.zero_grad.lineno < self.backward.lineno


class NoStepError(Exception):
    """There is no such step. Its own text says why, as a sentence for the user, or is empty."""


def find_step(code: Notebook, tensors: Tensors, values: Values | None = None) -> Step:
    """Return the one step of the running code. Raises NoStepError."""
    found = [(one, scope) for scope in code.running for one in backward_calls(scope.node, scope)]
    if len(found) != 1:
        raise NoStepError("" if not found else "There are several backward passes.")
    ((call, scope),) = found
    if call.node.args or call.node.keywords or not isinstance(call.target, ast.Name):
        raise NoStepError("The backward pass is not a plain `loss.backward()`.")
    backward = scope.tree.statements[call.node]
    around = next(scope.around(backward), None)
    body = scope.body if around is None else getattr(around, "body", [])
    if backward not in body or isinstance(around, ast.If | ast.With | ast.Try):
        raise NoStepError("The backward pass stands in a branch.")
    zero = _calls_of("zero_grad", body)
    steps = [one for one in _calls_of("step", body) if not _is_scheduler(one, scope, tensors)]
    if len(zero) != 1 or len(steps) != 1 or _is_given_anything(steps[0]) or steps[0].lineno < backward.lineno:
        raise NoStepError("There is not one optimizer that is cleared and makes its step once.")
    first = next((one for one in body if _calls_network(one, scope, tensors)), backward)
    statements = body[body.index(first) : body.index(backward) + 1]
    statements = [one for one in statements if one is not zero[0]]
    if first is backward or any(isinstance(one, ast.For | ast.While | ast.If) for one in statements):
        raise NoStepError("The step has loops or branches of its own.")
    if compares_rows(statements, scope) or has_time_first(code):
        raise NoStepError("The rows of a batch depend on each other, or are not in its first dimension.")
    batch = tuple(_batch(statements, scope, tensors, values))
    if not batch:
        raise NoStepError("It does not show which names hold the batch.")
    return Step(scope, statements, backward, call.target, zero[0], batch, body)


def _calls_of(method: str, body: list[ast.stmt]) -> list[ast.Expr]:
    found = []
    for one in body:
        match one:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name == method:
                found.append(one)
    return found


def _is_given_anything(statement: ast.Expr) -> bool:
    return isinstance(statement.value, ast.Call) and bool(statement.value.args or statement.value.keywords)


def _is_scheduler(statement: ast.Expr, scope: Scope, tensors: Tensors) -> bool:
    owner = statement.value.func.value  # type: ignore[attr-defined]
    made = [one.node for one in tensors.origins.of(owner, scope)]
    names = [tensors.code.qualified(one.func, scope) or "" for one in made if isinstance(one, ast.Call)]
    return "sched" in scope.segment(owner).lower() or any(name.startswith(_SCHEDULER) for name in names)


def _calls_network(statement: ast.stmt, scope: Scope, tensors: Tensors) -> bool:
    return any(_takes_rows(one, scope, tensors) for one in scope.inside(statement))


def _takes_rows(node: ast.AST, scope: Scope, tensors: Tensors) -> bool:
    """Whether a call gives a network, or a loss, something for each sample."""
    if not isinstance(node, ast.Call):
        return False
    name = tensors.code.qualified(node.func, scope) or ""
    return name.startswith("torch.nn.functional.") or tensors.kind(node.func, scope) is Kind.MODULE


def _batch(statements: list[ast.stmt], scope: Scope, tensors: Tensors, values: Values | None) -> Iterator[str]:
    """Yield the names of the batch. Raises NoStepError for what cannot be split: a dict, a state of earlier steps."""
    nodes = [one for statement in statements for one in scope.inside(statement)]
    made = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    given = [one for node in nodes if _takes_rows(node, scope, tensors) for one in node.args]  # type: ignore[attr-defined]
    read = [one for node in nodes if _takes_rows(node, scope, tensors) for one in node.keywords]  # type: ignore[attr-defined]
    if any(word.arg is None for word in read) or any(isinstance(one, ast.Starred) for one in given):
        raise NoStepError("The batch is a dict or a list, not tensors with names of their own.")
    if picks_rows(nodes, scope, tensors):
        raise NoStepError("The rows of a batch depend on each other, or are not in its first dimension.")
    found: dict[str, ast.Name] = {}
    for one in given:
        name = name_of_rows(one)
        if isinstance(one, ast.Subscript) and name is None:
            raise NoStepError("The batch is a dict or a list, not tensors with names of their own.")
        if name is None or name.id in made:
            if (
                name is not None
                and tensors.kind(name, scope) is Kind.GRAPH
                and _is_carried(name, statements, scope, tensors)
            ):
                raise NoStepError("The step goes on from a state of the step before.")
            continue
        kind = tensors.kind(name, scope)
        if kind is Kind.GRAPH:
            raise NoStepError("The step goes on from a state of the step before.")
        if kind is not Kind.MODULE:
            found.setdefault(name.id, name)
    compared = compared_with(nodes, found.values(), scope, tensors, values) if found else ()
    found |= _as_many([one for one in compared if one[0] is None or one[0].id not in made])
    loop = next(iter(scope.loops_around(statements[0])), None)
    if joins_items(list(found.values()), loop, scope, tensors) or have_other_lengths(found.values(), scope, values):
        raise NoStepError("The tensors of a batch do not all have a row for each sample.")
    yield from sorted(found, key=lambda one: (found[one].lineno, found[one].col_offset))


def _as_many(compared: list[tuple[ast.Name | None, bool]]) -> dict[str, ast.Name]:
    """Return what has as many rows as the batch, by name. Raises NoStepError where that is not known of one."""
    found = {name.id: name for name, has_as_many in compared if name is not None and has_as_many}
    if len(found) < len(compared):
        raise NoStepError("It does not show how many rows the step compares with what the network gives.")
    return found


def _is_carried(name: ast.Name, statements: list[ast.stmt], scope: Scope, tensors: Tensors) -> bool:
    """Whether a name that the step makes is read before it is made: it comes from the step before."""
    binding = tensors.code.lookup(name.id, scope, name)
    return binding is not None and (binding.scope is not scope or binding.position < (statements[0].lineno, 0))


def is_mean(node: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether a loss is surely a mean over the rows of a batch, so that each part counts by its share of the rows."""
    match node:
        case ast.Name() | ast.Attribute():
            origins = tensors.origins.of(node, scope)
            return bool(origins) and depth < _DEEPEST and all(is_mean(*one, tensors, depth + 1) for one in origins)
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            return depth < _DEEPEST and all(is_mean(one, scope, tensors, depth + 1) for one in (left, right))
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            sides = [left, right]
            return sum(isinstance(one, ast.Constant) or is_mean(one, scope, tensors, depth + 1) for one in sides) == 2
        case ast.BinOp(op=ast.Div(), left=left, right=ast.Constant()):
            return is_mean(left, scope, tensors, depth + 1)
        case ast.Call(func=ast.Attribute(attr="mean"), args=[], keywords=[]):
            return True
        case ast.Call():
            return _is_mean_loss(node, scope, tensors)
    return False


def _is_mean_loss(call: ast.Call, scope: Scope, tensors: Tensors) -> bool:
    name = tensors.code.qualified(call.func, scope)
    if name is not None:
        is_mean_of_all = name == "torch.mean" and len(call.args) == 1
        return is_mean_of_all or (name in _MEAN_LOSSES and _takes_mean(call))
    is_made_here = isinstance(call.func, ast.Call)
    made = [call.func] if is_made_here else [one.node for one in tensors.origins.of(call.func, scope)]
    if not _takes_mean(call):
        return False
    for one in made:
        full = (tensors.code.qualified(one.func, scope) or "") if isinstance(one, ast.Call) else ""
        if not (full in _MEAN_LOSSES and isinstance(one, ast.Call) and _takes_mean(one)):
            return False
    return bool(made)


def _takes_mean(call: ast.Call) -> bool:
    """Whether a loss is made without what changes how rows count: `reduction='sum'`, weights of classes."""
    return all(word.arg in _PLAIN_WORDS for word in call.keywords)


def normalises_batches(code: Notebook) -> str | None:
    """Return the layer by whose statistics the rows of a batch depend on each other; None without one."""
    for cell in code.with_text("BatchNorm"):
        found = re.search(r"\b(?:Sync)?BatchNorm(?:[123]d)?", code.source(cell))
        return found[0] if found else None
    networks = code.calls("torchvision.models.*", "timm.create_model", "torch.hub.load")
    return next((f"the BatchNorm in {quote(one.text)}" for one in networks), None)
