"""What the functions of a library would do with less, whichever of them it was: asked where nothing else is known."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import is_method_of, not_seen
from .way import LesserWay, Test, names

_SMALL = ("load", "save", "savez", "seed", "copyto", "imwrite", "imshow", "default_rng", "set_printoptions", "memmap")
"""Functions that make no array of their own, or leave it in its file."""
_OF_FUNCTIONS = ("scipy.optimize.", "scipy.integrate.")
"""What is given a function, and numbers that belong together: no rows."""
_OF_MATRICES = ("scipy.sparse.linalg.", "scipy.linalg.", "numpy.linalg.")
"""What works on a matrix as one: each row has to do with all others."""
_LONGEST = 100


def _of_data(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the call on a part of its first array, where that has a name and all else can stay as it is."""
    last = call.name.rpartition(".")[2]
    if last in _SMALL or call.name.startswith(_OF_FUNCTIONS):
        return False
    if call.name.startswith(_OF_MATRICES) and (last != "norm" or call.argument("axis", 2) is None):
        return False
    named = (one for one in call.node.args if isinstance(one, ast.Name | ast.Attribute | ast.Subscript))
    made = (one for one in call.node.args[:1] if isinstance(one, ast.Call))
    arrays = (one for one in (*named, *made) if death.code.definition(one, call.scope) is None)
    data = next((one for one in arrays if death.code.qualified(one, call.scope) is None), None)
    if data is None:
        return False
    text, function = call.scope.segment(data), call.scope.segment(call.node.func)
    given = ["part" if one is data else call.scope.segment(one) for one in call.node.args]
    given += [f"{one.arg}={call.scope.segment(one.value)}" for one in call.node.keywords if one.arg]
    on_part = " ".join(f"{function}({', '.join(given)})".split())
    return {"on_part": on_part, "data": text} if len(on_part) < _LONGEST and "\n" not in text else False


def _of(package: str) -> Test:
    """Return a test whether a method of this package's objects is called, and give its name."""
    is_of = is_method_of(package)
    return lambda call, death: {"again": _again(call)} if _is_alone(death) and is_of(call, death) else False


def _is_alone(death: Death) -> bool:
    """Whether nothing was seen to gather results: smaller parts of the work do not change what is kept of them."""
    return death.growth.container is None and not death.growth.is_steady


def _again(call: Call) -> str:
    """Return the method with what it is given, in one line."""
    function = call.node.func
    text = call.text.removeprefix(call.scope.segment(getattr(function, "value", function))).lstrip(". \n)")
    return " ".join(text.split()) if "\n" not in text else f"{getattr(function, 'attr', 'method')}(...)"


def _on_a_graph(call: Call, _death: Death) -> bool:
    return names(call)["a0"].isidentifier() and bool(call.node.args)


