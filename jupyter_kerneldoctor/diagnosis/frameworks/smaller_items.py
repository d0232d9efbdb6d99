"""What an item of a container is, by its recorded type and by the code that makes it, and forms that take less."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..code.arrays import Value
from ..code.calls import last_name, plain_names
from ..code.dtypes import ITEM_BYTES
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from . import item_forms
from .item_forms import Form, Smaller
from .kept_items import KeptItem
from .pandas import rows_gone_through
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
_COPIES = ("tuple", "list", "join", "array", "str", "tensor", "frozenset")
_LONG_TEXT = 1000  # bytes
_PLAIN_TESTS = (ast.Gt, ast.Lt, ast.GtE, ast.LtE, ast.Eq, ast.NotEq)


class _Item(NamedTuple):
    """An item, and the part of it that takes the room: the picture of a picture and its label."""

    kept: KeptItem
    part: ast.expr
    code: Notebook
    value: Value | None

    @property
    def text(self) -> str:
        """The text of that part, as something may follow behind it."""
        return self.kept.scope.operand(self.part)

    def put(self, less: str) -> str:
        """Return the statement that keeps the item with less in the place of that part."""
        kept, text = self.kept, " ".join(self.kept.scope.segment(self.part).split())
        whole = less if self.part is kept.value else kept.text(kept.value).replace(text, less, 1)
        if kept.form == "made":
            return f"{kept.name} = [{whole} {kept.head}]" if kept.head else whole
        return kept.put(whole)

    def as_told(self, kind: Smaller, **names: str) -> Smaller:
        """Return the forms of a table above with the user's names."""
        texts = {"part": self.text, "text": self.kept.text(self.part), "name": self.kept.name, **names}
        filled = (
            one._replace(text=one.text.format(**texts), note=one.note.replace("{{}}", "{}")) for one in kind.forms
        )
        forms = (one._replace(text=self.put(one.text[2:])) if one.text.startswith("= ") else one for one in filled)
        return kind._replace(forms=tuple(forms))

    def origins(self) -> Iterator[tuple[ast.expr, str]]:
        """Yield what made it, with the names of functions."""
        for one, where in all_origins(self.part, self.kept.scope, self.code):
            name = self.code.described(one.func, where) or last_name(one.func) if isinstance(one, ast.Call) else ""
            yield one, name


def smaller(
    kept: KeptItem, item_type: str | None, code: Notebook, value: Value | None, each_bytes: int | None = None
) -> Smaller | None:
    """Return smaller forms of what is kept; None where it is not known what that is, or it is small already.

    `value` is what is known of the item; of a tuple or a dict, of the part that takes the room.
    """
    parts, type_ = parts_of(kept.value), item_type or ""
    part = next((one for one in parts if package_of(one, kept.scope, code)), kept.value)
    item = _Item(kept, part, code, value)
    if (found := _begins_at(item) or _row(item)) is not None:
        return found
    model = next((one for one in parts if _is_estimator(one, kept.scope, code)), None)
    if model is not None or (type_ != "torch.Tensor" and _ESTIMATORS.search(type_)):
        return _Item(kept, model or part, code, value).as_told(item_forms.MODEL)
    if type_ == "pandas.DataFrame":
        return _table(item)
    if (plain := _BY_TYPE.get(type_)) is not None:
        is_long = type_ == "str" and (each_bytes or 0) > _LONG_TEXT
        return item.as_told(item_forms.LONG_TEXT if is_long else plain)
    package = type_.partition(".")[0] if part is kept.value else ""
    package = package if package in _ARRAYS else package_of(part, kept.scope, code)
    if package:
        return _array(item, package)
    return _list(item) if type_ in ("list", "tuple", "") else None


