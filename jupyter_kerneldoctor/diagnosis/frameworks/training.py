"""Training loops of any framework: whether something trains, and where the size of its batches is written."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ..code.attributes import Origin
from ..code.calls import last_name
from ..code.literals import number
from ..code.notebook import Notebook, Scope, once
from ..code.origins import Origins, all_origins
from ..code.trees import unparse, walk
from ..edits import Changes, replace
from .gradients import backward_calls, goes_backward
from .keras import Step, is_after_map, is_dataset, is_of_batches, is_of_numbers
from .trainers import trainer_settings

_NAME = re.compile(r"(?:\w*_)?(?:batch(?:_?size)?|bsz?)", re.IGNORECASE)
_EVALUATION = re.compile(r"val|eval|test|pred", re.IGNORECASE)
_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "keras", "transformers", "lightning", "pytorch_lightning", "accelerate", "fastai"}
)
_TRAINING = frozenset({"fit", "fit_one_cycle", "train", "train_on_batch", "predict", "evaluate", "encode"})
_EVALUATING = ("predict", "evaluate", "encode")
_OF_JAX = ("jax.grad", "jax.value_and_grad")
_MOST_PARTS = 500
_ONLY_OF_TRAINING = frozenset({"batch_size", "epochs", "steps_per_epoch", "validation_data"})
_DWARFED = 100
_EVALUATED = frozenset({"per_device_eval_batch_size", "validation_batch_size"})
_FAR = 8  # times the batch of the training

Part: TypeAlias = tuple[ast.AST, "Scope"]


@dataclass(frozen=True)
class BatchSize:
    """A number that is the size of a batch."""

    value: int
    node: ast.expr
    scope: Scope
    label: str
    """What it is called: `BATCH_SIZE`, or the keyword."""
    others: tuple[ast.expr, ...] = ()
    """Where the same number must change with it: `range(0, n, 64)` and `X[i:i + 64]`."""

    def becomes(self, value: int) -> Changes:
        """Return the edit that writes another number."""
        return tuple(change for node in (self.node, *self.others) for change in replace(self.scope, node, str(value)))


def trains(code: Notebook) -> bool:
    """Whether the running code trains a network, or runs one over data."""
    if goes_backward(code) or any(training_calls(code)):
        return True
    taped = code.imports("tensorflow") and any(
        getattr(call.func, "attr", "") == "apply_gradients" for scope in code.running for call in scope.calls
    )
    if taped or any(code.running.calls(*_OF_JAX)):
        return True
    return any(is_gradient_of_jax(call.func, scope, code) for scope in code.running for call in scope.calls)


def is_gradient_of_jax(function: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether a function is one that JAX made to work gradients out: `jax.jit(jax.grad(loss))`, by any name."""
    if not code.imports("jax") or isinstance(function, ast.Attribute):
        return False
    return any(
        isinstance(one, ast.Call) and code.qualified(one.func, where) in _OF_JAX
        for one, where in all_origins(function, scope, code, parts=True)
    )


def training_calls(code: Notebook) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls of a framework's methods that train a network, or run one over data: `fit`, `predict`."""
    for scope in code.running:
        yield from ((node, scope) for node in scope.calls if _is_training_call(node, scope, code))


def only_evaluates(code: Notebook) -> bool:
    """Whether what runs is a framework's method that trains nothing."""
    calls = [one.func for one, _ in training_calls(code)]
    return bool(calls) and all(getattr(one, "attr", "") in _EVALUATING for one in calls)


@once
def find_batch_size(code: Notebook) -> BatchSize | None:
    """Return the batch size of the loop that was training; of several, the largest that is not for evaluation."""
    origins = Origins(code)
    found = {one.node: one for node, scope in _slice(code, origins) for one in _written_at(node, scope, code, origins)}
    if not found:
        found = {one.node: one for scope in code.running.functions for one in _defaults(scope)}
    if only_evaluates(code):
        found = {node: one for node, one in found.items() if "train" not in one.label}
    training = [one for one in found.values() if not _EVALUATION.search(one.label)]
    evaluating = [one for one in found.values() if one.label in _EVALUATED and _is_evaluated(code)]
    if training and evaluating:  # without gradients a row takes a part of what it takes in training
        most, far = max(evaluating, key=lambda one: one.value), _FAR * max(one.value for one in training)
        training = [most] if most.value >= far else training
    largest = max(training or found.values(), key=lambda one: one.value, default=None)
    return None if largest is not None and (_is_fixed(largest.value, code) or _is_searched(code)) else largest


