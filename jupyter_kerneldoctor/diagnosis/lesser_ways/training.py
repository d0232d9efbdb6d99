"""Training."""

import ast
from itertools import pairwise

from ..case import Case
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death
from .way import LesserWay, is_made_by, made_by


def _of_keras(call: Call, death: Death) -> bool:
    of_rows = any(isinstance(one, ast.Name | ast.Attribute) for one in call.node.args[:1])
    return any(map(death.code.imports, ("keras", "tensorflow"))) and of_rows


def _of_a_data_set(call: Call, death: Death) -> bool:
    """Whether an array of each batch of TensorFlow's data set is kept."""
    loop = next(iter(call.scope.loops_around(call.node)), None)
    match call.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))) if isinstance(loop, ast.For):
            made = made_by(loop.iter, call, death)
            return any("dataset_from" in name or name.startswith("tensorflow.data.") for name in made)
    return False


def _joins_its_own(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether a loop puts something more behind what the same name stood for: `kept = torch.cat((kept, out))`."""
    match call.statement, call.argument("tensors", 0):
        case ast.Assign(targets=[target]), ast.Tuple(elts=parts) | ast.List(elts=parts):
            own = call.scope.segment(target) in map(call.scope.segment, parts)
            return own and bool(call.scope.loops_around(call.node))
    return False


def _to_floats(call: Call, death: Death) -> bool:
    """Whether whole images become floats: they are divided by 255 in the same statement."""
    numbers = (one.value for one in call.scope.inside(call.statement) if isinstance(one, ast.Constant))
    return death.code.imports("torch") and any(one in (255, 127.5) for one in numbers)


def _after_flatten(call: Call, death: Death) -> bool:
    """Whether a layer with a weight for each pair of numbers gets all pixels: `dense(flatten(x))`."""
    if not any(name.endswith(("layers.Dense", "torch.nn.Linear")) for name in made_by(call.node.func, call, death)):
        return False
    given = [one for one, _ in all_origins(call.node.args[0], call.scope, death.code)] if call.node.args else []
    inner = (one.func for one in given if isinstance(one, ast.Call))
    return any(name.endswith(("Flatten", ".flatten")) for one in inner for name in made_by(one, call, death))


def _listed_after_flatten(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether such a layer follows in a list of layers."""
    names = [
        getattr(one.func, "attr", getattr(one.func, "id", ""))
        for given in call.node.args[:1]
        for one in getattr(given, "elts", ())
        if isinstance(one, ast.Call)
    ]
    return any("Conv" in one for one in names) and ("Flatten", "Dense") in pairwise(names)


def _is_wide(call: Call, death: Death) -> bool:
    """Whether the weights of a linear layer account for a good part of what the cell took."""
    sides = [death.values.number(call.argument(name, at), call.scope) for at, name in enumerate(_SIDES)]
    return 4 * (sides[0] or 0) * (sides[1] or 0) >= max(1, (death.memory.missing_bytes or 0) // 4)


_SIDES = ("in_features", "out_features")


def _embeds(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether an embedding has a row for each number up to the largest id."""
    for one in death.code.calls(*(f"{package}.Embedding" for package in _LAYERS)):
        rows = one.argument("input_dim", "num_embeddings", 0)
        for part, _ in all_origins(rows, one.scope, death.code, parts=True) if rows is not None else ():
            if isinstance(part, ast.Call) and getattr(part.func, "attr", "") in ("max", "amax"):
                return True
    return False


def _embeds_much(call: Call, death: Death) -> bool:
    """Whether the rows of PyTorch's embeddings account for a good part of what the cell took."""
    if not death.code.imports("torch") or call.node.args:
        return False
    for one in death.code.calls("torch.nn.Embedding"):
        sides = [death.values.number(one.argument(at), one.scope) for at in (0, 1)]
        takes = 4 * (sides[0] or 0) * (sides[1] or 0)
        if one.argument("sparse") is None and takes >= max(1, (death.memory.missing_bytes or 0) // 4):
            return True
    return False


def _creates_graph(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    given = call.argument("create_graph")
    return isinstance(given, ast.Constant) and given.value is True


def _in_network(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    return call.scope.function in ("forward", "call", "__call__")


_LAYERS = ("torch.nn", "keras.layers", "tensorflow.keras.layers")
_PADDERS = ("keras.utils", "keras.preprocessing.sequence", "tensorflow.keras.preprocessing.sequence")
_POOL = "x = layers.GlobalAveragePooling2D()(x)  # in place of Flatten()\nx = layers.Dense(512, activation='relu')(x)"
_PER_ID = (
    "known, row = np.unique(ids, return_inverse=True)  # row: 0, 1, 2, ... for the ids that occur\n"
    "# Embedding(len(known), dim), and row in place of ids; in Keras also layers.IntegerLookup or layers.Hashing"
)

WAYS = (
    LesserWay(
        (".fit", ".step", ".backward"),
        "Number the ids that occur, and give the embedding a row for each of these",
        "trains an embedding with a row for each number up to the largest id, and the optimizer keeps more for each.",
        _PER_ID,
        Case(
            "import keras\nfrom keras import layers\nemb = layers.Embedding(ids.max() + 1, 64)\nm = keras.Model()",
            "m.fit(ids, y)",
            says=("np.unique(ids, return_inverse=True)", "IntegerLookup"),
        ),
        _embeds,
    ),
    LesserWay(
        (".step", ".backward"),
        "Let only the rows that were used have gradients: sparse=True, SparseAdam",
        "makes a gradient for all rows of the embedding, and the optimizer keeps as much again, or twice.",
        "emb = nn.Embedding(rows, dim, sparse=True)\noptimizer = torch.optim.SparseAdam(emb.parameters())",
        Case(
            "import torch\nfrom torch import nn\nemb = nn.Embedding(4_000_000, 64)",
            "loss = net(emb(x)).sum()\nloss.backward()",
            says=("SparseAdam",),
        ),
        _embeds_much,
    ),
    LesserWay(
        (".()",),
        "Pool before the wide layer: GlobalAveragePooling2D",
        "has a weight for each pair of a pixel and a unit, and the optimizer keeps more for each.",
        _POOL,
        Case(
            "from keras import layers\nx = layers.Conv2D(32, 3)(layers.Input((160, 160, 3)))\nx = layers.Flatten()(x)",
            "x = layers.Dense(512)(x)",
            says=("GlobalAveragePooling2D",),
        ),
        _after_flatten,
    ),
    LesserWay(
        tuple(f"{package}Sequential" for package in ("keras.", "keras.models.", "tensorflow.keras.")),
        "Pool before the wide layer: GlobalAveragePooling2D",
        "has a layer with a weight for each pair of a pixel and a unit.",
        "keras.layers.GlobalAveragePooling2D(),  # in place of Flatten()",
        Case(
            "from keras import Sequential\nfrom keras.layers import Conv2D, Dense, Flatten",
            "m = Sequential([Conv2D(64, 3), Flatten(), Dense(4096)])",
            says=("GlobalAveragePooling2D",),
        ),
        _listed_after_flatten,
    ),
    LesserWay(
        (".backward",),
        "Take derivatives that have derivatives with torch.autograd.grad",
        "ties each parameter's `.grad` to the graph that made it, so that neither is ever freed.",
        "grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)\n"
        "# or, after each step: optimizer.zero_grad(set_to_none=True)",
        Case("import torch", "for x in xs:\n    loss = f(x)\n    loss.backward(create_graph=True)", says=("grads =",)),
        _creates_graph,
    ),
    LesserWay(
        ("torch.nn.functional.one_hot", "tensorflow.one_hot", "jax.nn.one_hot"),
        "Look rows up in place of multiplying by ones and zeros: Embedding",
        "makes a number for each token and each word of the vocabulary.",
        "emb = nn.Embedding(vocabulary, dim)  # in place of one_hot and the layer behind it\nh = emb({a0})",
        Case(
            "import torch\nimport torch.nn.functional as F\nclass N(torch.nn.Module):\n    def forward(self, ids):\n"
            "        return self.fc(F.one_hot(ids, 9000).float())",
            "net = N()\nnet(ids)",
            says=("h = emb(ids)",),
        ),
        _in_network,
    ),
    LesserWay(
        ("torch.nn.utils.rnn.pad_sequence",),
        "Pad each batch to its own longest text: collate_fn",
        "makes every row as long as the longest of all.",
        "def collate(rows):  # DataLoader(..., collate_fn=collate)\n"
        "    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)\n"
        "# or cut what is longer than nearly all: {a0} = [row[:512] for row in {a0}]",
        Case("from torch.nn.utils.rnn import pad_sequence", "ids = pad_sequence(texts)", says=("for row in texts",)),
    ),
    LesserWay(
        tuple(f"{package}.pad_sequences" for package in _PADDERS),
        "Cut what is longer than nearly all: maxlen",
        "makes every row as long as the longest of all.",
        "print(np.percentile([len(row) for row in {a0}], [50, 95, 99]))  # how long nearly all are\n"
        "{to} = {function}({a0}, maxlen=512)  # with your other arguments; keeps the end: truncating='post' the start",
        Case("from keras.utils import pad_sequences", "X = pad_sequences(texts)", says=("(texts, maxlen=512)",)),
        lambda call, _death: call.argument("maxlen", 1) is None,
    ),
    LesserWay(
        ("torch.nn.Linear",),
        "Pool before the wide layer: AdaptiveAvgPool2d",
        "has a weight for each pair of its inputs and outputs.",
        "nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * channels, {a1})  # in place of {a0} inputs",
        Case("from torch import nn", "fc = nn.Linear(64 * 112 * 112, 1024)", says=("AdaptiveAvgPool2d",)),
        _is_wide,
    ),
    LesserWay(
        (".()",),
        "Work on some rows at a time: jax.lax.map with batch_size",
        "works on all rows at once, with all that is worked out on the way.",
        "out = jax.lax.map(f, {a0}, batch_size=256)  # f: what vmap was given",
        Case("import jax", "K = jax.vmap(lambda x: jax.vmap(k)(x))(X)", says=("(f, X, batch_size=256)",)),
        is_made_by("jax.vmap"),
    ),
    LesserWay(
        (".()",),
        "Work values out again in the backward pass: jax.checkpoint",
        "keeps all that is worked out on the way for the backward pass.",
        "step = jax.checkpoint(step)  # the body of the loop or scan, or a block of layers\n"
        "# or average the gradients of parts of the batch, a part at a time",
        Case("import jax", "loss, g = jax.value_and_grad(rollout)(params, xs)", says=("jax.checkpoint(step)",)),
        is_made_by("jax.grad", "jax.value_and_grad"),
    ),
    LesserWay(
        ("torch.autograd.functional.jacobian", "torch.autograd.functional.hessian"),
        "Take the derivatives of each row by itself: vmap(jacrev)",
        "makes the derivatives of each row by every other row, which are zero, too.",
        "from torch.func import jacrev, vmap\nJ = vmap(jacrev({a0}), chunk_size=64)({a1})  # rows x outputs x inputs",
        Case("from torch.autograd.functional import jacobian", "J = jacobian(net, z)", says=("vmap(jacrev(net)",)),
    ),
    LesserWay(
        ("jax.jacrev", "jax.jacfwd", "jax.jacobian", "jax.hessian"),
        "Take the derivatives of each row by itself: vmap",
        "makes the derivatives of each row by every other row, which are zero, too.",
        "J = jax.vmap({owner}({a0}))(rows)  # rows x outputs x inputs",
        Case("import jax", "J = jax.jacrev(f)(xs)", says=("jax.vmap(jax.jacrev(f))(rows)",)),
    ),
    LesserWay(
        ("torch.cdist",),
        "Compare some rows at a time",
        "makes the table of all pairs at once.",
        "nearest = torch.cat([torch.cdist(part, {a1}).topk(5, largest=False).indices for part in {of0}.split(1000)])",
        Case("import torch", "d = torch.cdist(Q, X)", says=("in Q.split(1000)",)),
    ),
    LesserWay(
        ("torch.cat", "torch.concat", "torch.vstack", "torch.hstack"),
        "Keep less of each batch, and join once, after the loop",
        "copies all that came before in each round, and keeps the whole of each batch.",
        "kept.append(output.argmax(-1))  # in the loop: what is used of it later\nresult = torch.cat(kept)  # after it",
        Case("import torch", "for x in xs:\n    k = x if k is None else torch.cat((k, net(x)))", says=("argmax(-1)",)),
        _joins_its_own,
    ),
    LesserWay(
        (".step",),
        "Let L-BFGS remember fewer steps: history_size",
        "keeps two vectors as long as all parameters of each step it remembers, 100 of them where nothing is given.",
        "optimizer = torch.optim.LBFGS(model.parameters(), history_size=10)",
        Case("import torch\nopt = torch.optim.LBFGS(ps)", "opt.step(closure)", says=("history_size",)),
        is_made_by("torch.optim.LBFGS"),
    ),
    LesserWay(
        (".float",),
        "Keep the images as uint8, and convert each where it is taken: __getitem__",
        "makes four bytes of each byte, of all images, and the arithmetic on them as much again.",
        "def __getitem__(self, i):\n    return self.images[i].float() / 255, self.labels[i]  # images: uint8",
        Case("import torch", "x = torch.from_numpy(x).permute(0, 3, 1, 2).float() / 255", says=("__getitem__",)),
        _to_floats,
    ),
    LesserWay(
        (".numpy",),
        "Give the data set itself to fit: it makes one batch after the other",
        "is kept of every batch, so that all rows, and each window as a copy, are in memory at once.",
        "model.fit(ds, epochs=1)  # ds.take(n) and ds.skip(n) part it into validation and training",
        Case(
            "import tensorflow as tf\nds = tf.data.Dataset.range(9)",
            "for x in ds:\n    xs.append(x.numpy())",
            says=("fit(ds",),
        ),
        _of_a_data_set,
    ),
    LesserWay(
        (".()",),
        "Encode each batch, not all rows: ds.map",
        "makes a number for each row and each word of the vocabulary.",
        "ds = tf.data.Dataset.from_tensor_slices(({a0}, labels)).batch(256)\n"
        "model.fit(ds.map(lambda x, y: ({owner}(x), y)).prefetch(1))",
        Case(
            "from tensorflow import keras\nencode = keras.layers.TextVectorization(output_mode='multi_hot')",
            "X = encode(texts)",
            says=(".map(lambda x, y: (encode(x), y))",),
        ),
        is_made_by("layers.TextVectorization", "layers.CategoryEncoding", "layers.StringLookup"),
    ),
    LesserWay(
        (".evaluate", ".predict"),
        "Keep of each batch only what the metric needs: preprocess_logits_for_metrics",
        "keeps the logits of all batches for `compute_metrics`.",
        "trainer = Trainer(..., preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))\n"
        "# compute_metrics then gets the classes in place of the logits",
        Case("from transformers import Trainer\nt = Trainer(m, args)", "t.evaluate()", says=("logits.argmax(-1)",)),
        is_made_by("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"),
    ),
    LesserWay(
        (".predict",),
        "Predict some rows at a time, and keep less of each",
        "keeps what the network gives of all rows, for a moment twice. A smaller batch does not change that.",
        "parts = [{owner}.predict({of0}[start:start + 256], verbose=0)  # of maps of pictures: .mean(axis=(1, 2))\n"
        "         for start in range(0, len({a0}), 256)]\nresults = np.concatenate(parts)",
        Case("import keras\nnet = keras.Sequential()", "y = net.predict(X)", says=("net.predict(X[start",)),
        _of_keras,
    ),
)
