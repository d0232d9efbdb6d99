import ast

from ...edits import Changes, EditRefusedError, import_as, remove, replace, set_argument
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.attention import Attention, attentions, unread_weights, written_with_sdpa
from ...frameworks.torch import Tensors

_NET = (
    "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\nclass Attention(nn.Module):\n"
    "    def forward(self, x):\n        {}\n        return {}"
)
_RUN = "net = Attention()\nout = net(x)"
_STEPS = "q, k, v = self.q(x), self.k(x), self.v(x)\n        "
_MULTI = "import torch\nattn = torch.nn.MultiheadAttention(64, 4, batch_first=True)"


class SdpaAttention(Fix):
    """Let PyTorch work out the attention block by block.

    What it does: Attention that is written out makes a table of all pairs of positions, for each head and layer, and
    training keeps it twice: 20,000 positions are 400 million pairs, 1.5 GiB. `scaled_dot_product_attention` gives the
    same values and never has the whole table. It needs four dimensions for that, so the edit adds one where there are
    three.

    When it is offered: Memory ran out while such code ran: products of queries and keys, a softmax, the product with
    the values. Also for `attn_implementation="eager"`, and for `nn.MultiheadAttention` whose weights nobody reads.
    Where there is a mask or dropout, or the weights are used elsewhere, it says what to write, without an edit.

    What it costs: The attention weights are no longer there to be looked at. The values are the same up to rounding.
    """

    id, title, causes = "sdpa-attention", "Work out attention without the table of all pairs", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET.format(
                _STEPS + "scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])\n        w = scores.softmax(-1)",
                "w @ v",
            ),
            _RUN,
            becomes={
                1: _NET.format(
                    _STEPS.rstrip(),
                    "F.scaled_dot_product_attention(*(one.reshape(-1, 1, *one.shape[-2:]) for one in (q, k, v)), "
                    "scale=1 / math.sqrt(q.shape[-1])).reshape(*q.shape[:-1], v.shape[-1])",
                )
            },
            says=("w @ v",),
        ),
        Case(  # heads, and what comes later is hidden
            _NET.format(
                "q, k, v = (t.view(b, n, 8, 64).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))\n"
                "        s = torch.matmul(q, k.transpose(-1, -2)) * self.scale\n"
                "        s = s.masked_fill(torch.tril(torch.ones(n, n)) == 0, float('-inf'))",
                "torch.matmul(F.softmax(s, dim=-1), v)",
            ),
            _RUN,
            becomes={
                1: _NET.format(
                    "q, k, v = (t.view(b, n, 8, 64).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))",
                    "F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)",
                )
            },
        ),
        Case(
            _NET.format("s = torch.bmm(q, k.transpose(1, 2)).masked_fill(hidden, -1e9)", "torch.bmm(s.softmax(-1), v)"),
            _RUN,
            says=("attn_mask",),
        ),
        Case(
            "import torch\nimport torch.nn.functional as F",
            "w = torch.einsum('bhqc,bhkc->bhqk', q, k) * scale\n"
            "out = torch.einsum('bhij,bhjd->bhid', w.softmax(-1), v)",
            becomes="out = F.scaled_dot_product_attention(q, k, v, scale=scale)",
        ),
        Case(_MULTI, "for x in xs:\n    y, _ = attn(x, x, x)", becomes={"x, x, x": "x, x, x, need_weights=False"}),
        Case(
            "from transformers import AutoModel\nmodel = AutoModel.from_pretrained(name, attn_implementation='eager')",
            "out = model(ids)",
            becomes={"'eager'": '"sdpa"'},
        ),
    ]
    SILENT = [
        Case(_MULTI, "y, weights = attn(x, x, x)\nshow(weights)"),
        Case(_MULTI, "y, _ = attn(x, x, x, need_weights=False)"),
        Case(_NET.format("s = q @ k.transpose(-2, -1)", "s @ v"), _RUN),  # no softmax
        Case(_NET.format("s = (q @ k.transpose(-2, -1)).softmax(-2)", "s @ v"), _RUN),
        Case(_NET.format("s = (q @ k.transpose(-2, -1)).softmax(-1)", "s @ v"), "big = [0] * 10**10"),
        Case(_NET.format("s = (q @ k.transpose(-2, -1)).softmax(-1)", "s @ v"), _RUN, before_mib=1990),
    ]

    def propose(self, death: Death) -> Proposals:
        memory, tensors = death.memory, Tensors(death.code)
        if not death.is_of_this_cell or not memory.missing_bytes or death.growth.is_steady:
            return
        for found in attentions(tensors):
            own = found.scope.statement_of(found.result)
            if not any(death.was_running(one, found.scope) for one in (*found.statements, own or found.result)):
                continue
            why = (
                f"{quote(found.scope.segment(found.result))} needs a table of all pairs of positions. The cell took "
                f"{size(memory.missing_bytes)}. `scaled_dot_product_attention` works it out block by block."
            )
            text = written_with_sdpa(found, "F")
            edits: Changes = ()
            if not (found.mask or found.dropout or found.is_used_elsewhere):
                try:
                    edits = _edits(found, death)
                except EditRefusedError:
                    edits = ()
            yield Proposal(edits, why, memory.missing_bytes, instead=text)
        yield from _told_to_be_lean(death, tensors)


def _edits(found: Attention, death: Death) -> Changes:
    name, changes = import_as(found.scope, death.code, "torch.nn.functional", "F")
    for one in found.statements:
        changes += remove(found.scope, one)
    return changes + replace(found.scope, found.result, written_with_sdpa(found, name))


def _told_to_be_lean(death: Death, tensors: Tensors) -> Proposals:
    """Yield arguments by which layers and models of libraries work without the table."""
    missing, table = death.memory.missing_bytes or 0, "makes a table of all pairs of positions"
    for call in death.code.calls("transformers.*"):
        if isinstance(given := call.argument("attn_implementation"), ast.Constant) and given.value == "eager":
            edits = set_argument(call, "attn_implementation", '"sdpa"')
            yield Proposal(edits, f"{quote(call.text)} {table} in each layer.", missing)
    for call in unread_weights(tensors):
        if death.was_running(call.statement, call.scope) and call.is_written_out:
            edits = set_argument(call, "need_weights", "False")
            yield Proposal(edits, f"{quote(call.text)} {table} and gives it back, but nothing reads it.", missing)