def is_of_evaluation(code: Notebook) -> bool:
    """Whether the batch of the evaluation in between is what is large, many times that of the training."""
    return (found := find_batch_size(code)) is not None and found.label in _EVALUATED and not only_evaluates(code)


def _is_evaluated(code: Notebook) -> bool:
    """Whether training evaluates in between: Keras with each `validation_batch_size`, a Trainer when it is told to."""
    for settings in trainer_settings(code, "train"):
        given = settings.argument("eval_strategy") or settings.argument("evaluation_strategy")
        return given is not None and not unparse(given).strip("'\"").endswith("no")
    return True


def _is_searched(code: Notebook) -> bool:
    """Whether it tries larger and larger batches: `batch_size *= 2`."""
    grown = (one.target for one, _ in code.running.nodes(ast.AugAssign) if isinstance(one.op, ast.Mult | ast.Add))
    return any(_NAME.fullmatch(last_name(one) or "") for one in grown)


def _is_fixed(size: int, code: Notebook) -> bool:
    """Whether a shape that is written down has the number, too: `x.view(64, -1)`, `batch_input_shape=(64, 9)`."""
    for scope in (one for at in range(len(code.cells)) for one in code.scopes(at)):
        for node in scope.calls:
            shapes = [word.value for word in node.keywords if word.arg in ("batch_input_shape", "batch_shape")]
            firsts = [one.elts[0] for one in shapes if isinstance(one, ast.Tuple) and one.elts]
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("view", "reshape"):
                firsts += node.args[:1]
            if any(isinstance(one, ast.Constant) and one.value == size for one in firsts):
                return True
    return False


def is_dwarfed(batch: BatchSize, code: Notebook) -> bool:
    """Whether the same pipeline caches its samples, or shuffles or prefetches so many that a batch is little to them.

    What a network keeps of a sample is some tens of times the sample, so a buffer of a hundred batches outweighs it.
    """
    origins = Origins(code)
    for node, scope in _slice(code, origins):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "cache" and not node.args and code.imports("tensorflow"):
            return True
        if node.func.attr in ("shuffle", "prefetch"):
            step = Step(node, node.func.value, scope)
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "buffer_size")]
            values = [known[0] for one in given if (known := origins.number(one, scope)) is not None]
            whole = any(isinstance(one, ast.Call) for one in given)  # shuffle(len(files))
            if is_of_numbers(step, code):
                continue
            if whole and is_after_map(step, code):
                return True
            of_rows = 1 if is_of_batches(step, code) else batch.value
            if max(values, default=0) >= _DWARFED * of_rows:
                return True
    return False


def _is_training_call(node: ast.Call, scope: Scope, code: Notebook) -> bool:
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _TRAINING:
        is_called = isinstance(node.func, ast.Name) and any(word.arg == "batch_size" for word in node.keywords)
        return is_called and _maker(node.func, scope, code) == "transformers.pipeline"
    made = _maker(node.func.value, scope, code)
    if node.func.attr == "encode":  # tokenizers have one, too
        return (made or "").startswith("sentence_transformers.")
    if made is not None:
        return made.split(".")[0] in _FRAMEWORKS and ".preprocessing." not in made  # what learns only a mean
    # An object of which no cell tells what it is: a keyword that only such a framework's methods take decides.
    names_batch = any(word.arg in _ONLY_OF_TRAINING for word in node.keywords)
    return names_batch and any(code.imports(package) for package in _FRAMEWORKS)


def _maker(node: ast.expr, scope: Scope, code: Notebook) -> str | None:
    """Return the library call that made an object, `keras.Sequential`, or what its class is derived from."""
    for one, where in all_origins(node, scope, code):
        if not isinstance(one, ast.Call):
            continue
        if (full := code.qualified(one.func, where)) is not None and not full.startswith("builtins."):
            return full
        if (own := code.definition(one.func, where)) is not None and isinstance(own.definition, ast.ClassDef):
            bases = [code.qualified(base, own.scope) for base in own.definition.bases]
            if found := next((base for base in bases if base is not None), None):
                return found
    return None


def _slice(code: Notebook, origins: Origins) -> Iterator[Part]:
    """Yield all nodes of the training loops, and of what their names and attributes come from, step by step back."""
    waiting: list[Part] = _starts(code)
    seen: set[ast.AST] = set()
    while waiting and len(seen) < _MOST_PARTS:
        root, scope = waiting.pop()
        if root in seen:
            continue
        seen.add(root)
        for node in scope.nodes if root is scope.node else scope.inside(root):
            yield node, scope
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                waiting += origins.of(node, scope)
            elif isinstance(node, ast.Call) and (loader := origins.called(node.func, scope)) is not None:
                waiting.append((loader.node, loader))


