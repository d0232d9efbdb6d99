"""Words in lists, texts that are compared, documents that are read whole, and text that is turned into objects."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import given, is_gathered, made, without
from .way import LesserWay, names

_FREES = ("close()", "flush_cache()")


def _of_a_whole_text(call: Call, death: Death) -> bool:
    """Whether spaCy is given one text that was read or joined, not one of many in a loop."""
    one_of_many = bool(call.scope.loops_around(call.node))
    return not one_of_many and not is_gathered(call, death) and made("spacy", "load", "blank")(call, death) is not False


_TYPES = {
    "f": "f4",
    "d": "f8",
    "e": "f2",
    "b": "i1",
    "B": "u1",
    "h": "i2",
    "H": "u2",
    "i": "i4",
    "I": "u4",
    "q": "i8",
    "Q": "u8",
}


def _numbers(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Whether many numbers of one kind are unpacked: `struct.unpack(f'{n}f', data)`. Name their type for NumPy."""
    if not call.node.args or isinstance(call.node.args[0], ast.Constant):
        return False
    texts = (one.value for one in walk(call.node.args[0]) if isinstance(one, ast.Constant))
    written = "".join(one for one in texts if isinstance(one, str)).replace("%d", "").replace("%s", "")
    kinds = {one for one in written if one.isalpha()}
    types = {_TYPES.get(one) for one in kinds} or {"f4"}
    found = types.pop()
    if types or found is None:
        return False  # numbers of several kinds, or of a size that depends on the machine
    return {"dtype": f"{'>' if written[:1] in ('>', '!') else '<'}{found}"}


def _sparse(call: Call, _death: Death) -> Mapping[str, str]:
    """Give the same of a corpus without a number for each word of each text."""
    told = names(call)
    if call.name.endswith("corpus2dense"):
        return {"sparse": f"{told['to']} = gensim.matutils.corpus2csc({told['a0']})  # sparse, words x texts"}
    made = f"{told['to']} = Similarity('index', {told['a0']}, num_features=len(dictionary))"
    return {"sparse": f"from gensim.similarities import Similarity\n\n{made}  # in files; answers as the other does"}


