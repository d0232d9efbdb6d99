import ast

from ...code.calls import given_to, last_name
from ...code.trees import walk
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_HF = (
    "ids = tokenizer(text, truncation=True, max_length=512)['input_ids']  # as long as the text is: no padding here\n"
    "texts.append(torch.tensor(ids, dtype=torch.int32))  # 4 bytes for a token, not 8 and more in a list\n\n"
    "def collate(batch):  # each batch is made as long as its longest text\n"
    "    return tokenizer.pad({{'input_ids': [one.tolist() for one in batch]}}, padding='longest', return_tensors='pt')"
    "\n\nloader = DataLoader(texts, batch_size=16, collate_fn=collate)\n"
    "# a Trainer: data_collator=DataCollatorWithPadding(tokenizer)"
)
_TORCH = (
    "texts = [torch.tensor(ids, dtype=torch.int32) for ids in {ids}]  # as long as each is\n\n"
    "def collate(batch):  # each batch is made as long as its longest text\n"
    "    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)\n\n"
    "loader = torch.utils.data.DataLoader(texts, batch_size=16, collate_fn=collate)"
)
_KERAS = (
    "ds = tf.data.Dataset.from_generator(lambda: zip({ids}, labels),\n"
    "    output_signature=(tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)))\n"
    "ds = ds.padded_batch(32)  # each batch is made as long as its longest text\n\n"
    "# or of all texts the first few hundred tokens: np.percentile([len(one) for one in {ids}], 95)"
)
_MAKERS = ("append", "list", "array", "asarray", "tensor", "LongTensor", "Tensor", "stack", "dict", "map", "apply")
_TOK = "import torch\nfrom transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('a')\n"


class PadEachBatch(Fix):
    """Make each batch as long as its longest text, not every text as long as the longest of all.

    What it does: `padding="max_length"` and `pad_sequences` write as many numbers for a text of 20 words as for one of
    4,000. A function that puts batches together, a collator, pads each batch to the length of its own longest text.
    Tensors of int32 take 4 bytes for each token, lists of Python numbers 8 and more.

    When it is offered: Memory ran out where texts were padded to one length.

    What it costs: Batches have different lengths, which networks take that have no fixed length themselves.
    """

    id, title, causes = "pad-each-batch", "Pad each batch, not all texts to the same length", OUT_OF_MEMORY

    FIRES = [
        Case(
            _TOK + "class D(torch.utils.data.Dataset):\n    def __init__(self, texts):\n        self.kept = []\n"
            "        for t in texts:\n            self.kept.append(tok(t, padding='max_length', max_length=4096))",
            "ds = D(texts)",
            says=("padding='longest'", "torch.int32", "`tok(t, padding='max_length', max_length=4096)`"),
        ),
        Case(
            "from keras.utils import pad_sequences",
            "X = pad_sequences(seqs, maxlen=5000)",
            says=("zip(seqs, labels)", ".padded_batch(32)"),
        ),
        Case(
            "import torch",
            "X = [ids + [0] * (n - len(ids)) for ids in coded]\ny = torch.tensor(X)",
            line=1,
            says=("for ids in coded]", "pad_sequence"),
        ),
        Case(
            "import datasets\nds = datasets.load_dataset('a')",
            "rows = [tok(r['text'], padding='max_length') for r in ds]",
            says=("DataCollatorWithPadding",),
        ),
        Case(
            "import torch\nX = torch.zeros(len(waves), n)",
            "for i, w in enumerate(waves):\n    X[i, :len(w)] = w",
            line=2,
            says=("for ids in waves]", "pad_sequence(batch"),
        ),
    ]
    SILENT = [
        Case(_TOK, "enc = tok(texts, padding='longest')\nbig = [0] * 10**10", line=2),
        Case(_TOK, "enc = tok(t, padding='max_length')\nbig = [0] * 10**10", line=2),
        Case("rows = [r + [0] * (9 - len(r)) for r in table]"),  # nothing is learned of it
        Case(_TOK, "out = model.generate(**tok(question, padding='max_length'))"),  # it is gone after that
        Case(_TOK, "v = encoder(tok(text, padding='max_length').input_ids)[0]"),
        Case(_TOK, "for t in texts:\n    out = net(**tok(t, padding='max_length'))"),
    ]

    def propose(self, death: Death) -> Proposals:
        learns = any(map(death.code.imports, ("torch", "tensorflow", "keras", "transformers", "datasets")))
        for node, scope in death.code.running.nodes(ast.AST) if learns and death.is_of_this_cell else ():
            if (
                isinstance(node, ast.Assign)
                and (rows := _filled(node, scope)) is not None
                and _grew_around(node, scope, death)
            ):
                why = f"{quote(scope.segment(node))} fills a row that is as long as the longest of all. "
                why += "A batch needs only the length of its own longest row."
                form = _TORCH if death.code.imports("torch") else _KERAS
                form = form.replace("dtype=torch.int32", "dtype=torch.float32").replace("texts", "rows")
                yield Proposal((), why, death.memory.missing_bytes, snippet=form.format(ids=rows))
                return
            ids = _padded(node, scope) if isinstance(node, ast.Call | ast.BinOp) else None
            if ids is None or not isinstance(node, ast.expr) or not _is_kept(node, scope, death):
                continue
            is_of_keras = not death.code.imports("torch") and not death.code.imports("datasets")
            snippet = _HF if not ids else (_KERAS if is_of_keras else _TORCH)
            why = f"{quote(scope.segment(node))} makes every text as long as the longest may be, with zeros. "
            why += "A batch needs only the length of its own longest text."
            yield Proposal((), why, death.memory.missing_bytes, snippet=snippet.format(ids=ids))
            return


