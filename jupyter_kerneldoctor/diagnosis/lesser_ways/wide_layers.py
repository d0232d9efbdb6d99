"""Wide layers: a weight for each pair of what a layer takes and gives, more than fits."""

import ast
import re
from itertools import pairwise

from jupyter_kerneldoctor.recording.events import Stack

from ..calls import is_in_library
from ..case import Case, Ran
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import Origins, all_origins
from ..code.trees import unparse
from ..death import Death
from ..examples.stuck import frame, own_frame, thread
from .conditions import both, made_by
from .way import LesserWay, called_object, names

_WEIGHTS = re.compile(r"/(?:dense|embedding|einsum_dense)\.py:build$")
_BUILDS = Stack(-0.1, "busy", (thread(frame("core/dense.py", "build", library=True), own_frame("net.build(9)", 1)),))
_SIDES = ("in_features", "out_features")
_OF_MAPS = ("Conv1d", "Conv2d", "Conv3d", "Flatten", "flatten")
_ALONE = ("Dropout", "BatchNormalization", "Activation", "ReLU", "LeakyReLU")
_POOL = (
    "x = keras.layers.GlobalAveragePooling2D()(x)  # in place of Flatten(), of the maps before it; of words: 1D\n"
    "x = {function}(x)"
)
_POOL_TORCH = (
    "x = torch.nn.functional.adaptive_avg_pool2d(x, 4).flatten(1)  # 16 numbers for each channel\n"
    "# with torch.nn.Linear(16 * channels, ...) behind it"
)


def _after_flatten(call: Call, death: Death) -> bool | dict[str, str]:
    """Whether a layer with a weight for each pair of numbers gets all pixels: `dense(flatten(x))`. Say what to do."""
    made = [name for name in made_by(call.node.func, call, death) if name.endswith(("layers.Dense", "torch.nn.Linear"))]
    if not made:
        return False
    given = [one for one, _ in all_origins(call.node.args[0], call.scope, death.code)] if call.node.args else []
    inner = (one.func for one in given if isinstance(one, ast.Call))
    if not any(name.endswith(("Flatten", ".flatten")) for one in inner for name in made_by(one, call, death)):
        return False
    return {"pool": _POOL_TORCH if made[0].startswith("torch.") else _POOL.format(**names(call))}


def _listed_after_flatten(call: Call, death: Death) -> bool | dict[str, str]:  # noqa: ARG001 - as the others
    """Whether such a layer follows in a list of layers, and whether these are of pictures, 2D, or other ones."""
    listed = [one for given in call.node.args[:1] for one in getattr(given, "elts", ()) if isinstance(one, ast.Call)]
    kinds = [last_name(one.func) for one in listed]
    layers = [one for one in kinds if one not in _ALONE]
    maps = next((one for one in kinds if "Conv" in one), "")
    sides = next((one for one in ("1D", "3D") if maps.endswith(one)), "2D")
    return {"sides": sides} if maps and ("Flatten", "Dense") in pairwise(layers) else False


def _added_after_flatten(call: Call, death: Death) -> bool:
    """Whether such a layer is added behind `Flatten`: `model.add(Flatten())`, `model.add(Dense(1024))`."""
    owner, added = call.scope.segment(called_object(call)), list[str]()
    if not (call.node.args and any(map(death.code.imports, ("keras", "tensorflow")))):
        return False
    for one in call.scope.calls:
        match one:
            case ast.Call(func=ast.Attribute(attr="add", value=to), args=[ast.Call(func=layer)]):
                if call.scope.segment(to) == owner and one.lineno <= call.node.lineno:
                    added.append(last_name(layer))
    layers = [one for one in added if one not in _ALONE]
    return any("Conv" in one for one in added) and layers[-2:] == ["Flatten", "Dense"] and added[-1] == "Dense"


def _is_called_now(call: Call, death: Death) -> bool:
    """Whether a call is of this cell, or of a function that this cell calls, as far as is known."""
    callers = [where for _, where in Origins(death.code).calls_of(call.scope)] if call.scope.function else []
    return not callers or any(where in [*death.code.running] for where in callers)


