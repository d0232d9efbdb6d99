import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Held, NamedObject

from ...analysis.growth import is_of_one_step
from ...code.origins import all_origins
from ...code.scopes import Scope
from ...code.stores import Store, stores
from ...code.trees import walk
from ...examples import MIB
from ...fix import Advice, Case, Death, Family
from ...frameworks.kept_rows import less_of_each
from ...frameworks.torch import Kind, Tensors
from ...postmortem import Grown
from ...units import quote, size

_LOOP = "rows = []\nwhile True:\n    rows.append(read())"
_ROWS = NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_HELD = [Held(-0.5, 1, (_ROWS,))]
_GRAPHS_HELD = [
    Held(-0.5, 1, (NamedObject("rows", "list", 9000, items=9000, grew_bytes=9000, items_before=0, with_graph=True),))
]


def _dict(items: str) -> list[Held]:
    return [Held(-0.5, 1, (replace(_ROWS, type="dict", item_type=items),))]


def _in_rounds(before: str, cell: str, *says: str) -> Case:
    return Case(before, cell, held=[Held(-0.5, 2, (_ROWS,))], says=says)


_NET = "import torch\nnet = torch.nn.Linear(9, 9)"
_CACHE = NamedObject("f", "functools._lru_cache_wrapper", 1600 * MIB, items=9, grew_bytes=1500 * MIB, items_before=0)

_ROUNDS = (
    "grew by {grew}{items} while the cell ran. Keep a number or a summary of each round, only the newest with "
    "`deque(maxlen={newest})`, or write the rows to a file every so often."
)
_DICT = "grew by {grew}{items} while the cell ran. Keep a number or a summary of each round, or only the newest."
_WRITE = (
    "from collections import deque\n\n{plain} = deque(maxlen={newest})  # keeps the newest\n\n"
    "# or write them out and begin anew:\nif len({plain}) >= 10_000:\n"
    "    with open('{file}.txt', 'a') as file:\n        print(*{plain}, sep='\\n', file=file)\n    {plain}.clear()"
)
_PICKLE = (
    "from collections import deque\n\n{plain} = deque(maxlen={newest})  # keeps the newest\n\n"
    "# or write them out and begin anew:\nimport pickle\n\nif len({plain}) >= {newest}:\n"
    "    with open('{file}.pickle', 'ab') as file:\n        pickle.dump({plain}, file)  # pickle.load: so many\n"
    "    {plain}.clear()"
)
_OLDEST = "if len({plain}) > {newest}:\n    del {plain}[next(iter({plain}))]  # forgets the oldest"
_OF_LISTS = "for kept in {plain}.values():\n    del kept[:-{newest}]  # keeps the newest of each list"
_GRAPHS = (
    "gained {count:,} tensors while the cell ran, each with all that it was worked out from. Empty it when "
    "`backward()` has run; what is only looked at later can be kept as `tensor.detach()`."
)
_CLEAR = "{plain}.clear()  # after backward() and step(): the next pass begins with what comes from now on"
_TENSORS = (
    "grew by {grew}{items} while the cell ran. Keep of each round only what is read later: a mean, the class of the "
    "highest score, half as many digits. Or write the values to a file, which `mmap_mode='r'` opens without reading it."
)
_ENTRIES = (
    "grew by {grew}{items} while the cell ran. Keep the numbers and classes of each round; networks, optimizers and "
    "what a network gave belong in files."
)
_LARGE = (
    "\n\n# what is large, into a file of each round:\n"
    "torch.save(model.state_dict(), f'model-{i}.pt')  # Keras: model.save; arrays: np.save"
)
_FEW, _NEWEST = 8, 1000
_NAME = re.compile(r"\w+(?:(?:\[\d+\])?\.\w+)*")  # `callbacks[0].seen`, too
_GRADIENTS = re.compile(r"\.gradient\(|autograd\.grad\(|\bgrads?\b|gradients")
_SUMS = (
    "grew by {grew}{items} while the cell ran. Their mean needs only their sum, which is as large as those of one step."
)
_SUM = (
    "total, steps = None, 0  # before the loop, in place of {plain}\n\ngrads = {value}  # in it\n"
    "total = list(grads) if total is None else [old + new for old, new in zip(total, grads)]\nsteps += 1\n\n"
    "mean_grads = [one / steps for one in total]  # behind it"
)
_MODELS = re.compile(r"torch\.optim|keras.{0,99}?(Sequential|Model)$|state_dict|deepcopy")
_SCORES = re.compile("logit|prob|score|pred")
_SMALLER = (
    "small = {value}.{number}  # keep this in {plain}, or .argmax(-1), or as float16\n\n"
    "# or a file for each round, which np.load(..., mmap_mode='r') opens:\n"
    "np.save(f'part-{{i}}.npy', {value}{array})  # i: the number of the round"
)
_FORMS = {
    "torch": ("mean().item()", ".detach().cpu().numpy()"),
    "tensorflow": ("numpy().mean()", ".numpy()"),
    "numpy": ("mean()", ""),
}


