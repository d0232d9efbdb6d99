"""The phrases that all renderers share, so that terminal, notebook and issue report say the same."""

import re
from collections import Counter
from datetime import datetime, timezone
from typing import Any

from jupyter_kerneldoctor.diagnosis.family import Family
from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, plural, size

from .printable import one_line
from .told_incident import told_before_the_end

Document = dict[str, Any]

APPLICABILITY = {
    "safe": "safe: the results stay the same",
    "suggested": "suggested: check that the results are still what you want",
    "advice": "advice: change it by hand",
}

_CASES = ("died", "stuck", "survived")
_NOT_ABOUT_MEMORY = {Family.NATIVE_CRASH, Family.LIMIT, Family.STUCK, Family.OWN_END, Family.START}

_CERTAINTIES = {
    "proven": "cause proven",
    "strong": "strong evidence",
    "likely": "cause likely",
    "possible": "cause possible",
    "weak": "weak evidence",
}

_JUPYTER_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

SHOWN_EVIDENCE = 3
"""The evidence comes strongest first; the rest is folded."""

_SOURCES = {
    "journal": "recorded by KernelDoctor",
    "samples": "measured by KernelDoctor",
    "pidfd": "exit status, read by KernelDoctor",
    "PIDFD_GET_INFO": "exit status, read by KernelDoctor",
    "/proc/N/stat": "exit status, read by KernelDoctor",
}
"""What to call sources that are named after our own files; all others are shown as they are."""

_BASIS = {"fitted": "fitted to your runs", "estimated": "estimated"}


def timestamp(iso: str | None) -> str | None:
    """Return a moment as "2026-11-22 06:20 UTC"; None when it is not known."""
    if not iso:
        return None
    try:
        return datetime.fromisoformat(iso).astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return one_line(iso)


def certainty(doc: Document) -> str | None:
    """Return how sure the cause is; None where there is nothing to be sure of: no cause, or only how it ended.

    Where a kernel went wrong before it ended as asked, it is that of what went wrong.
    """
    told = told_before_the_end(doc) or ({**doc, "id": doc["cause"]} if doc["state"] in _CASES else None)
    says_why = told is not None and told["id"] != "unknown" and not told["general"]
    return _CERTAINTIES[told["certainty"]] if told is not None and says_why else None


def is_about_memory(doc: Document) -> bool:
    """Whether a reader wants to see how the memory went: also where nobody knows what happened."""
    return not doc["causes"] or doc["causes"][0].get("family") not in _NOT_ABOUT_MEMORY


def shown_cell(doc: Document) -> Document | None:
    """Return the cell to show, with its line: that of the statement to blame, else the one that ran; None without one.

    A statement in a file is told in words: the file is not in the report.
    """
    cell, at = doc.get("cell"), doc.get("statement")
    if not cell or not at or at.get("cell_source") is None:
        return cell
    return {**at, "source": at["cell_source"]}


def called_from(doc: Document) -> str | None:
    """Return "Called from `fit` in cell [2], line 9, and cell [3], line 2."; None where the cell itself did it.

    What called itself is named once.
    """
    at = doc.get("statement") or {}
    parts = []
    for one in reversed(at.get("via") or []):
        where = f"{one_line(one['file']).rpartition('/')[2]}, line {one['line']}" if one.get("file") else place(one)
        parts.append(f"`{one_line(one['function'])}` in {where}" if one.get("function") else where)
    parts = [part if times == 1 else f"{part} ({times} times)" for part, times in Counter(parts).items()]
    if at.get("file"):
        here = f"In {one_line(at['file']).rpartition('/')[2]}, line {at['line']}"
        return f"{here}, called from {', and '.join(parts)}." if parts else f"{here}."
    return f"Called from {', and '.join(parts)}." if parts else None


def place(cell: Document) -> str:
    """Return cell and line: "cell [8], line 3"."""
    name = cell_name(cell.get("execution_count"))
    return f"{name}, line {cell['line']}" if cell.get("line") else name


