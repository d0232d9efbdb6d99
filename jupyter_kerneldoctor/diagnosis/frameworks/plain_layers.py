"""The call of a network whose `forward` only takes data through its layers: what it was given was too much for them.

A line that makes something of its own there, as attention scores for all pairs, is to blame itself.
"""

import ast
from dataclasses import replace

from ..analysis.statements import is_in, statement_at
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..postmortem import Statement
from .evaluation import is_forward
from .torch import Kind, Tensors

_FORWARD = ("forward", "__call__")
_SHAPES = frozenset(
    (
        *("flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous", "size"),
        *("relu", "sigmoid", "tanh", "softmax", "log_softmax", "mean", "sum", "float", "to"),
    )
)
"""Methods of tensors, and functions of `torch`, that make no more of them than there is."""
_OF_TORCH = frozenset(f"torch.{name}" for name in (*_SHAPES, "cat", "concat"))
_FUNCTIONAL = "torch.nn.functional."
_MAKE_MORE = frozenset(f"{_FUNCTIONAL}{name}" for name in ("one_hot", "pad", "unfold", "scaled_dot_product_attention"))
_IN_ROWS = frozenset({"view", "reshape"})
"""Methods that make rows of it for the next layer, where they are given two numbers: `x.view(len(x), -1)`."""
_ROWS_AND_REST = 2
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_PLAIN = (
    *(*_ASSIGNS, ast.Return, ast.Expr, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.expr_context),
    *(ast.Call, ast.keyword, ast.BinOp, ast.Add, ast.UnaryOp, ast.USub),
)


def call_of_network(code: Notebook, found: Statement) -> Statement:
    """Return the statement that called the network, where `found` takes data through the layers of its `forward`."""
    if found.file is not None or not _is_forward(found.function) or not found.via:
        return found
    scopes = (scope for scope in code.scopes_of(found.cell_source) if scope.name == found.function)
    here = next(((one, scope) for scope in scopes for one in scope.nodes if _is_at(one, found.line)), None)
    if here is None or not is_forward(here[1], code) or not _only_passes_on(*here, code):
        return found
    for number, caller in reversed([*enumerate(found.via)]):
        cell = next((one for one in reversed(code.cells) if is_in(caller, one)), None)
        if cell is None:
            return found
        if not _is_forward(caller.function):
            return replace(statement_at(code, cell, caller.line), via=found.via[:number])
    return found


def _is_forward(function: str | None) -> bool:
    return (function or "").rpartition(".")[2] in _FORWARD


def _is_at(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt) and node.lineno == line


def _only_passes_on(statement: ast.AST, scope: Scope, code: Notebook) -> bool:
    """Whether a statement takes data through layers, and what it reads was made in this function by nothing else."""
    tensors, waiting = Tensors(code), [statement]
    assigns = [one for one in scope.nodes if isinstance(one, _ASSIGNS) and one.lineno < getattr(statement, "lineno", 0)]
    for one in waiting:  # it grows meanwhile
        if not _is_plain(one, tensors, scope):
            return False
        read = {name.id for name in walk(one) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}
        waiting += [other for other in assigns if other not in waiting and read & _stored(other)]
    return any(_is_layer(one, scope, tensors) for one in walk(statement))


def _stored(statement: ast.AST) -> set[str]:
    return {one.id for one in walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _is_plain(statement: ast.AST, tensors: Tensors, scope: Scope) -> bool:
    """Whether it calls layers one after the other, each with one tensor, and adds or joins what they give."""
    for one in walk(statement):
        if isinstance(one, ast.Call):
            if not (_is_layer(one, scope, tensors) or _keeps_size(one, scope, tensors.code)):
                return False
        elif not isinstance(one, _PLAIN):
            return False
    return True


def _is_layer(node: ast.AST, scope: Scope, tensors: Tensors) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = tensors.code.qualified(node.func, scope) or ""
    if name.startswith(_FUNCTIONAL):
        return name not in _MAKE_MORE
    return tensors.kind(node.func, scope) is Kind.MODULE and len(node.args) == 1 and not node.keywords


def _keeps_size(call: ast.Call, scope: Scope, code: Notebook) -> bool:
    if (name := code.qualified(call.func, scope)) is not None:
        return name in _OF_TORCH
    method = getattr(call.func, "attr", "")
    return method in _SHAPES or (method in _IN_ROWS and len(call.args) == _ROWS_AND_REST)