def parts_of(value: ast.expr) -> list[ast.expr]:
    """Return the parts of a tuple, list or dict that is written out; else the value alone."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts) if parts:
            return parts
    return [value]


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
    if isinstance(part, ast.Call) and last_name(part.func) != "fit":
        return False
    made = [(one, where) for one, where in all_origins(part, scope, code) if isinstance(one, ast.Call)]
    names = [code.qualified(one.func, where) or "" for one, where in made if last_name(one.func) != "fit"]
    return bool(names) and _ESTIMATORS.search(names[-1]) is not None and last_name(made[-1][0].func)[:1].isupper()


def _table(item: _Item) -> Smaller:
    """Tell of tables, with a name for each."""
    if isinstance(item.part, ast.Name):
        return item.as_told(item_forms.TABLE)
    found = item.as_told(item_forms.TABLE, part="part")
    return found._replace(forms=(Form(f"part = {item.kept.text(item.part)}", "each table"), *found.forms))


def _begins_at(item: _Item) -> Smaller | None:
    """Tell of slices of a text or a list that is there anyway: where one begins is enough."""
    kept, scope = item.kept, item.kept.scope
    loops = scope.loops_around(kept.statement)
    inside = {id(one) for loop in loops for one in scope.inside(loop)}
    for part in map(_unwrapped, parts_of(kept.value)):
        match part:
            case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Slice(lower=low, upper=high)):
                counters = _counters(kept)
                of_the_loop = sorted(plain_names(*(one for one in (low, high) if one is not None)) & counters)
                is_made = any(id(one) in inside for one, _ in all_origins(whole, scope, item.code)[1:])
                if not of_the_loop or is_made or plain_names(whole) & counters:
                    continue
                text, at = " ".join(scope.segment(part).split()), of_the_loop[0]
                return Smaller(
                    "Keep where each part begins, not a copy of each",
                    f"{scope.segment(whole)} is there anyway: {at} alone says which part it is.",
                    (
                        Form(item.put(at), f"a number; {text} when it is looked at, also in __getitem__"),
                        Form(
                            f"{kept.name}.sort(key=lambda {at}: {text})",
                            "sorted or searched by the parts",
                        ),
                        Form(f"seen.add(hash({text}))", "or a number for each, to count different ones"),
                        Form(f"yield {text}", "or no list: one after the other, from a generator"),
                    ),
                )
    return None


def _unwrapped(part: ast.expr) -> ast.expr:
    """Return what is copied into another form: `words[i:j]` of `tuple(words[i:j])`."""
    match part:
        case ast.Call(func=function, args=[inner], keywords=[]) if last_name(function) in _COPIES:
            return inner
    return part


def _counters(kept: KeptItem) -> set[str]:
    """Return the names of the loops around: `i` of `for i in range(n)`."""
    targets = [one.target for one in kept.scope.loops_around(kept.statement) if isinstance(one, ast.For)]
    if kept.form == "made" and isinstance(kept.statement, ast.Assign):
        targets += [one.target for one in getattr(kept.statement.value, "generators", [])]
    return plain_names(*targets)


def _row(item: _Item) -> Smaller | None:
    """Tell of rows of a table that are put into a list: their numbers, or a mask, say which they are."""
    kept, scope = item.kept, item.kept.scope
    for loop in scope.loops_around(kept.statement):
        table = rows_gone_through(loop)
        match loop:
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=number), ast.Name(id=row)])) if table is not None:
                if row not in plain_names(kept.value):
                    continue
                df, mask = scope.operand(table), _mask(kept, loop, row, scope.operand(table))
                return Smaller(
                    "Select the rows with a mask, or keep their numbers: no Series for each",
                    f"Each row that {scope.segment(loop.iter)} gives is an object of a kilobyte or more.",
                    (
                        Form(f"{kept.name} = {df}[{mask}]", "a mask of all rows at once, no loop"),
                        Form(item.put(number), f"or the number of the row only; {df}.loc[{kept.name}] behind the loop"),
                        Form(f"for row in {df}.itertuples(): ...", "a tuple of plain values, not a Series"),
                    ),
                )
    return None


def _mask(kept: KeptItem, loop: ast.For, row: str, table: str) -> str:
    """Return the test that a row passes, of whole columns; an example where that is not plain."""
    inside = set(kept.scope.inside(loop))
    tests = [one.test for one in kept.scope.around(kept.statement) if isinstance(one, ast.If) and one in inside]
    if len(tests) != 1:
        return f"{table}['column'] > limit"
    parts = tests[0].values if isinstance(tests[0], ast.BoolOp) and isinstance(tests[0].op, ast.And) else tests
    texts = [" ".join(kept.scope.segment(one).split()) for one in parts]
    if not all(
        isinstance(one, ast.Compare)
        and isinstance(one.ops[0], ast.Gt | ast.Lt | ast.GtE | ast.LtE | ast.Eq | ast.NotEq)
        for one in parts
    ):
        return f"{table}['column'] > limit"
    return " & ".join(re.sub(rf"(?<![\w.]){row}(?=\[|\.)", table, f"({one})") for one in texts)


def _is_zero_one(item: _Item) -> bool:
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


def _array(item: _Item, package: str) -> Smaller | None:
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


def _list(item: _Item) -> Smaller | None:
    """Tell of lists in a list: of numbers as an array, of words as one text or as their numbers."""
    are_texts = are_numbers = False
    for one, _ in all_origins(item.part, item.kept.scope, item.code, parts=True):
        for node in walk(one) if not isinstance(one, ast.Name) else ():
            called = last_name(node.func) if isinstance(node, ast.Call) else ""
            is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
            are_texts |= called in _TEXTS or isinstance(node, ast.JoinedStr)
            are_numbers |= called in _COUNTS or (is_number and not isinstance(one, ast.Subscript))
    if are_texts or are_numbers:
        return item.as_told(item_forms.WORDS if are_texts else item_forms.LISTS)
    return None


_BY_TYPE = {
    "str": item_forms.TEXT,
    "PIL.Image": item_forms.PICTURE,
    **dict.fromkeys(("datetime.datetime", "datetime.date", "pandas.Timestamp", "Timestamp"), item_forms.TIME),
}
