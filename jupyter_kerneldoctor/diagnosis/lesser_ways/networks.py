"""Networks and embeddings: rows that go through at once, and rows of weights that no id needs."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death
from ..frameworks.evaluation import is_taken_apart
from ..frameworks.gradients import goes_backward
from ..frameworks.torch import Kind, Tensors
from .conditions import made_by
from .way import LesserWay, names

_LAYERS = ("torch.nn", "keras.layers", "tensorflow.keras.layers")
_OF_TEXT = "out[0][:, 0].clone())  # the first token's vector"
_OF_HEADS = {
    "Classification": "out.logits.clone())  # a number for each class",
    "For": "out.logits.argmax(-1))  # a word for each place",
}
"""What a network gives that has another layer at its end, by a word in its name."""
_MANY_ROWS = 500_000  # of an embedding: no vocabulary of words is so large
_PER_ID = (
    "known, row = np.unique(ids, return_inverse=True)  # row: 0, 1, 2, ... for the ids that occur\n"
    "# Embedding(len(known), dim), and row in place of ids; in Keras also layers.IntegerLookup or layers.Hashing"
)


def _embeds(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether an embedding has a row for each number up to the largest id."""
    for one in death.code.calls(*(f"{package}.Embedding" for package in _LAYERS)):
        rows = one.argument("input_dim", "num_embeddings", 0)
        for part, _ in all_origins(rows, one.scope, death.code, parts=True) if rows is not None else ():
            if isinstance(part, ast.Call) and getattr(part.func, "attr", "") in ("max", "amax"):
                return True
    return False


def _makes_embedding(call: Call, death: Death) -> bool:
    """Whether a layer is called as soon as it is made: `Embedding(n, 32)(x)`."""
    function = call.node.func
    name = death.code.qualified(function.func, call.scope) if isinstance(function, ast.Call) else None
    return name in [f"{package}.Embedding" for package in _LAYERS]


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


def _has_many_rows(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the number of rows of the largest embedding, where its weights are a good part of what the cell took."""
    found = []
    for one in death.code.calls(*(f"{package}.Embedding" for package in _LAYERS)):
        words = ("num_embeddings", "embedding_dim") if one.name.startswith("torch.") else ("input_dim", "output_dim")
        rows, width = (death.values.number(one.argument(word, at), one.scope) or 0 for at, word in enumerate(words))
        layer = "torch.nn.Embedding" if one.name.startswith("torch.") else "keras.layers.Embedding"
        found.append((4 * rows * width, int(rows), int(width), layer))
    takes, rows, width, layer = max(found, default=(0, 0, 0, ""))
    is_other = call.name in (".step", ".backward") and bool(call.node.args)
    if is_other or takes < max(1, (death.memory.missing_bytes or 0) // 4) or rows < _MANY_ROWS:
        return False
    return {"rows": f"{rows:_}", "width": str(width), "few": str(max(8, width // 4)), "layer": layer}


_LOOKUPS = {
    "torch": "emb = torch.nn.Embedding(vocabulary, dim)  # in __init__\nh = emb({a0})",
    "tensorflow": "emb = keras.layers.Embedding(vocabulary, dim)  # in __init__\nh = emb({a0})",
    "jax": "h = weights[{a0}]  # a row of the weights, in place of one_hot(...) @ weights",
}


def _in_network(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    if call.scope.function not in ("forward", "call", "__call__"):
        return False
    return {"look_up": _LOOKUPS[call.name.partition(".")[0]].format(**names(call))}


def _of_all_pairs(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name two tensors each row of which meets each row of the other: `x.unsqueeze(1) - y.unsqueeze(0)`."""
    for node in call.scope.inside(call.statement) if death.code.imports("torch") else ():
        match node:
            case ast.BinOp(
                op=ast.Sub(),
                left=ast.Subscript(value=left, slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None), *_])),
                right=ast.Subscript(
                    value=right,
                    slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), ast.Slice(), *_]),
                ),
            ):
                return {"left": call.scope.segment(left), "right": call.scope.segment(right)}
            case ast.BinOp(
                op=ast.Sub(),
                left=ast.Call(func=ast.Attribute(attr="unsqueeze", value=left), args=[ast.Constant(value=one)]),
                right=ast.Call(func=ast.Attribute(attr="unsqueeze", value=right), args=[ast.Constant(value=other)]),
            ) if {one, other} in ({0, 1}, {1, 2}):
                rows, columns = (right, left) if (one, other) in ((0, 1), (1, 2)) else (left, right)
                return {"left": call.scope.segment(rows), "right": call.scope.segment(columns)}
    return False


