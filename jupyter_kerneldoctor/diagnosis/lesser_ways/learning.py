"""Metrics, generation, samples and passes of networks: what is kept of all rows."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import last_name, plain_names
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.trees import walk
from ..death import Death
from ..frameworks.torch import Kind, Tensors
from .conditions import made_by
from .way import LesserWay, Test

_FEW_BEAMS = 8


def _is_recorded(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Name the profiler that records each operation of all steps: no `schedule` is given."""
    for made in death.code.running.calls("torch.profiler.profile", "torch.autograd.profiler.profile"):
        opened = isinstance(made.statement, ast.With) and made.is_written_out and made.argument("schedule") is None
        if opened and death.growth.goes_on and death.code.imports("torch"):
            is_new = made.name == "torch.profiler.profile"
            return {"profile": made.scope.segment(made.node.func) if is_new else "torch.profiler.profile"}
    return False


def _has_many(word: str) -> Test:
    """Return a test whether a model follows many continuations of each text, also where settings or a name say so."""

    def test(call: Call, death: Death) -> bool | Mapping[str, str]:
        if not death.code.imports("transformers"):
            return False
        running = death.code.running
        scopes = dict.fromkeys((*running, *death.code.scopes_mentioning("GenerationConfig")))
        given = [(one.value, at) for at in scopes for made in at.calls for one in made.keywords if one.arg == word]
        for settings, scope in running.nodes(ast.Dict):
            pairs = zip(settings.keys, settings.values, strict=True)
            given += [(value, scope) for key, value in pairs if getattr(key, "value", None) == word]
        many = [(one, at) for one, at in given if (death.values.number(one, at) or 0) >= _FEW_BEAMS]
        count = next((one for one in many if one[1] is call.scope), None)
        return {"count": "n" if count is None else count[1].operand(count[0])} if many else False

    return test


def _is_feature_pipeline(call: Call, death: Death) -> bool:
    """Whether a pipeline is called that gives the vectors of all tokens as lists."""
    if "transformers.pipeline" not in made_by(call.node.func, call, death):
        return False
    return any(
        one.node.args and getattr(one.node.args[0], "value", "") == "feature-extraction"
        for one in death.code.calls("transformers.pipeline")
    )


