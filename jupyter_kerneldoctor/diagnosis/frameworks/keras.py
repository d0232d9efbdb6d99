"""TensorFlow and Keras: the steps of `tf.data` pipelines, what trains on them, and what a tape records."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from ..code.notebook import Call
from ..code.origins import Origins, all_origins
from ..code.trees import unparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..code.notebook import Notebook, Scope
    from .kept import Kept

_PACKAGES = frozenset({"tensorflow", "keras", "tf_keras"})
_MAKERS = "tensorflow.data."
_FROM_KERAS = ("image_dataset_from_directory", "text_dataset_from_directory", "tensorflow_datasets.load")
_TRAINING = frozenset({"fit", "evaluate", "predict"})


class Step(NamedTuple):
    """A call of a method of a `tf.data` pipeline: `dataset.shuffle(10_000)`."""

    call: ast.Call
    owner: ast.expr
    """What it is called on."""
    scope: Scope


def is_used(code: Notebook) -> bool:
    """Whether a cell imported TensorFlow or Keras."""
    return any(code.imports(package) for package in _PACKAGES)


def is_dataset(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether an expression is a `tf.data` pipeline, by the calls that made it."""
    for one, where in all_origins(node, scope, code):
        name = code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if name is not None and (name.startswith(_MAKERS) or name.endswith(_FROM_KERAS)):
            return True
    return False


def pipeline_steps(code: Notebook, method: str) -> Iterator[Step]:
    """Yield the calls of a pipeline's method in what ran, and in the cells before, where the pipeline may be made."""
    if not is_used(code):
        return
    before = code.scopes_mentioning(method)
    for scope in dict.fromkeys((*code.running, *before)):
        for call in scope.calls:
            match call.func:
                case ast.Attribute(attr=name, value=owner) if name == method and is_dataset(owner, scope, code):
                    yield Step(call, owner, scope)


def is_after_map(step: Step, code: Notebook) -> bool:
    """Whether a step of a pipeline gets what a `map` before it made: images, not their names."""
    made = (one for one, _ in all_origins(step.owner, step.scope, code) if isinstance(one, ast.Call))
    return any(isinstance(one.func, ast.Attribute) and one.func.attr == "map" for one in made)


def is_of_numbers(step: Step, code: Notebook) -> bool:
    """Whether what a step gets are single numbers, as `Dataset.range` makes them: nothing was made of them yet."""
    made = [one for one, _ in all_origins(step.owner, step.scope, code) if isinstance(one, ast.Call)]
    names = [one.func.attr for one in made if isinstance(one.func, ast.Attribute)]
    return names[-1:] == ["range"] and {*names[:-1]} <= {"shuffle", "repeat", "take", "skip", "filter", "shard"}


def is_of_batches(step: Step, code: Notebook) -> bool:
    """Whether what a step gets are batches: a `batch` came before it, and no `unbatch`."""
    for one, _ in all_origins(step.owner, step.scope, code):
        match one:
            case ast.Call(func=ast.Attribute(attr="batch" | "padded_batch" | "ragged_batch")):
                return True
            case ast.Call(func=ast.Attribute(attr="unbatch")):
                return False
    return False


def is_fed_by_a_pipeline(code: Notebook) -> bool:
    """Whether what runs trains a Keras model, or goes through a `tf.data` pipeline."""
    loops = [(one.iter, scope) for one, scope in code.running.nodes(ast.For)]
    loops += [
        (given, scope) for one, scope in loops if isinstance(one, ast.Call) for given in one.args
    ]  # enumerate(ds)
    return any(training_calls(code)) or any(is_dataset(one, scope, code) for one, scope in loops)


def may_use_a_pipeline(code: Notebook) -> bool:
    """Whether what runs goes through a `tf.data` pipeline, or trains anything, which may be a model made in a file."""
    calls = (one.func for scope in code.running for one in scope.calls)
    trains = any(isinstance(one, ast.Attribute) and one.attr in _TRAINING for one in calls)
    return trains or is_fed_by_a_pipeline(code)


def batched_before(owner: ast.expr) -> ast.Call | None:
    """Return the `.batch(...)` right before a step: what the step gets are whole batches."""
    match owner:
        case ast.Call(func=ast.Attribute(attr="batch")):
            return owner
    return None


def training_calls(code: Notebook) -> Iterator[Call]:
    """Yield the calls of `fit`, `evaluate` and `predict` of a Keras model in what ran."""
    for call, scope in code.running.nodes(ast.Call) if is_used(code) else ():
        match call.func:
            case ast.Attribute(attr=name, value=owner) if name in _TRAINING and _is_model(owner, scope, code):
                yield Call(call, scope, name)


def _is_model(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    for one, where in all_origins(node, scope, code):
        name = code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if name is not None and not name.startswith("builtins."):
            return name.split(".")[0] in _PACKAGES and ".preprocessing." not in name
        if isinstance(one, ast.Call) and (made := code.definition(one.func, where)) is not None:
            bases = getattr(made.definition, "bases", ())
            if any((code.qualified(base, made.scope) or "").split(".")[0] in _PACKAGES for base in bases):
                return True
    return False


_OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "rmsprop": "RMSprop", "nadam": "Nadam"}


