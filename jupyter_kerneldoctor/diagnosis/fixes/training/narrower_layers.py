import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Growth, NamedObject

from ...code.size_numbers import SizeNumber, size_numbers
from ...examples import MIB
from ...examples.growth import grew_in as grew
from ...examples.growth import growth
from ...examples.stuck import own_frame
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import grew_in
from ...trained_weights import trained_bytes

_OF_PICTURES = ("Flatten", "flatten", "Conv1d", "Conv2d", "Conv1D", "Conv2D", "from_pretrained")
_OTHERS = ("Embedding", "LSTM", "GRU", "Transformer", "TransformerEncoderLayer", "MultiheadAttention")
_DENSE = tuple(f"{package}.Dense" for package in ("keras.layers", "tensorflow.keras.layers", "tf_keras.layers"))
_MODELS = ("Input", "layers.Input", "Sequential", "models.Sequential", "layers.InputLayer")
_MOST_OF_IT = 0.6
_FEW = 64  # units: no fewer are of use
_NUMBER = "{written}  # {where}: {now:_} now; half as many units halve the weights of two layers\n"
_UNITS = "{layer}({few})  # in place of {units}: a narrower layer\n"
_LESS = (
    "\nkeep = X.var(axis=0).argsort()[-1000:]  # fewer inputs: the columns that vary most\n"
    "X = X[:, keep]  # or sklearn.decomposition.PCA(200).fit_transform(X), of all columns\n\n"
    "{layer}(64)  # or a narrow layer before a wide one: a bottleneck of {layer}(64), then {layer}(n)\n"
    "{optimizer}  # keeps nothing for each weight, where Adam keeps two numbers"
)
_KERAS = (
    "import keras\nfrom keras import layers\ndef build(n, cfg):\n    x = inputs = keras.Input((n,))\n"
    "    for units in cfg['hidden']:\n        x = layers.Dense(units)(x)\n    return keras.Model(inputs, x)"
)
_TORCH = (
    "import torch\nfrom torch import nn\nHIDDEN = 9000\nmodel = nn.Sequential(nn.Linear(300, HIDDEN), "
    "nn.Linear(HIDDEN, HIDDEN))\nopt = torch.optim.Adam(model.parameters())"
)
_STEP = "for x in batches:\n    model(x).mean().backward()\n    opt.step()"
_MODEL = NamedObject("model", "Sequential", 340 * MIB, grew_bytes=0)


def _grown(text: str, line: int, function: str, call: str) -> Growth:
    return growth(2, grew(900 * MIB, own_frame(text, line, function), own_frame(call, 1)))


