"""The words all renderers share, so that terminal, notebook and issue report say the same."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, size

Document = dict[str, Any]

# Escapes of terminals, characters that reorder text (a source may look like other code than it is), lone surrogates.
# Newline and tab stay, as sources need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)

APPLICABILITY = {
    "safe": "safe: the results stay the same",
    "suggested": "suggested: check that the results are still what you want",
    "advice": "advice: to be done by hand",
}

_SOURCES = {
    "journal": "recorded by KernelDoctor",
    "samples": "measured by KernelDoctor",
    "pidfd": "exit status, read by KernelDoctor",
    "PIDFD_GET_INFO": "exit status, read by KernelDoctor",
    "/proc/N/stat": "exit status, read by KernelDoctor",
}
"""Origins of evidence that have a name only among ourselves; all others are shown as they are."""

_BASIS = {"fitted": "fitted to your runs", "estimated": "estimated"}


def visible(text: Any) -> str:
    """Text as characters to look at: what a terminal or browser would obey is shown as an escape."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), str(text))


def one_line(text: Any) -> str:
    """The same, with line breaks as spaces."""
    return " ".join(visible(text).split())


def clock(iso: str | None, *, date: bool = False) -> str | None:
    """The local time of a moment, "14:03:08", with the date where asked; None when it is not known."""
    if not iso:
        return None
    try:
        moment = datetime.fromisoformat(iso).astimezone()
    except (ValueError, OverflowError, OSError):
        return one_line(iso)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if date else "%H:%M:%S")


def sureness(confidence: float) -> str:
    """How sure we are: "97 % sure". Never 100: there is always a way to be wrong."""
    return f"{min(round(confidence * 100), 99)} % sure"


def where(cell: Document) -> str:
    """Cell and line: "cell [8], line 3"."""
    name = cell_name(cell.get("execution_count"))
    return f"{name}, line {cell['line']}" if cell.get("line") else name


def line_unknown(doc: Document) -> str | None:
    """Why no line of the cell is named; None where one is, or where nothing can be said."""
    if doc["cell"].get("line") is None and doc["end"].get("signal") == "SIGKILL":
        return "The line is not known: a program that is killed cannot report it."
    return None


def how_it_ended(doc: Document) -> str:
    """The end in a few words."""
    end = doc["end"]
    if summary := one_line(end.get("summary") or ""):
        return summary
    named = {"signal": end.get("signal"), "exit": f"exit code {end.get('exit_code')}"}
    return str(named.get(end["kind"]) or end["kind"])


def when(doc: Document) -> str | None:
    """The time of the end, and how long the cell had been running: "14:03:08, after 29 s in the cell"."""
    ended = clock(doc.get("ended"), date=True)
    timeline = doc.get("timeline") or {}
    running = [cell for cell in timeline.get("cells") or [] if cell.get("end_s") is None]
    if ended is None or not running or timeline.get("death_s") is None:
        return ended
    return f"{ended}, after {duration(max(0.0, timeline['death_s'] - running[-1]['start_s']))} in the cell"


def subject(doc: Document) -> str:
    """Which kernel this is about: its notebook, or else its id, or else where it ran."""
    if notebook := doc.get("notebook"):
        return re.split(r"[/\\]", one_line(notebook))[-1]
    return f"kernel {one_line(doc['kernel_id'])}" if doc.get("kernel_id") else "IPython in a terminal"


def measure(evidence: Document) -> str | None:
    """The number of an evidence with its unit; None when it has none."""
    value, unit = evidence.get("value"), evidence.get("unit")
    if value is None:
        return None
    if isinstance(value, int | float) and unit == "bytes":
        return size(value)
    return one_line(f"{value:g} {unit or ''}" if isinstance(value, float) else f"{value} {unit or ''}")


def source_note(evidence: Document) -> str:
    """Number and origin of an evidence: "1 · memory.events". A number that the sentence says is not repeated."""
    number, text = measure(evidence), evidence["text"].lower()
    said = number is None or number.lower() in text or str(evidence["value"]) in text
    known = None if said else number
    source = one_line(evidence.get("source") or "")
    return " · ".join(filter(None, (known, _SOURCES.get(re.sub(r"^/proc/\d+/", "/proc/N/", source), source))))


def alternatives(doc: Document) -> list[str]:
    """What was considered as well: other causes, and what it is not, which the rules say in whole sentences."""
    others = [f"Less likely: {other['title']}." for other in doc["causes"][1:]]
    return [*others, *(doc.get("ruled_out") or [])]


def sizing(fix: Document) -> str | None:
    """What the cell will need with a fix; None when that is not known. What it explains, its `why` says."""
    peak = fix.get("expected_peak_bytes")
    if not peak:
        return None
    bounds = list(dict.fromkeys(size(value) for value in (peak.get("low"), peak.get("high")) if value is not None))
    if not bounds:
        return None
    if peak.get("basis") == "at-most":
        return f"Expected peak: at most {bounds[-1]}."
    return f"Expected peak: {' to '.join(bounds)} ({_BASIS.get(peak.get('basis'), 'estimated')})."


def next_steps(doc: Document) -> list[str]:
    """How to go on, sentences with commands in backticks."""
    if doc["end"]["kind"] == "running":
        return ["The kernel is running; this is what is known so far."]
    if not doc.get("died"):
        return []
    edited = [edit.get("execution_count") for fix in doc["fixes"][:1] for edit in fix["edits"]]
    named = " and ".join(f"[{count}]" for count in dict.fromkeys(edited) if count is not None)
    first = f"Change cell {named} as shown above, then run" if named else "Run"
    steps = [f"{first} the notebook's cells again: the restarted kernel has none of your variables."]
    if doc.get("loaded_by") != "startup":
        steps.append(
            "A kernel that was restarted automatically is not watched until `%load_ext kerneldoctor` runs in it; "
            "`jupyter kerneldoctor enable` does that in every new kernel."
        )
    steps.append(f"`jupyter kerneldoctor explain {one_line(doc['cause'])}` tells more about this cause.")
    return steps