def _of_a_data_set(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the data set all of whose items are put into one tensor: `torch.stack([x for x, y in ds])`."""
    match call.node.args[:1]:
        case [ast.ListComp(generators=[ast.comprehension(target=ast.Tuple(), iter=ast.Name() as given)])]:
            made = [one for one, _ in all_origins(given, call.scope, death.code) if isinstance(one, ast.Call)]
            names = [death.code.described(one.func, call.scope) or "" for one in made]
            classes = [death.code.definition(one.func, call.scope) for one in made]
            bodies = [getattr(one.definition, "body", []) for one in classes if one is not None]
            is_own = any(getattr(part, "name", "") == "__getitem__" for body in bodies for part in body)
            is_set = is_own or any(one.startswith(("torchvision.datasets.", "torch.utils.data.")) for one in names)
            loads = any(one.endswith("DataLoader") for one in names)
            return {"ds": call.scope.segment(given)} if is_set and not loads else False
    return False


def _repeats_a_pass(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the network whose results on the same rows are stacked again and again, as in Monte Carlo dropout."""
    match call.node.args[:1]:
        case [ast.ListComp(elt=item, generators=[ast.comprehension(target=target, iter=rounds)])]:
            named = {one.id for one in walk(target) if isinstance(one, ast.Name)}
            inner = [one for one in walk(item) if isinstance(one, ast.Call)]
            is_network = any(Tensors(death.code).kind(one.func, call.scope) is Kind.MODULE for one in inner)
            used = {one.id for one in walk(item) if isinstance(one, ast.Name)}
            cut = {one for part in walk(item) if isinstance(part, ast.Subscript) for one in plain_names(part)}
            is_counted = isinstance(rounds, ast.Call) and last_name(rounds.func) == "range" and not named & cut
            is_same = not named & used or is_counted
            if is_network and is_same:
                segment = call.scope.segment
                return {"item": " ".join(segment(item).split()), "target": segment(target), "rounds": segment(rounds)}
    return False


def _copies_an_array(call: Call, death: Death) -> bool:
    """Whether a tensor is made of an array of NumPy, which stays: `torch.tensor(X)`."""
    given = call.node.args[0] if call.node.args else None
    if not isinstance(given, ast.Name | ast.Attribute):
        return False
    value, names = death.values.of(given, call.scope), list(made_by(given, call, death))
    is_array = value is not None and value.type in ("numpy.ndarray", "ndarray")
    return is_array or any(one.startswith("numpy.") or one.endswith((".to_numpy", ".astype")) for one in names[:1])


def _is_of_classes(call: Call, death: Death) -> bool:
    """Whether all classes are made rows of ones and zeros, outside of a network, with a loss that takes numbers."""
    loss = death.code.has_text("cross_entropy") or death.code.has_text("CrossEntropyLoss")
    return bool(loss) and call.scope.function not in ("forward", "__getitem__")


def _samples_many(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether a distribution of PyTorch is asked for many samples: `.sample((100_000,))`."""
    given = call.argument("sample_shape", 0)
    if not death.code.imports("torch") or not isinstance(given, ast.Tuple | ast.List) or not given.elts:
        return False
    return {"count": call.scope.segment(given.elts[0]), "method": call.name.removeprefix(".")}


def _nearest(call: Call, death: Death) -> Mapping[str, str]:
    """Name the search that has its own function for a few of each."""
    if not death.code.imports("sentence_transformers"):
        return {"nearest": ""}
    given = (call.node.args + [call.node.args[0]] * 2)[:2] if call.node.args else []
    rows = ", ".join(call.scope.segment(one) for one in given) or "queries, corpus"
    search = f"util.semantic_search({rows}, top_k=10)  # in blocks; keeps ten of each, by their cosine"
    return {"nearest": f"from sentence_transformers import util\n\nhits = {search}\n\n"}


WAYS = (
    LesserWay(
        (".step", ".backward", ".()"),
        "Record a few steps, not all of them: schedule(wait, warmup, active)",
        "runs below a profiler that notes every operation of every step until the end.",
        "schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)\n"
        "with {profile}(schedule=schedule) as prof:  # with your other arguments\n    for batch in loader:\n"
        "        ...  # the step\n        prof.step()  # behind each: three steps are recorded, the others are not",
        Case(
            "import torch\nfrom torch.profiler import profile",
            "with profile(record_shapes=True) as p:\n    for x in xs:\n        net(x).mean().backward()",
            line=3,
            says=("with profile(schedule=schedule)", "prof.step()"),
        ),
        _is_recorded,
        silent=("with profile(schedule=few) as p:\n    for x in xs:\n        net(x).mean().backward()",),
    ),
    LesserWay(
        (".generate",),
        "Follow fewer continuations, of fewer texts at a time: num_beams=4",
        "keeps keys and values of every token for each text times each beam.",
        "out = {owner}.generate({a0}, num_beams=4)  # with your other arguments: memory grows with the beams\n\n"
        "for part in {of0}.split(4):  # and with the texts of a batch; an attention_mask is split alike\n"
        "    out = {owner}.generate(part, num_beams=4)",
        Case("from transformers import GPT2LMHeadModel\nm = GPT2LMHeadModel(c)", "out = m.generate(ids, num_beams=40)"),
        _has_many("num_beams"),
        silent=("out = m.generate(ids, num_beams=4)",),
    ),
    LesserWay(
        (".generate",),
        "Sample some answers of each text at a time: a smaller num_return_sequences, in rounds",
        "keeps keys and values of every token for each of the answers, the prompt's as well.",
        "answers = []\nfor _ in range(-(-{count} // 20)):  # n: how many in all; 20 in each round\n"
        "    out = {owner}.generate({a0}, num_return_sequences=20)  # with your other arguments\n"
        "    answers += out[:, {of0}.shape[1]:].tolist()  # the new tokens; fewer max_new_tokens take less, too",
        Case(
            "from transformers import GPT2LMHeadModel\nm = GPT2LMHeadModel(c)\nN = 200",
            "out = m.generate(ids, do_sample=True, num_return_sequences=N)",
            says=("range(-(-N // 20))", "num_return_sequences=20"),
        ),
        _has_many("num_return_sequences"),
        silent=("out = m.generate(ids, do_sample=True, num_return_sequences=3)",),
    ),
    LesserWay(
        (".()",),
        "Keep of each text one vector: an array, not lists of all tokens",
        "gives a Python number for each of the values of each token of every text.",
        "vectors = []\nfor start in range(0, len({a0}), 16):\n"
        "    for out in {owner}({of0}[start:start + 16], return_tensors=True):  # a tensor: 4 bytes for a value\n"
        "        vectors.append(out[0, 0].numpy().copy())  # the first token's; or out[0].mean(0)\n"
        "vectors = np.stack(vectors)",
        Case(
            "from transformers import pipeline\nextract = pipeline('feature-extraction', model=bert)",
            "outs = extract(texts)",
        ),
        _is_feature_pipeline,
    ),
    LesserWay(
        ("torch.stack", "torch.cat"),
        "Add the passes up as they come: a sum, and a sum of squares",
        "keeps the results of all passes, where their mean and spread are wanted.",
        "total = squares = 0\nfor {target} in {rounds}:\n    with torch.no_grad():\n        one = {item}\n"
        "    total, squares = total + one, squares + one ** 2\nn = len({rounds})\n"
        "mean, std = total / n, (squares / n - (total / n) ** 2).clamp(min=0).sqrt()",
        Case(
            "import torch\nnet = torch.nn.Linear(9, 9)",
            "p = torch.stack([net(x).softmax(1) for _ in range(500)])",
            says=("one = net(x).softmax(1)", "squares / n"),
        ),
        _repeats_a_pass,
        silent=("p = torch.cat([net(x[i : i + 9]) for i in range(0, 900, 9)])",),
    ),
    LesserWay(
        ("torch.stack", "torch.cat"),
        "Take batches from a loader: no tensor of all items",
        "loads and keeps every item of the data set at once.",
        "loader = torch.utils.data.DataLoader({ds}, batch_size=64)\ncount, total, squares = 0, 0, 0\n"
        "for x, y in loader:  # of each batch what is needed: here for the mean and the spread of each channel\n"
        "    count += len(x)\n    total = total + x.mean((2, 3)).sum(0)\n"
        "    squares = squares + (x ** 2).mean((2, 3)).sum(0)\n"
        "mean = total / count\nstd = (squares / count - mean ** 2).sqrt()",
        Case(
            "import torch\nfrom torchvision import datasets\nds = datasets.CIFAR10('a')",
            "X = torch.stack([x for x, y in ds])",
            says=("DataLoader(ds, batch_size=64)",),
        ),
        _of_a_data_set,
    ),
    LesserWay(
        ("torch.tensor", "torch.Tensor", "torch.FloatTensor"),
        "Share the array's memory: torch.from_numpy",
        "copies all rows, and the array stays beside them.",
        "{to} = torch.from_numpy({a0})  # no copy: what is written into one is in the other\n"
        "part = {to}[rows].float()  # another type only for the rows of a batch: in __getitem__ or in the loop",
        Case(
            "import numpy as np, torch\nX = np.load('x.npy')",
            "t = torch.tensor(X, dtype=torch.float32)",
            growth="jump",
            says=("torch.from_numpy(X)",),
        ),
        _copies_an_array,
        silent=("t = torch.tensor(rows)", "t = torch.from_numpy(X)"),
    ),
    LesserWay(
        ("torch.nn.functional.one_hot",),
        "Keep the numbers of the classes: cross_entropy takes them as they are",
        "makes a number of eight bytes for each row and each class, nearly all of them zero.",
        "loss = torch.nn.functional.cross_entropy(out, {a0})  # the number of each row's class, as it is\n\n"
        "part = {function}({of0}[rows], n).float()  # or of the rows of a batch, where a loss needs ones and zeros",
        Case(
            "import torch\nimport torch.nn.functional as F\ncrit = torch.nn.CrossEntropyLoss()",
            "y = F.one_hot(labels, 50_000)",
            growth="jump",
            says=("F.one_hot(labels[rows], n)",),
        ),
        _is_of_classes,
        silent=(Case("import torch\nimport torch.nn.functional as F", "y = F.one_hot(labels, 50_000)", growth="jump"),),
    ),
    LesserWay(
        (".sample", ".rsample"),
        "Draw some samples at a time, and keep only what is worked out of them",
        "draws all samples at once.",
        "total = 0\nfor _ in range({count} // 1000):  # 1,000 at a time\n"
        "    total = total + f({owner}.{method}((1000,))).sum(0)\nmean = total / {count}",
        Case(
            "import torch\nq = torch.distributions.Normal(m, s)",
            "z = q.rsample((100_000,))",
            says=("q.rsample((1000,))", "100_000 // 1000"),
        ),
        _samples_many,
    ),
    LesserWay(
        (
            *(f"sentence_transformers.util.{name}" for name in ("cos_sim", "pytorch_cos_sim", "dot_score")),
            *("torch.cartesian_prod", "torch.combinations", "torch.triu_indices", "torch.tril_indices"),
        ),
        "Look for the nearest few of each: no table of all pairs",
        "makes a number, or more, for each pair of rows.",
        "{nearest}for i, row in enumerate(corpus):  # one row after the other; your rows, each of length 1\n"
        "    scores = corpus[i + 1:] @ row  # of those that follow: keep the largest",
        fits=_nearest,
    ),
    LesserWay(
        ("torch.nn.functional.unfold",),
        "Let a convolution or a pooling go over the picture: no copies of its patches",
        "copies each pixel as often as a patch has pixels.",
        "out = torch.nn.functional.conv2d({a0}, weight)  # a sum over each patch; avg_pool2d for its mean\n\n"
        "for part in {of0}.split(1):  # or the patches of one picture at a time\n    patches = {function}(part, ...)",
    ),
)
