"""Batches of a training or an evaluation: what is asked for all at once, though it comes batch by batch."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import last_name, plain_names
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.trees import walk
from ..death import Death
from ..frameworks.gradients import goes_backward
from .conditions import is_gathered, is_made_by, is_written, made_by
from .way import LesserWay, called_object

_LOADER = "torch.utils.data.DataLoader"
_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
LIGHTNING = tuple(f"{package}.Trainer" for package in ("lightning", "lightning.pytorch", "pytorch_lightning"))
_MANY = 2000  # rows in a batch: no usual one has so many
_EDGES = ("edge_index", "adj_t")
_KERAS = "import keras\n"
_FLOW = "from keras.preprocessing.image import ImageDataGenerator\ngen = ImageDataGenerator(rotation_range=20)"
_GRAPH = "import torch\nfrom torch_geometric.nn import GCN\nnet = GCN(9, 9, 2)"
_LANGUAGE = "from transformers import AutoModelForCausalLM as LM\nm = LM.from_pretrained('a')"


def _asks_for_all(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the loader or generator whose only batch has all rows: `next(iter(DataLoader(ds, len(ds))))`."""
    given = call.node.args[0] if call.node.args else None
    given = given.args[0] if isinstance(given, ast.Call) and last_name(given.func) == "iter" and given.args else given
    for one, where in all_origins(given, call.scope, death.code) if given is not None else ():
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if not isinstance(one, ast.Call) or not (name == _LOADER or last_name(one.func) in _FLOWS):
            continue
        made = Call(one, where, name or "")
        size = made.argument("batch_size", 1) if name == _LOADER else made.argument("batch_size")
        is_len = isinstance(size, ast.Call) and last_name(size.func) == "len"
        if size is not None and (is_len or (death.values.number(size, where) or 0) >= _MANY):
            rows = made.argument("dataset", 0) if name == _LOADER else None
            return {"rows": "dataset" if rows is None else where.segment(rows)}
    return False


def _asks_torch(call: Call, death: Death) -> bool | Mapping[str, str]:
    return death.code.imports("torch") and _asks_for_all(call, death)


def _asks_keras(call: Call, death: Death) -> bool | Mapping[str, str]:
    return any(map(death.code.imports, ("keras", "tensorflow"))) and _asks_for_all(call, death)


