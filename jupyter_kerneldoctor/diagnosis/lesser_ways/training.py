"""Training."""

import ast

from ..calls import ran_in_function
from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.trees import unparse
from ..death import Death
from ..frameworks.keras import is_dataset
from ..frameworks.trainers import EVALUATIONS, TRAINERS
from .batches import LIGHTNING
from .conditions import is_made_by, made, made_by, over_rows
from .way import LesserWay, called_object

_FEW_STEPS = 10
_SOME_POINT = {"point": "params", "given": "p, *data"}


def _of_keras(call: Call, death: Death) -> bool:
    rows = next((one for one in call.node.args[:1] if isinstance(one, ast.Name | ast.Attribute)), None)
    makers = {name.split(".")[0] for name in made_by(called_object(call), call, death)}
    is_other = bool(makers) and not makers & {"keras", "tensorflow", "tf_keras"}
    if rows is None or is_other or not any(map(death.code.imports, ("keras", "tensorflow"))):
        return False
    made_by_calls = (one for one, _ in all_origins(rows, call.scope, death.code) if isinstance(one, ast.Call))
    flows = any(last_name(one.func).startswith("flow") for one in made_by_calls)
    return not flows and not is_dataset(rows, call.scope, death.code)


def _gives_words(call: Call, death: Death) -> bool:
    """Whether a layer gives a column for each word: `TextVectorization(output_mode="multi_hot")`."""
    wide = ("multi_hot", "count", "tf_idf", "one_hot", "tf-idf", "binary")
    for package in ("keras", "tensorflow", "tf_keras"):
        if made(package, "TextVectorization", "StringLookup", told=lambda one, _: _mode(one) in wide)(call, death):
            return True
        if made(package, "CategoryEncoding")(call, death):
            return True
    return False


def _mode(made: Call) -> object:
    return getattr(made.argument("output_mode"), "value", None)


def _keeps_logits(call: Call, death: Death) -> bool:
    """Whether a trainer keeps what its network gives: it is asked to predict, or `compute_metrics` is given."""
    if call.name == ".train" and not ran_in_function(death, *EVALUATIONS):
        return False
    for one, where in all_origins(called_object(call), call.scope, death.code):
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and name in TRAINERS:
            maker = Call(one, where, name)
            return call.name == ".predict" or not maker.is_written_out or maker.argument("compute_metrics") is not None
    return False


def _of_layers(call: Call, death: Death) -> bool | dict[str, str]:
    """Whether a network gives what several of its layers make: `keras.Model(net.input, [a.output, b.output])`."""
    for one, where in all_origins(called_object(call), call.scope, death.code) if _of_keras(call, death) else ():
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and (name or "").endswith(("keras.Model", "keras.models.Model")):
            given = Call(one, where, f"{name}").argument("outputs", 1)
            for made, _ in all_origins(given, where, death.code) if given is not None else ():
                match made:
                    case (
                        ast.ListComp(elt=ast.Attribute(attr="output"))
                        | ast.List(elts=[ast.Attribute(attr="output"), _, *_])
                    ):
                        return {"net": _whole(one)}
    return False


def _whole(made: ast.Call) -> str:
    """Return the name of the network whose layers are asked for: `net` of `keras.Model(net.input, ...)`."""
    match made.args[:1]:
        case [ast.Attribute(value=ast.Name(id=name), attr="input" | "inputs")]:
            return name
    return "model"


def _of_a_data_set(call: Call, death: Death) -> bool:
    """Whether an array of each batch of TensorFlow's data set is kept."""
    loop = next(iter(call.scope.loops_around(call.node)), None)
    match call.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))) if isinstance(loop, ast.For):
            made = made_by(loop.iter, call, death)
            return any("dataset_from" in name or name.startswith("tensorflow.data.") for name in made)
    return False


def _of_lbfgs(call: Call, death: Death) -> bool | dict[str, str]:
    """Name what the optimizer changes: the parameters of a network, or a picture."""
    function = call.node.func
    owner = function.value if isinstance(function, ast.Attribute) else function
    for one, where in all_origins(owner, call.scope, death.code):
        if isinstance(one, ast.Call) and death.code.qualified(one.func, where) == "torch.optim.LBFGS":
            size = Call(one, where, "").argument("history_size", 5)
            if size is not None and (death.values.number(size, where) or 0) <= _FEW_STEPS:
                return False
            return {"parameters": " ".join(where.segment(one.args[0]).split()) if one.args else "parameters"}
    return False


def _hessian_at(call: Call, death: Death) -> dict[str, str]:  # noqa: ARG001 - as the others
    """Name where the Hessian is taken: `jax.hessian(loss)(flat, X, y)`, of the first of these."""
    for node in call.scope.calls:
        if node.func is call.node and node.args and len(call.node.args) == 1 and not call.node.keywords:
            point, *data = map(call.scope.segment, node.args)
            return {"point": point, "given": ", ".join(["p", *data])} if point.isidentifier() else _SOME_POINT
    return _SOME_POINT


