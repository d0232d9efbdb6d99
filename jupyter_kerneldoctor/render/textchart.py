"""The memory of a kernel over time as a few lines of text."""

from typing import Any, NamedTuple

from jupyter_kerneldoctor.diagnosis.units import duration, size

from .printable import one_line

ROWS = 6
_LABEL = 9  # characters left of the chart: "  4.0 GiB"
_FAR = 4  # a limit above so many times the peak would flatten the curve: it is not drawn


class Glyphs(NamedTuple):
    """The characters of the chart; the bars from empty to full."""

    bars: str
    limit: str
    axis: str
    cell: str
    death: str


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", "┄", "─", "┬", "✖")
ASCII = Glyphs("    .:::#", "-", "_", "|", "X")


def chart(doc: dict[str, Any], width: int, glyphs: Glyphs = BLOCKS) -> list[str]:
    """Return the timeline of a document as lines of text; none when there is too little to draw."""
    timeline = doc.get("timeline") or {}
    samples = timeline.get("samples") or {"t_s": [], "memory_bytes": []}
    points = [(t, m) for t, m in zip(samples["t_s"], samples["memory_bytes"], strict=False) if None not in (t, m)]
    end_s = max([t for t, _ in points] + [timeline.get("death_s") or 0.0], default=0.0)
    if len(points) < 2 or end_s <= 0:
        return []
    columns = max(20, width - _LABEL - 2)
    peak = max(m for _, m in points)
    limit = (timeline.get("limit") or {}).get("bytes")
    drawn_limit = limit if limit and limit <= peak * _FAR else None
    top = max(peak, drawn_limit or 0) or 1
    rows = _bars(_columns(points, columns, end_s), top, glyphs)
    labels = {0: size(top), ROWS - 1: ""}
    if drawn_limit:
        row = ROWS - 1 - min(ROWS - 1, int(drawn_limit / top * ROWS))
        rows[row] = "".join(glyphs.limit if char == " " else char for char in rows[row])
        labels[row] = size(drawn_limit)
    lines = [f"{labels.get(row, ''):>{_LABEL}} {text}".rstrip() for row, text in enumerate(rows)]
    return [*lines, *_axis(timeline, columns, end_s, glyphs), *_caption(timeline, peak, drawn_limit)]


def _columns(points: list[tuple[float, int]], columns: int, end_s: float) -> list[int | None]:
    """Return the highest value in each column; an empty column repeats the last value before it."""
    highest: list[int | None] = [None] * columns
    last: list[int | None] = [None] * columns
    for t, m in points:
        column = min(columns - 1, max(0, int(t / end_s * columns)))
        highest[column] = max(m, highest[column] or 0)
        last[column] = m
    for column in range(1, columns):
        if highest[column] is None:
            highest[column] = last[column] = last[column - 1]
    return highest


def _bars(values: list[int | None], top: int, glyphs: Glyphs) -> list[str]:
    steps = len(glyphs.bars) - 1
    heights = [0 if value is None else max(1, round(value / top * ROWS * steps)) for value in values]
    return [
        "".join(glyphs.bars[min(steps, max(0, height - row * steps))] for height in heights)
        for row in reversed(range(ROWS))
    ]


def _axis(timeline: dict[str, Any], columns: int, end_s: float, glyphs: Glyphs) -> list[str]:
    axis, names = [glyphs.axis] * columns, [" "] * columns
    free = 0
    for cell in timeline.get("cells") or []:
        column = min(columns - 1, max(0, int(cell["start_s"] / end_s * columns)))
        axis[column] = glyphs.cell
        name = f"[{cell['execution_count']}]" if cell.get("execution_count") is not None else ""
        if name and column >= free and column + len(name) <= columns:
            names[column : column + len(name)] = name
            free = column + len(name) + 1
    if timeline.get("death_s") is not None:
        axis[-1] = glyphs.death
    times = "0 s" + duration(end_s).rjust(columns - 3)
    margin = " " * (_LABEL + 1)
    return [f"{margin}{''.join(line)}".rstrip() for line in (axis, names, times) if "".join(line).strip()]


def _caption(timeline: dict[str, Any], peak: int, drawn_limit: int | None) -> list[str]:
    words = f"peak {size(peak)}"
    if limit := timeline.get("limit"):
        words += f" · {one_line(limit['name'])} {size(limit['bytes'])} ({'dashed' if drawn_limit else 'not drawn'})"
    return [f"{'':{_LABEL}} {words}"]