WAYS = (
    LesserWay(
        (".()",),
        "Give it one paragraph after the other: nlp.pipe, without what you do not use",
        "makes tables of vectors for the whole text: about a gigabyte for 100,000 letters with parser and names.",
        "paragraphs = {of0}.split('\\n\\n')\n"
        "for doc in {owner}.pipe(paragraphs, disable=['parser', 'ner'], batch_size=50):\n"
        "    ...  # keep words of it, not `doc`",
        Case("import spacy\nnlp = spacy.load('en')", "doc = nlp(book)"),
        _of_a_whole_text,
        silent=("for t in texts:\n    n += len(nlp(t))",),
    ),
    LesserWay(
        ("gensim.similarities.MatrixSimilarity", "gensim.matutils.corpus2dense"),
        "Keep it sparse, or in parts on the disk: Similarity, corpus2csc",
        "makes a number for each word of the vocabulary in each text.",
        "{sparse}",
        fits=_sparse,
    ),
    LesserWay(
        ("gensim.models.Phrases", "gensim.models.phrases.Phrases"),
        "Let it forget rare pairs: max_vocab_size=2_000_000",
        "keeps each word and each pair of words, up to 40 million.",
        "{to} = {function}({a0}, min_count=10, max_vocab_size=2_000_000).freeze()  # keeps only the phrases then",
        Case("from gensim.models import Phrases", "p = Phrases(s)"),
        without("max_vocab_size"),
        silent=("p = Phrases(s, max_vocab_size=10**6)",),
    ),
    LesserWay(
        ("nltk.ngrams", "nltk.bigrams", "nltk.trigrams", "nltk.everygrams", "nltk.util.ngrams", "nltk.skipgrams"),
        "Count one after the other, not a list of all",
        "gives a tuple for each group of words, and all of them are kept.",
        "from collections import Counter\n\ncounts = Counter({function}({a0}))  # with your other arguments: no list\n"
        "counts = Counter(dict(counts.most_common(100_000)))",
        Case("import nltk", "g = list(nltk.bigrams(words))"),
        is_gathered,
    ),
    LesserWay(
        (
            *("nltk.collocations.BigramCollocationFinder.from_words", "nltk.BigramCollocationFinder.from_words"),
            *("nltk.collocations.TrigramCollocationFinder.from_words", "nltk.TrigramCollocationFinder.from_words"),
        ),
        "Leave rare words out before: they make nearly all of the pairs",
        "keeps each pair of words that occurs; a `window_size` makes several times as many.",
        "from collections import Counter\n\n"
        "often = {{word for word, n in Counter({a0}).items() if n >= 20}}  # pairs may span a gap then\n"
        "{to} = {function}([word for word in {a0} if word in often])",
    ),
    LesserWay(
        (
            "difflib.ndiff",
            "difflib.unified_diff",
            "difflib.HtmlDiff",
            "difflib.SequenceMatcher",
            "difflib.context_diff",
        ),
        "Let diff compare the files, or hashes of their lines",
        "keeps where each line or letter of the other text stands.",
        "# in a terminal: diff -u old.txt new.txt > changes.txt\n\n"
        "known = {{hash(line) for line in open('old.txt')}}  # or only what is new, line by line\n"
        "new = [line for line in open('new.txt') if hash(line) not in known]",
    ),
    LesserWay(
        ("yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load"),
        "Keep it as JSON lines, or as documents that are read one by one: safe_load_all",
        "makes objects of each sign of the text first, many times its size.",
        "for document in yaml.load_all(open(path), Loader=yaml.CSafeLoader):  # parts that `---` separates\n    ...\n\n"
        "rows = map(json.loads, open('data.jsonl'))  # better: a record in each line, for numbers a table",
    ),
    LesserWay(
        (*("xml.etree.ElementTree.fromstring", "xml.etree.ElementTree.XML", "lxml.etree.fromstring"),),
        "Take one element at a time: iterparse",
        "makes an object of each element, beside the text.",
        "from xml.etree import ElementTree\n\n"
        "steps = ElementTree.iterparse(path, events=('start', 'end'))  # the file itself\n_, root = next(steps)\n"
        "for event, element in steps:\n    if event == 'end' and element.tag == 'item':  # with your tag\n"
        "        ...  # use it\n        root.clear()  # the tree forgets it",
    ),
    LesserWay(
        ("struct.unpack",),
        "See the bytes as an array: np.frombuffer",
        "makes a Python object of each number.",
        "{to} = np.frombuffer({a1}, dtype='{dtype}')  # no copy: with the type that your format says",
        Case("import struct", "x = struct.unpack(f'>{n}h', data)", says=("np.frombuffer(data, dtype='>i2')",)),
        _numbers,
        silent=("x = struct.unpack('<I', data)", "x = struct.unpack('hf' * n, data)"),
    ),
    LesserWay(
        ("base64.b64encode", "base64.b64decode", "base64.encodebytes", "base64.decodebytes"),
        "Let it go from file to file: base64.encode",
        "makes another text beside what it is given.",
        "with open('data', 'rb') as file, open('data.b64', 'wb') as out:\n"
        "    base64.encode(file, out)  # line by line; base64.decode goes back",
    ),
    LesserWay(
        ("zlib.compress", "gzip.compress", "bz2.compress", "lzma.compress"),
        "Pack into a file, piece by piece",
        "makes the packed bytes in memory, beside all others.",
        "import gzip, shutil\n\nwith open('data', 'rb') as file, gzip.open('data.gz', 'wb') as packed:\n"
        "    shutil.copyfileobj(file, packed)",
    ),
    LesserWay(
        ("camelot.read_pdf", "tabula.read_pdf"),
        "Read some pages at a time: pages='1-10'",
        "reads all pages, and keeps the tables of each.",
        "for first in range(1, 200, 10):  # ten at a time, to the last of yours\n"
        "    tables = {function}({a0}, pages=f'{{first}}-{{first + 9}}')\n    ...  # write them to a file",
        Case("import camelot", "t = camelot.read_pdf('a.pdf', pages='all')"),
        given("all", "pages", 1),
        silent=("t = camelot.read_pdf('a.pdf', pages='1-9')",),
    ),
    LesserWay(
        (".extract_text", ".extract_words", ".extract_table", ".extract_tables"),
        "Close each page when you are done with it: page.close()",
        "leaves all letters of its page in memory, for as long as the document is open.",
        "with pdfplumber.open(path) as pdf:\n    for page in pdf.pages:\n        text = page.extract_text()\n"
        "        ...  # keep the text\n        page.close()  # forgets the page; older: page.flush_cache()",
        Case(
            "import pdfplumber\npdf = pdfplumber.open('a.pdf')",
            "for page in pdf.pages:\n    texts.append(page.extract_text())",
        ),
        lambda call, death: (
            death.code.imports("pdfplumber")
            and not any(
                word in call.scope.segment(loop) for loop in call.scope.loops_around(call.node) for word in _FREES
            )
        ),
        silent=("for page in pdf.pages:\n    t = page.extract_text()\n    page.close()",),
    ),
)