def _creates_graph(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    given = call.argument("create_graph")
    return isinstance(given, ast.Constant) and given.value is True


def _keeps_scores(call: Call, death: Death) -> bool | dict[str, str]:
    """Name what is given for each token that is generated, and is asked to be kept."""
    if not any(map(death.code.imports, ("transformers", "torch"))):
        return False
    words = call.node.keywords
    kept = [one.arg for one in words if one.arg in _OF_TOKENS and unparse(one.value) == "True"]
    given = call.argument("input_ids", 0) or call.argument("inputs")
    return {"kept": kept[0], "ids": call.scope.segment(given)} if kept and isinstance(given, ast.Name) else False


_BY_EVERY_ROW = "makes the derivatives of each row by every other row, too: zeros where it has nothing to do with it."
_OF_TOKENS = ("output_scores", "output_logits", "output_hidden_states", "output_attentions")

WAYS = (
    LesserWay(
        (".backward",),
        "Take derivatives that have derivatives with torch.autograd.grad",
        "ties each parameter's `.grad` to the graph that made it, so that neither is ever freed.",
        "grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)\n"
        "# or, after each step: optimizer.zero_grad(set_to_none=True)",
        Case("import torch", "for x in xs:\n    loss = f(x)\n    loss.backward(create_graph=True)"),
        _creates_graph,
    ),
    LesserWay(
        (".()",),
        "Work on some rows at a time: jax.lax.map with batch_size",
        "works on all rows at once, with all that is worked out on the way.",
        "{to} = jax.lax.map({mapped}, batch_size=256)  # f: what vmap was given, of one row",
        Case(
            "import jax", "K = jax.vmap(lambda x: jax.vmap(k)(x))(X)", says=("K = jax.lax.map(f, X, batch_size=256)",)
        ),
        over_rows,
    ),
    LesserWay(
        (".()",),
        "Work values out again in the backward pass: jax.checkpoint",
        "keeps all that is worked out on the way for the backward pass.",
        "step = jax.checkpoint(step)  # the body of the loop or scan, or a block of layers\n"
        "# or average the gradients of parts of the batch, a part at a time",
        Case("import jax", "loss, g = jax.value_and_grad(rollout)(params, xs)"),
        is_made_by("jax.grad", "jax.value_and_grad"),
    ),
    LesserWay(
        ("torch.autograd.functional.hessian",),
        "Multiply by the Hessian without making it: hvp",
        "makes a number for each pair of parameters, and keeps what it worked out for each row of them.",
        "Hv = torch.autograd.functional.hvp({a0}, {a1}, v)[1]  # the Hessian times v, from one more pass\n\n"
        "# its diagonal, one entry after the other: e is zero, but for a 1 at i\n"
        "diagonal_i = torch.autograd.functional.hvp({a0}, {a1}, e)[1][i]",
        Case("from torch.autograd.functional import hessian", "H = hessian(f, w)", says=("hvp(f, w, v)[1]",)),
    ),
    LesserWay(
        ("torch.autograd.functional.jacobian",),
        "Take the derivatives of each row by itself: vmap(jacrev)",
        _BY_EVERY_ROW,
        "from torch.func import jacrev, vmap\n\n"
        "by_row = jacrev(lambda row: {a0}(row[None])[0])  # where each row of {a1} is worked out by itself\n"
        "{to} = vmap(by_row, chunk_size=64)({a1})  # rows x outputs x inputs",
        Case("import torch", "J = torch.autograd.functional.jacobian(net, x)", says=("net(row[None])[0]",)),
    ),
    LesserWay(
        (".step",),
        "Let L-BFGS remember fewer steps: history_size",
        "keeps two vectors as long as all parameters of each step it remembers, 100 of them where nothing is given.",
        "{owner} = torch.optim.LBFGS({parameters}, history_size=10)  # with your other arguments",
        Case("import torch\nopt = torch.optim.LBFGS([w])", "opt.step(closure)", says=("LBFGS([w], history_size",)),
        _of_lbfgs,
        silent=(Case("import torch\nopt = torch.optim.LBFGS([w], history_size=5)", "opt.step(closure)"),),
    ),
    LesserWay(
        ("jax.hessian",),
        "Multiply by the Hessian without making it: jax.jvp of the gradient",
        "makes a number for each pair of parameters, and some tables as large on the way.",
        "def hvp(v):  # the Hessian times v, from one more pass\n"
        "    v = v.astype({point}.dtype)\n"
        "    return jax.jvp(lambda p: jax.grad({a0})({given}), ({point},), (v,))[1]\n\n"
        "n = len({point})  # its largest eigenvalue: scipy.sparse.linalg.eigsh(LinearOperator((n, n), hvp), k=1)\n"
        "diagonal = jax.lax.map(lambda i: hvp(jax.nn.one_hot(i, n))[i], jax.numpy.arange(n))  # without the rest",
        Case("import jax", "H = jax.hessian(loss)(flat, X)", says=("jax.grad(loss)(p, X), (flat,)", "eigsh")),
        _hessian_at,
    ),
    LesserWay(
        (".generate",),
        "Generate for some prompts at a time",
        "keeps numbers for each new token of all prompts, until the last token is there.",
        "parts = []\nfor start in range(0, len({ids}), 8):  # 8 prompts at a time\n"
        "    out = {owner}.generate({ids}[start:start + 8], ...)  # with your others; an attention_mask alike\n"
        "    parts.append(...)  # of `{kept}` only a number of each prompt or token",
        Case(
            "from transformers import GPT2LMHeadModel\nm = GPT2LMHeadModel(c)",
            "out = m.generate(ids, output_scores=True)",
            says=("m.generate(ids[start:start + 8], ...)", "`output_scores`"),
        ),
        _keeps_scores,
    ),
    LesserWay(
        ("jax.jacrev", "jax.jacfwd", "jax.jacobian"),
        "Take the derivatives of each row by itself: vmap",
        _BY_EVERY_ROW,
        "J = jax.vmap({owner}(lambda row: {a0}(row[None])[0]))(rows)  # rows x outputs x inputs\n"
        "# where each row is worked out by itself; of a function of one row: jax.vmap({owner}({a0}))(rows)",
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
        ),
        _gives_words,
        silent=(Case("from tensorflow import keras\nencode = keras.layers.TextVectorization()", "X = encode(texts)"),),
    ),
    LesserWay(
        (".evaluate", ".predict", ".train"),
        "Keep of each batch only what the metric needs: preprocess_logits_for_metrics",
        "keeps the logits of all batches for `compute_metrics`.",
        "trainer = Trainer(..., preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))\n"
        "# compute_metrics then gets the classes in place of the logits",
        Case("from transformers import Trainer\nt = Trainer(m, args, compute_metrics=f)", "t.evaluate()"),
        _keeps_logits,
        silent=(Case("from transformers import Trainer\nt = Trainer(m, args)", "t.evaluate()"),),
    ),
    LesserWay(
        (".predict",),
        "Give back less of each batch, or write it to a file: predict_step",
        "keeps all that `predict_step` gives of each batch in a list, to the end.",
        "def predict_step(self, batch, batch_idx):\n    return self(batch).argmax(1)  # not a number for each class\n"
        "# or write them: Trainer(callbacks=[writer]), a BasePredictionWriter, with predict(return_predictions=False)",
        Case("import lightning as L\ntrainer = L.Trainer()", "out = trainer.predict(model, loader)"),
        is_made_by(*LIGHTNING),
    ),
    LesserWay(
        (".predict",),
        "Ask for one layer, batch by batch, and keep a number of each part",
        "keeps what each of these layers makes of all rows.",
        "for layer in {net}.layers[1:4]:  # one layer after the other: those that are needed\n"
        "    part = keras.Model({net}.inputs, layer.output)\n    for start in range(0, len({a0}), 256):\n"
        "        found = part.predict({of0}[start:start + 256], verbose=0)  # 256 rows at a time\n"
        "        ...  # keep found.max(axis=(0, 1, 2)), a mean or a count; not the maps themselves",
        Case(
            "import keras\nlooks = keras.Model(net.input, [net.get_layer('a').output, net.get_layer('b').output])",
            "maps = looks.predict(scans)",
        ),
        _of_layers,
        silent=(
            Case("import keras\nlooks = keras.Model(net.input, [net.output])", "looks.fit(scans)"),
            Case("import keras\nlooks = keras.Model(a, b)", "looks.fit(scans)"),
        ),
    ),
    LesserWay(
        (".predict",),
        "Predict some rows at a time, and keep less of each",
        "keeps what the network gives of all rows, for a moment twice. A smaller batch does not change that.",
        "pieces = [{owner}.predict({of0}[start:start + 256], verbose=0)  # of maps of pictures: .mean(axis=(1, 2))\n"
        "          for start in range(0, len({a0}), 256)]\n{to} = np.concatenate(pieces)",
        Case("import keras\nnet = keras.Sequential()", "y = net.predict(X)"),
        _of_keras,
        silent=(
            Case("import tensorflow as tf\nds = tf.data.Dataset.range(9).batch(2)", "y = net.predict(ds)"),
            Case("import keras\nrows = gen.flow_from_directory('a')", "y = net.predict(rows)"),
        ),
    ),
    LesserWay(
        (".numpy",),
        "Give the data set itself to fit: it makes one batch after the other",
        "is kept of every batch, so that all rows, and each window as a copy, are in memory at once.",
        "model.fit(ds, epochs=1)  # ds.take(n) and ds.skip(n) part it into validation and training",
        Case("import tensorflow as tf\nds = tf.data.Dataset.range(9)", "for x in ds:\n    xs.append(x.numpy())"),
        _of_a_data_set,
    ),
)
