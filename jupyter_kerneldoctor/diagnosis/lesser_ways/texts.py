"""Texts: what is split, matched, joined and counted."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .way import LesserWay, is_made_by


def _of_text(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether a text joins others: `", ".join(parts)`."""
    match call.node.func:
        case ast.Attribute(value=ast.Constant(value=str() | bytes())):
            return True
    return False


def _of_matches(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Give the call that hands over one match after the other, where each is a text: the pattern has no groups."""
    match call.node.args:
        case [ast.Constant(value=str(pattern)), *_] if "(" not in pattern and call.name == "re.findall":
            return {"matches": call.text.replace("findall", "finditer", 1)}
    return True


_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"

WAYS = (
    LesserWay(
        ("pandas.Series.str.get_dummies",),
        "Keep the parts sparse, or count them with explode",
        "makes a column for each part that occurs anywhere.",
        "{column}.str.split('|').explode().value_counts()  # where counts are enough\n\n"
        "from sklearn.preprocessing import MultiLabelBinarizer\n"
        "parts = MultiLabelBinarizer(sparse_output=True).fit_transform({column}.str.split('|'))",
        Case(_FRAME, "wide = df['tags'].str.get_dummies('|')", says=("df['tags'].str.split", "MultiLabelBinarizer")),
    ),
    LesserWay(
        tuple(f"pandas.Series.str.{name}" for name in ("split", "findall", "extractall", "rsplit")),
        "Take one text after the other, and keep counts",
        "makes a list of texts for each row.",
        "from collections import Counter\n\ncounts = Counter()\nfor text in {column}:\n    counts.update(text.split())",
        Case(_FRAME, "words = df['text'].str.split()", says=("for text in df['text']",)),
        lambda call, _death: call.argument("expand") is None,
    ),
    LesserWay(
        ("re.findall", "re.split"),
        "Take one match after the other: finditer",
        "makes a list of all matches.",
        "for match in re.finditer({a0}, {a1}):\n    ...  # match[0]; better still line by line of the file",
        Case(
            "import re\nfrom collections import Counter",
            "n = Counter(re.findall('[a-z]+', text))",
            becomes="n = Counter((found[0] for found in re.finditer('[a-z]+', text)))",
        ),
        _of_matches,
        one_by_one="(found[0] for found in {matches})",
    ),
    LesserWay(
        ("bs4.BeautifulSoup",),
        "Keep texts, not tags: a tag keeps its whole page",
        "makes an object of each element. They refer to each other: as long as one tag is kept, all of its page is.",
        "{to} = BeautifulSoup({a0}, 'html.parser')\ntext = {to}.find('title').get_text()  # or str(tag), tag['href']\n"
        "{to}.decompose()  # the rest of the page can go",
        Case("from bs4 import BeautifulSoup", "soup = BeautifulSoup(html)", says=("soup.decompose()", "get_text()")),
    ),
    LesserWay(
        (".pipe",),
        "Keep of each text only what you need of it",
        "gives an object of many tables for each text, and all of them are kept.",
        "for doc in {owner}.pipe(texts, batch_size=50):\n    lemmas = [token.lemma_ for token in doc]  # not `doc`",
        Case(
            "import spacy\nnlp = spacy.load('en')", "docs = list(nlp.pipe(texts))", says=("for doc in nlp.pipe(texts",)
        ),
        is_made_by("spacy.load"),
    ),
    LesserWay(
        ("gensim.models.KeyedVectors.load_word2vec_format", "gensim.downloader.load"),
        "Load the most frequent words only: limit=200_000",
        "loads a vector for each word, also for those that never occur.",
        "vectors = KeyedVectors.load_word2vec_format({a0}, binary=True, limit=200_000)  # the most frequent",
        Case(
            "from gensim.models import KeyedVectors",
            "v = KeyedVectors.load_word2vec_format('a')",
            says=("limit=200_000",),
        ),
    ),
    LesserWay(
        (".join",),
        "Write the parts to a file, one after the other",
        "makes one text of all parts, beside them.",
        "with open('out.txt', 'w') as file:\n    for part in {a0}:\n        file.write(f'{{part}}\\n')",
        Case("text = ', '.join(map(str, numbers))", says=("for part in map(str, numbers)",)),
        _of_text,
    ),
    LesserWay(
        ("collections.Counter",),
        "Forget what came once now and then, or count hashes",
        "keeps each different item, as text, with its number.",
        "counts = Counter()\nfor at, item in enumerate({a0}):\n    counts[item] += 1\n"
        "    if at % 1_000_000 == 0:\n        counts = Counter({{k: n for k, n in counts.items() if n > 1}})",
        Case("from collections import Counter", "c = Counter(w for w in ws)", says=("if n > 1",)),
        lambda call, _death: ".split(" not in "".join(call.scope.segment(one) for one in call.node.args[:1]),
    ),
)