def why_no_line(doc: Document) -> str | None:
    """Return why no line of the cell is named; None where one is, or where the reason is not known."""
    if doc["cell"].get("line") is not None or doc.get("statement"):
        return None
    if doc.get("no_stacks"):
        return f"The line is not known: {doc['no_stacks']}."
    if doc.get("loaded_by") == "server":
        return (
            "The line is not known, as this kernel had not loaded KernelDoctor. "
            "Run `%load_ext kerneldoctor` in a Python kernel to see the line next time."
        )
    if doc["end"].get("signal") == "SIGKILL":
        return "The line is not known: the kernel was killed before its stack could be read."
    return None


def end_summary(doc: Document) -> str:
    """Return how the kernel ended, in a few words."""
    end = doc["end"]
    if summary := one_line(end.get("summary") or ""):
        return summary
    named = {"signal": end.get("signal"), "exit": f"exit code {end.get('exit_code')}"}
    return str(named.get(end["kind"]) or end["kind"])


def time_of_end(doc: Document) -> str | None:
    """Return the time of the end, and how long the cell had been running; None where no time is known.

    For an end that was not recorded it is the time at which the kernel was last seen, for a kernel that survived
    something the time of that.
    """
    if doc["state"] == "survived":
        return timestamp(doc["incidents"][-1].get("time"))
    ended = timestamp(doc.get("ended"))
    seen = doc["end"].get("seen", True)
    if ended is not None and not seen:
        ended = f"last seen {ended}"
    timeline, running = doc.get("timeline") or {}, _running_cell(doc)
    if ended is None or running is None or timeline.get("death_s") is None:
        return ended
    took = duration(max(0.0, timeline["death_s"] - running["start_s"]))
    if seen:
        return f"{ended}, after {took} in the cell"
    return ended if took == "0 ms" else f"{ended}, after at least {took} in the cell"


def _running_cell(doc: Document) -> Document | None:
    """Return the cell of the timeline that was running at the end; an earlier one without an end has ended unseen."""
    cells: list[Document] = (doc.get("timeline") or {}).get("cells") or []
    if not cells or not doc.get("cell"):
        return None
    count = doc["cell"].get("execution_count")
    unfinished = [cell for cell in cells if cell.get("end_s") is None]
    beside = [cell for cell in unfinished if count is not None and cell.get("execution_count") == count]
    return cells[-1] if cells[-1] in unfinished else next(reversed(beside), None)


def subject(doc: Document) -> str | None:
    """Return the notebook, else who started the kernel, else its id; None when none of it is known.

    Ids are Jupyter's own: other programs name kernels after temporary files, which tells nobody anything.
    """
    if notebook := doc.get("notebook"):
        return re.split(r"[/\\]", one_line(notebook))[-1]
    kernel_id, started_by = doc.get("kernel_id"), doc.get("started_by")
    if kernel_id and _JUPYTER_ID.fullmatch(kernel_id):
        return f"kernel {kernel_id}"
    if kernel_id:
        return f"a kernel without a notebook{f', started by {one_line(started_by)}' if started_by else ''}"
    return "IPython in a terminal" if doc.get("loaded_by") else None


def identification(doc: Document) -> str:
    """Return which kernel, process and recording a report is about."""
    parts = (subject(doc), f"process {doc.get('pid') or 'none'}", f"recording {doc['recording']}")
    return " · ".join(filter(None, parts))


def row_identification(row: Document) -> str:
    """Return which kernel a row of the list is about, and when it started."""
    started = timestamp(row["started"])
    parts = (subject(row) or (f"process {row['pid']}" if row.get("pid") else None), started and f"started {started}")
    return " · ".join(filter(None, parts))


def row_headline(row: Document) -> str:
    """Return the headline of a row of the list, with what the kernel survived before an end that is no death."""
    headline, latest = one_line(row["headline"]), row.get("survived")
    if row["state"] == "survived":
        return f"Survived: {headline}"
    is_told = not latest or row["state"] == "died" or one_line(latest) in headline
    return headline if is_told else f"{headline} Survived before: {one_line(latest)}"


