import ast
from collections.abc import Iterator

from ...code.origins import Origins
from ...edits import set_argument
from ...fix import OUT_OF_MEMORY, Advice, Call, Case, Death, Proposal, Proposals, quote, size
from ...frameworks.step_growth import grows_by_the_step
from ...lesser_ways.conditions import is_gathered

_CUT = "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('bert')\n"
_PAD = "def encode(rows):\n    return tok(rows['text'], truncation=True, max_length=512, padding={})"


class TruncateSequences(Advice):
    """Make each batch as long as its longest text, not as long as the longest allowed.

    What it does: With `padding="max_length"` each text is made as long as the limit. The memory of a step grows with
    the length, that of attention with its square. A collator that pads each batch to its longest text needs as much as
    the texts do.

    When it is offered: Memory ran out in a training with Transformers, and a tokenizer pads to `max_length`.

    What it costs: Batches of different lengths; on a TPU each length is compiled anew.
    """

    id, title, causes = "truncate-sequences", "Pad each batch to its longest text, not to max_length", OUT_OF_MEMORY
    why = "{padded} makes each text as long as the longest allowed. Most are shorter, and attention needs the square."
    snippet = (
        "from transformers import DataCollatorWithPadding\n"
        "encoded = {tokenizer}(texts, truncation=True, max_length=256)  # without padding\n"
        "trainer = Trainer(model, args, train_dataset=ds, data_collator=DataCollatorWithPadding({tokenizer}))"
    )

    FIRES = [
        Case(
            _CUT
            + "def encode(texts):\n    return tok(texts, padding='max_length', max_length=512, return_tensors='pt')",
            "rows = encode(tweets)",
            says=("512", 'padding="longest"'),
        ),
        Case(_CUT + _PAD.format("'max_length'"), "trainer.train()", says=("`tok(rows['text']", "Padding(tok)")),
    ]
    SILENT = [
        Case(_CUT + _PAD.format("True"), "trainer.train()"),
        Case(_PAD.format("'max_length'"), "trainer.train()"),
        Case(_CUT + _PAD.format("'max_length'"), "big = load()"),
        Case(
            _CUT + "def encode(text): return tok(text, padding='max_length', return_tensors='pt')",
            "for text in texts: rows.append(encode(text))",
        ),
        Case(_CUT, "rows = [tok(t, padding='max_length', return_tensors='pt') for t in texts]"),  # to be stacked
    ]

    def propose(self, death: Death) -> Proposals:
        for call in _encoding(death):
            most = call.argument("max_length")
            why = (
                f"{quote(call.text)} makes each text as long as the longest allowed"
                f"{f', {call.scope.segment(most)} tokens' if most is not None else ''}; the cell took "
                f"{size(death.memory.missing_bytes or 0)}. Padded to the longest text that there is, they need less."
            )
            edits = set_argument(call, "padding", '"longest"')
            yield Proposal(edits, why, self.saves(death), "Pad to the longest text, not to max_length")
            return
        yield from super().propose(death)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - a collator is for the training
        """Whether no call that was running pads to the longest allowed."""
        return not any(_encoding(after))

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the tokenizer's call, where a network is trained."""
        code = death.code
        named = {getattr(one.func, "attr", "") for scope in code.running for one in scope.calls}
        if not code.imports("transformers") or not named & {"train", "fit", "backward"} or grows_by_the_step(code):
            return None
        for scope in code.scopes_mentioning("padding"):
            for call in scope.calls:
                given = next((word.value for word in call.keywords if word.arg == "padding"), None)
                if isinstance(given, ast.Constant) and given.value == "max_length":
                    return {"padded": quote(scope.segment(call)), "tokenizer": scope.segment(call.func)}
        return None

    def saves(self, death: Death) -> int | None:
        """Count half, as the texts' lengths are not known."""
        return (death.memory.missing_bytes or 0) // 2 if death.memory.grew_here else None


def _encoding(death: Death) -> Iterator[Call]:
    """Yield the calls of a tokenizer that were running, and make one tensor of all texts."""
    in_use = death.memory.grew_here and death.code.imports("transformers")
    for node, scope in death.code.running.nodes(ast.Call) if in_use else ():
        call = Call(node, scope, "tokenizer")
        given = call.argument("padding")
        is_long = isinstance(given, ast.Constant) and given.value == "max_length"
        is_one_tensor = is_long and call.argument("return_tensors") is not None and not is_gathered(call, death)
        if is_one_tensor and death.was_running(node, scope) and not Origins(death.code).is_repeated(node, scope):
            yield call
