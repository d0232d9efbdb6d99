import ast
import re

from ...code.calls import last_name
from ...code.origins import all_origins
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.gradients import sources_of_gradients
from ...frameworks.kept import Kept, kept_values
from ...frameworks.preloaded import read_when_asked
from ...frameworks.torch import Tensors

_READS = re.compile(r"imread|open|load\w*|read\w*|decode\w*|to_tensor|img_to_array", re.IGNORECASE)
_NOT_ITEMS = re.compile("csv|parquet|excel|json|sql|table|predict|encode|embed|generate")
_FRAMEWORKS = ("torch", "tensorflow", "keras")
_LOOP = "{begin}for p in paths:\n    img = cv2.imread(p)\n    xs.append(torch.tensor(img) / 255)"
_CLASS = (
    "import numpy as np, torch\nfrom keras.utils import PyDataset\nclass Frames({base}):\n"
    "    def __init__(self, files):\n        self.xs = {all}\n    def load(self, f): return np.load(f) / 255\n"
    "    def __getitem__(self, i):\n        return {one}"
)
_SNIPPETS = {
    "torch": (
        "class Items(torch.utils.data.Dataset):\n    def __len__(self):\n        return len({rows})\n"
        "    def __getitem__(self, i):  # reads it when it is needed\n        {target} = {rows}[i]{body}\n"
        "        return {value}\n\n"
        "loader = torch.utils.data.DataLoader(Items(), batch_size=32, shuffle=True)"
    ),
    "keras": (
        "class Batches(keras.utils.PyDataset):\n    def __len__(self):\n        return len({rows}) // 32\n"
        "    def __getitem__(self, i):  # reads a batch when it is needed\n        x = []\n"
        "        for {target} in {rows}[i * 32 : i * 32 + 32]:{inner}\n            x.append({value})\n"
        "        return np.stack(x), labels[i * 32 : i * 32 + 32]"
    ),
}


