from jupyter_kerneldoctor.recording.events import Stack

from ...analysis.guilty_statement import keeps_what_grew
from ...code.size_numbers import SizeNumber, size_numbers
from ...examples.stuck import own_frame, thread
from ...fix import Advice, Case, Death, Family, quote, size
from ...place import Place, guilty_place
from ...texts.allocation_site import needed
from ...units import enumeration, two_digits

_MOST = 3
_USED = 0.5  # of the room: what is worked out of it takes room, too
_NOISE = "noise = np.ones((POPULATION, 1_000_000))"


class LowerTheSize(Advice):
    """Lower the number that says how much the statement makes.

    What it does: Follows what the statement is given back to the numbers that are written in your cells: a count, a
    width, a number of beams or bins. Where the shape of what it makes is known, it says how much each of them takes,
    and how many fit.

    When it is offered: Memory ran out in a statement whose size comes from such numbers. It comes after fixes that know
    what is special about the code.

    What it costs: Less is made: a coarser grid, fewer samples, a smaller network. Whether that is enough for your work
    only you can tell.
    """

    id, title, causes, general = "lower-the-size", "Lower the number that sets the size", (Family.MEMORY,), True
    headline, why, snippet = "Lower what sets the size: {first}", "{why_}", "{code_}"
    unless_offered = frozenset(  # where what is kept is too much, or a better number is known
        {
            *("bound-growing-container", "bound-dict-cache", "bound-function-cache", "close-figures"),
            *("figsize-in-inches", "reduce-batch-size", "keras-batch-size"),
        }
    )

    FIRES = [
        Case(
            "import numpy as np\nPOPULATION = 400",
            _NOISE,
            stacks=[Stack(-0.1, "busy", (thread(own_frame(_NOISE, 1)),))],
            says=("`POPULATION = 400` (cell [1], line 2)", "each of the 400 takes 7.6 MiB", "POPULATION = 100"),
        ),
        Case(
            "def summarize(texts):\n    return model.generate(texts, num_beams=40)",
            "shorter = summarize(texts)",
            growth="jump",
            line=1,
            says=("`num_beams=40` (cell [1], line 2)", "num_beams=20"),
        ),
        Case(
            "class Writer:\n    def __init__(self, model, **options):\n        self.model = model\n"
            "        self.options = {'max_tokens': 60, **options}\n"
            "    def write(self, texts):\n        return self.model.generate(texts, **self.options)",
            "best = Writer(model, num_beams=40)",
            "shorter = best.write(texts)",
            growth="jump",
            line=1,
            says=("`num_beams=40` (cell [2], line 1)",),
        ),
    ]
    SILENT = [
        Case("shorter = summarize(texts, seed=4000)", growth="jump"),
        Case("page = draw(texts, font_size=12, max_retries=5, max_value=255)", growth="jump"),
        Case("import numpy as np\nN = 10**9", "x = np.ones(N)", cause="segfault"),
        Case("table = read(path)", growth="jump"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the numbers, and say of those that are in the shape how many fit."""
        at = guilty_place(death)
        if at is None or death.growth.is_steady or keeps_what_grew(death.growth, death.statement_at(death.line)):
            return None
        found = death.find(lambda code: size_numbers(at.node, at.scope, code)) or []
        made, left = needed(death), death.safe_headroom_bytes or death.memory.headroom_before_bytes or 0
        shape = made.value.shape or () if made is not None and made.value.bytes else ()
        told = sorted((one for one in found if one.value in shape), key=lambda one: -one.value)
        told = (told or [one for one in found if one.sounds_like_a_size])[:_MOST]
        if not told:
            return None
        first, why = told[0], _sets_the_size(told, at, death)
        lower = max(1, first.value // 2)
        if made is not None and made.value.bytes and first.value in shape:
            each = made.value.bytes / first.value
            lower = min(lower, max(1, two_digits(int(left * _USED / each))))
            why += f" {quote(made.text)} needs {size(made.value.bytes)}: each of the {first.value:,} takes {size(each)}"
            why += f", and {size(left)} is what the cell may take."
        else:
            why += " The less it is, the less memory that takes: `%%memwatch` shows the peak of a cell."
        return {
            "first": f"`{first.name}`, now {first.value:,}",
            "why_": why,
            "code_": f"{first.written(lower)}  # {_where(first, death)}: {first.value:_} now",
        }


def _sets_the_size(told: list[SizeNumber], at: Place, death: Death) -> str:
    written = [f"`{one.written(one.value)}` ({_where(one, death)})" for one in told]
    return f"How much {quote(at.text)} makes comes from {enumeration(written)}."


def _where(one: SizeNumber, death: Death) -> str:
    return f"{death.code.cell_name(one.at.scope.cell)}, line {one.at.node.lineno}"
