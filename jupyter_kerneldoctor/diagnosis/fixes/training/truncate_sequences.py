import ast

from ...fix import Advice, Case, Death, Family
from ...frameworks.step_growth import grows_by_the_step
from ...units import quote

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

    id, title = "truncate-sequences", "Pad each batch to its longest text, not to max_length"
    causes = (Family.MEMORY, "gpu-oom")
    why = "{padded} makes each text as long as the longest allowed. Most are shorter, and attention needs the square."
    snippet = (
        "from transformers import DataCollatorWithPadding\n"
        "encoded = {tokenizer}(texts, truncation=True, max_length=256)  # without padding\n"
        "trainer = Trainer(model, args, train_dataset=ds, data_collator=DataCollatorWithPadding({tokenizer}))"
    )

    FIRES = [
        Case(_CUT + _PAD.format("'max_length'"), "trainer.train()", says=("`tok(rows['text']", "Padding(tok)")),
    ]
    SILENT = [
        Case(_CUT + _PAD.format("True"), "trainer.train()"),
        Case(_PAD.format("'max_length'"), "trainer.train()"),
        Case(_CUT + _PAD.format("'max_length'"), "big = load()"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the tokenizer's call, where a network is trained."""
        code = death.code
        named = {getattr(one.func, "attr", "") for scope in code.running for one in scope.calls}
        if not code.imports("transformers") or not named & {"train", "fit", "backward"} or grows_by_the_step(code):
            return None
        for module in code.mentioning("padding"):
            for scope in code.scopes(module.cell):
                for call in scope.calls:
                    given = next((word.value for word in call.keywords if word.arg == "padding"), None)
                    if isinstance(given, ast.Constant) and given.value == "max_length":
                        return {"padded": quote(scope.segment(call)), "tokenizer": scope.segment(call.func)}
        return None

    def saves(self, death: Death) -> int | None:
        """Count half, as the texts' lengths are not known."""
        return (death.memory.missing_bytes or 0) // 2 if death.memory.grew_here else None
