from jupyter_kerneldoctor.recording.events import Growth, NamedObject

from ...code.literals import number
from ...code.size_numbers import SizeNumber, size_numbers
from ...examples import MIB
from ...examples.growth import grew_in as grew
from ...examples.growth import growth
from ...examples.stuck import own_frame
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...trained_weights import units_of, wide_layers

_OF_PICTURES = ("Flatten", "flatten", "Conv1d", "Conv2d", "Conv1D", "Conv2D", "from_pretrained")
_OTHERS = ("Embedding", "LSTM", "GRU", "Transformer", "TransformerEncoderLayer", "MultiheadAttention")
_FEW = 64  # units: no fewer are of use
_NUMBER = "{written}  # {where}: {now:_} now; half as many units halve the weights of two layers\n"
_UNITS = "{layer}({few})  # in place of {units}: a narrower layer\n"
_LESS = (
    "\nkeep = X.var(axis=0).argsort()[-1000:]  # fewer inputs: the columns that vary most\n"
    "X = X[:, keep]  # or sklearn.decomposition.PCA(200).fit_transform(X), of all columns\n\n"
    "{first}, {second}  # or a narrow layer between two wide ones, a bottleneck: n inputs, 64 units, n units\n"
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
        Case(
            _TORCH,
            _STEP,
            line=3,
            grew=_MODEL,
            says=("HIDDEN = 2_250", "9_000 now", "nn.Linear(n, 64), nn.Linear(64, n)"),
        ),
        Case(
            "import keras\nfrom keras.layers import Dense",
            "m = keras.Sequential([keras.Input((20_000,)), Dense(6000), Dense(20_000)])",
            line=1,
            says=("Dense(1500)",),
        ),
        Case(  # the inputs are those of the rows
            "import torch\nfrom torch import nn\nFEATURES = 90_000",
            "net = nn.Sequential(nn.Linear(FEATURES, 2000), nn.Linear(2000, 10))",
            line=1,
            says=("nn.Linear(FEATURES, 500)",),
        ),
    ]
    SILENT = [
        Case(_KERAS, "model = build(9, cfg)\nbig = [0] * 10**9", line=2),
        Case("from torch import nn", "y = nn.Linear(n, m)(x)", line=1),
        Case("from torch import nn", "net = nn.Linear(40, 100); rows = read()", line=1),
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
        layers = list(wide_layers(death))
        if not layers:
            return
        hidden = layers[:-1] if len(layers) > 1 else [one for one in layers if one.scope.loops_around(one.node)]
        layer = max(hidden or layers, key=lambda one: _units(one, death))  # the last one has to give the targets
        made, is_torch = layer.scope.segment(layer.node.func), layer.name.startswith("torch.")
        between = (f"{made}(n, 64)", f"{made}(64, n)") if is_torch else (f"{made}(64)", f"{made}(n)")
        optimizer = f"{'torch.optim' if is_torch else 'keras.optimizers'}.SGD"
        why = (
            f"{quote(layer.text)} has a weight for each pair of an input and a unit. Training keeps a gradient "
            "of each, and Adam two more numbers: four times the weights, however small a batch is."
        )
        begin = _fewer_units(hidden, layer, made, death) if hidden else ""
        less = _LESS.format(first=between[0], second=between[1], optimizer=optimizer)
        yield Proposal((), why, death.memory.missing_bytes, snippet=(begin + less).lstrip())


def _fewer_units(hidden: list[Call], layer: Call, made: str, death: Death) -> str:
    """Return where the number of units is written, with a smaller one, or the layer with fewer."""
    named = _number(hidden, death)
    if named is not None:
        where = f"{death.code.cell_name(named.at.scope.cell)}, line {named.at.node.lineno}"
        return _NUMBER.format(written=named.written(named.value // 4), where=where, now=named.value)
    units = units_of(layer)
    if units is None:
        return ""
    written = layer.scope.operand(units)
    few = f"{written} // 4" if (known := number(units)) is None else str(known // 4)
    if layer.name.startswith("torch.") and layer.node.args:
        few = f"{layer.scope.segment(layer.node.args[0])}, {few}"
    return _UNITS.format(layer=made, few=few, units=written)


def _units(layer: Call, death: Death) -> int:
    return death.values.number(units_of(layer), layer.scope) or 0


def _number(layers: list[Call], death: Death) -> SizeNumber | None:
    """Return the largest number in a cell that says how many units such layers have."""
    found = [
        one
        for layer in layers
        if (units := units_of(layer)) is not None
        for one in size_numbers(units, layer.scope, death.code)
        if one.sounds_like_a_size and one.value // 4 >= _FEW
    ]
    return max(found, key=lambda one: one.value, default=None)