def survived(doc: Document) -> list[str]:
    """Return what the kernel survived before, newest first, and what recurred only once."""
    told = [(one.get("headline") or one["title"], one.get("time")) for one in doc.get("incidents") or []]
    if told and (doc["state"] == "survived" or doc["headline"].startswith(told[-1][0])):
        told.pop()  # the headline of the report says it
    times: dict[str, list[str | None]] = {}
    for headline, time in reversed(told):
        times.setdefault(headline, []).append(timestamp(time))
    return [f"{headline}{_times(found)}" for headline, found in times.items()]


def _times(found: list[str | None]) -> str:
    again = f"{len(found)} times, last at " if len(found) > 1 else ""
    return f" ({again}{found[0]})" if found[0] else ""


def recurrence(doc: Document) -> str | None:
    """Return the sentence that the same cell ended kernels before; None where it did not."""
    found = doc.get("recurrence")
    return one_line(found["text"]) if found else None


def evidence(doc: Document) -> list[Document]:
    """Return the evidence of the most likely cause, strongest first."""
    return list(doc["causes"][0]["evidence"]) if doc["causes"] else []


def source_note(fact: Document) -> str:
    """Return number and source of a piece of evidence, "1 · memory.events", without a number that its text has."""
    number, text = _amount(fact), fact["text"].lower()
    is_repeated = number is None or number.lower() in text or str(fact["value"]) in text
    source = one_line(fact.get("source") or "")
    name = _SOURCES.get(re.sub(r"^/proc/\d+/", "/proc/N/", source), source)
    return " · ".join(filter(None, (None if is_repeated else number, name)))


def _amount(fact: Document) -> str | None:
    value, unit = fact.get("value"), fact.get("unit")
    if value is None:
        return None
    if isinstance(value, int | float) and unit == "bytes":
        return size(value)
    if value == 1 and unit is not None:
        unit = unit.removesuffix("s") if unit != "processes" else "process"
    return one_line(f"{value:g} {unit or ''}" if isinstance(value, float) else f"{value} {unit or ''}")


def not_known(doc: Document) -> list[str]:
    """Return what the answer leaves open, and each usual reason with its check; nothing where it says why."""
    cause = doc["causes"][0] if doc["causes"] else {}
    if doc["state"] not in _CASES or not cause.get("not_known"):
        return []
    reasons = [f"{one['text']} Check: `{one['check']}`" for one in cause["usual_reasons"]]
    return [cause["not_known"], *reasons]


def less_likely(doc: Document) -> list[str]:
    """Return a sentence for each other cause that was considered; that nothing is wrong is none."""
    return [f"Less likely: {other['title']}." for other in doc["causes"][1:] if other.get("family") != "alive"]


def folded_count(doc: Document) -> str | None:
    """Return what the views fold: "4 more facts, 2 causes ruled out"; None where there is nothing more."""
    facts, exclusions = len(evidence(doc)) - SHOWN_EVIDENCE, len(doc.get("ruled_out") or [])
    parts = [f"{plural(facts, 'more fact')}"] if facts > 0 else []
    parts += [f"{plural(exclusions, 'cause')} ruled out"] if exclusions else []
    return ", ".join(parts) or None


def more_fixes(doc: Document) -> str | None:
    """Return the command that shows the fixes beyond those of the document; None where there are none."""
    more = len(doc.get("more_fixes") or ())
    return f"… {more} more: `jupyter kerneldoctor report {one_line(doc['recording'])} --all`" if more else None


def expected_peak(fix: Document) -> str | None:
    """Return what the cell will need with a fix; None when that is not known."""
    peak = fix.get("expected_peak_bytes")
    if not peak:
        return None
    bounds = list(dict.fromkeys(size(value) for value in (peak.get("low"), peak.get("high")) if value is not None))
    if not bounds:
        return None
    if peak.get("basis") == "at-most":
        return f"Expected peak: at most {bounds[-1]}."
    return f"Expected peak: {' to '.join(bounds)} ({_BASIS.get(peak.get('basis'), 'estimated')})."
