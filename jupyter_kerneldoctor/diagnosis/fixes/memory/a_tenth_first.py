from pathlib import PurePath

from ...fix import Advice, Case, Death, Family, quote, size
from ...place import guilty_place


class ATenthFirst(Advice):
    """Run the statement on a tenth of its data first, to see what all of it needs.

    What it does: Names the statement, and the function of a library that it was in. `%%memwatch` shows the peak of a
    run on a tenth of the data; ten times that is about what all of it needs.

    When it is offered: Memory ran out in the cell, what it makes is of unknown size, and nothing else is known that
    would help there.

    What it costs: A run more. What grows with the square of the data needs a hundred times as much, not ten.
    """

    id, title, causes, general = "a-tenth-first", "Run it on a tenth of the data first", (Family.MEMORY,), True
    last_resort = True
    unless_offered = frozenset(
        {
            "a-part-at-a-time",
            "do-it-with-less",
            "an-item-at-a-time",
            "fit-into-memory",
            "lower-the-size",
            "less-in-the-library",
        }
    )
    why = (
        "{what} took at least {took}{where}, and {headroom} is what it may take. `%%memwatch` shows the peak of a "
        "run on a tenth of the data. Then work in parts that fit, keep only the results, and `del` what is no longer "
        "needed."
    )
    snippet = (
        "%%memwatch\n# run the cell on a tenth of its data: this prints its peak\n"
        "# ten times that growth has to stay below {headroom}\n\n"
        "for at in range(0, len(data), 1000):  # else, in another cell: a chunk at a time\n"
        "    part = data[at : at + 1000]  # or a sample of it, and smaller types: float32, uint8, category\n"
        "    ...  # the same with `part`; keep a number or a sum of it, or write it to a file"
    )

    FIRES = [
        Case("table = read(path)", growth="jump", line=1, says=("`table = read(path)` took at least 1.8 GiB", "%%mem")),
    ]
    SILENT = [Case("table = read(path)", cause="segfault"), Case("table = read(path)", before_mib=1999)]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the statement, and what it called."""
        headroom, memory = death.safe_headroom_bytes or death.memory.headroom_before_bytes, death.memory
        asked = death.refused_bytes
        took, shape, at = asked or memory.missing_bytes, death.memory_shape, guilty_place(death)
        if (
            not headroom
            or headroom < 0
            or not took
            or death.growth.is_steady
            or (shape is not None and shape.is_in_files)
        ):
            return None
        what = "The cell" if at is None else quote(at.text)
        return {"what": what, "took": size(took), "headroom": size(headroom), "where": _called(death)}


def _called(death: Death) -> str:
    """Return the function of a library that the code was in, as the stack shows it: ", in `concat` of pandas"."""
    inner = ""
    for frame in death.last_stack.frames if death.last_stack is not None else ():
        parts = PurePath(frame.file).parts
        if "site-packages" not in parts:
            break
        inner = f", in {quote(frame.function)} of {parts[parts.index('site-packages') + 1]}"
    return inner
