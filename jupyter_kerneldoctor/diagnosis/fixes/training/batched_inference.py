import ast
import re

from ...calls import network_call_at
from ...code.notebook import Notebook
from ...code.origins import Origins, all_origins
from ...edits import import_as, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.evaluation import is_made_tensor, whole_calls
from ...frameworks.gradients import hides_gradients, sources_of_gradients, without_gradients
from ...frameworks.training_step import normalises_batches
from ...place import grew_in
from ...sizing import choose
from ._parts_of_rows import parts_of_rows

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\nX = torch.rand(10_000, 9)\n"
_USUAL, _LARGEST = 64, 256
_FOR_THE_WHOLE = ("Linear", "flatten", "Flatten", "torchvision")  # what gives one answer for a picture, as it seems
_OF_IMAGES = 8
"""What a convolution gives for one row may be as large as for many rows of numbers."""


class BatchedInference(Fix):
    """Take the data through the network some rows at a time.

    What it does: What a layer gives for all rows is in memory at once, often many times the size of the data. The edit
    takes the rows in parts and puts the results together; where gradients are on, it turns them off.

    When it is offered: Memory ran out in one call of a network outside of loops, on a tensor, from which no backward
    pass starts.

    What it costs: Nothing but some calls more, if the network is in `eval()` mode and takes rows one by one. With
    BatchNorm in training mode each part has statistics of its own. The results of all rows are there twice while they
    are put together: where they are what is large, as images are, keep less of each part.
    """

    id, title, causes = "batched-inference", "Take the data through the network in batches", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET,
            "with torch.no_grad():\n    y = net(X)",
            becomes="with torch.no_grad():\n    y = torch.cat([net(part) for part in X.split(256)])",
            says=("10000 rows", "X"),
        ),
        Case(
            _NET + "@torch.no_grad()\ndef predict(model, rows):\n    return model(rows.to('cpu')).argmax(1)",
            "labels = predict(net, load())",
            becomes={"model(rows.to('cpu'))": "torch.cat([model(part.to('cpu')) for part in rows.split(64)])"},
        ),
        Case(
            _NET,
            "scores = net(X)",
            becomes="with torch.no_grad():\n    scores = torch.cat([net(part) for part in X.split(256)])",
        ),
        Case(  # a loop around that gives it the same data each time
            _NET + "def validate():\n    return net(X).argmax(1)",
            "for epoch in range(9):\n    print(validate())",
            becomes={
                1: _NET + "def validate():\n"
                "    with torch.no_grad():\n        return torch.cat([net(part) for part in X.split(256)]).argmax(1)"
            },
        ),
        Case(  # which are scaled in the call
            _NET + "def accuracy(model, X, y):\n    with torch.no_grad():\n"
            "        pred = model(X.float() / 255).argmax(dim=1)\n    return (pred == y).float().mean()",
            "for epoch in range(9):\n    print(accuracy(net, X, y))",
            becomes={"model(X.float() / 255)": "torch.cat([model(part.float() / 255) for part in X.split(256)])"},
        ),
        Case(  # an array that becomes a tensor in the call
            "import numpy as np\nimport torch\nnet = torch.nn.Linear(9, 9)\nX = np.zeros((10_000, 9))",
            "with torch.no_grad():\n    y = torch.sigmoid(net(torch.tensor(X, dtype=torch.float32))).numpy()",
            becomes="with torch.no_grad():\n    y = torch.sigmoid(torch.cat([net(torch.tensor(X[start:start + 256], "
            "dtype=torch.float32)) for start in range(0, len(X), 256)])).numpy()",
        ),
        Case(  # an image for each row: no edit keeps all of them
            "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.ReLU(), nn.Conv2d(3, 64, 3, padding=1))",
            "with torch.no_grad():\n    y = net(X)",
            says=("keep less", "[net(part).mean(dim=(-2, -1)) for part in X.split(8)]"),
        ),
        Case(  # what a tokenizer made of all texts
            _NET + "def embed(texts):\n    enc = tok(texts)\n    return net(**enc).hidden",
            "E = embed(all_texts)",
            growth="jump",
            says=("embed(all_texts[start:start + 32]) for start in range(0, len(all_texts), 32)",),
        ),
        Case(  # and where it was made of its settings
            "import torch\nfrom transformers import BertConfig, BertModel\nnet = BertModel(BertConfig())\n"
            "def embed(texts):\n    enc = tok(texts)\n    with torch.no_grad():\n        out = net(**enc)\n"
            "    return out.last_hidden_state.mean(1)",
            "E = embed(all_texts)",
            growth="jump",
            says=("embed(all_texts[start:start + 32])",),
        ),
        Case(  # one image
            "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU())",
            "with torch.no_grad():\n    x = load()[None].float()\n    y = net(x)",
            growth="jump",
            says=("in pieces that overlap", "net(x[:, :, low:start + step + margin])"),
        ),
        Case(  # the rows of one view are too many
            _NET + "def render(view):\n    rays = view.reshape(-1, 9)\n    with torch.no_grad():\n"
            "        return net(encode(rays)).view(99, 99)",
            "for view in views:\n    show(render(view))",
            growth="jump",
            says=("net(encode(part)) for part in rays.split(64)",),
        ),
        Case(
            "import torch\nnet = torch.nn.Conv3d(1, 9, 3)",
            "with torch.no_grad():\n    y = net(scan[None, None])",
            line=2,
            says=("net(scan[None, None][:, :, low:start + step + margin])", "a sliding window"),
        ),
    ]
    SILENT = [
        # the rows depend on each other: the first dimension is time, or the network compares them
        Case(
            "import torch\nnet = torch.nn.LSTM(9, 9)\nX = torch.zeros(10_000, 9, 9)",
            "with torch.no_grad():\n    y = net(X)",
        ),
        Case(
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self): self.w = torch.nn.Linear(9, 9)\n"
            "    def forward(self, x):\n        h = self.w(x)\n        return torch.softmax(h @ h.T, 1) @ h\n"
            "net, X = Net(), torch.zeros(10_000, 9)",
            "with torch.no_grad():\n    y = net(X)",
        ),
        Case(_NET, "with torch.no_grad():\n    for x in X.split(64): y = net(x)"),
        Case(_NET, "net(X).mean().backward()"),
        Case(_NET, "with torch.no_grad():\n    for x in rows: y = net(torch.tensor(x))"),
        Case(_NET, "with torch.no_grad():\n    y = net(X)\nbig = torch.ones(10**10)", line=3),
        Case(_NET + "def score(x): return net(x)", "for x in X.split(64): score(x)"),
        Case(_NET, "y = net(X).logits"),
        Case("import torch\ndef net(x): return x", "y = net(torch.rand(9, 9))"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here or death.growth.is_steady:
            return
        found = list(_one_sample(death)) or list(_whole(death))
        yield from found or parts_of_rows(death)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the parts are there
        """Whether no call takes all rows."""
        return not any(_whole(after))


def _whole(death: Death) -> Proposals:
    code = death.code
    for call, data, scope, records in whole_calls(code):
        if not code.is_at_line(call, scope) or grew_in(death, scope.tree.statements[call], scope) is False:
            continue
        rows = _rows(death, data, scope)
        if rows == 1 or _is_one(data, scope, code):
            yield from _in_pieces(call, data, scope, death)
            continue
        choice = None if rows is None else choose(death, rows, from_runs=False)
        if rows is not None and choice is None:
            continue
        usual = _OF_IMAGES if _has_convolutions(code) else _USUAL
        part = usual if choice is None else min(choice.value, _LARGEST)
        text, given = scope.segment(call), scope.segment(data)
        torch, edits = import_as(scope, code, "torch", "torch")
        rest, parts = "part", f"for part in {given}.split({part})"
        if is_made_tensor(call, scope, code):
            rest, parts = f"{given}[start:start + {part}]", f"for start in range(0, len({given}), {part})"
        found = re.compile(rf"(?<![\w.]){re.escape(given)}(?!\w)")
        arguments = found.sub(rest.replace("\\", r"\\"), scope.segment(call.args[0]), count=1)
        inner = f"{scope.segment(call.func)}({arguments})"
        edits += replace(scope, call, f"{torch}.cat([{inner} {parts}])")
        if records:
            edits += without_gradients(scope.tree.statements[call], scope, code)
        kept, snippet = "All results are kept, for a moment twice.", None
        title = f"{BatchedInference.title} of {part} rows"
        if _gives_images(call.func, scope, code):
            kept = "What it gives is as large as images are: keep of each part only what you need."
            title += ", and keep less of each"
            snippet = f"results = [{inner}.mean(dim=(-2, -1)) {parts}]"
        elif death.memory.refused_bytes:  # in one piece: it may be the results themselves
            kept = "The results of all rows may be as large as what was refused: keep of each part only what you need."
            title += ", and keep less of each"
            snippet = f"results = [{inner}.mean(dim=1) {parts}]"
        many = "all rows" if rows is None else f"all {rows} rows"
        why = (
            f"{quote(text)} takes {many} of {quote(given)} at once: memory grew by "
            f"{size(death.memory.missing_bytes or 0)}. Take {part} rows at a time. {kept}"
        )
        why += _cautions(code, None if rows is not None else part)
        yield Proposal(() if snippet else edits, why, death.memory.missing_bytes, title, snippet)


def _one_sample(death: Death) -> Proposals:
    """Yield how to take one image or volume through a network that is given it as it is called: `net(scan[None])`."""
    found = None if hides_gradients(death.code) else network_call_at(death)
    if found is None or found[0] in sources_of_gradients(death.code):
        return
    if death.growth.goes_on and Origins(death.code).is_repeated(*found):
        return
    call, scope = found
    if call.args and _adds_first_dimension(call.args[0]) and not any(map(death.code.has_words, _FOR_THE_WHOLE)):
        yield from _in_pieces(call, call.args[0], scope, death)


def _cautions(code: Notebook, guessed: int | None) -> str:
    """Return what to look out for: statistics of each part, and a number of rows that is a guess."""
    found = ""
    if normalises_batches(code) and not code.has_text(".eval()"):
        found += " With BatchNorm call `eval()` of the network before: else each part has statistics of its own."
    if guessed is not None:
        found += f" How many rows there are is not known: {guessed} is a number to begin with."
    return found


def _in_pieces(call: ast.Call, data: ast.expr, scope: Scope, death: Death) -> Proposals:
    """Yield how to take a single image or volume through a network of convolutions: no batch of it is smaller."""
    if not _has_convolutions(death.code):
        return
    network, given = scope.segment(call.func), scope.segment(data)
    why = (
        f"{quote(scope.segment(call))} takes all of {quote(given)}, which is one sample: memory grew by "
        f"{size(death.memory.missing_bytes or 0)}. What convolutions give at a place depends on what is near it, so "
        "pieces with a margin give the same."
    )
    snippet = (
        "step, margin = 32, 16  # margin: how far the network looks, a multiple of what it pools\nparts = []\n"
        f"for start in range(0, {given}.shape[2], step):\n    low = max(0, start - margin)\n"
        f"    with torch.no_grad():\n        out = {network}({given}[:, :, low:start + step + margin])\n"
        "    parts.append(out[:, :, start - low:start - low + step])\nwhole = torch.cat(parts, dim=2)"
    )
    title = f"Take {quote(given)} through the network in pieces that overlap: a sliding window"
    yield Proposal((), why, death.memory.missing_bytes, title, snippet)


def _is_one(data: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether a tensor surely is a batch of one sample: `scan[None]`, `image.unsqueeze(0)`."""
    found = [one.node for one in Origins(code).of(data, scope)] or [data]
    return all(_adds_first_dimension(one) for one in found)


def _adds_first_dimension(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), *_])):
            return True
        case ast.Call(func=ast.Attribute(attr="unsqueeze"), args=[ast.Constant(value=0)]):
            return True
        case ast.Call(func=ast.Attribute(attr="to" | "cuda" | "float" | "half", value=inner)):
            return _adds_first_dimension(inner)
    return False


def _gives_images(network: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether the last layer of a `Sequential` is a convolution, which keeps height and width."""
    for made in all_origins(network, scope, code):
        if isinstance(made.node, ast.Call) and made.node.args and isinstance(last := made.node.args[-1], ast.Call):
            layer = code.qualified(last.func, made.scope) or ""
            return layer.startswith("torch.nn.") and ("Conv" in layer or "Upsample" in layer)
    return False


def _has_convolutions(code: Notebook) -> bool:
    """Whether a network of images is in the code."""
    if code.imports("torchvision"):
        return True
    return any(code.calls("torch.nn.Conv1d", "torch.nn.Conv2d", "torch.nn.Conv3d"))


def _rows(death: Death, data: ast.expr, scope: Scope) -> int | None:
    known = death.values.of(data, scope)
    return known.shape[0] if known is not None and known.shape else None
