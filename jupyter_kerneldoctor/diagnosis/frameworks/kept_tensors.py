"""What a training loop puts into a container of each round, and how less is kept: of gradients, arrays and networks."""

import ast
import re
from collections.abc import Sequence

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import Origins, all_origins
from ..code.scopes import Scope
from ..code.stores import Store, container_name
from ..code.trees import walk
from ..postmortem import Grown
from .kept_rows import Less
from .torch import Kind, Tensors

_GRADIENTS = re.compile(r"\.gradient\(|autograd\.grad\(|\bgrads?\b|gradients")
_MODELS = re.compile(r"torch\.optim|keras.{0,99}?(Sequential|Model)$|state_dict|deepcopy")
_VARIES = ("albumentations.", "torchvision.transforms.", "imgaug.", "audiomentations.", "torch_audiomentations.")
_SCORES = re.compile("logit|prob|score|pred")
_FORMS = {
    "torch": ("mean().item()", ".detach().cpu().numpy()", "byte()"),
    "tensorflow": ("numpy().mean()", ".numpy()", "numpy().astype('uint8')"),
    "numpy": ("mean()", "", "astype('uint8')"),
}
_SUMS = "Their mean needs only their sum, which is as large as those of one step."
_SUM = (
    "total, steps = None, 0  # before the loop, in place of {plain}\n\ngrads = {value}  # in it\n"
    "total = list(grads) if total is None else [old + new for old, new in zip(total, grads)]\nsteps += 1\n\n"
    "mean_grads = [one / steps for one in total]  # behind it"
)
_ARRAYS = (
    "Keep of each round only what is read later: a mean, the class of the highest score, half as many digits. Or write "
    "the values to a file, which `mmap_mode='r'` opens without reading it."
)
_SMALLER = (
    "small = {value}.{number}  # keep this in {plain}, or .argmax(-1), or as float16\n"
    "few = ({value} * 255).{byte}  # pictures: a byte for a dot, and only if len({plain}) < 20\n\n"
    "# or a file for each round, which np.load(..., mmap_mode='r') opens:\n"
    "np.save(f'part-{{i}}.npy', {value}{array})  # i: the number of the round"
)
_SCORED = Less(
    "value = {metric}(labels, scores)  # of each batch or picture by itself: keep this number, and take their mean\n\n"
    "counts = np.zeros((2, 256), 'int64')  # or of all: how many scores of each class fall into each of 256 bins\n"
    "np.add.at(counts, (labels, (scores * 255).astype(int)), 1)  # in the loop: 4 KB, however many come",
    "Score each batch by itself, or count the scores in bins",
    "All scores are kept, to be scored together. A mean over batches, or counts in bins, say nearly the same.",
)
_DRAWS = ("sample", "choices", "choice")
_DRAWN = "Samples are drawn from it: the newest are enough, and pictures fit into a byte for a dot."
_REPLAY = (
    "from collections import deque\n\n{plain} = deque(maxlen=10_000)  # when it is made: the oldest go\n"
    "state = (255 * state).astype('uint8')  # of pictures, a quarter; as numbers again in the batch that is drawn"
)
_MADE = "yield {value}  # no list: each is made when it is needed, batch by batch; or in a Dataset's __getitem__\n\n"
_WEIGHTS = (
    "{owner}.save_weights(f'round-{{n}}.weights.h5')  # n: the number of the round; no list in memory\n\n"
    "norms = [float(np.linalg.norm(one)) for one in {owner}.get_weights()]  # or keep a number of each array"
)
_OF_WEIGHTS = (
    "Each round keeps a copy of all weights. They fit into files; a number of each array shows how it changes."
)
_ENTRIES = "Keep the numbers and classes of each round; networks, optimizers and what a network gave belong in files."
_LARGE = (
    "\n\n# what is large, into a file of each round:\n"
    "torch.save(model.state_dict(), f'model-{i}.pt')  # Keras: model.save; arrays: np.save"
)


def less_of_tensors(kept: Sequence[Store], container: Grown, code: Notebook) -> Less | None:
    """Return how less is kept of tensors, arrays and networks; None where none are put in."""
    if (weights := next((one for one in kept if _gives_weights(one)), None)) is not None:
        owner = weights.scope.segment(weights.values[0]).removesuffix(".get_weights()")
        return Less(_WEIGHTS.format(owner=owner), "Write the weights of each round to a file", _OF_WEIGHTS)
    if _is_drawn_from(container.name, code):
        return Less(_REPLAY.format(plain=container.name), told=_DRAWN)
    if (metric := _metric(container.name, code)) is not None:
        return _SCORED._replace(code=_SCORED.code.format(metric=metric))
    single = next((one for one in kept if len(one.values) == 1), None)
    if single is not None and _is_gradients(single, container):
        value = single.scope.segment(single.values[0])
        return Less(_SUM.format(plain=container.name, value=value), told=_SUMS)
    for store in kept:
        if (names := _array(store, container, code)) is not None:
            own = _MADE.format(**names) if _is_made_here(store, code) else ""
            return Less(own + _SMALLER.format(plain=container.name, **names), told=_ARRAYS)
    entries = (_smaller_entry(store, Tensors(code)) for store in kept)
    return next((Less(one, told=_ENTRIES) for one in entries if one is not None), None)


