"""The edit that takes a training step in parts of its batch, with the gradient of the whole."""

import ast

from ..code.trees import walk
from ..edits import Changes, EditRefusedError, indent, indent_unit, insert_after, insert_before, remove, replace
from .torch import Kind, Tensors
from .training_step import Step


def snippet(step: Step, rows: int) -> str:
    """Return the same step to copy, for where it cannot be written into the cell."""
    names, loss = step.batch, step.loss.id
    lines = [f"{', '.join(f'full_{name}' for name in names)} = {', '.join(names)}", _header(step, rows)]
    return "\n".join([*lines, f"    {loss} = …", f"    ({loss} * {_share(step)}).backward()"])


def split(step: Step, rows: int, tensors: Tensors) -> Changes:
    """Put a loop over parts around the step; what is used behind it is put together again.

    Raises EditRefusedError where it cannot be put together.
    """
    scope, first, loss, last = step.scope, step.statements[0], step.loss.id, step.statements[-1]
    behind = _used_behind(step)
    outputs = [name for name in _made(step) if name in behind and name != loss]
    if any(not _is_output(name, step, tensors) for name in outputs):
        raise EditRefusedError("what is worked out for all rows is used behind the step")
    losses = [loss] if loss in behind else []
    kept = [*step.batch, *losses, *outputs]
    begin = [*step.batch, *("0" for _ in losses), *("[]" for _ in outputs)]
    lines = [f"{', '.join(f'full_{name}' for name in kept)} = {', '.join(begin)}", _header(step, rows)]
    changes: Changes = ()
    if step.clears_between:
        lines.insert(0, scope.segment(step.zero_grad))
        changes += remove(scope, step.zero_grad)
    changes += insert_before(scope, first, *lines)
    for part in _runs(step):
        changes += indent(scope, part)
    changes += replace(scope, step.loss, f"({loss} * {_share(step)})")
    unit = indent_unit(scope, first)
    end = [f"{unit}full_{name} = full_{name} + {name}.detach() * {_share(step)}" for name in losses]
    end += [f"{unit}full_{name}.append({name}.detach())" for name in outputs]
    names = [*(step.batch if behind & set(step.batch) else ()), *losses, *outputs]
    if names:
        wholes = [f"torch.cat(full_{name})" if name in outputs else f"full_{name}" for name in names]
        end.append(f"{', '.join(names)} = {', '.join(wholes)}")
    return changes + (insert_after(scope, last, *end) if end else ())


def _header(step: Step, rows: int) -> str:
    parts = [f"full_{name}.split({rows})" for name in step.batch]
    return f"for {', '.join(step.batch)} in {parts[0] if len(parts) == 1 else 'zip(' + ', '.join(parts) + ')'}:"


def _share(step: Step) -> str:
    return f"(len({step.batch[0]}) / len(full_{step.batch[0]}))"


def _runs(step: Step) -> list[list[ast.stmt]]:
    """Return the statements of the step in groups with nothing between: `zero_grad()` may stand between two."""
    before = [one for one in step.statements if not step.clears_between or one.lineno < step.zero_grad.lineno]
    return [part for part in (before, step.statements[len(before) :]) if part]


def _made(step: Step) -> list[str]:
    names = (node for one in step.statements for node in walk(one) if isinstance(node, ast.Name))
    return list(dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store)))


def _used_behind(step: Step) -> set[str]:
    """Return the names of the step and of the batch that are read outside of it before they are bound anew."""
    scope, found = step.scope, {name for name in step.batch if not _is_bound_in_loop(name, step)}
    inside = {node for one in step.statements for node in walk(one)}
    inner = [one for one in scope.tree.scopes if one.parent is scope]
    for node in (node for one in (scope, *inner) for node in one.names if node not in inside):
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_read and isinstance(node, ast.Name) and node.id in {*_made(step), *step.batch}:
            is_behind = node.id not in step.batch or node.lineno > step.backward.lineno
            found |= {node.id} if is_behind else set()
    return found


def _is_bound_in_loop(name: str, step: Step) -> bool:
    """Whether each round of the loop binds a name of the batch; a function without a loop has it from its caller."""
    loops = step.scope.loops_around(step.backward)
    if not loops:
        return not step.scope.is_cell
    bound = step.scope.bindings.get(name, ())
    return any(loops[0].lineno <= one.position[0] < step.statements[0].lineno for one in bound)


def _is_output(name: str, step: Step, tensors: Tensors) -> bool:
    """Whether a name is what a network gives for each row."""
    binding = tensors.code.lookup(name, step.scope, step.backward)
    if binding is None or not isinstance(binding.value, ast.Call) or tensors.code.lookup("torch", step.scope) is None:
        return False
    is_called = tensors.kind(binding.value.func, step.scope) is Kind.MODULE
    return is_called and not tensors.is_scalar(binding.value, step.scope)
