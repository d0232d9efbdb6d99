"""What a running kernel uses, for a cell's output: a gauge below the limit, and the memory over time."""

from html import escape
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, size

from . import svgchart, textchart
from .html import fragment
from .printable import one_line

Document = dict[str, Any]

_WIDTH = 480
_LEAST = 0.01
"""What takes a smaller share of the limit is nothing to mention."""

_SHORTEST_S = 60.0

_STYLE = """
.kd-gauge{position:relative;height:8px;max-width:480px;margin:.4em 0;border-radius:4px;overflow:hidden;
background:var(--kd-code);border:1px solid var(--kd-edge)}
.kd-gauge i{position:absolute;inset:0 auto 0 0;background:var(--kd-blue);opacity:.35}.kd-gauge i+i{opacity:1}
.kd-low .kd-gauge i{background:var(--kd-bad)}
"""


def render_html(doc: Document) -> str:
    """Return a fragment of HTML."""
    begin_s = _begin_s(doc["timeline"])
    chart = svgchart.chart(doc, width=_WIDTH, begin_s=begin_s)
    low = ' class="kd-low"' if doc["level"] in ("low", "critical") else ""
    return fragment(f"<style>{_STYLE}</style><div{low}><b>{escape(headroom(doc))}</b>{_gauge(doc)}{chart}</div>")


def render_text(doc: Document, width: int) -> str:
    """Return the same as text."""
    return "\n".join([headroom(doc), *textchart.chart(doc, width)])


def headroom(doc: Document) -> str:
    """Return "430 MiB left of 1.5 GiB (container limit); cell [7] took 380 MiB."."""
    limit, left_bytes = doc["limit"], doc["left_bytes"]
    if limit is None or left_bytes is None:
        used = doc["own_bytes"]
        return "The memory has not been measured yet." if used is None else f"The kernel uses {size(used)}."
    left = f"{size(left_bytes)} left of {size(limit['bytes'])} ({one_line(limit['name'])})"
    if doc["running"] is not None and doc["lasts_s"] is not None:
        cell = cell_name(doc["running"]["execution_count"])
        return f"{left}; at the pace of {cell} that lasts {duration(doc['lasts_s'])}."
    took = max(doc["cells"], key=lambda cell: cell["took_bytes"] or 0, default=None)
    if took is None or (took["took_bytes"] or 0) < _LEAST * limit["bytes"]:
        return f"{left}."
    return f"{left}; {cell_name(took['execution_count'])} took {size(took['took_bytes'])}."


def _gauge(doc: Document) -> str:
    """Draw what counts towards the limit, and on it what this kernel uses."""
    if doc["limit"] is None or doc["used_bytes"] is None:
        return ""
    total = doc["limit"]["bytes"]
    used, own, reserved = doc["used_bytes"], doc["own_bytes"] or 0, doc["reserved_bytes"]
    if reserved is None:
        name = f"{size(used)} of {size(total)} in use, by this kernel {size(own)}"
    else:
        own = used - reserved
        name = f"{size(own)} of {size(total)} used by this kernel, {size(reserved)} reserved, not used"
    bars = "".join(f'<i style="width:{min(100.0, 100 * part / total):.1f}%"></i>' for part in (used, own))
    return f'<div class="kd-gauge" role="img" aria-label="{name}" title="{name}">{bars}</div>'


def _begin_s(timeline: Document) -> float:
    """Return where the chart begins: near the last cell, where that was a small part of the time."""
    times, cells = timeline["samples"]["t_s"], timeline["cells"]
    end_s = max(times[-1:] + [cell["start_s"] for cell in cells[-1:]], default=0.0)
    ran_s = (cells[-1]["end_s"] or end_s) - cells[-1]["start_s"] if cells else 0.0
    shown_s = max(_SHORTEST_S, 4 * ran_s)
    return float(end_s - shown_s) if end_s > 1.5 * shown_s else 0.0