class BoundGrowingContainer(Advice):
    """Write out what a loop keeps, or keep only the newest.

    What it does: A list that gets longer in each round of a long loop fills any memory. `deque(maxlen=n)` keeps the
    newest n; a file keeps all of them outside of memory; a sum, a count or a summary for each round is often all that
    is needed.

    When it is offered: Memory ran out little by little, and the recording shows which list, dict or set had grown by
    how much, or by how many tensors with their graphs.

    What it costs: What is not kept is gone, or has to be read again from the file.
    """

    id, title, causes = "bound-growing-container", "Keep less of each round, or write it to a file", (Family.MEMORY,)
    unless_offered = frozenset(
        {
            *("append-to-the-list-you-iterate", "close-figures", "detach-accumulated-loss", "drop-kept-tape"),
            *("detach-collected-outputs", "keep-fewer-steps", "no-grad-evaluation", "hold-fewer-items"),
            *("bound-the-queue", "read-less-in-a-module", "remove-hooks", "return-numbers"),
        }
    )
    headline = "Keep less in {name} of each round, or write it to a file"
    why = "{told}"
    snippet = "{code_}"

    FIRES = [
        Case(_LOOP, held=_HELD, says=("by 9,000 items", "rows = deque(maxlen=1000)")),
        Case(_LOOP, held=[Held(-0.5, 1, (replace(_ROWS, item_type="pandas.DataFrame"),))], says=("pickle.dump(rows,",)),
        Case(_LOOP, held=[Held(-0.5, 1, (replace(_ROWS, items=30),))], says=("deque(maxlen=10)",)),  # of 50 MiB each
        Case(
            "import csv\nrows = []\nfor row in csv.DictReader(f):\n    rows.append(row)",
            held=[Held(-0.5, 1, (replace(_ROWS, item_type="dict"),))],
            says=("rows.append((row['a'], row['b']))", "yield row"),
        ),
        Case(
            "rows = []\nwhile True:\n    rows.append((u.copy(), v.copy()))",
            held=[Held(-0.5, 1, (replace(_ROWS, item_type="tuple"),))],
            says=("step % 10", "open_memmap"),
        ),
        Case(
            "rows = []\nfor p in pairs:\n    rows.append(score(p))\nrows.sort(key=cost)\nprint(rows[:10])",
            held=_HELD,
            says=("yield score(p)", "heapq.nsmallest(10, items(), key=cost)"),
        ),
        Case(_LOOP, held=_GRAPHS_HELD, says=("9,000 tensors", "rows.clear()")),
        Case("while True:\n    rows[key()] = read()", held=_dict("object"), says=("del rows[next(iter(rows))]",)),
        Case("while True:\n    rows['x'].append(read())", held=_dict("list"), says=("del kept[:-1000]",)),
        _in_rounds(
            "import tensorflow as tf",
            "rows = []\nfor x in xs:\n    rows.append(tape.gradient(loss, model.trainable_variables))",
            *("grads = tape.gradient(loss", "total"),
        ),
        _in_rounds(
            _NET,
            "rows = []\nfor x in xs:\n    with torch.no_grad():\n        rows.append(net(x))",
            *("small = net(x).mean().item()", "net(x).detach().cpu().numpy()"),
        ),
        _in_rounds(
            _NET,
            "rows = []\nfor x in xs:\n    rows.append(net(x).detach().clone())",
            *("net(x).detach().clone().cpu().numpy()", ".argmax(-1)"),
        ),
        _in_rounds(
            _NET + "\nrows = {}",
            "for k in range(9000):\n    rows[k] = {'net': net, 'loss': 1.5, 'p': probs}",
            "rows[k] = {'loss': 1.5, 'p': probs.argmax(-1)}",
        ),
    ]
    SILENT = [
        Case(_LOOP, held=[Held(-0.5, 1, (_CACHE,))]),
        Case(_LOOP),
        Case("x = [0] * 10**10"),
        Case(_LOOP, held=_HELD, cause="segfault"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the container that grew."""
        one = death.growth.container
        if one is None or not _NAME.fullmatch(one.name):
            return None
        if (one.type or "").startswith("functools."):
            return None  # the cache of a function: `bound-function-cache`
        grew = one.grew_bytes or one.bytes or 0
        gained = death.growth.items_gained(one)
        is_local = f"{one.where}".startswith("local of")
        if one.with_graph and is_local and (gained < _FEW or is_of_one_step(one)):
            return None
        items = f", by {gained:,} items" if gained > 1 else ""
        told, code = (_GRAPHS, _CLEAR) if one.with_graph else (_ROUNDS, _WRITE)
        if not one.with_graph and "." in (one.item_type or ""):
            code = _PICKLE  # of no builtin type: its text may not say all
        newest = _fitting(death, grew, gained)
        names = {"plain": one.name, "file": one.name.rpartition(".")[2], "newest": str(newest)}
        if not one.with_graph and one.type in ("dict", "defaultdict", "collections.defaultdict"):
            told, code = _DICT, _OF_LISTS if one.item_type == "list" else _OLDEST
            if code == _OF_LISTS and gained < _FEW:  # how many items its lists have is not known
                names["newest"] = str(_NEWEST // 10)
        special = None if one.with_graph else _of_what_is_kept(death, one)
        if special is not None:
            told, code = special[0] or told, special[1]
            names |= special[2]
        told = f"{quote(one.name)} {told.format(grew=size(grew), items=items, count=gained, newest=newest)}"
        return {"name": quote(one.name), "told": told, "code_": code.format(**names)}

    def saves(self, death: Death) -> int | None:
        """Count what it grew by."""
        one = death.growth.container
        if one is None or not death.memory.grew_here:
            return None
        return death.memory.ramp_bytes * 8 // 10 if one.with_graph else one.grew_bytes or one.bytes


def _of_what_is_kept(death: Death, one: Grown) -> tuple[str, str, dict[str, str]] | None:
    """Return what is told of gradients, arrays, dicts and the like, "" for as always, the code, and what it names."""
    if (gradients := _gradients(death, one)) is not None:
        return _SUMS, _SUM, {"value": gradients}
    if (array := _array(death, one)) is not None:
        return _TENSORS, _SMALLER, dict(zip(("value", "number", "array"), array, strict=True))
    if (less := less_of_each(_stores(death, one), one.item_type)) is not None:
        return "", "{less}", {"less": less}
    entries = _smaller_entries(death, one)
    return None if entries is None else (_ENTRIES, "{entries}", {"entries": entries})


def _fitting(death: Death, grew: int, gained: int) -> int:
    """Return how many items to keep: those that fit into half of the room, and a thousand at most."""
    fit = (death.safe_headroom_bytes or 0) // 2 * gained // grew if gained > 1 and grew else _NEWEST
    digit = 10 ** (len(str(fit)) - 1)
    return _NEWEST if fit >= _NEWEST or not death.safe_headroom_bytes else max(1, fit // digit * digit)


def _stores(death: Death, container: Grown) -> Iterator[Store]:
    """Yield the statements that put something into a container."""
    name = container.name.rpartition(".")[2]
    return (one for one in stores(death.code.running) if one.container.rpartition(".")[2] == name)


def _smaller_entries(death: Death, container: Grown) -> str | None:
    """Return the statement that keeps a dict of each round, with numbers and classes in place of what is large."""
    tensors = Tensors(death.code)
    for store in _stores(death, container):
        match store.values:
            case [ast.Dict(keys=keys, values=values) as entry] if all(isinstance(one, ast.Constant) for one in keys):
                segment, kept = store.scope.segment, []
                for key, value in zip(keys, values, strict=True):
                    if _is_model(value, store.scope, tensors):
                        continue
                    text = segment(value)
                    scores = isinstance(value, ast.Name) and _SCORES.search(text)
                    less_of = ".argmax(-1)" if scores else ".half()" if text.endswith((".cpu()", ".detach()")) else ""
                    kept.append(f"{segment(key) if key else ''}: {text}{less_of}")
                less = "{" + ", ".join(kept) + "}"
                if kept and (len(kept) < len(keys) or "argmax" in less or ".half()" in less):
                    note = "# half the bytes; of masks, (mask > 0.5) has a quarter\n" if ".half()" in less else ""
                    large = _LARGE if len(kept) < len(keys) else ""
                    return note + segment(store.statement).replace(segment(entry), less) + large
    return None


def _is_model(value: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a value is a network or its optimizer."""
    made = [one.func for one, _ in all_origins(value, scope, tensors.code) if isinstance(one, ast.Call)]
    names = (tensors.code.qualified(one, scope) or "" for one in made)
    return tensors.kind(value, scope) is Kind.MODULE or any(_MODELS.search(name) for name in names)


def _gradients(death: Death, container: Grown) -> str | None:
    """Return the text of the gradients that are put into a container: a list with one for each variable."""
    for store in _stores(death, container):
        if len(store.values) == 1:
            text = store.scope.segment(store.values[0])
            is_list = container.item_type in ("list", "tuple", None) and "dict" not in (container.type or "")
            return text if is_list and _GRADIENTS.search(text) and "item()" not in text else None
    return None


def _array(death: Death, container: Grown) -> tuple[str, str, str] | None:
    """Return the text of the array that is put into a container, a number of it, and what makes it NumPy's."""
    tensors, package = Tensors(death.code), (container.item_type or "").partition(".")[0]
    for store in _stores(death, container):
        if len(store.values) == 1:
            value = store.values[0]
            is_copy = any(getattr(one, "attr", "") in ("detach", "clone") for one in walk(value))
            is_tensor = is_copy or tensors.kind(value, store.scope) in (Kind.TENSOR, Kind.GRAPH)
            of_torch = tensors.in_use and is_tensor
            if (of_torch or package in _FORMS) and isinstance(value, ast.Name | ast.Attribute | ast.Call):
                text, (number, array) = store.scope.segment(value), _FORMS["torch" if of_torch else package]
                return text, number, array.removeprefix(".detach()") if ".detach()" in text else array
    return None
