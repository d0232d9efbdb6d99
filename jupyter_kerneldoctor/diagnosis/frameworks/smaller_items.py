"""What an item of a container is, by its recorded type and by the code that makes it, and forms that take less."""

import ast
import re

from ..code.arrays import Value
from ..code.calls import last_name, plain_names
from ..code.dtypes import ITEM_BYTES
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from . import item_forms
from .item_forms import Form, Item, Smaller, parts_of
from .kept_items import KeptItem
from .loop_items import begins_at, column_of_table, combination, row_of_table
from .torch import Kind, Tensors

_PICTURES = re.compile(r"imread|Image\.open|load_img|img_to_array|to_pil|cv2\.|skimage\.|decode_|VideoCapture|rotate")
_AS_BYTES = re.compile(r"cv2\.(?:imread|cvtColor|resize)$|imageio\.imread$|VideoCapture")
_MADE_EMPTY = ("zeros", "zeros_like", "empty", "full", "eye")
_ARRAYS = ("numpy", "torch", "tensorflow", "cv2", "skimage", "scipy", "librosa", "jax")
_TEXTS = frozenset(("split", "rsplit", "splitlines", "findall", "word_tokenize", "tokenize", "ngrams", "join", "read"))
_COUNTS = frozenset(("range", "int", "float", "ord", "round", "randint", "random", "tolist", "uniform", "gauss", "len"))
_NUMBERS = ("item", "tolist", "mean", "sum", "max", "min", "std", "len", "float", "int", "join", "shape")
_ESTIMATORS = re.compile(
    r"^torch\.(?!Tensor)|^keras|^sklearn|^xgboost|^lightgbm|^statsmodels|(?:Model|Classifier|Regressor)$"
)
_OUTPUTS = {"BaseModelOutput": "last_hidden_state", "Generate": "sequences", "Output": "logits"}
"""By a word in the name of what a network of transformers gives, the part of it that is mostly read."""
_LONG_TEXT = 1000  # bytes


def smaller(
    kept: KeptItem, item_type: str | None, code: Notebook, value: Value | None, each_bytes: int | None = None
) -> Smaller | None:
    """Return smaller forms of what is kept; None where it is not known what that is, or it is small already.

    `value` is what is known of the item; of a tuple or a dict, of the part that takes the room.
    """
    parts, type_ = parts_of(kept.value), item_type or ""
    arrays = [one for one in parts if package_of(one, kept.scope, code)]
    tensors = Tensors(code)
    part = next((one for one in arrays if not tensors.is_scalar(one, kept.scope)), (*arrays, kept.value)[0])
    item = Item(kept, part, code, value)
    if (found := _of_the_loop(item)) is not None:
        return found
    model = next((one for one in parts if _is_estimator(one, kept.scope, code)), None)
    if model is not None or (type_ != "torch.Tensor" and _ESTIMATORS.search(type_)):
        return Item(kept, model or part, code, value).as_told(item_forms.MODEL)
    if type_ == "pandas.DataFrame":
        return _table(item)
    if (plain := _BY_TYPE.get(type_)) is not None:
        is_long = type_ == "str" and (each_bytes or 0) > _LONG_TEXT
        return item.as_told(item_forms.LONG_TEXT if is_long else plain)
    if type_.startswith("transformers."):
        name = next((name for word, name in _OUTPUTS.items() if word in type_), None)
        return None if name is None else item.as_told(item_forms.OUTPUT, field=name)
    package = type_.partition(".")[0] if part is kept.value else ""
    package = package if package in _ARRAYS else package_of(part, kept.scope, code)
    if package:
        return _array(item, package)
    return _list(item) if type_ in ("list", "tuple", "") and not isinstance(part, ast.Dict) else None


def _of_the_loop(item: Item) -> Smaller | None:
    return begins_at(item) or row_of_table(item) or combination(item) or column_of_table(item)


def package_of(part: ast.expr, scope: Scope, code: Notebook) -> str:
    """Return whose array an expression surely is: "numpy", "torch"; "" for another or an unknown value."""
    for one, where in all_origins(part, scope, code):
        if not isinstance(one, ast.Call):
            continue
        last, package = last_name(one.func), (code.qualified(one.func, where) or "").partition(".")[0]
        if last in ("item", "tolist", "mean", "sum", "max", "min", "std", "len", "float", "int", "join", "shape"):
            return ""
        if last in ("numpy", "astype", "to_numpy", "predict"):
            return "numpy"
        if package in _ARRAYS:
            return package if package in ("torch", "tensorflow") else "numpy"
    kind = Tensors(code).kind(part, scope) if code.imports("torch") else Kind.OTHER
    return "torch" if kind in (Kind.TENSOR, Kind.GRAPH) else ""