def compile_calls(code: Notebook) -> Iterator[Call]:
    """Yield the calls `model.compile(...)` of all cells that are given something."""
    for scope in code.scopes_mentioning("compile"):
        for one in scope.calls:
            if isinstance(one.func, ast.Attribute) and one.func.attr == "compile" and (one.args or one.keywords):
                yield Call(one, scope, "compile")


def optimizers_of(code: Notebook) -> Iterator[tuple[Call, str | None]]:
    """Yield the calls that make an optimizer; for `compile("adam")` that call, and the name of the class."""
    yield from ((one, None) for one in code.calls("tensorflow.keras.optimizers.*", "keras.optimizers.*"))
    for call in compile_calls(code):
        given = call.argument("optimizer", 0)
        name = _OPTIMIZERS.get(str(given.value).lower()) if isinstance(given, ast.Constant) else None
        if name is not None:
            yield call, name


def known_as(code: Notebook) -> str | None:
    """Return how the cells call Keras: `keras`, `tf.keras`; None where they import only parts of it."""
    for module in code.mentioning("keras", "tensorflow"):
        for name, bound in module.bindings.items():
            if bound[-1].imported in ("keras", "tensorflow.keras", "tf_keras"):
                return name
            if bound[-1].imported == "tensorflow":
                return f"{name}.keras"
    return None


class TapeScope(NamedTuple):
    """A `with tf.GradientTape() as tape:`."""

    statement: ast.With
    name: str | None
    """The tape's."""
    outputs: frozenset[str]
    """The names that are given a value under it."""


def tapes(scope: Scope, code: Notebook) -> Iterator[TapeScope]:
    """Yield the tapes that a scope opens."""
    for node in scope.nodes:
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            opened = item.context_expr
            if isinstance(opened, ast.Call) and code.qualified(opened.func, scope) == "tensorflow.GradientTape":
                stored = {one.id for one in scope.inside(node) if isinstance(one, ast.Name) and _is_stored(one)}
                name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else None
                yield TapeScope(node, name, frozenset(stored - {name}))


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def is_output_of_a_tape(kept: Kept, code: Notebook) -> bool:
    """Whether a kept value is what a network gave under a tape, and no loss: that is a single number."""
    name = kept.value.id if isinstance(kept.value, ast.Name) else None
    losses = _losses(kept.scope)
    return any(name in tape.outputs - losses for tape in tapes(kept.scope, code))


def is_gradient_of_a_tape(kept: Kept, code: Notebook) -> bool:
    """Whether a kept value is the list of all gradients that a tape gave."""
    names = {tape.name for tape in tapes(kept.scope, code)}
    bound = code.lookup(kept.value.id, kept.scope, kept.value) if isinstance(kept.value, ast.Name) else None
    match None if bound is None else bound.value:
        case ast.Call(func=ast.Attribute(attr="gradient", value=ast.Name(id=name)), args=[_, variables]):
            return name in names and getattr(variables, "attr", "").endswith(("_variables", "_weights"))
    return False


def whole_calls_of_models(code: Notebook) -> Iterator[tuple[Call, ast.Name]]:
    """Yield the calls of Keras models on data with a name, outside of loops, tapes and layers, and that name.

    `model(X)`, and `model.predict_on_batch(X)`.
    """
    for scope in code.running if is_used(code) else ():
        if scope.function == "call" or any(tapes(scope, code)):
            continue
        for node in scope.calls:
            match node:
                case ast.Call(func=ast.Name() | ast.Attribute(), args=[ast.Name() as data], keywords=words):
                    if any(unparse(word) != "training=False" for word in words):
                        continue  # `predict` evaluates
                    is_model = code.qualified(node.func, scope) is None and _is_model(node.func, scope, code)
                    is_method = isinstance(node.func, ast.Attribute) and not Origins(code).of(node.func, scope)
                    method = node.func.attr if is_method and isinstance(node.func, ast.Attribute) else "__call__"
                    if is_model and method in ("__call__", "predict_on_batch") and not scope.loops_around(node):
                        yield Call(node, scope, method), data


def _losses(scope: Scope) -> set[str]:
    """Return the names whose gradients are taken."""
    found = set()
    for call in scope.calls:
        match call:
            case ast.Call(func=ast.Attribute(attr="gradient" | "jacobian"), args=[ast.Name(id=name), *_]):
                found.add(name)
    return found


def is_loss(node: ast.expr, scope: Scope) -> bool:
    """Whether a tape takes the gradients of a name."""
    return isinstance(node, ast.Name) and node.id in _losses(scope)


def written_number(node: ast.expr | None, scope: Scope, code: Notebook) -> tuple[int, ast.expr, Scope] | None:
    """Return a number and where it is written, as the argument itself or in a cell above; None where not known."""
    found = None if node is None else Origins(code).number(node, scope)
    return None if found is None else (found[0], *found[1])
