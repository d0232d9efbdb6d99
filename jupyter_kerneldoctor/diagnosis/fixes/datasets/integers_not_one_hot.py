import ast

from ...code.origins import all_origins
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...place import grew_in

_ZEROS = ("numpy.zeros", "torch.zeros")
_KERAS = (
    "x = keras.layers.Embedding({words}, 64)(inputs)  # inputs: keras.Input((None,), dtype='int32'); no one-hot\n"
    "model.compile(optimizer='rmsprop', loss='sparse_categorical_crossentropy')  # targets as numbers, too"
)
_TORCH = (
    "x = nn.Embedding({words}, 64)({name})  # in place of the one-hot input\n"
    "loss = nn.CrossEntropyLoss()(out.flatten(0, 1), targets.flatten().long())  # targets as numbers, too"
)
_FILL = (
    "x = np.zeros((len(texts), n, len(words)), dtype='float32')\nfor i, text in enumerate(texts):\n"
    "    for t, word in enumerate(text.split()):\n        x[i, t, words[word]] = 1.0"
)


class IntegersNotOneHot(Fix):
    """Keep each word or character as its number, not as a row of zeros with one 1.

    What it does: A one-hot array of sequences has a number for each place and each word of the vocabulary. The number
    of the word says the same: an `Embedding` takes it as input, `sparse_categorical_crossentropy` and
    `CrossEntropyLoss` take it as target.

    When it is offered: Memory ran out while such an array was made or filled: one of three axes, in which single places
    are set to 1.

    What it costs: The first layer of the network is an `Embedding`, and learns a row for each word.
    """

    id, title = "integers-not-one-hot", "Keep the numbers of the words, not one-hot rows: Embedding"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            "import keras\nimport numpy as np",
            _FILL,
            line=4,
            says=("x = np.zeros((len(texts), n), dtype='int32')", "x[i, t] = words[word]", "Embedding(len(words), 64)"),
        ),
        Case(
            "import torch",
            _FILL.replace("np.zeros(", "torch.zeros(").replace(", dtype='float32'", ""),
            line=4,
            says=("nn.Embedding(len(words), 64)(x)", "torch.zeros((len(texts), n), dtype=torch.int32)"),
        ),
    ]
    SILENT = [
        Case("import keras\nimport numpy as np", _FILL.replace("] = 1.0", "] = 0.3"), line=4),
        Case("import numpy as np", _FILL, line=4),  # no network
        Case("import keras\nimport numpy as np", _FILL + "\nbig = [0] * 10**10", line=5),
    ]

    def propose(self, death: Death) -> Proposals:
        learns = any(map(death.code.imports, ("keras", "tensorflow", "torch")))
        for node, scope in death.code.running.nodes(ast.AST) if learns and death.is_of_this_cell else ():
            match node:
                case ast.Assign(
                    targets=[
                        ast.Subscript(
                            value=ast.Name() as array, slice=ast.Tuple(elts=[first, second, ast.expr() as word])
                        )
                    ],
                    value=ast.Constant(value=1 | 1.0 | True),
                ) if not isinstance(word, ast.Slice | ast.Constant):
                    made = _made(array, scope, death)
                    if made is not None and _grew(node, made, scope, death):
                        yield _proposal(array.id, (first, second, word), made, scope, death)
                        return


def _made(array: ast.Name, scope: Scope, death: Death) -> Call | None:
    """Return the call that made an array of three axes, all zeros."""
    for one, where in all_origins(array, scope, death.code):
        if isinstance(one, ast.Call) and (name := death.code.qualified(one.func, where)) in _ZEROS:
            call = Call(one, where, name or "")
            return call if len(_axes(call)) == 3 else None
    return None


def _axes(call: Call) -> list[ast.expr]:
    shape = call.argument("shape", "size", 0)
    return shape.elts if isinstance(shape, ast.Tuple | ast.List) else list(call.node.args)


def _grew(node: ast.stmt, made: Call, scope: Scope, death: Death) -> bool:
    loops = scope.loops_around(node)
    around = loops[-1] if loops else node
    in_loop = death.was_running(around, scope) and grew_in(death, around, scope) is not False
    return in_loop or (
        death.was_running(made.statement, made.scope) and grew_in(death, made.statement, made.scope) is True
    )


def _proposal(name: str, places: tuple[ast.expr, ...], made: Call, scope: Scope, death: Death) -> Proposal:
    count, length, words = (" ".join(made.scope.segment(one).split()) for one in _axes(made))
    at = ", ".join(map(scope.segment, places[:2]))
    value = death.values.of(made.node, made.scope)
    takes = f", {size(value.bytes)}" if value is not None and value.bytes else ""
    why = (
        f"{quote(made.text)} has a number for each place and each of {quote(words)}{takes}, and one of each row is 1. "
    )
    why += f"The number of the word says the same: one number in place of {quote(words)}."
    of_torch = made.name.startswith("torch")
    kind = "torch.int32" if of_torch else "'int32'"
    snippet = (
        f"{name} = {made.scope.segment(made.node.func)}(({count}, {length}), dtype={kind})  # 0 for what is not there\n"
        f"{name}[{at}] = {scope.segment(places[2])}  # in the loop; the index itself\n\n"
    )
    more = _TORCH if of_torch or not any(map(death.code.imports, ("keras", "tensorflow"))) else _KERAS
    return Proposal((), why, death.memory.missing_bytes, snippet=snippet + more.format(words=words, name=name))
