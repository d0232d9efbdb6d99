import ast
import re

from ...calls import is_in_library
from ...code.origins import all_origins
from ...edits import replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...units import size as size_of

_SAMPLERS = {"torch.utils.data.WeightedRandomSampler": 1, "torch.utils.data.RandomSampler": 2}
_AS_PYTHON_BYTES = 48  # of a number that was drawn: 8 as a tensor, 8 in a list, 32 as an object
_IN_SAMPLER = re.compile(r"torch/utils/data/sampler\.py")
_LOADER = (
    "import torch\nfrom torch.utils.data import DataLoader, WeightedRandomSampler\nN = 60_000\nw = torch.ones(N)\n"
    "sampler = WeightedRandomSampler(w, {})\nloader = DataLoader(ds, batch_size=64, sampler=sampler)"
)
_RUN = "for x, y in loader:\n    crit(net(x), y).backward()"


class DrawFewerRows(Fix):
    """Draw as many rows as there are for each pass through the loader.

    What it does: A sampler draws the numbers of all rows of a pass before the first batch, and keeps them as Python
    numbers. `num_samples` says how many these are: as many as there are rows is one epoch.

    When it is offered: Memory ran out while a loader began a pass, and its sampler draws far more rows than there are.

    What it costs: A pass is shorter. A loop over the epochs around it gives as many steps as before.
    """

    id, title, causes = "draw-fewer-rows", "Draw the rows of one epoch at a time: num_samples", (Family.MEMORY,)
    edits_cure = True

    FIRES = [
        Case(
            _LOADER.format("num_samples=N * 800"),
            _RUN,
            line=1,
            becomes={"num_samples=N * 800": "num_samples=len(w)"},
            says=("48,000,000",),
        )
    ]
    SILENT = [
        Case(_LOADER.format("num_samples=N"), _RUN, line=1),
        Case(_LOADER.format("num_samples=len(w)"), _RUN, line=1),
        Case(_LOADER.format("num_samples=N * 800"), "big = [0] * 10**10", line=1),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes or 0
        is_asked = code.imports("torch") and death.memory.grew_here
        loops = (one for one in code.running.nodes(ast.For) if is_asked and death.was_running(*one))
        for loop, scope in loops:
            inner = loop.iter.args[:1] if isinstance(loop.iter, ast.Call) else []
            for made, where in (one for given in (loop.iter, *inner) for one in all_origins(given, scope, code)):
                if not isinstance(made, ast.Call):
                    continue
                sampler = Call(made, where, "").argument("sampler", 3)
                for maker, at in all_origins(sampler, where, code) if sampler is not None else ():
                    name = code.qualified(maker.func, at) if isinstance(maker, ast.Call) else None
                    if not isinstance(maker, ast.Call) or name not in _SAMPLERS:
                        continue
                    call = Call(maker, at, name)
                    drawn, rows = (
                        call.argument("num_samples", _SAMPLERS[name]),
                        call.argument("weights", "data_source", 0),
                    )
                    if drawn is None or rows is None or isinstance(drawn, ast.Call):
                        continue
                    count = death.values.number(drawn, at)
                    takes = missing if count is None else count * _AS_PYTHON_BYTES
                    if (count is None and not is_in_library(death, _IN_SAMPLER)) or takes < missing // 4:
                        continue
                    many = (
                        "the rows of all passes" if count is None else f"{count:,} rows, {size_of(takes)} as numbers,"
                    )
                    why = f"{quote(call.text)} draws {many} before the first batch is made. "
                    why += "As many as there are rows is one epoch; a loop over the epochs around it draws anew."
                    yield Proposal(replace(at, drawn, f"len({at.segment(rows)})"), why, missing)
                    return