class LoadItemsOnDemand(Fix):
    """Read an item when its batch is made, not all before the training.

    What it does: A list of all images as floats needs four to eight times the room of their bytes, and stacking it
    makes a second copy. A `Dataset` keeps the paths, and reads what a batch needs.

    When it is offered: Memory grew in a loop that reads or converts items and keeps them, in a notebook that trains
    with PyTorch or Keras.

    What it costs: Items are read again in each epoch; workers of a DataLoader do that beside the training. Where the
    bytes fit, keep them as uint8 and convert an item when it is taken.
    """

    id, title, causes = "load-items-on-demand", "Read each item when it is needed: __getitem__", (Family.MEMORY,)

    FIRES = [
        Case(
            "import torch, cv2\nxs = []",
            _LOOP.format(begin=""),
            says=("        p = paths[i]\n        img = cv2.imread(p)\n        return torch.tensor(img) / 255",),
        ),
        Case(
            "import numpy as np, keras\nfrom PIL import Image",
            "X = np.array([np.asarray(Image.open(f)) / 255 for f in files])",
            says=("for f in files[i * 32",),
        ),
        Case(
            "import numpy as np, keras\nfrom PIL import Image",
            "X = np.array([np.asarray(Image.open(f)) / 255 for f in files * 4])",
            says=("items = list(files * 4)", "for f in items[i * 32", "The list keeps"),
        ),
        Case(
            _CLASS.format(base="torch.utils.data.Dataset", all="[self.load(f) for f in files]", one="self.xs[i]"),
            "data = Frames(names)",
            becomes={1: _CLASS.format(base="torch.utils.data.Dataset", all="list(files)", one="self.load(self.xs[i])")},
        ),
        Case(
            _CLASS.format(base="PyDataset", all="np.array([self.load(f) for f in files])", one="self.xs[i:i + 9]"),
            "data = Frames(names)",
            becomes={
                1: _CLASS.format(
                    base="PyDataset", all="np.array(files)", one="np.array([self.load(f) for f in self.xs[i:i + 9]])"
                )
            },
        ),
    ]
    SILENT = [
        Case("import cv2\nxs = []", _LOOP.format(begin="")),
        Case("import torch\nxs = []", "for p in paths:\n    xs.append(net(p))"),
        Case("import keras\nxs = []", "for p in paths:\n    xs.append(net.predict(keras.utils.load_img(p)))"),
        Case("import torch, cv2\nxs = []", _LOOP.format(begin="big = [0] * 10**10\n"), line=1),
        Case("import torch, cv2", "for p in paths:\n    n = cv2.imread(p).sum()\n    sizes.append(len(p))"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, tensors = death.code, Tensors(death.code)
        package = next((one for one in _FRAMEWORKS if code.imports(one)), None)
        needed = sources_of_gradients(code)
        for one in kept_values(code.running, tensors.origins) if package and death.is_of_this_cell else ():
            is_trained = one.value in needed or one.backward_calls(tensors.origins)
            if one.scope.function == "__getitem__":
                continue  # those of a batch
            if not one.is_added_to or is_trained or not _is_read(one, death):
                continue
            match one.loops[0] if one.scope is one.caller else None:
                case ast.For(target=target, iter=rows) as loop if death.was_running(loop, one.scope):
                    pass
                case ast.ListComp(generators=[ast.comprehension(target=target, iter=rows)]) as loop if (
                    death.was_running(loop, one.scope)
                ):
                    pass
                case _:
                    continue
            segment = one.scope.segment
            if isinstance(rows, ast.Call) and "tqdm" in segment(rows.func) and rows.args:
                rows = rows.args[0]
            names = [segment(target), segment(rows), segment(one.value)]
            match target, rows:  # zip(paths, labels), enumerate(paths)
                case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip" | "enumerate"), args=given):
                    names[:2] = [segment(parts[-len(given) :][0]), segment(given[0])]
                    rows = given[0]
            kept = quote(one.container) if one.container.isidentifier() else "The list"
            why = (
                f"{kept} keeps {quote(names[2])} of all {quote(names[1])} before anything is trained: "
                f"{size(death.memory.missing_bytes or 0)} so far. A data set that reads an item when its batch is made "
                "needs the room of some batches. Bytes (uint8) need a quarter of float32."
            )
            form = _SNIPPETS["torch" if package == "torch" else "keras"]
            form = form if package == "torch" or code.imports("keras") else f"import keras\n\n{form}"
            before = _before(one, loop)
            body, inner = ("".join(f"\n{' ' * by}{line}" for line in before) for by in (8, 12))
            is_named = isinstance(rows, ast.Name | ast.Attribute | ast.Subscript)  # else it is made once, as a list
            form = form if is_named else "items = list({all_rows})\n\n" + form
            names.append(names[1] if is_named else "items")
            snippet = form.format(
                all_rows=names[1], target=names[0], rows=names[3], value=names[2], body=body, inner=inner
            )
            edits = read_when_asked(loop, one.scope, code) if isinstance(loop, ast.ListComp) else ()
            saves = (death.memory.missing_bytes or 0) * 7 // 10
            yield Proposal(edits, why, saves, snippet=None if edits else snippet)
            return


def _before(kept: Kept, loop: ast.For | ast.ListComp) -> list[str]:
    """Return the statements of a loop that come before the one that keeps the value."""
    store, body = kept.scope.statement_of(kept.value), loop.body if isinstance(loop, ast.For) else []
    before = body[: body.index(store)] if store in body else []
    return [kept.scope.segment(one) for one in before if one.lineno == one.end_lineno]


def _is_read(kept: Kept, death: Death) -> bool:
    """Whether a value comes from a function that reads, no table, and is not what a network gives."""
    parts = [one for one, _ in all_origins(kept.value, kept.scope, death.code, parts=True)]
    calls = [last_name(one.func) for one in parts if isinstance(one, ast.Call)]
    return any(map(_READS.fullmatch, calls)) and not any(map(_NOT_ITEMS.search, calls))
