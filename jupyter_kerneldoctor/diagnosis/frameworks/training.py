"""Training loops of any framework: whether something trains, and where the size of its batches is written."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..code.literals import number
from ..code.notebook import Binding
from .torch import backward_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..code.notebook import Notebook, Scope

_NAME = re.compile(r"(?:\w*_)?(?:batch_?size|bs)", re.IGNORECASE)
_EVALUATION = re.compile(r"val|eval|test|pred", re.IGNORECASE)
_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "keras", "transformers", "lightning", "pytorch_lightning", "accelerate", "fastai"}
)
_TRAINING = frozenset({"fit", "fit_one_cycle", "train", "train_on_batch", "predict", "evaluate"})
_MOST_PARTS = 500
_MOST_STEPS = 5  # from an object to the call that made it
_DWARFED = 100

Part: TypeAlias = tuple[ast.AST, "Scope"]


@dataclass(frozen=True)
class BatchSize:
    """A number that is the size of a batch."""

    value: int
    node: ast.expr
    scope: Scope
    label: str
    """What it is called: `BATCH_SIZE`, or the keyword."""


def trains(code: Notebook) -> bool:
    """Whether the running code trains a network, or runs one over data."""
    return any(backward_calls(scope.node, scope) for scope in code.running) or any(
        _is_training_call(node, scope, code) for scope in code.running for node in scope.calls
    )


def find_batch_size(code: Notebook) -> BatchSize | None:
    """Return the batch size of the loop that was training; of several, the largest that is not for evaluation."""
    found = {one.node: one for node, scope in _slice(code) for one in _written_at(node, scope, code)}
    if not found:
        found = {one.node: one for scope in code.running.functions for one in _defaults(scope)}
    training = [one for one in found.values() if not _EVALUATION.search(one.label)]
    return max(training or found.values(), key=lambda one: one.value, default=None)


def is_dwarfed(batch: BatchSize, code: Notebook) -> bool:
    """Whether the same pipeline shuffles so many samples at a time that the batch is little beside them.

    What a network keeps of a sample is some tens of times the sample, so a buffer of a hundred batches outweighs it.
    """
    for node, scope in _slice(code):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "shuffle":
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "buffer_size")]
            if max((_value(one, scope, code) or 0 for one in given), default=0) >= _DWARFED * batch.value:
                return True
    return False


def _value(node: ast.expr, scope: Scope, code: Notebook) -> int | None:
    if isinstance(node, ast.Name) and (binding := code.lookup(node.id, scope, node)) is not None:
        return None if binding.value is None else number(binding.value)
    return number(node)


def _is_training_call(node: ast.Call, scope: Scope, code: Notebook) -> bool:
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _TRAINING:
        return False
    made = _maker(node.func.value, scope, code)
    if made is not None:
        return made.split(".")[0] in _FRAMEWORKS
    # A model that a function of the user's built: a keyword that only such a framework's methods take decides.
    names_batch = any(word.arg == "batch_size" for word in node.keywords)
    return names_batch and any(code.imports(package) for package in _FRAMEWORKS)


def _maker(node: ast.expr, scope: Scope, code: Notebook) -> str | None:
    """Return the library call that made an object, `keras.Sequential`."""
    for _ in range(_MOST_STEPS):
        if isinstance(node, ast.Call):
            if (full := code.qualified(node.func, scope)) is not None:
                return full
            node = node.func
        elif isinstance(node, ast.Name):
            binding = code.lookup(node.id, scope, node)
            if binding is None or binding.value is None:
                return None
            node, scope = binding.value, binding.scope
        else:
            return None
    return None


def _slice(code: Notebook) -> Iterator[Part]:
    """Yield all nodes of the training loops, and of the assignments that their names come from, step by step back."""
    waiting: list[Part] = _starts(code)
    seen: set[ast.AST] = set()
    while waiting and len(seen) < _MOST_PARTS:
        root, scope = waiting.pop()
        if root in seen:
            continue
        seen.add(root)
        for node in scope.walk() if root is scope.node else scope.inside(root):
            yield node, scope
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                binding = code.lookup(node.id, scope, node)
                if binding is not None and binding.value is not None:
                    waiting.append((binding.value, binding.scope))


def _starts(code: Notebook) -> list[Part]:
    """Return the innermost loops that train; without one, everything that runs."""
    learning = {scope.function for scope in code.running if backward_calls(scope.node, scope)} - {""}
    starts: list[Part] = []
    for scope in code.running:
        named = [node for node in scope.names if isinstance(node, ast.Name) and node.id in learning]
        for node in (*(one.node for one in backward_calls(scope.node, scope)), *named):
            starts += [(loop, scope) for loop in scope.loops_around(node)[:1]]
        starts += [(node, scope) for node in scope.calls if _is_training_call(node, scope, code)]
    return list(dict.fromkeys(starts)) or [(scope.node, scope) for scope in code.running]


def _written_at(node: ast.AST, scope: Scope, code: Notebook) -> Iterator[BatchSize]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if _NAME.fullmatch(name):
            if (binding := code.lookup(name, scope, node)) is not None:
                yield from _numeric(binding.value, binding.scope, name)
        case ast.Attribute(value=base, attr=name) if _NAME.fullmatch(name):
            yield from _in_settings(base, name, scope, code)
        case ast.Subscript(value=base, slice=ast.Constant(value=str(name))) if _NAME.fullmatch(name):
            yield from _in_settings(base, name, scope, code)
        case ast.Call():
            for word in node.keywords:
                if word.arg is not None and _NAME.fullmatch(word.arg):
                    yield from _numeric(word.value, scope, word.arg)
            yield from _numeric(_positional(node, scope, code), scope, "batch size")


def _positional(node: ast.Call, scope: Scope, code: Notebook) -> ast.expr | None:
    """Return the batch size among a call's arguments without a keyword, where their order is known."""
    full = code.qualified(node.func, scope)
    if full is not None:
        loads = full.startswith("torch.utils.data.") and full.endswith("DataLoader")
        return node.args[1] if loads and len(node.args) > 1 else None
    if isinstance(node.func, ast.Attribute):
        makes = node.func.attr == "batch" and (_maker(node.func.value, scope, code) or "").startswith("tensorflow.")
        return node.args[0] if makes and node.args else None
    binding = code.definition(node.func, scope)
    if binding is None or not isinstance(binding.definition, ast.FunctionDef):
        return None
    given = zip(code.function_scope(binding.definition, binding.cell).parameters, node.args, strict=False)
    return next((value for name, value in given if _NAME.fullmatch(name)), None)


