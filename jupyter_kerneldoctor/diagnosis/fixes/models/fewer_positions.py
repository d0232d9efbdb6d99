import ast
import re

from ...calls import calls_at
from ...code.calls import last_name
from ...code.literals import number
from ...code.origins import Origins
from ...code.trees import walk
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, quote, size

_MAKERS = (
    *(f"torch.{name}" for name in ("zeros", "ones", "empty", "arange", "rand", "randn", "tril", "triu", "full")),
    *("torch.outer", "torch.einsum", "torch.nn.Embedding", "torch.nn.Parameter"),
    *(f"numpy.{name}" for name in ("zeros", "ones", "empty", "arange", "tril", "triu", "full", "array")),
    *("tensorflow.range", "tensorflow.zeros", "tensorflow.ones", "tensorflow.linalg.band_part"),
)
_LENGTH = re.compile(
    r"(?:self\.)?(?:\w*max\w*(?:len|length|pos\w*|seq\w*|tokens?)|n_pos\w*|n_ctx|\w*context_(?:len\w*|size|window)"
    r"|block_size|seq_?len\w*|ctx_len\w*|position)",
    re.IGNORECASE,
)
_LARGE, _USUAL = 4096, 5000
_OF_PLACES = ("sin(", "register_buffer", "osition", "pos_emb", "tril", "triu", "rotary")
"""What is written in code that makes a table of places."""
_PE = (
    "import torch\nfrom torch import nn\nclass Positions(nn.Module):\n    def __init__(self, d, max_len={}):\n"
    "        super().__init__()\n        pe = torch.zeros(max_len, 1, d)\n        self.register_buffer('pe', pe)"
)
_MASK = (
    "import torch\nclass Block(torch.nn.Module):\n    def __init__(self, cfg):\n        super().__init__()\n"
    "        self.mask = torch.tril(torch.ones(cfg.block_size, cfg.block_size))\n"
)


class FewerPositions(Fix):
    """Make room for as many positions as the longest sequence has.

    What it does: A table of positions has a row for each place in a text, up to `max_len`, and a causal mask a number
    for each pair of them. Only as many are used as the longest sequence has; 5,000 is what most code takes.

    When it is offered: Memory ran out on a line that makes such a table, and its length, a number of 4,096 or more, is
    called `max_len`, `block_size` or the like.

    What it costs: A sequence that is longer raises an error. A mask can be made for each batch as long as that is.
    """

    id, title, causes = "fewer-positions", "Make as many positions as the longest sequence has", OUT_OF_MEMORY

    FIRES = [
        Case(
            _PE.format("1_000_000"),
            "p = Positions(256)",
            growth="jump",
            says=("max_len = 5000", "1,000,000", "cell [1]"),
        ),
        Case(
            _MASK + "class Cfg: block_size = 65536",
            "b = Block(Cfg())",
            growth="jump",
            says=("block_size = 5000", "65,536", "is_causal=True"),
        ),
        Case(
            _MASK + "class Cfg: block_size = 4096",
            "b = Block(Cfg())",
            growth="jump",
            says=("block_size = 1024",),
        ),
    ]
    SILENT = [
        Case(_PE.format("500"), "p = Positions(256)", growth="jump"),
        Case("import torch\nmax_len = 99_000", "x = torch.zeros(max_len, 2)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nmax_len = 480_000", "X = np.zeros((n, max_len))", growth="jump"),  # sounds
        Case("import torch\nseq_len = 100_000", "x = torch.zeros(batch, seq_len, words)", growth="jump"),
        Case("import numpy as np\nblock_size = 10**9", "x = np.arange(block_size)", growth="jump"),
        Case("import torch\nrows = 1_000_000", "x = torch.zeros(rows, 256)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, *_MAKERS):
            for node in (one for given in call.node.args for one in walk(given)):
                is_length = isinstance(node, ast.Name | ast.Attribute) and _LENGTH.fullmatch(last_name(node))
                if is_length and isinstance(node, ast.Name | ast.Attribute) and _is_table(node, call, death):
                    yield from _shorter(node, call, death)
                    return


def _is_table(length: ast.expr, call: Call, death: Death) -> bool:
    """Whether a call makes a row for each place, or a number for each pair of places: no batch that is padded."""
    text = call.scope.segment(length)
    if call.text.count(text) > 1 or "tri" in call.name:
        return True
    first = call.node.args[0]
    first = first.elts[0] if isinstance(first, ast.Tuple | ast.List) and first.elts else first
    return length in [*walk(first)] and death.code.has_text(*_OF_PLACES)


def _shorter(node: ast.Name | ast.Attribute, call: Call, death: Death) -> Proposals:
    found = Origins(death.code).number(node, call.scope)
    length = found[0] if found is not None else death.values.number(node, call.scope)
    if length is None or length < _LARGE:
        return
    name = call.scope.segment(node).rpartition(".")[2]
    where = f" ({death.code.cell_name(found[1].scope.cell)})" if found is not None and number(found[1].node) else ""
    made = death.values.of(call.node, call.scope)
    takes = f", {size(made.bytes)}" if made is not None and made.bytes else ""
    why = f"{quote(call.text)} has a row for each of {length:,} positions{takes}. Only as many are used as the longest "
    why += "sequence has."
    snippet = f"{name} = {min(_USUAL, length // 4)}  # in place of {length:,}{where}: "
    snippet += "max(len(ids) for ids in sequences) and a few more"
    if call.text.count(name) > 1 or "tri" in call.name:
        snippet += "\n\n# or no mask at all: scaled_dot_product_attention(q, k, v, is_causal=True)"
    yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
