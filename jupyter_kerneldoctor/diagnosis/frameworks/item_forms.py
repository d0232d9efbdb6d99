"""Forms in which an item of a container takes less, by what it is: tables, pictures, models, words, numbers, texts."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.arrays import Value
from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import all_origins
from .kept_items import KeptItem


class Form(NamedTuple):
    """A form of an item that takes less."""

    text: str
    """The statement that keeps it. In the tables below, a text behind "= " stands in the place of the item's own."""
    note: str
    share: float | None = None
    """The part of its bytes that are left; None where nobody knows."""


class Smaller(NamedTuple):
    """The forms of an item, the best first."""

    title: str
    told: str
    forms: tuple[Form, ...]


def _smaller(title: str, told: str, *forms: Form) -> Smaller:
    return Smaller(title, told, forms)


class Item(NamedTuple):
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
        entry = ": " if isinstance(kept.value, ast.Dict) else ""  # not the key, which may be the same word
        whole = less if self.part is kept.value else kept.text(kept.value).replace(entry + text, entry + less, 1)
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


def parts_of(value: ast.expr) -> list[ast.expr]:
    """Return the parts of a tuple, list or dict that is written out; else the value alone."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts) if parts:
            return parts
    return [value]


TEXT = _smaller(
    "Keep a number for each different text: category",
    "A text takes 50 bytes besides its letters.",
    Form("codes.append(ids.setdefault({text}, len(ids)))", "texts that come again: ids = {{}}, codes = array('i')"),
    Form("{name} = pd.Series({name}, dtype='category')", "a part at a time: the same"),
)
LISTS = _smaller(
    "Keep each list of numbers as a small array: np.array(..., dtype='int16')",
    "In a list each number takes 8 bytes for its place, and an object of 24 or more besides.",
    Form("= np.array({text}, dtype='int16')", "whole numbers to 32,767; uint8 to 255: 2 or 1 bytes each", 0.25),
    Form("= np.array({text}, dtype='float32')", "fractions: 4 bytes each", 0.5),
)
OUTPUT = _smaller(
    "Keep only the part of each output that is read later, in half precision",
    "The output of a network holds all that it was asked for: hidden states, attentions, a cache, logits.",
    Form("= {part}.{field}.half().cpu()", "this part alone; [:, 0] or .mean(1) of it for a vector for each text"),
    Form("np.save(f'part-{{i}}.npy', {part}.{field}.cpu().numpy())", "or a file for each, i: the number of the round"),
)
TIME = _smaller(
    "Keep times as datetime64 in an array",
    "A time is an object of 48 bytes.",
    Form("= np.datetime64({text}, 's')", "and behind the loop np.array(..., dtype='datetime64[s]'): 8 bytes each"),
    Form("{name} = pd.date_range(start, end, freq='s')", "or all at once, where they come in even steps"),
)
WORDS = _smaller(
    "Keep one text for each, or the numbers of its words",
    "Each word is an object of 50 bytes and more.",
    Form("= ' '.join({text})", "one text, not an object for each word; .split() when it is used"),
    Form(
        "= np.array([ids.setdefault(w, len(ids)) for w in {text}], dtype='int32')",
        "or a number for each different word, ids = {{}} before the loop: 4 bytes",
    ),
    Form("counts.update({text})", "or only how often each comes: counts = Counter()"),
)
BITS = _smaller(
    "Keep 0 and 1 as bool, not as floats",
    "It holds only 0 and 1, which need a byte, or a bit.",
    Form("= {bool}", "0 and 1 only: a byte, uint8, too; as float when it is used"),
)
TABLE = _smaller(
    "Keep each table in smaller types, or a sample of its rows: float32, category",
    "Numbers of a table are float64 unless you say otherwise: 8 bytes each; a text takes 50 and more.",
    Form(
        "= {part}.astype({{c: 'float32' for c in {part}.select_dtypes('float64')}})",
        "half of float64; 'category' for texts that repeat",
        0.5,
    ),
    Form("= {part}.sample(frac=0.1)", "a tenth of the rows is enough to fit or to draw", 0.1),
    Form("model.partial_fit({part}[columns], {part}['y'])", "or fit and sum up part by part, and keep none"),
)
COLUMNS = _smaller(
    "Make the new columns in float32, fewer of them, or for some rows at a time",
    "Each new column of float64 takes 8 bytes for each row, for as long as the table is there.",
    Form("= {part}.astype('float32')", "half of float64; int8 or category for small numbers and texts", 0.5),
    Form(
        "for start in range(0, len({name}), 100_000): rows = {name}.iloc[start:start + 100_000]",
        "or make them for a part of the rows, use them, and go on",
    ),
)
LONG_TEXT = _smaller(
    "Compress long texts, or keep them in a file or a table on the disk",
    "A text of the web or of a book is a third of its size when it is compressed.",
    Form("= zlib.compress({part}.encode())", "zlib.decompress(...).decode() when it is read", 1 / 3),
    Form("con.execute('insert into texts values (?, ?)', (i, {text}))", "or SQLite, found by its number i"),
    Form("= hash({text})", "or a number for each, where it is only asked whether it came before"),
)
MODEL = _smaller(
    "Keep the score of each, and the models in files",
    "Each of them holds all of its numbers.",
    Form("= score", "the number it is compared by; the best model alone besides"),
    Form("joblib.dump({text}, f'model-{{i}}.joblib')", "or a file for each; joblib.load, one at a time"),
    Form("{name} = heapq.nlargest(5, {name}, key=score)", "or the best five of them"),
)
PAIRS = _smaller(
    "Make all combinations at once, in columns: MultiIndex.from_product, or one by one: itertools.product",
    "Each combination is a tuple of its own, some hundred bytes; a column has 1 to 8 for each.",
    Form("{name} = pd.MultiIndex.from_product([{of}]).to_frame(index=False)", "columns, as of a cross join"),
    Form("{name} = pd.DataFrame({{'a': np.repeat({first}, len({rest}))}}, dtype='category')", "texts as numbers"),
    Form("for pair in itertools.product({of}): ...", "or one after the other, and none kept"),
)
PICTURE = _smaller(
    "Keep the path of each picture, or a smaller picture: resize",
    "An opened picture has 3 bytes for each dot.",
    Form("= {part}.convert('RGB').resize((256, 256))", "as large as it is used, no larger"),
    Form("= path", "or its path; Image.open(path) when it is used, in __getitem__"),
    Form("{part}.save(buffer, 'JPEG')", "or its bytes, buffer = io.BytesIO(): a tenth"),
)
