"""Where the size of a batch is written, among all that a training loop makes use of."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from jupyter_kerneldoctor.diagnosis.code.literals import number
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope

from ._accumulation import backward_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"(?:\w*_)?(?:batch_?size|bs)", re.IGNORECASE)
_EVALUATION = re.compile(r"val|eval|test|pred", re.IGNORECASE)
_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "keras", "transformers", "lightning", "pytorch_lightning", "accelerate", "fastai"}
)
_TRAINERS = frozenset({"fit", "fit_one_cycle", "train", "train_on_batch"})
_PREDICTORS = frozenset({"predict", "evaluate"})
_MOST_PARTS = 500
_DWARFED = 100

Part: TypeAlias = tuple[ast.AST, Scope]


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
    return any(backward_calls(scope) for scope in code.running) or any(
        _is_training_call(node, scope, code) for scope in code.running for node in scope.walk()
    )


def find_batch_size(code: Notebook) -> BatchSize | None:
    """The batch size of the loop that was training; of several, the largest that is not for evaluation."""
    found: dict[int, BatchSize] = {}
    for node, scope in _slice(code):
        for one in _written_at(node, scope, code):
            found.setdefault(id(one.node), one)
    if not found:
        for scope in code.running.functions:
            for one in _defaults(scope):
                found.setdefault(id(one.node), one)
    known = list(found.values())
    training = [one for one in known if not _EVALUATION.search(one.label)]
    return max(training or known, key=lambda one: one.value, default=None)


def is_dwarfed(batch: BatchSize, code: Notebook) -> bool:
    """Whether the same pipeline shuffles so many samples at a time that the batch is little beside them.

    What a network keeps of a sample is some tens of times the sample, so a buffer of a hundred batches outweighs it.
    """
    for node, scope in _slice(code):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "shuffle":
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "buffer_size")]
            buffer = max((_value(one, scope, code) or 0 for one in given), default=0)
            if buffer >= _DWARFED * batch.value:
                return True
    return False


def _value(node: ast.expr, scope: Scope, code: Notebook) -> int | None:
    if isinstance(node, ast.Name) and (binding := code.lookup(node.id, scope, node)) is not None:
        return None if binding.value is None else number(binding.value)
    return number(node)


def _is_training_call(node: ast.AST, scope: Scope, code: Notebook) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr not in _TRAINERS | _PREDICTORS:
        return False
    made = _maker(node.func.value, scope, code)
    if made is not None:
        return made.split(".")[0] in _FRAMEWORKS
    # A model that a function of the user's built: a keyword that only such a framework's methods take decides.
    names_batch = any(word.arg == "batch_size" for word in node.keywords)
    return names_batch and any(code.imports(package) for package in _FRAMEWORKS)


def _maker(node: ast.expr, scope: Scope, code: Notebook) -> str | None:
    """The library call that made an object, `keras.Sequential`."""
    for _ in range(5):
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
    """All nodes of the training loops, and of the assignments that their names come from, step by step back."""
    waiting: list[Part] = _starts(code)
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_PARTS:
        root, scope = waiting.pop()
        if id(root) in seen:
            continue
        seen.add(id(root))
        for node in scope.walk() if root is scope.node else scope.inside(root):
            yield node, scope
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                binding = code.lookup(node.id, scope, node)
                if binding is not None and binding.value is not None:
                    waiting.append((binding.value, binding.scope))


def _starts(code: Notebook) -> list[Part]:
    """The loops that train; without one, everything that runs."""
    learning = {scope.function for scope in code.running if backward_calls(scope)} - {""}
    starts: list[Part] = []
    for scope in code.running:
        for node in scope.walk():
            if isinstance(node, ast.For | ast.AsyncFor | ast.While):
                names = {one.id for one in scope.inside(node) if isinstance(one, ast.Name)} if learning else set()
                if backward_calls(scope, node) or names & learning:
                    starts.append((node, scope))
            elif _is_training_call(node, scope, code):
                starts.append((node, scope))
    outer = {
        one for node, scope in starts for one in (scope.statement_of(node), *scope.around(node)) if one is not node
    }
    return [one for one in starts if one[0] not in outer] or [(scope.node, scope) for scope in code.running]


def _written_at(node: ast.AST, scope: Scope, code: Notebook) -> Iterator[BatchSize]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and _NAME.fullmatch(node.id):
        binding = code.lookup(node.id, scope, node)
        if binding is not None:
            yield from _numeric(binding.value, binding.scope, node.id)
    elif isinstance(node, ast.Attribute) and _NAME.fullmatch(node.attr):
        yield from _in_settings(node.value, node.attr, scope, code)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        if _NAME.fullmatch(node.slice.value):
            yield from _in_settings(node.value, node.slice.value, scope, code)
    elif isinstance(node, ast.Call):
        yield from _in_call(node, scope, code)


def _in_call(node: ast.Call, scope: Scope, code: Notebook) -> Iterator[BatchSize]:
    for word in node.keywords:
        if word.arg is not None and _NAME.fullmatch(word.arg):
            yield from _numeric(word.value, scope, word.arg)
    value = _positional(node, scope, code)
    if value is not None:
        yield from _numeric(value, scope, "batch size")


def _positional(node: ast.Call, scope: Scope, code: Notebook) -> ast.expr | None:
    """The batch size among a call's arguments without a keyword, where their order is known."""
    full = code.qualified(node.func, scope)
    if full is not None:
        loads = full.startswith("torch.utils.data.") and full.endswith("DataLoader")
        return node.args[1] if loads and len(node.args) > 1 else None
    if isinstance(node.func, ast.Attribute):
        makes = node.func.attr == "batch" and (_maker(node.func.value, scope, code) or "").startswith("tensorflow.")
        return node.args[0] if makes and node.args else None
    binding = code.lookup(node.func.id, scope, node) if isinstance(node.func, ast.Name) else None
    if binding is None or not isinstance(binding.definition, ast.FunctionDef):
        return None
    arguments = binding.definition.args
    pairs = zip((*arguments.posonlyargs, *arguments.args), node.args, strict=False)
    return next((value for parameter, value in pairs if _NAME.fullmatch(parameter.arg)), None)


