"""The memory of a kernel over time as an inline SVG: area, limit, cells as bands, the death marked."""

from html import escape
from itertools import zip_longest
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import duration, size

from .printable import one_line

WIDTH, HEIGHT = 640, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 18, 34
_FAR = 4  # a limit above so many times the peak would flatten the curve: it is written, not drawn
_NARROWEST = 22.0  # a band narrower than this has no room for its number


def chart(doc: dict[str, Any], *, width: int = WIDTH, begin_s: float = 0.0) -> str:
    """Return the timeline of a document as SVG, from a moment on; empty when there is too little to draw."""
    timeline = doc.get("timeline") or {}
    samples = timeline.get("samples") or {"t_s": [], "memory_bytes": []}
    points = [(t, m) for t, m in zip(samples["t_s"], samples["memory_bytes"], strict=False) if None not in (t, m)]
    end_s = max([t for t, _ in points] + [timeline.get("death_s") or 0.0], default=0.0)
    before = [point for point in points if point[0] < begin_s]
    points = before[-1:] + points[len(before) :]  # the curve enters from the last of those before
    if len(points) < 2 or end_s <= begin_s:
        return ""
    peak = max(m for _, m in points)
    limit: dict[str, Any] = timeline.get("limit") or {}
    drawn = 0 < limit.get("bytes", 0) <= peak * _FAR
    top = max(peak, limit["bytes"] if drawn else 0, 1)
    plot = _Plot(begin_s, end_s, top * 1.06, width)
    cells = timeline.get("cells") or []
    bands = ((cell, after) for cell, after in zip_longest(cells, cells[1:]) if (cell.get("end_s") or end_s) >= begin_s)
    parts = [plot.band(cell, after, timeline.get("death_s")) for cell, after in bands]
    parts += [plot.grid(share, top) for share in (0.0, 0.5, 1.0)]
    parts.append(plot.curve(points))
    if limit:
        parts.append(plot.limit(limit, drawn=drawn))
    if timeline.get("death_s") is not None:
        parts.append(plot.death(timeline["death_s"], points[-1][1]))
    parts.append(plot.times())
    name = f"Memory of the kernel over time, at most {size(peak)}"
    return (
        f'<svg class="kd-chart" style="max-width:{width}px" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-label="{escape(name)}">'
        f"{''.join(parts)}</svg>"
    )


class _Plot:
    """The scales, and the parts drawn with them."""

    def __init__(self, begin_s: float, end_s: float, top: float, width: int) -> None:
        self._begin_s, self._end_s, self._top, self._right = begin_s, end_s, top, width - _RIGHT

    def x(self, t: float) -> float:
        share = min(1.0, max(0.0, (t - self._begin_s) / (self._end_s - self._begin_s)))
        return round(_LEFT + share * (self._right - _LEFT), 1)

    def y(self, memory: float) -> float:
        return round(HEIGHT - _BOTTOM - memory / self._top * (HEIGHT - _TOP - _BOTTOM), 1)

    def band(self, cell: dict[str, Any], after: dict[str, Any] | None, death_s: float | None) -> str:
        """Draw a cell; one without an end that another one follows has ended by then, and nobody saw when."""
        unfinished = cell.get("end_s") is None and after is None and death_s is not None
        latest_s = self._end_s if after is None else after["start_s"]
        left, right = self.x(cell["start_s"]), self.x(latest_s if cell.get("end_s") is None else cell["end_s"])
        kind = "kd-band kd-last" if unfinished else "kd-band"
        band = (
            f'<rect class="{kind}" x="{left}" y="{_TOP}" width="{max(1.0, round(right - left, 1))}" '
            f'height="{HEIGHT - _TOP - _BOTTOM}"/>'
        )
        if cell.get("execution_count") is None or right - left < _NARROWEST:
            return band
        middle = round((left + right) / 2, 1)
        return band + _text(middle, HEIGHT - _BOTTOM + 13, f"[{cell['execution_count']}]", "middle")

    def grid(self, share: float, top: float) -> str:
        value = top * share
        y = self.y(value)
        line = f'<line class="kd-grid" x1="{_LEFT}" x2="{self._right}" y1="{y}" y2="{y}"/>'
        return line + _text(_LEFT - 6, y + 3.5, size(value) if share else "0", "end")

    def curve(self, points: list[tuple[float, int]]) -> str:
        line = " ".join(f"{self.x(t)},{self.y(m)}" for t, m in points)
        floor = self.y(0)
        area = f"{self.x(points[0][0])},{floor} {line} {self.x(points[-1][0])},{floor}"
        return f'<polygon class="kd-area" points="{area}"/><polyline class="kd-line" points="{line}"/>'

    def limit(self, limit: dict[str, Any], *, drawn: bool) -> str:
        words = f"{one_line(limit['name'])}: {size(limit['bytes'])}"
        if not drawn:
            return _text(_LEFT + 4, _TOP - 5, f"{words}, above this chart")
        y = self.y(limit["bytes"])
        line = f'<line class="kd-limit" x1="{_LEFT}" x2="{self._right}" y1="{y}" y2="{y}"/>'
        return line + _text(_LEFT + 4, y - 5, words, kind="kd-limit-name")

    def death(self, death_s: float, memory: int) -> str:
        x = self.x(death_s)
        line = f'<line class="kd-death" x1="{x}" x2="{x}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>'
        return f'{line}<circle class="kd-death-dot" cx="{x}" cy="{self.y(memory)}" r="3.5"/>'

    def times(self) -> str:
        begin = duration(self._begin_s) if self._begin_s else "0 s"
        return _text(_LEFT, HEIGHT - 4, begin) + _text(self._right, HEIGHT - 4, duration(self._end_s), "end")


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "kd-label") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'
