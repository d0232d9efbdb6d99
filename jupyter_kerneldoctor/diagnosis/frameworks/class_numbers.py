"""One-hot targets of Keras: how to learn from the numbers of the classes instead."""

import ast

from ..code.calls import Call
from ..code.notebook import Notebook
from ..code.trees import unparse
from ..edits import Changes, replace
from .keras import compile_calls

ENCODERS = ("keras.utils.to_categorical", "tensorflow.keras.utils.to_categorical")
_LOSS = "categorical_crossentropy"
_PLAIN = (None, "accuracy", "acc")
"""Metrics that Keras chooses by the loss."""
_NEEDS_ONE_HOT = ("argmax", "label_smoothing", "classification_report", "confusion_matrix")


def to_class_numbers(code: Notebook) -> Changes:
    """Return the edit that leaves out `to_categorical` everywhere and takes the loss for numbers of classes.

    None where the rows of zeros may be used for something else, or a loss or metric is not plain text.
    """
    encoded, compiled = [*code.calls(*ENCODERS)], [*compile_calls(code)]
    losses = [call.argument("loss", 1) for call in compiled]
    if not encoded or not losses or code.has_words(*_NEEDS_ONE_HOT) or not all(map(_has_plain_metrics, compiled)):
        return ()
    changes: Changes = ()
    for call, loss in zip(compiled, losses, strict=True):
        if not isinstance(loss, ast.Constant) or loss.value != _LOSS:
            return ()
        quote = call.scope.segment(loss)[0]
        changes += replace(call.scope, loss, f"{quote}sparse_{_LOSS}{quote}")
    for call in encoded:
        labels, statement = call.argument("x", 0), call.statement
        if labels is None or not isinstance(statement, ast.Assign | ast.Return) or statement.value is not call.node:
            return ()
        if any(_asks_for_width(target, code) for target in getattr(statement, "targets", ())):
            return ()
        changes += replace(call.scope, call.node, call.scope.segment(labels))
    return changes


def _has_plain_metrics(call: Call) -> bool:
    match call.argument("metrics", 2):
        case None:
            return True
        case ast.List(elts=metrics):
            return all(isinstance(one, ast.Constant) and one.value in _PLAIN for one in metrics)
    return False


def _asks_for_width(target: ast.expr, code: Notebook) -> bool:
    """Whether the number of classes is read off the table: `y.shape[1]`."""
    name = unparse(target)
    return any(
        isinstance(node, ast.Subscript) and unparse(node.value) == f"{name}.shape"
        for scope in code.scopes_mentioning("shape")
        for node in scope.nodes
    )