def _starts(code: Notebook) -> list[Part]:
    """Return the innermost loops that train; without one, everything that runs."""
    learning = {scope.function for scope in code.running if backward_calls(scope.node, scope)} - {""}
    starts: list[Part] = []
    for scope in code.running:
        named = [node for node in scope.names if last_name(node) in learning]
        for node in (*(one.node for one in backward_calls(scope.node, scope)), *named):
            starts += [(loop, scope) for loop in scope.loops_around(node)[:1]]
        starts += [(node, scope) for node in scope.calls if _is_training_call(node, scope, code)]
    return list(dict.fromkeys(starts)) or [(scope.node, scope) for scope in code.running]


def _written_at(node: ast.AST, scope: Scope, code: Notebook, origins: Origins) -> Iterator[BatchSize]:
    given: list[tuple[ast.expr | None, str]] = []
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) if _NAME.fullmatch(name):
            given = [(node, name)]
        case ast.Subscript(slice=ast.Constant(value=str(name))) if _NAME.fullmatch(name):
            given = [(node, name)]
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[_, _, step])):
            if isinstance(step, ast.Constant):
                yield from _in_steps(node, step, scope)
            given = [] if isinstance(step, ast.Constant) else [(step, "batch size")]
        case ast.Call():
            given = [(word.value, word.arg) for word in node.keywords if word.arg and _NAME.fullmatch(word.arg)]
            given.append((_positional(node, scope, code), "batch size"))
            for table in (word.value for word in node.keywords if word.arg is None):
                for one, where in (Origin(table, scope), *origins.of(table, scope)):
                    yield from _in_dict(one, where) if isinstance(one, ast.Dict) else ()
    for value, label in given:
        found = None if value is None else origins.number(value, scope)
        if found is not None and found[0] > 1:
            written = value.id if isinstance(value, ast.Name) else label
            named = written if _NAME.fullmatch(written) else label
            yield BatchSize(found[0], *found[1], named, _beside(*found[1]))


def _in_dict(table: ast.Dict, scope: Scope) -> Iterator[BatchSize]:
    """Yield the batch size of a dict that a call takes arguments from: `DataLoader(ds, **config["loader"])`."""
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and _NAME.fullmatch(key.value):
            yield from _numeric(value, scope, key.value)


def _beside(node: ast.expr, scope: Scope) -> tuple[ast.expr, ...]:
    """Return where the head of a loop says the same number again: `zip(X.split(64), y.split(64))`."""
    loop = scope.tree.statements.get(node)
    head = walk(loop.iter) if isinstance(loop, ast.For) else ()
    value = getattr(node, "value", None)
    return tuple(one for one in head if one is not node and isinstance(one, ast.Constant) and one.value == value)


def _in_steps(loop: ast.For, step: ast.Constant, scope: Scope) -> Iterator[BatchSize]:
    """Yield the number that a loop over parts of the data goes on by, where its slices are as long."""
    same = [one for one in scope.inside(loop) if isinstance(one, ast.Constant) and one.value == step.value]
    is_size = isinstance(step.value, int) and step.value > 1 and len(same) > 1
    if is_size and isinstance(step.value, int):
        yield BatchSize(step.value, step, scope, "batch size", tuple(one for one in same if one is not step))


def _positional(node: ast.Call, scope: Scope, code: Notebook) -> ast.expr | None:
    """Return the batch size among a call's arguments without a keyword, where their order is known."""
    full = code.qualified(node.func, scope)
    if full is not None:
        loads = full == "torch.split" or (full.startswith("torch.utils.data.") and full.endswith("DataLoader"))
        return node.args[1] if loads and len(node.args) > 1 else None
    if isinstance(node.func, ast.Attribute):
        if node.func.attr == "split" and code.imports("torch") and len(node.args) == 1:
            return node.args[0]
        is_batch = node.func.attr == "batch" and node.args and code.imports("tensorflow")
        return node.args[0] if is_batch and is_dataset(node.func.value, scope, code) else None
    binding = code.definition(node.func, scope)
    if binding is None or not isinstance(binding.definition, ast.FunctionDef):
        return None
    given = zip(code.function_scope(binding.definition, binding.cell).parameters, node.args, strict=False)
    return next((value for name, value in given if _NAME.fullmatch(name)), None)


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
