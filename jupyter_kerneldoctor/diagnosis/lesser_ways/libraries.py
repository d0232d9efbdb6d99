"""What the functions of a library would do with less, whichever of them it was: asked where nothing else is known."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import is_method_of, made_by, not_seen
from .row_by_row import on_some_rows
from .way import LesserWay, Test, names


def _of(package: str) -> Test:
    """Return a test whether a method of this package's tables is called, and give the table and what is done to it."""
    is_of = is_method_of(package)
    return lambda call, death: _again(call, death) if _is_alone(death) and is_of(call, death) else False


def _is_alone(death: Death) -> bool:
    """Whether nothing was seen to gather results: smaller parts of the work do not change what is kept of them."""
    return death.growth.container is None and not death.growth.is_steady


def _again(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Return the table at the beginning of a chain of methods, and the chain, in one line. Not of a column."""
    node, steps, segment = call.node.func, list[str](), call.scope.segment
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        is_made = isinstance(node, ast.Call) and death.code.qualified(node.func, call.scope) is not None
        if is_made or segment(getattr(node, "value", node)) == "self":
            break
        steps += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.func if isinstance(node, ast.Call) else node.value
    value, table = death.values.of(node, call.scope), " ".join(segment(node).split())
    is_column = (value is not None and value.type.endswith("Series")) or "pandas.Series" in made_by(node, call, death)
    is_made = isinstance(node, ast.Name | ast.Attribute | ast.Call) and death.code.qualified(node, call.scope) is None
    if is_column or not is_made or not call.text.startswith(segment(node)):
        return False
    again = " ".join(call.text.removeprefix(segment(node)).split())
    again = again if len(again) <= _LONGEST else "".join(f".{step}(...)" for step in reversed(steps))
    return {"of": table if len(table) <= _LONGEST else "table", "again": again, "steps": " ".join(steps)}


_NOT_LAZY = frozenset(
    (
        *(
            "corr",
            "describe",
            "equals",
            "estimated_size",
            "extend",
            "fold",
            "get_column",
            "get_columns",
            "hstack",
            "item",
        ),
        *(
            "iter_columns",
            "iter_rows",
            "iter_slices",
            "map_rows",
            "n_unique",
            "partition_by",
            "pivot",
            "rechunk",
            "row",
        ),
        *("rows", "rows_by_key", "sample", "to_arrow", "to_dict", "to_dicts", "to_dummies", "to_numpy", "to_pandas"),
        *("to_series", "to_struct", "to_torch", "transpose", "unstack", "upsample", "vstack", "insert_column"),
    )
)
"""Methods of polars' tables that only a table that is there has."""


def _lazily(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give what is done to a table of polars, where a lazy one can do it as well."""
    told = _of("polars")(call, death)
    if isinstance(told, bool) or told["again"].startswith("["):
        return False
    steps = told["steps"].split()
    return told if not any(one in _NOT_LAZY or one.startswith("write_") for one in steps) else False


def _on_a_graph(call: Call, _death: Death) -> bool:
    last = call.name.rpartition(".")[2]
    makes = last.startswith(("read_", "from_", "parse_", "draw")) or last.endswith(("_graph", "Graph"))
    return names(call)["a0"].isidentifier() and bool(call.node.args) and not makes


_FRAMES = ("librosa.segment.", "librosa.sequence.", "librosa.decompose.")
_MINUTE = (
    "y, rate = librosa.load({path}, sr=16_000, offset=0, duration=60)  # a minute, at a lower rate; next offset=60\n"
)


def _fewer_frames(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Say how a function of librosa works on less."""
    told = names(call)
    if not call.node.args or call.argument("duration") is not None:
        return False
    if call.name == "librosa.load":
        return {"fewer": _MINUTE.format(path=told["a0"])}
    again = f"{told['to']} = {told['function']}"
    if call.name.startswith(_FRAMES):
        each = (
            f"few = {told['of0']}[..., ::10]  # every tenth frame, or hop_length=5120 before; sync takes one a beat\n"
        )
        return {"fewer": f"{each}{again}(few)  # with your other arguments; sparse=True, where it has that"}
    return {"fewer": f"{_MINUTE.format(path='path')}{again}(y)  # with your other arguments; a larger hop_length"}


_LONGEST = 100
_PARTS = {
    **dict.fromkeys(("csv", "table", "excel", "fwf", "clipboard", "spss"), "usecols"),
    **dict.fromkeys(("parquet", "feather", "orc", "hdf", "stata"), "columns"),
}


def _some_columns(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Name the argument by which a reader of pandas is told what columns to read."""
    word = _PARTS.get(call.name.rpartition("read_")[2])
    return {"word": word} if word and call.node.args and call.argument(word) is None else False


_OF_LINES = ("word_tokenize", "wordpunct_tokenize", "sent_tokenize", "regexp_tokenize")
_OF_WORDS = ("pos_tag", "FreqDist", "bigrams", "trigrams", "ngrams", "everygrams", "skipgrams")


def _of_texts(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give what is done to one line of a text, where that is a text or a list of words."""
    last, segment = call.name.rpartition(".")[2], call.scope.segment
    if last not in (*_OF_LINES, *_OF_WORDS) or not call.is_written_out:
        return False
    rest = [*map(segment, call.node.args[1:]), *(f"{one.arg}={segment(one.value)}" for one in call.node.keywords)]
    given = ", ".join(["line" if last in _OF_LINES else "line.split()", *rest])
    return {"done": f"{names(call)['function']}({given})"}


def _of_one_line(call: Call, _death: Death) -> bool:
    """Whether a pattern is replaced that does not go across lines, as far as is written."""
    pattern = call.scope.segment(call.node.args[0]) if call.node.args else ""
    flags = " ".join(call.scope.segment(one.value) for one in call.node.keywords)
    return len(call.node.args) > 2 and "\\n" not in pattern and "DOTALL" not in flags and "MULTILINE" not in flags


LIBRARIES = (
    LesserWay(
        ("networkx.*",),
        "Ask for one node at a time, or work on the sparse matrix of the edges: scipy.sparse.csgraph",
        "makes Python objects of nodes and edges, some hundred bytes each, for all of the graph at once.",
        "counts = {{}}\nfor node in {a0}:  # one node at a time, and a number of each\n"
        "    reached = nx.single_source_shortest_path_length({a0}, node, cutoff=3)  # or nx.descendants({a0}, node)\n"
        "    counts[node] = len(reached)\n\n"
        "from scipy.sparse import csgraph\n\n"
        "A = nx.to_scipy_sparse_array({a0}, dtype='float32')  # or 12 bytes for each edge: sums, A @ A, and\n"
        "count, labels = csgraph.connected_components(A)",
        Case("import networkx as nx", "T = nx.transitive_closure(G)"),
        _on_a_graph,
        silent=("G = nx.read_edgelist(path)",),
    ),
    LesserWay(
        ("librosa.*",),
        "Take fewer frames of the sound: a larger hop_length, a lower rate, a minute at a time",
        "works on each frame of the sound; what compares frames has a number for each pair of them.",
        "{fewer}",
        Case("import librosa", "R = librosa.segment.recurrence_matrix(chroma)"),
        _fewer_frames,
    ),
    LesserWay(
        ("cv2.*",),
        "Work on a smaller picture, in bytes or float32: resize, CV_8U, CV_32F",
        "makes new pictures, and float64 has eight bytes for each value.",
        "small = cv2.resize({a0}, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)  # a quarter of the dots\n"
        "{to} = {function}(small)  # with your other arguments; cv2.CV_32F or CV_8U in place of CV_64F\n"
        "table = {to}.reshape(-1)[::10]  # and every tenth dot of it, where a table is made of the dots",
        Case("import cv2", "b = cv2.filter2D(img, cv2.CV_64F, k)"),
        lambda call, death: bool(on_some_rows(call, death)),
        silent=("b = cv2.imread(path)",),
    ),
    LesserWay(
        ("pandas.read_*",),
        "Read only the columns and rows you need, and keep it as Parquet",
        "reads all of it, and makes a Python object of each text first.",
        "small = {function}({a0}, {word}=['the columns', 'you need'])  # or nrows, chunksize, where it has them\n"
        "small.to_parquet('small.parquet')  # once; later:\n"
        "{to} = pd.read_parquet('small.parquet', columns=['the columns', 'you need'])",
        Case("import pandas as pd", "t = pd.read_fwf('a.txt')"),
        _some_columns,
        silent=("t = pd.read_sql(query, con)",),
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
        ("re.sub",),
        "Clean one line after the other, all steps under one name",
        "makes another copy of all of the text, beside those of the steps before.",
        "with open('raw.txt') as file, open('clean.txt', 'w') as out:\n    for line in file:  # one line at a time\n"
        "        line = {function}({a0}, {a1}, line)  # with all your steps, each under the same name\n"
        "        out.write(line)",
        Case("import re", "t = re.sub('<.*?>', ' ', text)"),
        _of_one_line,
        silent=(r"t = re.sub('-\n', '', text)",),
    ),
    LesserWay(
        ("nltk.*",),
        "Take one text after the other, and keep counts",
        "makes Python objects of 50 bytes and more for each word.",
        "from collections import Counter\n\ncounts = Counter()\nfor line in open('texts.txt'):  # one at a time\n"
        "    counts.update({done})  # keep no words, only how often each comes",
        Case("import nltk", "t = nltk.pos_tag(words)", says=("counts.update(nltk.pos_tag(line.split()))",)),
        _of_texts,
        silent=("nltk.download('punkt')",),
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
        "{to} = {of}.lazy().select('the columns', 'you need')  # better still pl.scan_parquet(path) in its place\n"
        "{to} = {to}{again}.collect(engine='streaming')  # with your steps before collect\n"
        "# a group, or a window, needs a number, no list: pl.col('x').mean(), .median(), .len() inside agg",
        Case("import polars as pl\ndf = pl.DataFrame()", "t = df.unpivot(index='a')"),
        _lazily,
        silent=("rows = df.to_dicts()", "t = df['a'].str.split(' ')"),
    ),
    LesserWay(
        (".*",),
        "Do it with fewer columns, in smaller types, some rows at a time",
        "makes another table, or an object of each value.",
        "few = {of}[['the columns', 'you need']]\n"
        "numbers = few.select_dtypes('float64').columns\n"
        "few = few.astype(dict.fromkeys(numbers, 'float32'))  # half of float64; repeated texts: 'category'\n"
        "{to} = few{again}\n\n"
        "for at in range(0, len({of}), 100_000):  # or some rows at a time, and sums of each part\n"
        "    part = {of}.iloc[at : at + 100_000]\n    ...",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "t = df.groupby('a').describe()",
            says=("t = few.groupby('a').describe()", "df.iloc[at : at + 100_000]"),
        ),
        _of("pandas"),
        silent=(Case("import pandas as pd\ns = pd.Series(a)", "t = s.convert_dtypes()"),),
    ),
    LesserWay(
        ("numpy.*", "scipy.*"),
        "Do it some rows at a time, as float32",
        "makes new arrays, mostly of eight bytes a number.",
        "parts = []\nfor part in np.array_split({data}, 100):  # where a row needs no other row\n"
        "    part = part.astype('float32') if part.dtype == 'float64' else part  # or {data}[::10]: every tenth row\n"
        "    parts.append({on_part})  # of float32, or only what you need of it: a sum, the largest\n"
        "{to} = np.concatenate(parts)",
        Case("import numpy as np\nfrom scipy.stats import rankdata", "r = np.apply_along_axis(rankdata, 1, x)"),
        lambda call, death: _is_alone(death) and on_some_rows(call, death),
        silent=("r = np.apply_along_axis(rankdata, 0, x)", "r = np.cumsum(x)", "r = np.loadtxt(path)"),
    ),
)
"""In the order in which they are asked."""
