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

_UTC = re.compile(r"(?P<date>\d{4}-\d\d-\d\d) at (?P<time>\d\d:\d\d) UTC")

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
    if doc["cell"].get("line") is not None:
        return None
    if doc.get("loaded_by") == "server":
        return (
            "The line is not known: KernelDoctor was not loaded inside this kernel. In a Python kernel "
            "`%load_ext kerneldoctor` or `jupyter kerneldoctor enable` would tell it."
        )
    if doc["end"].get("signal") == "SIGKILL":
        return "The line is not known: the kernel's stack could not be read in time before it was killed."
    return None


def how_it_ended(doc: Document) -> str:
    """The end in a few words."""
    end = doc["end"]
    if summary := one_line(end.get("summary") or ""):
        return summary
    named = {"signal": end.get("signal"), "exit": f"exit code {end.get('exit_code')}"}
    return str(named.get(end["kind"]) or end["kind"])


def when(doc: Document) -> str | None:
    """The time of the end, and how long the cell had been running: "14:03:08, after 29 s in the cell".

    Of an end that was not recorded, the last time it was seen; of a kernel that lives, the time of what it survived.
    """
    if (shown := shown_incident(doc)) is not None:
        return clock(shown.get("time"), date=True)
    ended = clock(doc.get("ended"), date=True)
    seen = doc["end"].get("seen", True)
    if ended is not None and not seen:
        ended = f"last seen {ended}"
    timeline = doc.get("timeline") or {}
    running = [cell for cell in timeline.get("cells") or [] if cell.get("end_s") is None]
    if ended is None or not running or timeline.get("death_s") is None:
        return ended
    took = duration(max(0.0, timeline["death_s"] - running[-1]["start_s"]))
    if seen:
        return f"{ended}, after {took} in the cell"
    return ended if took == "0 ms" else f"{ended}, after at least {took} in the cell"


def subject(doc: Document) -> str | None:
    """Which kernel this is about: its notebook, or else its id, or else where it ran; None when nothing is known."""
    if notebook := doc.get("notebook"):
        return re.split(r"[/\\]", one_line(notebook))[-1]
    if kernel_id := doc.get("kernel_id"):
        return f"kernel {one_line(kernel_id)}"
    return "IPython in a terminal" if doc.get("loaded_by") else None


def whose(doc: Document) -> str:
    """Which kernel, process and recording a report is about."""
    facts = (subject(doc), f"process {doc.get('pid') or 'none'}", f"recording {doc['recording']}")
    return " · ".join(filter(None, facts))


def whose_row(row: Document) -> str:
    """Which kernel a row of the list is about, and since when."""
    started = clock(row["started"], date=True)
    facts = (subject(row) or (f"process {row['pid']}" if row.get("pid") else None), started and f"started {started}")
    return " · ".join(filter(None, facts))


def shown_incident(doc: Document) -> Document | None:
    """The incident that the whole document is about, as its kernel lives; None for all other documents."""
    latest: Document | None = (doc.get("incidents") or [None])[-1]
    is_shown = latest is not None and doc["end"]["kind"] == "running" and latest.get("headline") == doc["headline"]
    return latest if is_shown else None


def survived(doc: Document) -> list[str]:
    """What the kernel survived (before what the document is about), newest first; what recurs is told once."""
    incidents = doc.get("incidents") or []
    times: dict[str, list[str | None]] = {}
    for incident in reversed(incidents[:-1] if shown_incident(doc) is not None else incidents):
        times.setdefault(incident.get("headline") or incident["title"], []).append(clock(incident.get("time")))
    return [f"{headline}{_times(found)}" for headline, found in times.items()]


def recurrence(doc: Document) -> str | None:
    """That the same cell has ended kernels before, with dates and figures; the times are local, as all we show."""
    found = doc.get("recurrence")
    return _UTC.sub(_local, one_line(found["text"])) if found else None


