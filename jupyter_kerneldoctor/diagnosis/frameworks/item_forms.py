"""Forms in which an item of a container takes less, by what it is: tables, pictures, models, words, numbers, texts."""

from typing import NamedTuple


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


TABLE = Smaller(
    "Keep each table in smaller types, or a sample of its rows: float32, category",
    "Numbers of a table are float64 unless you say otherwise: 8 bytes each; a text takes 50 and more.",
    (
        Form(
            "= {part}.astype({{c: 'float32' for c in {part}.select_dtypes('float64')}})",
            "half of float64; 'category' for texts that repeat",
            0.5,
        ),
        Form("= {part}.sample(frac=0.1)", "a tenth of the rows is enough to fit or to draw", 0.1),
        Form("model.partial_fit({part}[columns], {part}['y'])", "or fit and sum up part by part, and keep none"),
    ),
)
PICTURE = Smaller(
    "Keep the path of each picture, or a smaller picture: resize",
    "An opened picture has 3 bytes for each dot.",
    (
        Form("= {part}.convert('RGB').resize((256, 256))", "as large as it is used, no larger"),
        Form("= path", "or its path; Image.open(path) when it is used, in __getitem__"),
        Form("{part}.save(buffer, 'JPEG')", "or its bytes, buffer = io.BytesIO(): a tenth"),
    ),
)
TIME = Smaller(
    "Keep times as datetime64 in an array",
    "A time is an object of 48 bytes.",
    (
        Form("= np.datetime64({text}, 's')", "and behind the loop np.array(..., dtype='datetime64[s]'): 8 bytes each"),
        Form("{name} = pd.date_range(start, end, freq='s')", "or all at once, where they come in even steps"),
    ),
)
MODEL = Smaller(
    "Keep the score of each, and the models in files",
    "Each of them holds all of its numbers.",
    (
        Form("= score", "the number it is compared by; the best model alone besides"),
        Form("joblib.dump({text}, f'model-{{i}}.joblib')", "or a file for each; joblib.load, one at a time"),
        Form("{name} = heapq.nlargest(5, {name}, key=score)", "or the best five of them"),
    ),
)
WORDS = Smaller(
    "Keep one text for each, or the numbers of its words",
    "Each word is an object of 50 bytes and more.",
    (
        Form("= ' '.join({text})", "one text, not an object for each word; .split() when it is used"),
        Form(
            "= np.array([ids.setdefault(w, len(ids)) for w in {text}], dtype='int32')",
            "or a number for each different word, ids = {{}} before the loop: 4 bytes",
        ),
        Form("counts.update({text})", "or only how often each comes: counts = Counter()"),
    ),
)
LISTS = Smaller(
    "Keep each list of numbers as a small array: np.array(..., dtype='int16')",
    "In a list each number takes 8 bytes for its place, and an object of 24 or more besides.",
    (
        Form("= np.array({text}, dtype='int16')", "whole numbers to 32,767; uint8 to 255: 2 or 1 bytes each", 0.25),
        Form("= np.array({text}, dtype='float32')", "fractions: 4 bytes each", 0.5),
    ),
)
TEXT = Smaller(
    "Keep a number for each different text: category",
    "A text takes 50 bytes besides its letters.",
    (
        Form("codes.append(ids.setdefault({text}, len(ids)))", "texts that come again: ids = {{}}, codes = array('i')"),
        Form("{name} = pd.Series({name}, dtype='category')", "a part at a time: the same"),
    ),
)
BITS = Smaller(
    "Keep 0 and 1 as bool, not as floats",
    "It holds only 0 and 1, which need a byte, or a bit.",
    (Form("= {bool}", "0 and 1 only: a byte, uint8, too; as float when it is used"),),
)

LONG_TEXT = Smaller(
    "Compress long texts, or keep them in a file or a table on the disk",
    "A text of the web or of a book is a third of its size when it is compressed.",
    (
        Form("= zlib.compress({part}.encode())", "zlib.decompress(...).decode() when it is read", 1 / 3),
        Form("con.execute('insert into texts values (?, ?)', (i, {text}))", "or SQLite, found by its number i"),
        Form("= hash({text})", "or a number for each, where it is only asked whether it came before"),
    ),
)