def _keeps_variants(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the generator of Keras whose batches are put into a list: `for batch in gen.flow(X): rows.append(batch)`."""
    if not (call.node.args and any(map(death.code.imports, ("keras", "tensorflow", "keras_preprocessing")))):
        return False
    for loop in call.scope.loops_around(call.node):
        flows = [one for one in walk(loop.iter) if isinstance(one, ast.Call)] if isinstance(loop, ast.For) else []
        for flow in flows:
            is_flow = isinstance(flow.func, ast.Attribute) and flow.func.attr in _FLOWS
            if is_flow and set(plain_names(loop.target)) & set(plain_names(call.node.args[0])):  # type: ignore[union-attr]
                owner = call.scope.segment(flow.func.value)  # type: ignore[attr-defined]
                text = f"{owner}.flow(X, y, batch_size=32)"
                return {"flow": text if last_name(flow.func) == "flow" else " ".join(call.scope.segment(flow).split())}
    return False


def _keeps_maps(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the network that was trained before and gives maps: `VGG16(include_top=False)`, without `pooling`."""
    for one, where in all_origins(called_object(call), call.scope, death.code):
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and name is not None and ".applications." in name:
            maker = Call(one, where, name)
            is_cut = is_written(maker.argument("include_top", 0), value=False)
            is_pooled = maker.argument("pooling", 4) is not None or not maker.is_written_out
            return {"maker": where.segment(one.func)} if is_cut and not is_pooled else False
    return False


def _takes_all_nodes(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the graph all of whose nodes go through a network: `net(data.x, data.edge_index)`."""
    if not death.code.imports("torch_geometric") or death.growth.goes_on:
        return False
    edges = [one for one in call.node.args if isinstance(one, ast.Attribute) and one.attr in _EDGES]
    targets = [loop.target for loop in call.scope.loops_around(call.node) if isinstance(loop, ast.For)]
    graphs = [one.value for one in edges if not set(plain_names(one.value)) & set(plain_names(*targets))]
    return {"graph": call.scope.segment(graphs[0])} if graphs and isinstance(graphs[0], ast.Name) else False


def _scores_one_text(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether a language model is asked how likely one long text is: `model(ids, labels=ids)`, no loop around."""
    labels = call.argument("labels")
    ids = call.argument("input_ids", 0)
    if labels is None or ids is None or not death.code.imports("transformers") or goes_backward(death.code):
        return False
    segment = call.scope.segment
    is_same = segment(labels).removesuffix(".clone()") == segment(ids)
    is_model = any(one.endswith(".from_pretrained") for one in made_by(call.node.func, call, death))
    return {"ids": segment(ids)} if is_same and is_model and not call.scope.loops_around(call.node) else False


def _tokenizes_all(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the texts each of which a tokenizer turns into lists of Python numbers, all of them kept."""
    makers = made_by(call.node.func, call, death) if death.code.imports("transformers") else ()
    if not any("oken" in one and one.endswith(".from_pretrained") for one in makers):
        return False
    if not is_gathered(call, death) or call.argument("return_tensors") is not None:
        return False
    for node in call.scope.inside(call.statement):
        match node:
            case ast.ListComp(generators=[one]) if any(part is call.node for part in walk(node)):
                return {"texts": call.scope.segment(one.iter)}
    return False


def _returns_outputs(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name what a step of Lightning returns beside its loss, all of which is kept for `validation_epoch_end`."""
    if not is_made_by(*LIGHTNING)(call, death):
        return False
    for scope in (one for one in death.code.running.functions if one.function.endswith("_step")):
        end = f"{scope.function.removesuffix('_step')}_epoch_end"
        if not any(one.function == end for one in death.code.scopes(scope.cell)):
            continue
        for node in scope.nodes:
            keys = node.value.keys if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict) else []
            kept = [one.value for one in keys if isinstance(one, ast.Constant) and "loss" not in str(one.value)]
            if kept:
                return {"step": scope.function, "kept": str(kept[0])}
    return False


def _sums_rows(call: Call, death: Death) -> bool:
    """Whether a matrix is made of the sums of another one's rows, as a graph's degrees: `torch.diag(A.sum(1))`."""
    given = all_origins(call.node.args[0], call.scope, death.code) if call.node.args else []
    return any(
        isinstance(one, ast.Call) and last_name(one.func) == "sum" and one.args + one.keywords for one, _ in given
    )


WAYS = (
    LesserWay(
        ("builtins.next",),
        "Take one batch after the other: no batch of all rows",
        "asks for one batch that has all rows.",
        "loader = torch.utils.data.DataLoader({rows}, batch_size=64, shuffle=True)\n"
        "for x, y in loader:\n    ...  # a step with these rows, or a count and a sum of them",
        Case(
            "import torch\nfrom torch.utils.data import DataLoader\nload = DataLoader(photos, batch_size=len(photos))",
            "x, y = next(iter(load))",
            says=("DataLoader(photos, batch_size=64",),
        ),
        _asks_torch,
        silent=(
            Case(
                "import torch\nfrom torch.utils.data import DataLoader\nload = DataLoader(photos, batch_size=64)",
                "x, y = next(iter(load))",
            ),
        ),
    ),
    LesserWay(
        ("builtins.next",),
        "Give the generator itself to fit: it makes one batch after the other",
        "asks for one batch that has all rows.",
        "model.fit({a0}, epochs=10)  # made with batch_size=32: only some batches are in memory",
        Case(
            _FLOW + "\nrows = gen.flow_from_directory('train', batch_size=50_000)",
            "X, y = next(rows)",
            says=("model.fit(rows, epochs=10)",),
        ),
        _asks_keras,
        silent=(Case(_FLOW + "\nrows = gen.flow_from_directory('train', batch_size=32)", "X, y = next(rows)"),),
    ),
    LesserWay(
        (".append", ".extend"),
        "Give the generator itself to fit: it makes each variant when it is needed",
        "keeps what the generator makes, which can make it anew in each epoch.",
        "model.fit({flow}, epochs=10)  # a batch at a time, and other variants in each epoch",
        Case(
            _FLOW,
            "more = []\nfor i, x in enumerate(X):\n    for batch in gen.flow(X[i:i + 1]):\n"
            "        more.append(batch[0])\n        if len(more) % 9 == 0: break",
            line=4,
            says=("model.fit(gen.flow(X, y, batch_size=32)",),
        ),
        _keeps_variants,
        silent=(Case(_FLOW, "losses = []\nfor x, y in gen.flow(X, y):\n    losses.append(1)", line=3),),
    ),
    LesserWay(
        (".predict", ".()"),
        "Ask the network for the mean of each of its maps: pooling='avg'",
        "gives maps, with a number for each place and channel of each picture.",
        "{owner} = {maker}(include_top=False, pooling='avg')  # with your other arguments\n"
        "{to} = {owner}.predict({a0})  # a number for each channel: where something is in a picture is lost",
        Case(
            _KERAS + "base = keras.applications.VGG16(include_top=False)",
            "maps = base.predict(photos)",
            says=("keras.applications.VGG16(include_top=False, pooling='avg')", "maps = base.predict(photos)"),
        ),
        _keeps_maps,
    ),
    LesserWay(
        (".()",),
        "Learn from some nodes at a time, and some neighbours of each: NeighborLoader",
        "takes all nodes of the graph through the network at once.",
        "from torch_geometric.loader import NeighborLoader  # needs pyg-lib or torch-sparse\n\n"
        "loader = NeighborLoader({graph}, num_neighbors=[10, 10], batch_size=1024)  # a number for each layer\n"
        "for batch in loader:  # 1,024 nodes and ten neighbours of each, others in each epoch\n"
        "    out = {owner}(batch.x, batch.edge_index)[:batch.batch_size]  # these nodes come first\n"
        "    loss = ...  # with batch.y[:batch.batch_size]; input_nodes={graph}.train_mask takes those to learn from",
        Case(
            _GRAPH,
            "for epoch in range(9):\n    out = net(data.x, data.edge_index)\n    out.mean().backward()",
            growth="jump",
            line=2,
            says=("NeighborLoader(data, num", "net(batch.x, batch.edge_index)"),
        ),
        _takes_all_nodes,
        silent=(
            Case(
                _GRAPH,
                "for part in loader:\n    out = net(part.x, part.edge_index)\n    out.mean().backward()",
                growth="jump",
                line=2,
            ),
        ),
    ),
    LesserWay(
        (".()",),
        "Score a thousand tokens of the text at a time",
        "takes the whole text through the network at once: a number for each word of the vocabulary at each place.",
        "ids, total = {ids}, 0.0\nfor at in range(0, ids.shape[1] - 1, 1023):\n"
        "    part = ids[:, at : at + 1024]  # of each part the beginning has nothing before it\n"
        "    with torch.no_grad():\n        total += {owner}(part, labels=part).loss.item() * (part.shape[1] - 1)\n"
        "mean_loss = total / (ids.shape[1] - 1)",
        Case(
            _LANGUAGE,
            "loss = m(ids, labels=ids).loss",
            growth="jump",
            says=("ids, total = ids, 0.0", "m(part, labels=part)"),
        ),
        _scores_one_text,
        silent=("m(ids, labels=ids).loss.backward()",),
    ),
    LesserWay(
        (".()",),
        "Let the data set hold the tokens, in a file: ds.map",
        "gives lists of Python numbers, some 36 bytes for each token, and those of all texts are kept.",
        "from datasets import Dataset\n\nds = Dataset.from_dict({{'text': list({texts})}})\n"
        "ds = ds.map(lambda rows: {owner}(rows['text'], truncation=True), batched=True, remove_columns='text',\n"
        "            cache_file_name='tokens.arrow', load_from_cache_file=False)  # written to this file as it comes\n"
        "# DataCollatorWithPadding pads each batch",
        Case(
            "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('a')",
            "ids = [tok(mail)['input_ids'] for mail in mails]",
            says=("list(mails)", "tok(rows['text'], truncation=True)"),
        ),
        _tokenizes_all,
        silent=("ids = tok(mail)['input_ids']",),
    ),
    LesserWay(
        (".fit", ".validate", ".test"),
        "Count in each step, and return no outputs: torchmetrics",
        "keeps all that a step returns, until the epoch is over.",
        "# in {step}, in place of returning '{kept}'; self.score: a metric of torchmetrics, made in __init__\n"
        "self.score.update(out, y)  # of many of them a count for each class is all that is kept\n"
        "self.log('score', self.score, on_epoch=True)  # no other method is needed then",
        Case(
            "import pytorch_lightning as pl\nclass Lit(pl.LightningModule):\n    def validation_step(self, batch, i):\n"
            "        return {'out': self.net(batch)}\n    def validation_epoch_end(self, outputs): show(outputs)",
            "trainer = pl.Trainer()\ntrainer.fit(Lit(), data)",
            line=2,
            says=("in validation_step, in place of returning 'out'",),
        ),
        _returns_outputs,
        silent=(
            Case(
                "import pytorch_lightning as pl\nclass Lit(pl.LightningModule):\n"
                "    def validation_step(self, batch, i): return {'val_loss': f(batch)}\n"
                "    def validation_epoch_end(self, outputs): show(outputs)",
                "trainer = pl.Trainer()\ntrainer.fit(Lit(), data)",
                line=2,
            ),
        ),
    ),
    LesserWay(
        ("torch.diag",),
        "Multiply by the diagonal without its zeros: d[:, None] * A",
        "makes a number for each pair of rows, of which only the diagonal is not zero.",
        "d = {a0}\nscaled = d[:, None] * A * d[None, :]  # what D @ A @ D gives: of a vector, no matrix is made",
        Case("import torch", "D = torch.diag(A.sum(1).pow(-0.5))\nA_hat = D @ A @ D", line=1, says=("d = A.sum(1)",)),
        _sums_rows,
        silent=("d = torch.diag(A)",),
    ),
)