def _in_settings(base: ast.expr, key: str, scope: Scope, code: Notebook) -> Iterator[BatchSize]:
    """The number under a key of a dict, or in an attribute of an object or a class, of the user's."""
    if not isinstance(base, ast.Name):
        return
    binding = code.lookup(base.id, scope, base)
    if binding is None:
        return
    home, value = binding.scope, binding.value
    if isinstance(value, ast.Dict):
        for name, item in zip(value.keys, value.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                yield from _numeric(item, home, key)
    elif isinstance(value, ast.Call):
        for word in value.keywords:
            if word.arg == key:
                yield from _numeric(word.value, home, key)
        if isinstance(value.func, ast.Name) and (made := code.lookup(value.func.id, home, value)) is not None:
            yield from _in_class(made.definition, made.scope, key)
    else:
        yield from _in_class(binding.definition, home, key)


def _in_class(definition: ast.AST | None, home: Scope, key: str) -> Iterator[BatchSize]:
    for statement in definition.body if isinstance(definition, ast.ClassDef) else []:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == key for target in targets):
                yield from _numeric(statement.value, home, key)


def _defaults(scope: Scope) -> Iterator[BatchSize]:
    arguments = scope.arguments
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(named), reversed(arguments.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for name, value in pairs:
        if _NAME.fullmatch(name.arg):
            yield from _numeric(value, scope, name.arg)


def _numeric(node: ast.expr | None, scope: Scope, label: str) -> Iterator[BatchSize]:
    value = None if node is None or isinstance(node, ast.Call) else number(node)
    if node is not None and value is not None and value > 1:
        yield BatchSize(value, node, scope, label)
