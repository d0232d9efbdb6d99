"""Texts: what is split, matched, joined and counted."""

import ast
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.trees import dump
from ..death import Death
from .conditions import is_made_by, made_by
from .way import LesserWay, names

_LONGEST_PATTERN = 500
_CUTS = (
    "start = 0\nfor cut in re.finditer({pattern}, {text}):  # one part after the other\n"
    "    part, start = {text}[start : cut.start()], cut.end()\n    ...\nlast = {text}[start:]"
)


def _of_text(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether a text joins others: `", ".join(parts)`."""
    match call.node.func:
        case ast.Attribute(value=ast.Constant(value=str() | bytes())):
            return True
    return False


def _of_matches(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give what hands over one match after the other, as `findall` would: a text, or a tuple for several groups."""
    made: ast.Call | None = call.node
    function, segment = call.node.func, call.scope.segment
    if call.name == "re.split":
        given = call.node.args
        text = call.scope.operand(given[1]) if len(given) > 1 else "text"
        return {"loop": _CUTS.format(pattern=segment(given[0]), text=text)} if given else False
    rest = segment(call.node)[len(segment(function)) :]
    if not isinstance(function, ast.Attribute):  # from re import findall
        return _going_through(f"re.finditer{rest}")
    if call.name == ".findall":
        found = all_origins(function.value, call.scope, death.code)
        calls = ((one, where) for one, where in found if isinstance(one, ast.Call))
        made = next((one for one, where in calls if death.code.qualified(one.func, where) == "re.compile"), None)
        if made is None:
            return False
    told = _going_through(f"{segment(function.value)}.finditer{rest}")
    match made:
        case ast.Call(args=[ast.Constant(value=str(pattern)), *flags], keywords=words):
            verbose = any(word in dump(one) for one in (*flags, *words) for word in ("VERBOSE", "'X'"))
            if (groups := None if verbose else _groups(pattern)) is not None:
                told["item"] = ("found[0]", "found.groups('')[0]", "found.groups('')")[min(groups, 2)]
    return told


def _going_through(matches: str) -> dict[str, str]:
    return {
        "matches": matches,
        "loop": f"for match in {matches}:\n    ...  # match[0]; better line by line of the file",
    }


def _groups(pattern: str) -> int | None:
    """Return how many groups a regular expression has; None for one that is long, or none."""
    with suppress(re.error, OverflowError, RecursionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern).groups if len(pattern) <= _LONGEST_PATTERN else None
    return None


def _of_a_column(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Whether the method is one of `.str`, and keeps a list for each row. Give what it does to one text."""
    match call.node.func:
        case ast.Attribute(value=ast.Attribute(attr="str"), attr=method):
            given = [call.scope.segment(one) for one in call.node.args[:1]]
            of_words = {"parts": f"text.split({', '.join(given)})"}
            told = of_words if "split" in method else {"parts": f"re.findall({given[0]}, text)"} if given else False
            return told if call.argument("expand") is None else False
    return False


def _separator(call: Call, _death: Death) -> Mapping[str, str]:
    given = call.argument("sep", 0)
    return {"sep": "'|'" if given is None else call.scope.segment(given)}


def _of_joined_texts(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give what a text was joined of that is split into its words, or the file that it was read from."""
    function = call.node.func
    if not isinstance(function, ast.Attribute) or isinstance(function.value, ast.Attribute):  # df["text"].str.split()
        return False
    for one, where in all_origins(function.value, call.scope, death.code, parts=True)[1:]:
        match one:
            case ast.Call(func=ast.Attribute(attr="join", value=ast.Constant(value=str())), args=[texts]):
                return {"texts": where.segment(texts)}
            case ast.Call(func=ast.Attribute(attr="read", value=ast.Name(id=name)), args=[]):
                return {"texts": name}
    return False


def _of_a_text(call: Call, death: Death) -> bool:
    """Whether a text is cut into parts: no array, no column of a table."""
    match call.node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="str"))):
            return False
        case ast.Call(func=ast.Attribute(), args=[] | [ast.Constant(value=str() | None)]):
            return death.code.qualified(call.node.func, call.scope) is None
    return False