def _gives_weights(store: Store) -> bool:
    """Whether all weights of a network of Keras are put in: `self.model.get_weights()`."""
    return len(store.values) == 1 and store.scope.segment(store.values[0]).endswith(".get_weights()")


def _is_drawn_from(name: str, code: Notebook) -> bool:
    """Whether a sample of the container is drawn, as of the memory of an agent."""
    for scope in code.scopes_mentioning(*_DRAWS):
        for call in scope.calls:
            drawn = container_name(call.args[0]) if last_name(call.func) in _DRAWS and call.args else ""
            if drawn and drawn.rpartition(".")[2] == name.rpartition(".")[2]:  # `self.buffer` of `memory.buffer`
                return True
    return False


def _metric(name: str, code: Notebook) -> str | None:
    """Return the metric of scikit-learn that is given the scores of a list, all at once."""
    for call in code.calls("sklearn.metrics.*"):
        words = {container_name(one) for given in call.node.args for one in walk(given) if isinstance(one, ast.Name)}
        if name in words:
            return call.scope.segment(call.node.func)
    return None


def _is_made_here(store: Store, code: Notebook) -> bool:
    """Whether what is kept is made from what is there anyway: by the user's function, or as a variant of it."""
    value = store.values[0]
    while isinstance(value, ast.Subscript):
        value = value.value
    made = all_origins(value.func, store.scope, code) if isinstance(value, ast.Call) else []
    names = (code.qualified(one.func, where) or "" for one, where in made if isinstance(one, ast.Call))
    is_own = isinstance(value, ast.Call) and Origins(code).called(value.func, store.scope) is not None
    return is_own or any(one.startswith(_VARIES) for one in names)


def _is_gradients(store: Store, container: Grown) -> bool:
    """Whether gradients are put into a list, with one for each variable."""
    text = store.scope.segment(store.values[0])
    is_list = container.item_type in ("list", "tuple", None) and "dict" not in (container.type or "")
    return bool(is_list and _GRADIENTS.search(text) and "item()" not in text)


def _array(store: Store, container: Grown, code: Notebook) -> dict[str, str] | None:
    """Return the text of the array that is put into a container, a number of it, and what makes it NumPy's."""
    tensors, package = Tensors(code), (container.item_type or "").partition(".")[0]
    if len(store.values) != 1 or package == "transformers":
        return None  # what it gives is no tensor, but holds some
    value = store.values[0]
    if isinstance(value, ast.Tuple | ast.List):  # the first tensor stands for all
        found = (one for one in value.elts if tensors.kind(one, store.scope) in (Kind.TENSOR, Kind.GRAPH))
        value = next(found, value)
    is_copy = any(getattr(one, "attr", "") in ("detach", "clone") for one in walk(value))
    is_tensor = is_copy or tensors.kind(value, store.scope) in (Kind.TENSOR, Kind.GRAPH)
    of_torch = tensors.in_use and is_tensor
    if not (of_torch or package in _FORMS) or not isinstance(
        value, ast.Name | ast.Attribute | ast.Call | ast.Subscript
    ):
        return None
    text, (number, array, byte) = store.scope.segment(value), _FORMS["torch" if of_torch else package]
    array = array.removeprefix(".detach()") if ".detach()" in text else array
    return {"value": text, "number": number, "array": array, "byte": byte}


def _smaller_entry(store: Store, tensors: Tensors) -> str | None:
    """Return the statement that keeps a dict of each round, with numbers and classes in place of what is large."""
    match store.values:
        case [ast.Dict(keys=keys, values=values) as entry] if all(isinstance(one, ast.Constant) for one in keys):
            pass
        case _:
            return None
    segment, kept = store.scope.segment, []
    for key, value in zip(keys, values, strict=True):
        if _is_model(value, store.scope, tensors):
            continue
        text = segment(value)
        scores = isinstance(value, ast.Name) and _SCORES.search(text)
        less_of = ".argmax(-1)" if scores else ".half()" if text.endswith((".cpu()", ".detach()")) else ""
        kept.append(f"{segment(key) if key else ''}: {text}{less_of}")
    less = "{" + ", ".join(kept) + "}"
    if not kept or not (len(kept) < len(keys) or "argmax" in less or ".half()" in less):
        return None
    note = "# half the bytes; of masks, (mask > 0.5) has a quarter\n" if ".half()" in less else ""
    return note + segment(store.statement).replace(segment(entry), less) + (_LARGE if len(kept) < len(keys) else "")


def _is_model(value: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a value is a network or its optimizer."""
    made = [one.func for one, _ in all_origins(value, scope, tensors.code) if isinstance(one, ast.Call)]
    names = (tensors.code.qualified(one, scope) or "" for one in made)
    return tensors.kind(value, scope) is Kind.MODULE or any(_MODELS.search(name) for name in names)