def _trains_after_flatten(call: Call, death: Death) -> bool:
    """Whether a network of Keras is trained in which such a layer takes all pixels, and its weights took memory."""
    code, owner = death.code, called_object(call)
    if not isinstance(owner, ast.Name) or not any(map(code.imports, ("keras", "tensorflow"))):
        return False
    calls = [
        Call(one, scope, last_name(one.func)) for scope in code.scopes_mentioning("Flatten") for one in scope.calls
    ]
    tests = (_after_flatten, _listed_after_flatten, _added_after_flatten)
    bound = code.lookup(owner.id, call.scope, owner)
    made = None if bound is None or not bound.scope.is_cell else code.cells[bound.scope.cell]
    after, before = (None, None) if made is None else (made.rss_after_bytes, made.rss_before_bytes)
    is_built_here = not any(map(code.has_text, ("Input", "input_shape", "input_dim")))
    is_large = (
        is_built_here or after is None or before is None or after - before >= (death.memory.missing_bytes or 0) // 8
    )
    return is_large and any(test(one, death) for one in calls for test in tests)


def _is_wide(call: Call, death: Death) -> bool:
    """Whether the weights of a linear layer account for a good part of what the cell took."""
    sides = [death.values.number(call.argument(name, at), call.scope) for at, name in enumerate(_SIDES)]
    return 4 * (sides[0] or 0) * (sides[1] or 0) >= max(1, (death.memory.missing_bytes or 0) // 4)


def _takes_all_pixels(call: Call, death: Death) -> bool:
    """Whether a wide layer takes what convolutions make of a picture: `nn.Linear(64 * 112 * 112, 1024)`."""
    given = call.argument("in_features", 0)
    sides = [death.values.number(call.argument(name, at), call.scope) or 0 for at, name in enumerate(_SIDES)]
    is_product = isinstance(given, ast.BinOp) and isinstance(given.left, ast.BinOp)
    is_of_maps = any(map(death.code.has_words, _OF_MAPS)) or is_product
    return sides[0] > sides[1] and is_of_maps and _is_wide(call, death)


def _gives_words(call: Call, death: Death) -> bool:
    """Whether a wide layer gives a number for each word of the vocabulary that an embedding has a row for."""
    rows = [one.argument("num_embeddings", 0) for one in death.code.calls("torch.nn.Embedding")]
    written = {unparse(one) for one in rows if one is not None}
    given = call.argument("out_features", 1)
    return given is not None and unparse(given) in written and _is_wide(call, death)


_BUILT = (
    "from keras import Sequential\nfrom keras.layers import Conv2D, Dense, Dropout, Flatten, Input\n"
    "def build():\n    net = Sequential([Input((512, 512, 3))])\n    net.add(Conv2D(64, 3))\n"
    "    net.add(Flatten())\n    net.add(Dense(1024))\n    net.add(Dropout(0.5))\n    net.add(Dense(9))\n"
    "    return net\nnet = build()"
)

WAYS = (
    LesserWay(
        (".()",),
        "Pool before the wide layer",
        "has a weight for each pair of a pixel and a unit, and the optimizer keeps more for each.",
        "{pool}",
        Case(
            "from keras import layers\nx = layers.Conv2D(32, 3)(layers.Input((160, 160, 3)))\nx = layers.Flatten()(x)",
            "x = layers.Dense(512)(x)",
            says=("GlobalAveragePooling2D()(x)", "x = layers.Dense(512)(x)"),
        ),
        _after_flatten,
    ),
    LesserWay(
        tuple(f"{package}Sequential" for package in ("keras.", "keras.models.", "tensorflow.keras.")),
        "Pool before the wide layer: GlobalAveragePooling2D",
        "has a layer with a weight for each pair of a pixel and a unit.",
        "keras.layers.GlobalAveragePooling{sides}(),  # in place of Flatten()",
        Case(
            "from keras import Sequential\nfrom keras.layers import Conv2D, Dense, Flatten",
            "m = Sequential([Conv2D(64, 3), Flatten(), Dense(4096)])",
        ),
        _listed_after_flatten,
    ),
    LesserWay(
        (".add",),
        "Pool before the wide layer: GlobalAveragePooling2D",
        "adds a layer with a weight for each pair of a number that `Flatten` gives and a unit.",
        "{owner}.add(keras.layers.GlobalAveragePooling2D())  # in place of Flatten(): one number for each channel\n"
        "{owner}.add(keras.layers.MaxPooling2D(4))  # or before Flatten(): a sixteenth of the weights",
        Case(
            "from keras import Sequential\nfrom keras.layers import Conv2D, Dense, Flatten, Input\n"
            "net = Sequential([Input((512, 512, 3))])",
            "net.add(Conv2D(64, 3))\nnet.add(Flatten())\nnet.add(Dense(1024))",
            line=3,
            says=("net.add(keras.layers.GlobalAveragePooling2D())",),
        ),
        both(_added_after_flatten, _is_called_now),
        silent=(
            Case(
                "from keras import Sequential\nfrom keras.layers import Conv2D, Dense, Flatten\nnet = Sequential()",
                "net.add(Conv2D(64, 3))\nnet.add(Flatten())\nnet.add(Dense(9))\nnet.add(Dense(1024))",
                line=4,
            ),
            "net.add(Flatten())\nnet.add(Dense(1024))",
        ),
    ),
    LesserWay(
        (".fit", ".train_on_batch"),
        "Pool before the wide layer: GlobalAveragePooling2D",
        "trains a layer with a weight for each pair of a number that `Flatten` gives and a unit. There is a gradient "
        "of each weight, and Adam keeps two more numbers, however small a batch is.",
        "keras.layers.GlobalAveragePooling2D()  # in place of Flatten(): one number for each channel\n"
        "keras.layers.MaxPooling2D(4)  # or before Flatten(): a sixteenth of the weights\n"
        "keras.layers.Dense(64, activation='relu')  # or fewer units in the layer behind it",
        Case(
            Ran(_BUILT, before_mib=200, after_mib=900),
            "net.fit(X, y, batch_size=8)",
            says=("`net.fit(X, y, batch_size=8)` trains a layer", "MaxPooling2D(4)"),
        ),
        _trains_after_flatten,
        silent=(Case(_BUILT, "net.fit(X, y, batch_size=8)"),),
    ),
    LesserWay(
        (".build", ".add", ".fit", ".summary", ".()", "keras.Sequential", "tensorflow.keras.Sequential"),
        "Give the layer fewer inputs or units: num_words for a vocabulary, pooling in place of Flatten",
        "makes the weights of a layer, a number for each pair of an input and a unit; Adam keeps two more for each.",
        "N_WORDS = 20_000  # of a vocabulary the most frequent: Tokenizer(num_words=N_WORDS), max_tokens=N_WORDS\n"
        "keras.layers.Dense(N_WORDS, activation='softmax')  # and Embedding(N_WORDS, 100)\n\n"
        "keras.layers.GlobalAveragePooling2D()  # of pictures, in place of Flatten() before a wide layer\n"
        "keras.layers.Dense(256)  # or a narrow layer before the wide one",
        Case(
            "import keras\nnet = keras.Sequential([keras.layers.Dense(n)])",
            "net.build(9)",
            stacks=[_BUILDS],
        ),
        lambda _call, death: is_in_library(death, _WEIGHTS),
    ),
    LesserWay(
        ("torch.nn.Linear",),
        "Pool before the wide layer: AdaptiveAvgPool2d",
        "has a weight for each pair of its inputs and outputs.",
        "layers = torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(16 * channels, {a1})\n"
        "# in place of {a0} inputs, in nn.Sequential(*layers) behind the convolutions",
        Case("from torch import nn", "fc = nn.Linear(64 * 112 * 112, 1024)"),
        _takes_all_pixels,
        silent=("fc = nn.Linear(64 * 2 * 2, 10)",),
    ),
    LesserWay(
        ("torch.nn.Linear",),
        "Have fewer words: parts of words (BPE), or the most frequent ones only",
        "has a row of weights for each word, as the embedding has, and gives a number for each word at each place.",
        "VOCAB = 32_000  # in place of {a1}: parts of words, as the tokenizers of language models make them\n\n"
        "out = torch.nn.AdaptiveLogSoftmaxWithLoss({a0}, {a1}, [2_000, 20_000])  # or: rare words get fewer numbers\n"
        "loss = out(h.flatten(0, 1), y.flatten()).loss  # words in the order of their frequency",
        Case(
            "from torch import nn\nemb = nn.Embedding(900_000, 512)",
            "fc = nn.Linear(512, 900_000)",
            says=("in place of 900_000",),
        ),
        _gives_words,
        silent=("fc = nn.Linear(512, 9)",),
    ),
    LesserWay(
        ("torch.nn.Linear",),
        "Use a narrower layer, or a narrow one before it: its weights do not fit",
        "has a weight for each pair of its inputs and outputs; training keeps a gradient of each, Adam two more.",
        "layers = torch.nn.Linear({a0}, 64), torch.nn.Linear(64, {a1})  # a narrow one: 64 weights for each\n\n"
        "from sklearn.decomposition import PCA\n\nfew = PCA(200).fit_transform(X)  # or fewer inputs\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  # one number for each, not two",
        Case("from torch import nn", "fc = nn.Linear(30_000, 20_000)", says=("torch.nn.Linear(64, 20_000)",)),
        _is_wide,
        silent=("fc = nn.Linear(300, 200)",),
    ),
)