def _with_spacy(call: Call, death: Death) -> bool:
    """Whether each text becomes a document of spaCy: `df["text"].apply(nlp)`."""
    match call.node.args[:1]:
        case [ast.Name() as given] | [ast.Lambda(body=ast.Call(func=ast.Name() as given))]:
            return "spacy.load" in made_by(given, call, death)
    return False


_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"


def _loads_all(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Say how to load a part of the vectors: `gensim.downloader` can only tell where their file is."""
    told = names(call)
    if call.name == "gensim.downloader.load":
        given = f"gensim.downloader.load({told['a0']}, return_path=True)"
        start = f"import gensim.downloader\nfrom gensim.models import KeyedVectors\n\npath = {given}\n"
        read = "KeyedVectors.load_word2vec_format(path, binary='word2vec' in path, limit=200_000)"
        return {"load": f"{start}{told['to']} = {read}"}
    rest = " ".join(call.scope.segment(call.node).split()).removesuffix(")").rstrip(", ")
    return {"load": f"{told['to']} = {rest}, limit=200_000)"} if call.argument("limit", 5) is None else False


def _as_long_as_the_longest(call: Call, death: Death) -> bool:
    """Whether no length is given, or that of the longest text is: `maxlen=max(len(row) for row in texts)`."""
    given = call.argument("maxlen", 1)
    made = [one.node for one in all_origins(given, call.scope, death.code)] if given is not None else []
    longest = ("max", "amax", "nanmax")
    called = (one.func for one in made if isinstance(one, ast.Call))
    return given is None or any(last_name(one) in longest for one in called)


_PADDERS = tuple(f"{one}keras.{part}" for one in ("", "tensorflow.") for part in ("utils", "preprocessing.sequence"))

WAYS = (
    LesserWay(
        ("pandas.Series.str.get_dummies",),
        "Keep the parts sparse, or count them with explode",
        "makes a column for each part that occurs anywhere.",
        "{column}.str.split({sep}).explode().value_counts()  # where counts are enough\n\n"
        "from sklearn.preprocessing import MultiLabelBinarizer\n\n"
        "parts = {column}.fillna('').str.split({sep})\n"
        "{to} = MultiLabelBinarizer(sparse_output=True).fit_transform(parts)  # a sparse matrix",
        Case(_FRAME, "wide = df['tags'].str.get_dummies(',')", says=("df['tags'].fillna('').str.split(',')",)),
        _separator,
    ),
    LesserWay(
        tuple(f"pandas.Series.str.{name}" for name in ("split", "findall", "extractall", "rsplit")),
        "Take one text after the other, and keep counts",
        "makes a list of texts for each row.",
        "from collections import Counter\n\ncounts = Counter()\n"
        "for text in {column}.dropna():\n    counts.update({parts})",
        Case(_FRAME, "words = df['text'].str.findall('[a-z]+')", says=("counts.update(re.findall('[a-z]+', text))",)),
        _of_a_column,
    ),
    LesserWay(
        (".split",),
        "Take one text after the other, and keep counts",
        "makes a list of all words of all texts, each a text of some 50 bytes.",
        "from collections import Counter\n\ncounts = Counter()\nfor text in {texts}:\n"
        "    counts.update(text.lower().split())  # and what else is done with each text",
        Case(
            "def clean(t): return t.lower()\ndef words(rows):\n    t = clean(' '.join(rows))\n    return t.split()",
            "w = words(reviews)",
            says=("for text in rows:", "counts.update(text.lower"),
        ),
        _of_joined_texts,
    ),
    LesserWay(
        ("re.findall", "re.split", ".findall"),
        "Take one match after the other: finditer",
        "makes a list of all matches.",
        "{loop}",
        Case(
            "import re\nfrom collections import Counter",
            "n = Counter(re.findall('[a-z]+', text))",
            becomes="n = Counter((found[0] for found in re.finditer('[a-z]+', text)))",
        ),
        _of_matches,
        one_by_one="({item} for found in {matches})",
    ),
    LesserWay(
        ("bs4.BeautifulSoup",),
        "Keep texts, not tags: a tag keeps its whole page",
        "makes an object of each element. They refer to each other: as long as one tag is kept, all of its page is.",
        "{to} = {function}({a0}, 'html.parser')\ntext = {to}.find('title').get_text()  # or str(tag), tag['href']\n"
        "{to}.decompose()  # the rest of the page can go",
    ),
    LesserWay(
        (".pipe",),
        "Keep of each text only what you need of it",
        "gives an object of many tables for each text, and all of them are kept.",
        "for doc in {owner}.pipe({a0}, batch_size=50):\n    lemmas = [token.lemma_ for token in doc]  # not `doc`",
        Case("import spacy\nnlp = spacy.load('en')", "docs = list(nlp.pipe(texts))"),
        is_made_by("spacy.load"),
    ),
    LesserWay(
        (".apply", ".map"),
        "Keep of each text only what you need of it: nlp.pipe, one after the other",
        "gives an object of many tables for each text, and all of them are kept.",
        "kept = []\nfor doc in {a0}.pipe({owner}, batch_size=50, disable=['parser', 'ner']):  # what you do not use\n"
        "    kept.append(' '.join(token.lemma_ for token in doc if not token.is_stop))  # a text, not `doc`",
        Case("import pandas as pd\nimport spacy\nnlp = spacy.load('en')", "df['doc'] = df['text'].apply(nlp)"),
        _with_spacy,
    ),
    LesserWay(
        ("gensim.models.KeyedVectors.load_word2vec_format", "gensim.downloader.load"),
        "Load the most frequent words only: limit=200_000",
        "loads a vector for each word, also for those that never occur.",
        "{load}  # the most frequent",
        Case(
            "from gensim.models import KeyedVectors as KV",
            "v = KV.load_word2vec_format('v.txt')",
            says=("v = KV.load_word2vec_format('v.txt', limit=200_000)",),
        ),
        _loads_all,
        silent=("v = KV.load_word2vec_format('v.txt', limit=9)",),
    ),
    LesserWay(
        (".join",),
        "Write the parts to a file, one after the other",
        "makes one text of all parts, beside them.",
        "with open('out.txt', 'w') as file:\n    for part in {a0}:\n"
        "        file.write(f'{{part}}\\n')  # a part in each line",
        Case("text = ', '.join(map(str, numbers))"),
        _of_text,
    ),
    LesserWay(
        ("collections.Counter",),
        "Forget what came once now and then, or count hashes",
        "keeps each different item, as text, with its number.",
        "{to} = Counter()\nfor at, item in enumerate({a0}, 1):\n"
        "    {to}[item] += 1  # [hash(item)]: no texts are kept\n"
        "    if at % 1_000_000 == 0:\n        {to} = Counter({{k: n for k, n in {to}.items() if n > 1}})",
        Case("from collections import Counter", "c = Counter(w for w in ws)"),
        lambda call, _death: ".split(" not in "".join(call.scope.segment(one) for one in call.node.args[:1]),
    ),
    LesserWay(
        ("torch.nn.utils.rnn.pad_sequence",),
        "Pad each batch to its own longest text: collate_fn",
        "makes every row as long as the longest of all.",
        "def collate(rows):  # DataLoader(..., collate_fn=collate)\n"
        "    return torch.nn.utils.rnn.pad_sequence(rows)  # with your other arguments\n"
        "# or cut what is longer than nearly all: {a0} = [row[:512] for row in {a0}]",
    ),
    LesserWay(
        tuple(f"{package}.pad_sequences" for package in _PADDERS),
        "Cut what is longer than nearly all: maxlen",
        "makes every row as long as the longest of all.",
        "print(np.percentile([len(row) for row in {a0}], [50, 95, 99]))  # how long nearly all are\n"
        "{to} = {function}({a0}, maxlen=512)  # with your other arguments; keeps the end: truncating='post' the start",
        Case("from keras.utils import pad_sequences", "X = pad_sequences(texts)"),
        _as_long_as_the_longest,
    ),
)

GENERAL = (
    LesserWay(
        (".split", ".splitlines"),
        "Take one line after the other, and keep counts",
        "makes a list of all parts, a text of some 50 bytes and more for each.",
        "from collections import Counter\n\ncounts = Counter()\n"
        "with open('text.txt') as file:  # one line at a time, not the whole text\n"
        "    for line in file:\n        counts.update(line.lower().split())  # and what else is done with each word\n\n"
        "words = (found[0] for found in re.finditer(r'\\S+', {owner}))  # or one word at a time of a text: yields them",
        Case("text = load()", "words = text.lower().split()"),
        _of_a_text,
        silent=(Case("import numpy as np", "parts = np.split(x, 3)"),),
    ),
)