class NarrowerLayers(Fix):
    """Give the layers fewer units or fewer inputs.

    What it does: A dense layer has a weight for each pair of an input and a unit. Training keeps a gradient of each,
    and Adam two more numbers: four times the network, however small a batch is. Half as many units in two layers that
    follow each other take a quarter of it.

    When it is offered: Memory ran out and grew where such layers are made; or the weights of a network of PyTorch, as
    they were seen, are with their gradients and moments most of what the cell took.

    What it costs: A narrower network can learn less; for few rows it often learns better.
    """

    id, title, causes = (
        "narrower-layers",
        "Use narrower layers, or fewer inputs: the weights do not fit",
        (Family.MEMORY,),
    )

    FIRES = [
        Case(
            _KERAS,
            "model = build(X.shape[1], cfg)",
            growths=[_grown(_KERAS, 6, "build", "model = build(X.shape[1], cfg)")],
            says=("layers.Dense(units // 4)", "PCA", "keras.optimizers.SGD"),
        ),
        Case(_TORCH, _STEP, line=3, grew=_MODEL, says=("HIDDEN = 2_250", "9_000 now", "torch.optim.SGD")),
        Case(
            "import keras\nfrom keras.layers import Dense",
            "m = keras.Sequential([keras.Input((20_000,)), Dense(6000), Dense(20_000)])",
            line=1,
            says=("Dense(1500)",),
        ),
    ]
    SILENT = [
        Case(_KERAS, "model = build(9, cfg)\nbig = [0] * 10**9", line=2),
        Case(_TORCH, _STEP, line=3),  # nobody saw how large it is
        Case(_TORCH, _STEP, line=2, grew=NamedObject("model", "Sequential", 9 * MIB, grew_bytes=0)),
        Case(_TORCH.replace("nn.Linear(300", "nn.Conv2d(3, 9, 3), nn.Linear(300"), _STEP, line=3, grew=_MODEL),
        Case(_TORCH.replace("nn.Linear(300", "nn.Embedding(10**6, 300), nn.Linear(300"), _STEP, line=3, grew=_MODEL),
        Case("import keras\nfrom keras.layers import Dense", "y = Dense(9)(X)", line=1),  # what it gives for rows
        Case(_TORCH, _STEP, line=3, grew=_MODEL, cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if not death.memory.grew_here or any(map(code.has_words, (*_OF_PICTURES, *_OTHERS))):
            return
        layers = list(_wide_layers(death))
        if not layers:
            return
        number = _number(layers, death)
        layer = max(layers[:-1] or layers, key=lambda one: _units(one, death))  # the last one has to give the targets
        made, is_torch = layer.scope.segment(layer.node.func), layer.name.startswith("torch.")
        units = layer.argument("out_features" if is_torch else "units", 1 if is_torch else 0)
        begin = ""
        if number is not None:
            where = f"{code.cell_name(number.at.scope.cell)}, line {number.at.node.lineno}"
            begin = _NUMBER.format(written=number.written(number.value // 4), where=where, now=number.value)
        elif units is not None:
            written = layer.scope.operand(units)
            few = (
                str(units.value // 4)
                if isinstance(units, ast.Constant) and isinstance(units.value, int)
                else f"{written} // 4"
            )
            few = f"{layer.scope.segment(layer.node.args[0])}, {few}" if is_torch and layer.node.args else few
            begin = _UNITS.format(layer=made, few=few, units=written)
        optimizer = f"{'torch.optim' if is_torch else 'keras.optimizers'}.SGD"
        why = (
            f"{quote(layer.text)} has a weight for each pair of an input and a unit. Training keeps a gradient of each "
            "and Adam two more numbers: four times the weights, however small a batch is."
        )
        if is_torch:
            made = f"{made}(n, 64), {made}"
        yield Proposal(
            (), why, death.memory.missing_bytes, snippet=begin + _LESS.format(layer=made, optimizer=optimizer)
        )


def _wide_layers(death: Death) -> Iterator[Call]:
    """Yield the layers with a weight for each pair of an input and a unit, in whose making the cell's memory grew.

    Where none was seen to: all of PyTorch, if the weights of the network, as they were seen, with their gradients and
    what the optimizer keeps of each, are most of what the cell took.
    """
    code, keras = death.code, ("keras.", "tensorflow.keras.", "tf_keras.")
    is_built = any(code.calls(*(f"{package}{name}" for package in keras for name in _MODELS)))
    linear = list(code.calls("torch.nn.Linear"))
    built = [*linear, *(code.calls(*_DENSE) if is_built else ())]
    grown = [one for one in built if one.scope.function not in ("call", "forward")]
    grown = [one for one in grown if one.statement is not None and grew_in(death, one.statement, one.scope)]
    yield from grown
    if not grown and linear and trained_bytes(death) >= _MOST_OF_IT * (death.memory.missing_bytes or 0):
        yield from linear


def _units(layer: Call, death: Death) -> int:
    sides = [death.values.number(one, layer.scope) or 0 for one in layer.node.args[:2]]
    return max(sides, default=0)


def _number(layers: list[Call], death: Death) -> SizeNumber | None:
    """Return the largest number in a cell that says how many units such layers have."""
    found = [
        one
        for layer in layers
        if layer.statement is not None
        for one in size_numbers(layer.statement, layer.scope, death.code)
        if one.sounds_like_a_size and one.value // 4 >= _FEW
    ]
    return max(found, key=lambda one: one.value, default=None)
