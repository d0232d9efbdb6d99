import ast
import re
from dataclasses import replace
from textwrap import indent

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import last_name, plain_names
from ...code.origins import all_origins
from ...code.stores import Store, stores
from ...code.trees import walk
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.torch import Kind, Tensors

_FRAMEWORKS = ("torch", "tensorflow", "keras", "gensim")
_ARRAYS = ("numpy.ndarray", "torch.Tensor", "PIL.Image.Image", "list", "tuple")
_RESULTS = re.compile("predict|encode|embed|generate|step|reset|forward|loss|grad|backward|item|score|metric")
_FEW = 20
_SNIPPETS = {
    "torch": (
        "class Items(torch.utils.data.Dataset):\n    def __len__(self):\n        return len({rows})\n"
        "    def __getitem__(self, i):  # makes it when a batch asks for it\n{bound}        return {value}\n\n"
        "loader = torch.utils.data.DataLoader(Items(), batch_size=32, shuffle=True)"
    ),
    "keras": (
        "class Batches(keras.utils.PyDataset):  # or a generator that yields batches\n"
        "    def __len__(self):\n        return len({rows}) // 32\n"
        "    def __getitem__(self, i):  # makes a batch when it is asked for\n        x = []\n"
        "        for {target} in {each}:\n{inner}            x.append({value})\n"
        "        return np.stack(x), labels[i * 32 : i * 32 + 32]"
    ),
}
_GENSIM = (
    "class Items:\n    def __iter__(self):  # is gone through again in each epoch\n        for {target} in {rows}:\n"
    "            yield {value}\n\nmodel = Word2Vec(Items())  # in place of the list; min_count=5 leaves rare words out"
)
_SMALLER = "\n\n# or keep them small: uint8 takes an eighth of float64; scale a batch at a time"
_MADE = NamedObject(
    "made", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0, item_type="numpy.ndarray"
)
_TURNED = "for pic, kind in zip(pics, kinds):\n    for one in turned(pic):\n        made.append(one / 255)"


