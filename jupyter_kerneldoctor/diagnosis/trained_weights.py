"""Whether a network is too large to be trained at all, whatever the batch, and the layers that make it so."""

import ast
import math
from collections.abc import Iterator

from .code.calls import Call
from .death import Death
from .frameworks.keras import optimizers_of
from .place import grew_in

_STATES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "RMSprop": 1, "Adagrad": 1, "SGD": 0}
"""How many numbers an optimizer keeps for each weight."""
_LAYERS = (
    *("torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.Linear"),
    *("keras.layers.Embedding", "tensorflow.keras.layers.Embedding"),
)
_KERAS = ("keras", "tensorflow.keras", "tf_keras")
_DENSE = tuple(f"{package}.layers.Dense" for package in _KERAS)
_MODELS = ("Input", "layers.Input", "Sequential", "models.Sequential", "layers.InputLayer")
_MOST_OF_IT, _SMALL_PART = 0.6, 0.05
_BYTES_OF_EACH = 16  # weight, with its gradient and what Adam keeps of it
_SIDES = 2  # rows and columns, the first arguments of these


def fill_the_memory(death: Death) -> bool:
    """Whether gradients of all weights, and what the optimizer keeps of each, do not fit beside what was there."""
    before, target = death.memory.before_bytes, death.memory.safe_target_bytes
    if before is None or target is None or "gpu-oom" in death.likely_causes:
        return False
    if any(map(death.code.has_words, ("requires_grad", "requires_grad_", "sparse"))):
        return False  # some of them have no gradient, or a small one
    sizes = _held_bytes(death)
    optimized = list(_optimized(death))
    if any(before + sizes.get(name, 0) * (1 + states) > target for name, states in optimized):
        return True
    made = [_STATES.get(name or call.name.rpartition(".")[2], 0) for call, name in optimizers_of(death.code)]
    states = max([*(1 + one for _, one in optimized), *made], default=0)  # Keras has no gradient of all rows of a table
    return before + _largest_layer(death) * states > target


def _held_bytes(death: Death) -> dict[str, int]:
    """Return what the objects took that the cell was seen to hold, by name, but those on a card."""
    sizes = dict[str, int]()
    for held in death.recording.held:
        for one in held.objects if death.cell is not None and held.cell_seq == death.cell.seq else ():
            if one.device is None and one.bytes is not None:
                sizes[one.name] = one.bytes
    return sizes


def _largest_layer(death: Death) -> int:
    """Return how many bytes the weights of the largest layer take whose size the code shows."""
    layers = death.code.calls(*_LAYERS)
    sides = ([death.values.number(one, call.scope) or 0 for one in call.node.args[:2]] for call in layers)
    return max((4 * math.prod(numbers) for numbers in sides if len(numbers) == _SIDES), default=0)


def _optimized(death: Death) -> Iterator[tuple[str, int]]:
    """Yield the networks all of whose weights an optimizer changes, and how many numbers it keeps for each."""
    for call in death.code.calls(*(f"torch.optim.{name}" for name in _STATES)):
        match call.argument("params", 0):
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr="parameters"), args=[]):
                yield call.scope.segment(owner), _STATES[call.name.rpartition(".")[2]]


def trained_bytes(death: Death) -> int:
    """Return what the weights that an optimizer trains take, with their gradients and what it keeps; 0 if not seen."""
    sizes = _held_bytes(death)
    return max((sizes.get(name, 0) * (2 + states) for name, states in _optimized(death)), default=0)


def wide_layers(death: Death) -> Iterator[Call]:
    """Yield the layers with a weight for each pair of an input and a unit, in whose making the cell's memory grew.

    Where none was seen to: all of PyTorch, if the weights of the network, as they were seen, with their gradients and
    what the optimizer keeps of each, are most of what the cell took.
    """
    code = death.code
    is_built = any(code.calls(*(f"{package}.{name}" for package in _KERAS for name in _MODELS)))
    linear = list(code.calls("torch.nn.Linear"))
    built = [*linear, *(code.calls(*_DENSE) if is_built else ())]
    grown = [one for one in built if one.scope.function not in ("call", "forward")]
    grown = [one for one in grown if one.statement is not None and grew_in(death, one.statement, one.scope)]
    if not all(_is_small(one, death) for one in grown):
        yield from grown
    if not grown and linear and trained_bytes(death) >= _MOST_OF_IT * (death.memory.missing_bytes or 0):
        yield from linear


def _is_small(layer: Call, death: Death) -> bool:
    """Whether the layer's own weights are no reason: few of them, or it is given rows where it is made."""
    sides = [death.values.number(one, layer.scope) or 0 for one in (layer.argument("in_features", 0), units_of(layer))]
    weights = math.prod(sides) if layer.name.startswith("torch.") else 0
    is_applied = any(one.func is layer.node for one in layer.scope.calls) and layer.name.startswith("torch.")
    return is_applied or 0 < weights * _BYTES_OF_EACH < _SMALL_PART * (death.memory.missing_bytes or 0)


def units_of(layer: Call) -> ast.expr | None:
    """Return what says how many units a layer has."""
    return layer.argument("out_features", 1) if layer.name.startswith("torch.") else layer.argument("units", 0)