def _in_settings(base: ast.expr, key: str, scope: Scope, code: Notebook) -> Iterator[BatchSize]:
    """Yield the number under a key of a dict, or in an attribute of an object or a class, of the user's."""
    binding = code.lookup(base.id, scope, base) if isinstance(base, ast.Name) else None
    match binding:
        case Binding(value=ast.Dict(keys=keys, values=values), scope=home):
            for name, item in zip(keys, values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key:
                    yield from _numeric(item, home, key)
        case Binding(value=ast.Call(func=made, keywords=words), scope=home):
            for word in words:
                if word.arg == key:
                    yield from _numeric(word.value, home, key)
            made_by = code.definition(made, home)
            if made_by is not None:
                yield from _in_class(made_by.definition, made_by.scope, key)
        case Binding(definition=ast.ClassDef() as definition, scope=home):
            yield from _in_class(definition, home, key)


def _in_class(definition: ast.AST | None, home: Scope, key: str) -> Iterator[BatchSize]:
    for statement in definition.body if isinstance(definition, ast.ClassDef) else []:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if name == key:
                yield from _numeric(value, home, key)


def _defaults(scope: Scope) -> Iterator[BatchSize]:
    given = scope.arguments
    named = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(named), reversed(given.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
    for name, value in pairs:
        if _NAME.fullmatch(name.arg):
            yield from _numeric(value, scope, name.arg)


def _numeric(node: ast.expr | None, scope: Scope, label: str) -> Iterator[BatchSize]:
    value = None if node is None or isinstance(node, ast.Call) else number(node)
    if node is not None and value is not None and value > 1:
        yield BatchSize(value, node, scope, label)