class MakeItemsOnDemand(Fix):
    """Make an item when a batch asks for it, not all before the training.

    What it does: A list of all windows, augmented pictures or encoded texts holds what can be made again of much less:
    of the rows that it is made of. A `Dataset` or a generator makes the items of a batch, and forgets them.

    When it is offered: Memory ran out while a loop over data filled a list with arrays that it worked out, in a
    notebook that trains with PyTorch or Keras.

    What it costs: Items are made again in each epoch; workers of a loader do that beside the training.
    """

    id, title, causes = "make-items-on-demand", "Make each item when it is needed: __getitem__", (Family.MEMORY,)
    broad, unless_offered = True, frozenset({"load-items-on-demand", "windows-as-view", "stream-dataset"})

    FIRES = [
        Case("import keras\nmade = []", _TURNED, grew=_MADE, says=("for pic in pics[i * 32", "x.append(one / 255)")),
        Case(
            "import torch\nmade = []",
            "for i in range(len(text)):\n    made.append(code(text[i : i + 256]))",
            grew=_MADE,
            says=("return len(text)", "return code(text[i : i + 256])"),
        ),
        Case(
            "from gensim.models import Word2Vec\nmade = []",
            "for line in open('a.txt'):\n    made.append(line.split())",
            grew=replace(_MADE, item_type="list"),
            says=("for line in open('a.txt'):", "yield line.split()"),
        ),
        Case(
            "import keras\nmade = []",
            "for x, y in pics.flow(X, batch_size=64):\n    made.append(x)",
            grew=_MADE,
            says=("model.fit(pics.flow(X, batch_size=64)",),
        ),
    ]
    SILENT = [
        Case("made = []", _TURNED, grew=_MADE),  # nothing is trained
        Case("import keras\nmade = []", "for x in xs:\n    made.append(net.predict(x))", grew=_MADE),
        Case("import torch\nmade = []", "for t in range(900):\n    x = x + f(x)\n    made.append(x)", grew=_MADE),
        Case("import torch\nmade = []", "for t in range(900):\n    made.append(env.step(0))", grew=_MADE),
        Case("import keras\npics = gen.flow(X)\nmade = []", _TURNED.replace("zip(pics, kinds)", "pics"), grew=_MADE),
        Case("import torch\nmade = []", _TURNED, grew=_MADE, cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, code = death.growth.container, death.code
        package = next((one for one in _FRAMEWORKS if code.imports(one)), None)
        if package is None or container is None or container.with_graph or container.item_type not in _ARRAYS:
            return
        name, gained = container.name.rpartition(".")[2], death.growth.items_gained(container)
        for store in stores(code.running) if gained >= _FEW else ():
            if store.container.rpartition(".")[2] != name or len(store.values) != 1:
                continue
            loops = [one for one in store.scope.loops_around(store.statement) if isinstance(one, ast.For)]
            segment = store.scope.segment
            match loops[-1:]:
                case [ast.For(iter=ast.Call(func=ast.Attribute(attr=method)) as flow)] if method.startswith("flow"):
                    why = f"{quote(container.name)} keeps the batches that {quote(segment(flow))} makes. It makes new "
                    why += "ones for ever: the loop needs a `break`, and `fit` takes the generator itself."
                    snippet = (
                        f"model.fit({segment(flow)}, epochs=10)  # other variants in each epoch, and no list of them"
                    )
                    title = "Give the generator itself to fit: it makes one batch after the other"
                    yield Proposal((), why, (container.grew_bytes or 0) * 7 // 10, title, snippet)
                    return
            if not loops or not _is_made_of_rows(store, loops, death):
                continue
            target, rows = _rows(loops[-1])
            if rows is None or _is_of_batches(rows, store, death):
                continue
            value = " ".join(segment(store.values[0]).split())
            names = {"target": segment(target), "rows": segment(rows), "value": value}
            is_counted = isinstance(loops[-1].iter, ast.Call) and last_name(loops[-1].iter.func) == "range"
            inner = "".join(
                f"{segment(one.target)} = random.choice({segment(one.iter)})  # one at random, another in each epoch\n"
                for one in loops[-2::-1]
            )
            bound = f"{segment(target)} = i\n" if is_counted else f"{segment(target)} = {segment(rows)}[i]\n"
            bound = "" if bound == "i = i\n" else bound
            each = "range(i * 32, i * 32 + 32)" if is_counted else f"{segment(rows)}[i * 32 : i * 32 + 32]"
            names |= {"bound": indent(bound + inner, " " * 8), "inner": indent(inner, " " * 12), "each": each}
            why = (
                f"{quote(container.name)} grew by {size(container.grew_bytes or 0)}, with {quote(value)} of all of "
                f"{quote(names['rows'])}, before anything is trained. A data set that makes an item when its batch "
                "asks for it needs the room of some batches."
            )
            form = _GENSIM if package == "gensim" else _SNIPPETS["torch" if package == "torch" else "keras"] + _SMALLER
            snippet = form.format(**names)
            yield Proposal((), why, (container.grew_bytes or 0) * 7 // 10, snippet=snippet)
            return


def _rows(loop: ast.For) -> tuple[ast.expr, ast.expr | None]:
    """Return what a loop calls an item, and the data that it goes through: `x`, `xs` of `for i, x in enumerate(xs)`."""
    match loop.target, loop.iter:
        case ast.Tuple(elts=[*_, target]), ast.Call(func=ast.Name(id="enumerate"), args=[rows, *_]):
            return target, rows
        case ast.Tuple(elts=[target, *_]), ast.Call(func=ast.Name(id="zip"), args=[rows, *_]):
            return target, rows
        case target, ast.Call(func=ast.Name(id="range"), args=[*_]):
            lengths = (one for one in walk(loop.iter) if isinstance(one, ast.Call) and last_name(one.func) == "len")
            return target, next((one.args[0] for one in lengths if one.args), None)
        case target, ast.Call(func=function, args=[rows, *_]) if last_name(function) in ("tqdm", "sorted", "list"):
            return target, rows
        case target, ast.Call(func=ast.Name(id="open")) as rows:
            return target, rows
        case target, (ast.Name() | ast.Attribute() | ast.Subscript()) as rows:
            return target, rows
    return loop.target, None


def _is_of_batches(rows: ast.expr, store: Store, death: Death) -> bool:
    """Whether a loop goes through what makes batches already."""
    made = [one for one, _ in all_origins(rows, store.scope, death.code) if isinstance(one, ast.Call)]
    return any(re.search("flow|[lL]oader|[gG]enerator|Dataset|iter", last_name(one.func)) for one in made)


def _is_made_of_rows(store: Store, loops: list[ast.For], death: Death) -> bool:
    """Whether a value is worked out of an item of the data alone: no result of a network, no state that goes on."""
    scope, tensors = store.scope, Tensors(death.code)
    if any(isinstance(one, ast.With) for one in scope.around(store.statement)):
        return False  # no_grad: what networks give
    parts = [(one, where) for one, where in all_origins(store.values[0], scope, death.code, parts=True)]
    for one, where in parts:
        if isinstance(one, ast.Call) and (
            _RESULTS.search(last_name(one.func)) or tensors.kind(one.func, where) is Kind.MODULE
        ):
            return False
    for node in scope.inside(loops[-1]):
        if isinstance(node, ast.Assign | ast.AugAssign):
            bound = plain_names(*(node.targets if isinstance(node, ast.Assign) else [node.target]))
            goes_on = bound & plain_names(node.value) or isinstance(node, ast.AugAssign)
            if goes_on and bound & plain_names(store.values[0]):
                return False
    return True