LIBRARIES = (
    LesserWay(
        ("networkx.*",),
        "Ask for one node at a time, or work on the sparse matrix of the edges: scipy.sparse.csgraph",
        "makes Python objects of nodes and edges, some hundred bytes each, for all of the graph at once.",
        "for node in {a0}:  # one node at a time, and a number of each\n"
        "    reached = nx.single_source_shortest_path_length({a0}, node, cutoff=3)  # or nx.descendants({a0}, node)\n"
        "    counts[node] = len(reached)\n\n"
        "A = nx.to_scipy_sparse_array({a0}, dtype='float32')  # or 8 bytes for each edge: sums, A @ A, and\n"
        "count, labels = scipy.sparse.csgraph.connected_components(A)",
        Case("import networkx as nx", "T = nx.transitive_closure(G)"),
        _on_a_graph,
    ),
    LesserWay(
        ("librosa.*",),
        "Take fewer frames of the sound: a larger hop_length, a lower rate, a minute at a time",
        "works on each frame of the sound; what compares frames has a number for each pair of them.",
        "y, rate = librosa.load(path, sr=16_000, offset=0, duration=60)  # a minute, at a lower rate\n"
        "few = {of0}[..., ::10]  # or every tenth frame: hop_length=5120; librosa.util.sync takes one for each beat\n"
        "{to} = {function}(few)  # with your other arguments; sparse=True or a band of the matrix, where it has one",
        Case("import librosa", "R = librosa.segment.recurrence_matrix(chroma)"),
        lambda call, _death: bool(call.node.args),
    ),
    LesserWay(
        ("cv2.*",),
        "Work on a smaller picture, in bytes or float32: resize, CV_8U, CV_32F",
        "makes new pictures, and float64 has eight bytes for each value.",
        "small = cv2.resize({a0}, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)  # a quarter of the dots\n"
        "{to} = {function}(small)  # with your other arguments; cv2.CV_32F or CV_8U in place of CV_64F\n"
        "table = {to}.reshape(-1)[::10]  # and every tenth dot of it, where a table is made of the dots",
        Case("import cv2", "b = cv2.filter2D(img, cv2.CV_64F, k)"),
        lambda call, death: bool(_of_data(call, death)),
    ),
    LesserWay(
        ("pandas.read_*",),
        "Read only the columns and rows you need, and keep it as Parquet: usecols, nrows, chunksize",
        "reads all of it, and makes a Python object of each text first.",
        "small = {function}({a0}, usecols=['the columns', 'you need'])  # or nrows, chunksize, where it has them\n"
        "small.to_parquet('small.parquet')  # once; later:\n"
        "{to} = pd.read_parquet('small.parquet', columns=['the columns', 'you need'])",
        Case("import pandas as pd", "t = pd.read_fwf('a.txt')"),
        lambda call, _death: bool(call.node.args) and not call.name.endswith("_html"),
    ),
    LesserWay(
        ("pandas.read_html",),
        "Read the rows one after the other, or the one table you need: lxml iterparse, match",
        "makes an object of each element of the page, and a table of each that it finds.",
        "{to} = pd.read_html({a0}, match='a word of it')  # only tables that hold this word\n\n"
        "from lxml import etree\n\nfor _, row in etree.iterparse({a0}, html=True, tag='tr'):  # or row by row\n"
        "    cells = [''.join(cell.itertext()) for cell in row]\n    row.clear()",
        fits=not_seen("match", 1),
    ),
    LesserWay(
        ("re.sub", "re.subn"),
        "Clean one line after the other, all steps under one name",
        "makes another copy of all of the text, beside those of the steps before.",
        "with open('raw.txt') as file, open('clean.txt', 'w') as out:\n    for line in file:  # one line at a time\n"
        "        line = {function}({a0}, {a1}, line.lower())  # with all your steps, each under the same name\n"
        "        out.write(line)",
        Case("import re", "t = re.sub('<.*?>', ' ', text)"),
        lambda call, _death: len(call.node.args) > 2,
    ),
    LesserWay(
        ("nltk.*",),
        "Take one text after the other, and keep counts",
        "makes Python objects of 50 bytes and more for each word.",
        "from collections import Counter\n\ncounts = Counter()\nfor line in open('texts.txt'):  # one at a time\n"
        "    counts.update({function}(line))  # as you do it; keep no words, only how often each comes",
        Case("import nltk", "t = nltk.pos_tag(words)"),
    ),
    LesserWay(
        ("itertools.tee",),
        "Go through it once, or open it twice: tee keeps what only one of its iterators has taken",
        "keeps each item until both iterators have taken it.",
        "n = total = 0\nfor item in {a0}:  # all that is asked of the items, in one loop\n    n += 1\n    ...\n\n"
        "from itertools import pairwise\n\nfor one, after in pairwise({a0}):  # or neighbours, of which it keeps one\n"
        "    ...",
        Case("from itertools import tee", "a, b = tee(rows)\nn = sum(1 for _ in a)", line=1),
    ),
    LesserWay(
        (".*",),
        "Stay lazy, take few columns, and aggregate inside agg: no lists",
        "holds all columns, and what each step makes, at once.",
        "{to} = {table}.lazy().select('the columns', 'you need')  # better still pl.scan_parquet(path) in its place\n"
        "{to} = {to}.{again}.collect(engine='streaming')  # with your steps before collect\n"
        "# a group, or a window, needs a number, no list: pl.col('x').mean(), .median(), .len() inside agg",
        Case("import polars as pl\ndf = pl.DataFrame()", "t = df.unpivot(index='a')"),
        _of("polars"),
    ),
    LesserWay(
        (".*",),
        "Do it with fewer columns, in smaller types, some rows at a time",
        "makes another table, or an object of each value.",
        "few = {table}[['the columns', 'you need']]\n"
        "numbers = few.select_dtypes('float64').columns\n"
        "few = few.astype(dict.fromkeys(numbers, 'float32'))  # half of float64; repeated texts: 'category'\n"
        "{to} = few.{again}\n\n"
        "for at in range(0, len({table}), 100_000):  # or some rows at a time, and sums of each part\n"
        "    part = {table}.iloc[at : at + 100_000]\n    ...",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "t = df.convert_dtypes()"),
        _of("pandas"),
    ),
    LesserWay(
        ("numpy.*", "scipy.*"),
        "Do it some rows at a time, as float32",
        "makes new arrays, mostly of eight bytes a number.",
        "parts = []\nfor part in np.array_split({data}, 100):  # where a row needs no other row\n"
        "    part = part.astype('float32', copy=False)  # half of float64; or {data}[::10]: every tenth row\n"
        "    parts.append({on_part})  # of float32, or only what you need of it: a sum, the largest\n"
        "{to} = np.concatenate(parts)",
        Case("import numpy as np\nfrom scipy.stats import rankdata", "r = np.apply_along_axis(rankdata, 1, x)"),
        lambda call, death: _is_alone(death) and _of_data(call, death),
    ),
)
"""In the order in which they are asked."""