def _local(found: re.Match[str]) -> str:
    shown = clock(f"{found['date']}T{found['time']}+00:00", date=True) or found[0]
    return shown.removesuffix(":00").replace(" ", " at ")


def what_happened(row: Document) -> str:
    """The headline of a row of the list, and what was survived before an end that is no death."""
    headline, latest = one_line(row["headline"]), row.get("survived")
    if not latest or row.get("died"):
        return headline
    if one_line(latest) == headline:
        return f"Survived: {headline}"
    return f"{headline} Survived before: {one_line(latest)}"


def _times(found: list[str | None]) -> str:
    again = f"{len(found)} times, last at " if len(found) > 1 else ""
    return f" ({again}{found[0]})" if found[0] else ""


def measure(evidence: Document) -> str | None:
    """The number of an evidence with its unit; None when it has none."""
    value, unit = evidence.get("value"), evidence.get("unit")
    if value is None:
        return None
    if isinstance(value, int | float) and unit == "bytes":
        return size(value)
    if value == 1 and unit is not None:
        unit = unit.removesuffix("s") if unit != "processes" else "process"
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


_HOW_TO_WATCH = {
    "magic": "A kernel that was restarted automatically needs `%load_ext kerneldoctor` again; "
    "`jupyter kerneldoctor enable` does that in every new kernel.",
    "server": "Only the Jupyter server watched this kernel. `jupyter kerneldoctor enable` loads KernelDoctor in every "
    "new Python kernel; there it sees more: the exact peak of each cell, and what libraries wrote.",
}


def next_steps(doc: Document) -> list[str]:
    """How to go on, sentences with commands in backticks."""
    if shown_incident(doc) is not None:
        return [
            "The kernel survived this: it is running, and your variables are still there.",
            f"`jupyter kerneldoctor explain {one_line(doc['cause'])}` tells more about this cause.",
        ]
    if doc["end"]["kind"] == "running":
        return _steps_while_running(doc)
    if not doc.get("died"):
        return []
    if doc["cause"] == "startup-failure":  # there is no kernel to run anything in
        return ["`jupyter kerneldoctor explain startup-failure` tells more about this cause."]
    edited = [edit.get("execution_count") for fix in doc["fixes"][:1] for edit in fix["edits"]]
    named = " and ".join(f"[{count}]" for count in dict.fromkeys(edited) if count is not None)
    first = f"Change cell {named} as shown above, then run" if named else "Run"
    steps = [f"{first} the notebook's cells again: the restarted kernel has none of your variables."]
    if doc.get("loaded_by") in _HOW_TO_WATCH:
        steps.append(_HOW_TO_WATCH[doc["loaded_by"]])
    steps.append(f"`jupyter kerneldoctor explain {one_line(doc['cause'])}` tells more about this cause.")
    return steps


_STUCK = frozenset({"hang", "fork-unsafe", "memory-stall"})


def newer(doc: Document) -> str | None:
    """That a recording newer than the death that is shown is worth a look; None when it is not."""
    recording, kind = one_line(doc["recording"]), doc["end"]["kind"]
    if kind == "running" and doc["cause"] in _STUCK:
        return f"A newer recording: {recording}, its kernel is stuck (`jupyter kerneldoctor inspect {recording}`)."
    if kind == "unknown":
        why = f"it is not known how its kernel ended (`jupyter kerneldoctor report {recording}`)"
        return f"A newer recording: {recording}, {why}."
    return None


def _steps_while_running(doc: Document) -> list[str]:
    if doc["cause"] not in _STUCK:
        return ["The kernel is running; this is what is known so far."]
    how = "Interrupt the kernel (■, or Kernel > Interrupt)" if doc.get("kernel_id") else "Press Ctrl-C"
    return [
        f"{how}: its variables stay. If it does not react, restart it.",
        f"`jupyter kerneldoctor explain {one_line(doc['cause'])}` tells more about this cause.",
    ]