def _takes_all_texts(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name what a tokenizer made of all texts, where a network gets it as a whole: `model(**encoded)`."""
    given = [
        one.value for one in call.node.keywords if one.arg is None and isinstance(one.value, ast.Name | ast.Attribute)
    ]
    is_whole = not call.scope.loops_around(call.node) and not death.growth.goes_on
    if not (given and is_whole and death.code.imports("transformers")):
        return False
    made = [*made_by(call.node.func, call, death)]
    kept = next((_OF_HEADS[head] for head in _OF_HEADS for name in made if head in name), _OF_TEXT)
    return {"encoded": call.scope.segment(given[0]), "kept": f"{kept}, of each text what is used"}


def _takes_all_rows(call: Call, death: Death) -> bool:
    """Whether a network that was loaded or built gets a whole array, and no gradient is wanted."""
    match call.node.args:
        case [ast.Name() | ast.Attribute(), *_]:
            pass
        case _:
            return False
    if call.scope.loops_around(call.node) or death.growth.goes_on or goes_backward(death.code):
        return False
    if is_taken_apart(call.node, call.scope) and Tensors(death.code).kind(call.node.func, call.scope) is Kind.MODULE:
        return True
    made = [one for one in made_by(call.node.func, call, death) if "oken" not in one]
    return any(one.endswith((".from_pretrained", "keras.Model", "keras.models.Model")) for one in made)


WAYS = (
    LesserWay(
        (".()",),
        "Take some texts at a time through the network",
        "takes all texts through the network at once, with vectors of every token.",
        "parts = []\nfor start in range(0, len({encoded}['input_ids']), 16):  # 16 texts at a time\n"
        "    part = {{key: value[start:start + 16] for key, value in {encoded}.items()}}\n"
        "    with torch.no_grad():\n        out = {owner}(**part)\n"
        "    parts.append({kept}\nresults = torch.cat(parts)",
        Case(
            "from transformers import AutoModel, AutoTokenizer\ntok = AutoTokenizer.from_pretrained('a')\n"
            "net = AutoModel.from_pretrained('a')",
            "enc = tok(texts, return_tensors='pt')\nout = net(**enc)",
            line=2,
            growth="jump",
            says=("out = net(**part)", "out[0][:, 0].clone()"),
        ),
        _takes_all_texts,
        silent=(
            Case(
                "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('a')",
                "for texts in parts:\n    out = net(**tok(texts))",
                growth="jump",
            ),
        ),
    ),
    LesserWay(
        (".()",),
        "Take some rows at a time through the network, and keep little of each",
        "takes all rows through the network at once; what it gives may be larger than what goes in.",
        "parts = []\nfor start in range(0, len({a0}), 16):  # 16 rows at a time; of PyTorch below torch.no_grad()\n"
        "    out = {owner}({of0}[start:start + 16])\n"
        "    parts.append(...)  # of each part what is used: a class, a mean, a loss; not all that it gives",
        Case(
            "from transformers import AutoModel\nnet = AutoModel.from_pretrained('a')",
            "y = net(ids).last_hidden_state",
            growth="jump",
            says=("out = net(ids[start:start + 16])",),
        ),
        _takes_all_rows,
        silent=("for ids in parts:\n    y = net(ids).logits", "net(ids).loss.backward()"),
    ),
    LesserWay(
        (".unsqueeze",),
        "Take the distances without all differences: torch.cdist, a block at a time",
        "is put beside another one, which makes all differences of all pairs of rows.",
        "distances = torch.cdist({left}, {right})  # one number for each pair; p=1 adds up abs() of the differences\n\n"
        "for part in {left}.split(1000):  # or a block of rows at a time; keep the nearest, or a sum\n"
        "    near = torch.cdist(part, {right})",
        Case(
            "import torch\nx = torch.rand(9, 9)",
            "d = y.unsqueeze(0) - x.unsqueeze(1)",
            growth="jump",
            says=("distances = torch.cdist(x, y)",),
        ),
        _of_all_pairs,
        silent=("d = x.unsqueeze(0) - 1", "d = y.unsqueeze(0) * x.unsqueeze(1)"),
    ),
    LesserWay(
        (".pow",),
        "Take the distances without all differences: torch.cdist, a block at a time",
        "is of all differences of all pairs of rows, a number for each of their columns.",
        "squares = torch.cdist({left}, {right}) ** 2  # one number for each pair",
        Case(
            "import torch",
            "def mmd(x, y):\n    return torch.exp(-(x[:, None] - y[None]).pow(2).sum(-1)).mean()\nloss = mmd(a, b)",
            growth="jump",
            says=("torch.cdist(x, y)",),
        ),
        _of_all_pairs,
        silent=(Case("import torch", "d = (x[:, None] - m).pow(2).sum(-1)", growth="jump"),),
    ),
    LesserWay(
        (".fit", ".step", ".backward", *(f"{package}.Embedding" for package in _LAYERS), ".()"),
        "Number the ids that occur, and give the embedding a row for each of these",
        "trains an embedding with a row for each number up to the largest id, and the optimizer keeps more for each.",
        _PER_ID,
        Case(
            "import keras\nfrom keras import layers\nemb = layers.Embedding(ids.max() + 1, 64)\nm = keras.Model()",
            "m.fit(ids, y)",
            says=("np.unique(ids, return_inverse=True)", "IntegerLookup"),
        ),
        lambda call, death: (call.name != ".()" or _makes_embedding(call, death)) and _embeds(call, death),
    ),
    LesserWay(
        (".step", ".backward"),
        "Let only the rows that were used have gradients: sparse=True",
        "makes a gradient for all rows of the embedding, and most optimizers keep as much again, or twice.",
        "emb = torch.nn.Embedding(rows, dim, sparse=True)\n"
        "of_rows = torch.optim.SGD(emb.parameters(), lr=0.1)  # keeps nothing; SparseAdam keeps two numbers a weight\n"
        "# the other parameters keep their own optimizer: step() and zero_grad() of both",
        Case(
            "import torch\nfrom torch import nn\nemb = nn.Embedding(4_000_000, 64)",
            "loss = net(emb(x)).sum()\nloss.backward()",
        ),
        _embeds_much,
    ),
    LesserWay(
        (".fit", ".step", ".backward", *(f"{package}.Embedding" for package in _LAYERS)),
        "Give the embedding fewer and shorter rows: ids in buckets",
        "needs the weights of an embedding of very many rows; training keeps their gradients, Adam two more of each.",
        "rows = ids % 100_000  # buckets: some ids share a row; keras.layers.Hashing(100_000) takes texts, too\n"
        "{layer}(100_000, {few})  # in place of {rows} rows of {width}",
        Case(
            "import keras\nfrom keras import layers\nnet = keras.Sequential([layers.Embedding(5_000_000, 128)])",
            "net.fit(X, y)",
            says=("Embedding(100_000, 32)  # in place of 5_000_000 rows of 128",),
        ),
        _has_many_rows,
        silent=(
            Case(
                "import keras\nfrom keras import layers\nnet = keras.Sequential([layers.Embedding(50_000, 128)])",
                "net.fit(X, y)",
            ),
        ),
    ),
    LesserWay(
        ("torch.nn.functional.one_hot", "tensorflow.one_hot", "jax.nn.one_hot"),
        "Look rows up in place of multiplying by ones and zeros",
        "makes a number for each token and each word of the vocabulary.",
        "{look_up}",
        Case(
            "import torch\nimport torch.nn.functional as F\nclass N(torch.nn.Module):\n    def forward(self, ids):\n"
            "        return self.fc(F.one_hot(ids, 9000).float())",
            "net = N()\nnet(ids)",
        ),
        _in_network,
    ),
)
