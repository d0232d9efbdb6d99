import ast
from collections.abc import Iterable

from ...code.origins import all_origins
from ...code.trees import walk
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_MADE = ("numpy.zeros", "numpy.empty", "numpy.ones", "numpy.full", "numpy.random.*", "torch.zeros", "torch.empty")
_LEARN = ("keras", "tensorflow", "torch", "gensim")
_WORDS = {
    "Tokenizer": "tokenizer = Tokenizer(num_words=N_WORDS, oov_token='?')  # texts_to_sequences leaves the rest out",
    "TextVectorization": "vectorize = TextVectorization(max_tokens=N_WORDS)  # all others become [UNK]",
    "Counter": "{index} = {{word: i for i, (word, n) in enumerate(counts.most_common(N_WORDS - 1), 1)}}",
}
_SNIPPET = (
    "N_WORDS = 20_000  # the most frequent; most others occur once or twice, and nothing is learned of them\n{words}\n"
    "{array} = np.zeros((N_WORDS, {width}), dtype='float32')\n"
    "for {word}, {number} in {index}.items():\n    if {number} < N_WORDS:  # numbered by how frequent they are\n"
    "        ...  # as before; Embedding(N_WORDS, {width})"
)
_FILL = "M = np.zeros((len(index) + 1, 300))\nfor w, i in index.items():\n    if w in glove:\n        M[i] = glove[w]"
_KERAS = "import numpy as np\nfrom keras.preprocessing.text import Tokenizer\nt = Tokenizer()\nindex = t.word_index"


class RowsOfTheFrequent(Fix):
    """Give a row of the matrix to the most frequent words only.

    What it does: A matrix of word vectors has a row for each word that ever came, and most of these are typing errors,
    names and numbers. The most frequent 20,000 are nearly all of a text; the rest shares one row.

    When it is offered: Memory ran out where a loop over a dictionary of words fills such a matrix, in a notebook that
    trains a network.

    What it costs: Rare words are all the same to the network.
    """

    id, causes = "rows-of-the-frequent", OUT_OF_MEMORY
    title = "Give a row to the most frequent words only: num_words, max_tokens"

    FIRES = [
        Case(
            _KERAS, _FILL, line=4, says=("Tokenizer(num_words=N_WORDS", "for w, i in index.items():", "if i < N_WORDS")
        ),
        Case(
            "import numpy as np, torch\nfrom collections import Counter\nc = Counter(words)\n"
            "index = {w: i for i, w in enumerate(c)}",
            _FILL,
            line=4,
            says=("counts.most_common(N_WORDS - 1)",),
        ),
    ]
    SILENT = [
        Case("import numpy as np\nindex = {}", _FILL, line=4),  # no network
        Case(_KERAS, _FILL + "\nbig = [0] * 10**10", line=5),
        Case(_KERAS, "M = np.zeros((9000, 300))\nfor i, row in enumerate(rows):\n    M[i] = row", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        learns = any(map(death.code.imports, _LEARN)) and death.is_of_this_cell
        for loop, scope in death.code.running.nodes(ast.For) if learns else ():
            match loop:
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=word), ast.Name(id=number)]),
                    iter=ast.Call(func=ast.Attribute(attr="items", value=index)),
                ):
                    pass
                case _:
                    continue
            if not death.was_running(loop, scope) or grew_in(death, loop, scope) is False:
                continue
            array = _filled(number, scope.inside(loop))
            width = None if array is None else _width(array, scope, death)
            if array is None or width is None:
                continue
            used = next((one for one in _WORDS if death.code.has_text(one)), "Counter")
            names = {"array": array.id, "width": width, "word": word, "number": number, "index": scope.segment(index)}
            why = f"{quote(array.id)} gets a row of {width} numbers for each word of {quote(names['index'])}, however "
            why += "rare. Most words of a collection come once or twice."
            snippet = _SNIPPET.format(words=_WORDS[used].format(**names), **names)
            yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
            return


def _filled(number: str, nodes: Iterable[ast.AST]) -> ast.Name | None:
    """Return the array into whose row of this number something is written."""
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name() as array, slice=ast.Name(id=name), ctx=ast.Store()) if name == number:
                return array
    return None


def _width(array: ast.Name, scope: Scope, death: Death) -> str | None:
    """Return how many numbers a row has, as it is written where the array was made; None where it has no rows."""
    for one, where in all_origins(array, scope, death.code):
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and name is not None and (name in _MADE or name.startswith("numpy.random.")):
            shape = next((part for part in walk(one) if isinstance(part, ast.Tuple) and len(part.elts) == 2), None)
            return None if shape is None else where.segment(shape.elts[1])
    return None
