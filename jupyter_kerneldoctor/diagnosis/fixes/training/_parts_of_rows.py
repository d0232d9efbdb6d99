"""What to do where a function or a loop takes too many rows through a network at a time."""

import ast
import re

from ...calls import network_call_at
from ...code.origins import Origins
from ...code.trees import walk
from ...fix import Death, Proposal, Proposals, Scope, quote, size
from ...frameworks.evaluation import is_taken_apart
from ...frameworks.generation import tokenized
from ...frameworks.gradients import hides_gradients, sources_of_gradients
from ...frameworks.related_rows import has_time_first, mixes_rows
from ...frameworks.torch import Kind, Tensors
from ...frameworks.training import find_batch_size

_TEXTS = (
    "parts = []\nfor start in range(0, len({rows}), 32):  # 32 texts at a time\n"
    "    enc = {tokenizer}({rows}[start:start + 32], padding=True, truncation=True, return_tensors='pt')\n"
    "    with torch.no_grad():\n        out = {network}(**enc)\n"
    "    parts.append(out.last_hidden_state.mean(1))  # a vector of each text, or what you need of it\n"
    "vectors = torch.cat(parts)"
)


def parts_of_rows(death: Death) -> Proposals:
    """Yield what to do where a function or a loop takes too much at a time."""
    code, missing = death.code, death.memory.missing_bytes or 0
    found = None if hides_gradients(code) else network_call_at(death)
    if found is None or found[0] in sources_of_gradients(code):
        return
    if (death.growth.goes_on and Origins(code).is_repeated(*found)) or find_batch_size(code) is not None:
        return
    call, scope = found
    if (
        (call.args and is_taken_apart(call, scope))
        or has_time_first(code)
        or mixes_rows(call.func, scope, Tensors(code))
    ):
        return  # what it gives cannot be joined as it is, or parts give something else
    names = [one for given in call.args for one in walk(given) if isinstance(one, ast.Name | ast.Attribute)]
    rows = next((scope.segment(one) for one in names if code.qualified(one, scope) is None and _is_data(one, call)), "")
    if not rows:
        yield from list(_in_batches(death, scope)) or _of_texts(death, call, scope)
        return
    names += [one.value for one in call.keywords if isinstance(one.value, ast.Name)]
    others = [scope.segment(one) for one in names if Tensors(code).kind(one, scope) is Kind.TENSOR]
    others = [one for one in dict.fromkeys(others) if one != rows and one.isidentifier()]  # a mask
    one_part = re.sub(rf"(?<![\w.]){re.escape(rows)}(?!\w)", "part", scope.segment(call))
    for other in others:
        one_part = re.sub(rf"(?<![\w.]){re.escape(other)}(?!\w|=)", f"{other}_part", one_part)
    parts = f"part in {rows}.split(64)"
    if others:
        given = ", ".join(f"{one}.split(64)" for one in (rows, *others))
        parts = f"part, {', '.join(f'{one}_part' for one in others)} in zip({given})"
    why = (
        f"{quote(scope.segment(call))} takes all of {quote(rows)} at once: memory grew by {size(missing)}. Some "
        "rows at a time need as much less; without gradients nothing is kept of a part but its result."
    )
    snippet = (
        f"with torch.no_grad():\n    parts = [{one_part} for {parts}]  # or reduce each part\nresult = torch.cat(parts)"
    )
    yield Proposal((), why, missing * 8 // 10, f"Take {quote(rows)} through the network in parts", snippet)


def _in_batches(death: Death, scope: Scope) -> Proposals:
    """Yield the call of the function around on some rows at a time, where the network gets named arguments."""
    missing = death.memory.missing_bytes or 0
    for call, caller in Origins(death.code).calls_of(scope)[:1]:
        rows = caller.segment(call.args[0]) if call.args else ""
        one_part = caller.segment(call).replace(rows, f"{rows}[start:start + 32]", 1)
        why = f"{quote(caller.segment(call))} takes all of {quote(rows)} at once: memory grew by {size(missing)}."
        snippet = (
            f"with torch.no_grad():\n    parts = [{one_part} for start in range(0, len({rows}), 32)]\n"
            "result = torch.cat(parts)"
        )
        if rows and not caller.loops_around(call):
            yield Proposal((), why, missing * 8 // 10, f"Take {quote(rows)} through the network in batches", snippet)


def _of_texts(death: Death, call: ast.Call, scope: Scope) -> Proposals:
    """Yield a loop over the texts that a tokenizer turned into what the network is given."""
    missing = death.memory.missing_bytes or 0
    for tokenizer, texts in tokenized(call, scope, death.code):
        rows = scope.segment(texts) if isinstance(texts, ast.Name | ast.Attribute) else "texts"
        if scope.loops_around(call) or (scope.parameters and rows in scope.parameters):
            return
        why = f"{quote(scope.segment(call))} takes all of {quote(rows)} at once: memory grew by {size(missing)}."
        snippet = _TEXTS.format(rows=rows, tokenizer=tokenizer, network=scope.segment(call.func))
        yield Proposal((), why, missing * 8 // 10, f"Take {quote(rows)} through the network in batches", snippet)


def _is_data(node: ast.expr, call: ast.Call) -> bool:
    """Whether a name in a call's arguments is not that of a function which is called there."""
    return not any(isinstance(one, ast.Call) and one.func is node for one in walk(call))