def _padded(node: ast.Call | ast.BinOp, scope: Scope) -> str | None:
    """Return the texts that are padded to one length, "" for those of a tokenizer; None for what pads nothing."""
    match node:
        case ast.Call(args=[texts, *_], keywords=words):
            given = {word.arg: getattr(word.value, "value", None) for word in words}
            if given.get("padding") == "max_length" or given.get("pad_to_max_length") is True:
                return ""
            return scope.segment(texts) if last_name(node.func) == "pad_sequences" else None
        case ast.BinOp(
            op=ast.Add(),
            right=ast.BinOp(left=ast.List(), op=ast.Mult(), right=ast.BinOp(op=ast.Sub(), right=ast.Call(func=length))),
        ) if last_name(length) == "len":
            for one in walk(scope.tree.statements[node]):
                match one:
                    case ast.ListComp(elt=item, generators=[ast.comprehension(iter=texts)]) if item is node:
                        return scope.segment(texts)
            return "all_ids"
    return None


def _filled(node: ast.AST, scope: Scope) -> str | None:
    """Return what a loop goes through that fills each row up to its own length: `X[i, : len(w)] = w`."""
    match node:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Tuple(elts=[_, ast.Slice(None, ast.Call(func=length))]))]) if (
            last_name(length) == "len"
        ):
            for loop in scope.loops_around(node)[:1]:
                match loop:
                    case ast.For(iter=ast.Call(func=ast.Name(id="enumerate" | "zip"), args=[rows, *_])):
                        return scope.segment(rows)
    return None


def _grew_around(node: ast.AST, scope: Scope, death: Death) -> bool:
    loop = next(iter(scope.loops_around(node)), None)
    return isinstance(loop, ast.For) and death.was_running(loop, scope) and grew_in(death, loop, scope) is not False


def _is_used_up(call: ast.AST, node: ast.expr) -> bool:
    """Whether what is padded is given to a call that works something out of it: a network, no list or array."""
    if not isinstance(call, ast.Call) or call is node or last_name(call.func) in _MAKERS:
        return False
    return any(part is node for given in given_to(call) for part in walk(given))


def _is_kept(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether what is padded stays: memory grew in the statement, or in a loop around it that puts it into a list."""
    if scope.function == "__getitem__":
        return False
    statement, loops = scope.tree.statements[node], scope.loops_around(node)
    names = scope.assigned_by(node)
    for around in loops[:1]:
        stored = (
            one
            for one in scope.inside(around)
            if isinstance(one, ast.Call) and last_name(one.func) in ("append", "extend", "add")
        )
        inside = {part for call in stored for part in walk(call)}
        is_stored = node in inside or any(isinstance(one, ast.Name) and one.id in names for one in inside)
        return is_stored and grew_in(death, around, scope) is not False
    if any(_is_used_up(one, node) for one in walk(statement)):
        return False
    return death.was_running(statement, scope) and grew_in(death, statement, scope) is not False