def _is_estimator(part: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether an expression surely is a model of a library: `RandomForestRegressor(...).fit(X, y)`."""
    if not isinstance(part, ast.Name) and not (isinstance(part, ast.Call) and last_name(part.func) == "fit"):
        return False
    made = [(one, where) for one, where in all_origins(part, scope, code) if isinstance(one, ast.Call)]
    names = [code.qualified(one.func, where) or "" for one, where in made if last_name(one.func) != "fit"]
    return bool(names) and _ESTIMATORS.search(names[-1]) is not None and last_name(made[-1][0].func)[:1].isupper()


def _table(item: Item) -> Smaller:
    """Tell of tables, with a name for each."""
    if isinstance(item.part, ast.Name):
        return item.as_told(item_forms.TABLE)
    found = item.as_told(item_forms.TABLE, part="part")
    return found._replace(forms=(Form(f"part = {item.kept.text(item.part)}", "each table"), *found.forms))


def _is_zero_one(item: Item) -> bool:
    """Whether only 0 and 1 are written into an array that was made of zeros."""
    name = getattr(item.part, "id", None)
    is_new = any(isinstance(one, ast.Call) and last_name(one.func) in _MADE_EMPTY for one, _ in item.origins())
    written = [
        one.value
        for one in item.kept.scope.nodes
        if isinstance(one, ast.Assign | ast.AugAssign)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Subscript) and name in plain_names(target.value)
    ]
    return is_new and bool(written) and all(isinstance(one, ast.Constant) and one.value in (0, 1) for one in written)


def _array(item: Item, package: str) -> Smaller | None:
    """Tell of arrays and tensors: half the digits, a byte for what needs no more, fewer points."""
    dtype, shape = (None, ()) if item.value is None else (item.value.dtype, item.value.shape)
    names = [name for _, name in item.origins()]
    usual = 4 if package != "numpy" else 8
    width = 1 if any(map(_AS_BYTES.search, names[:1])) else ITEM_BYTES.get(dtype or "", usual)
    axes = max(1, min(2, len(shape)))
    few = item.put(f"{item.text}[{', '.join(['::2'] * axes)}]")
    every = Form(few, "every second point, where that is fine enough; or resize it", 0.5**axes)
    if width == 1:
        each = Form("if i % 10 == 0:\n    " + item.put(item.text), "i: the number of the round", 0.1)
        return Smaller(
            "Keep fewer of them, or every second point of each",
            "Each point takes a byte or three already.",
            (every, each),
        )
    cast = {"torch": "{0}.to(torch.{1})", "tensorflow": "tf.cast({0}, tf.{1})"}.get(package, "{0}.astype('{1}')")
    if _is_zero_one(item):
        found = item.as_told(item_forms.BITS, bool=cast.format(item.text, "bool"))
        return found._replace(forms=tuple(one._replace(share=1 / width) for one in found.forms))
    small = "float16" if width <= 4 else "float32"
    half = Form(item.put(cast.format(item.text, small)), "half the bytes of each number", 0.5)
    byte = Form(
        item.put(cast.format(item.text, "uint8")),
        "0 to 255: pictures, masks, classes; as float when it is used",
        1 / width,
    )
    if any(map(_PICTURES.search, names)):
        return Smaller(
            "Keep pictures as uint8, as floats when they are used",
            "Pictures hold 0 to 255, a byte each; where they are 0 to 1, times 255 before.",
            (byte, half, every),
        )
    known = f"{dtype} takes {width} bytes for each number." if dtype else "Floats take 4 or 8 bytes for each number."
    return Smaller(f"Keep each in a smaller type: {small}, or uint8", known, (half, byte, every))


def _list(item: Item) -> Smaller | None:
    """Tell of lists in a list: of numbers as an array, of words as one text or as their numbers."""
    kinds = {_kind(one) for one, _ in all_origins(item.part, item.kept.scope, item.code)} - {""}
    return item.as_told(item_forms.WORDS if "texts" in kinds else item_forms.LISTS) if kinds else None


def _kind(made: ast.expr) -> str:
    """Return "numbers" or "texts" for an expression that surely makes a list of such; "" for another."""
    match made:
        case (
            ast.List(elts=[first, *_]) | ast.ListComp(elt=first) | ast.BinOp(op=ast.Mult(), left=ast.List(elts=[first]))
        ):
            called = last_name(first.func) if isinstance(first, ast.Call) else ""
            if isinstance(first, ast.JoinedStr) or called in _TEXTS | {"lower", "strip"}:
                return "texts"
            is_number = isinstance(first, ast.Constant) and isinstance(first.value, int | float)
            return "numbers" if is_number or called in _COUNTS else _kind(first)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted"), args=[ast.Call(func=function, args=given)]):
            of = last_name(given[0]) if last_name(function) == "map" and given else last_name(function)
            return "numbers" if of in _COUNTS else ""
        case ast.Call(func=function):
            called = last_name(function)
            return "texts" if called in _TEXTS - {"join", "read"} else "numbers" if called == "tolist" else ""
    return ""


_BY_TYPE = {
    "str": item_forms.TEXT,
    "PIL.Image": item_forms.PICTURE,
    **dict.fromkeys(("datetime.datetime", "datetime.date", "pandas.Timestamp", "Timestamp"), item_forms.TIME),
}
