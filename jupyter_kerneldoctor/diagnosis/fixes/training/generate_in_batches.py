import ast

from ...code.calls import Call
from ...edits import replace, text_of
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.generation import generations
from ...sizing import choose
from ...units import plural

_USUAL, _LARGEST = 8, 64
_SNIPPET = (
    "texts = []\nfor start in range(0, len({rows}), {few}):  # {few} prompts at a time\n"
    "    enc = {tokenizer}({rows}[start:start + {few}], return_tensors='pt', padding=True)\n"
    "    out = {model}.generate(**enc, max_new_tokens=64)  # with your other arguments\n"
    "    texts += {tokenizer}.batch_decode(out, skip_special_tokens=True)"
)
_GPT = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer\ntok = AutoTokenizer.from_pretrained('m')\n"
    "lm = AutoModelForCausalLM.from_pretrained('m')"
)
_ASK = (
    "\ndef ask(prompts, n=99):\n    enc = tok(prompts, padding=True)\n    out = lm.generate(**enc, max_new_tokens=n)\n"
)


class GenerateInBatches(Fix):
    """Generate the answers to some prompts at a time.

    What it does: `generate` keeps keys and values of each layer for every token of every prompt until the last token is
    there, and the shorter prompts are padded to the longest. The edit calls the function that generates with some of
    the prompts at a time.

    When it is offered: Memory ran out in `generate` of a model of Transformers that is given what a tokenizer made of
    all texts at once. An edit is made where a function of a cell gives back a list of texts.

    What it costs: Some time. Prompts are padded to the longest of their part, and sampling draws other numbers.
    """

    id, title, causes = "generate-in-batches", "Generate for some prompts at a time", OUT_OF_MEMORY

    FIRES = [
        Case(
            _GPT + _ASK + "    return tok.batch_decode(out)",
            "texts = ['hello'] * 900\nanswers = ask(texts, n=50)",
            growth="jump",
            becomes="texts = ['hello'] * 900\n"
            "answers = [one for start in range(0, len(texts), 64) for one in ask(texts[start:start + 64], n=50)]",
            says=("`ask(texts, n=50)`",),
        ),
        Case(_GPT, "enc = tok(load(), padding=True)\nout = lm.generate(**enc)", says=("tok(prompts[start:start + 8]",)),
    ]
    SILENT = [
        Case(_GPT + _ASK + "    return tok.batch_decode(out)", "for one in texts:\n    ask([one])"),
        Case(_GPT, "for part in parts:\n    enc = tok(part)\n    out = lm.generate(**enc)"),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes or 0
        for one in generations(death.code) if death.memory.grew_here else ():
            known, at = death.values.of(one.texts, one.caller), one.caller
            many = known.rows if known is not None else None
            if not death.was_running(one.call, one.scope) or many == 1 or (known is not None and known.type == "str"):
                continue
            choice = None if many is None else choose(death, many, from_runs=False)
            few = min(choice.value, _LARGEST) if choice is not None else _USUAL
            rows = at.segment(one.texts) if isinstance(one.texts, ast.Name | ast.Attribute) else "prompts"
            why = (
                f"{quote(at.segment(one.outer or one.call))} generates for {many or 'all'} prompts at once, and keeps "
                f"numbers of each of their tokens until the last is there; the cell took {size(missing)}."
            )
            title = f"Generate for {plural(few, 'prompt')} at a time"
            if one.outer is not None and one.is_list and rows != "prompts" and not at.loops_around(one.outer):
                some = replace(at, one.texts, f"{rows}[start:start + {few}]")
                part = text_of(Call(one.outer, at, ""), some)
                new = f"[one for start in range(0, len({rows}), {few}) for one in {part}]"
                yield Proposal(replace(at, one.outer, new), why, missing, title)
            else:
                snippet = _SNIPPET.format(rows=rows, few=few, tokenizer=one.tokenizer, model=one.model)
                yield Proposal((), why, missing, title, snippet)
            return
