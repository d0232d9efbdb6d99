"""What to do now, in sentences with commands in backticks."""

from typing import Any

from jupyter_kerneldoctor.diagnosis.units import enumeration

from .printable import one_line
from .told_incident import explained_cause, told_of_before

Document = dict[str, Any]

_HOW_TO_RECORD = {
    "magic": "Repeat `%load_ext kerneldoctor`, or run `jupyter kerneldoctor enable` once to record every new kernel.",
    "server": "Only the Jupyter server recorded this kernel. Run `jupyter kerneldoctor enable` once to see more "
    "next time: the exact peak of each cell, and what libraries printed.",
}

_STILL_THERE = "The kernel is still running, and your variables are still there."
_FREE_FIRST = (
    "The kernel is still running, with hardly any memory left: free it first: `{}`. What it held is gone then."
)

_OF_CODE = ("memory", "native-crash", "gpu", "limit", "own-end")
"""The families of causes after which the same cells would end the same way again."""


def next_steps(doc: Document) -> list[str]:
    """Return what to do now: sentences with commands in backticks."""
    match doc["state"]:
        case "survived":
            free = doc.get("free_first")
            return [_FREE_FIRST.format(one_line(free)) if free else _STILL_THERE, _explanation(doc)]
        case "stuck":
            how = "Interrupt the kernel (■, or Kernel > Interrupt)" if doc.get("kernel_id") else "Press Ctrl-C"
            return [f"{how}: your variables stay. If it does not react, restart it.", _explanation(doc)]
        case "running" if doc["fixes"] and told_of_before(doc):
            return [_STILL_THERE, _explanation(doc)]
        case "running":
            return ["The kernel is still running; this is what is known so far."]
        case "ended" if doc["fixes"] and doc.get("incidents"):
            return [_run_again(doc), _explanation(doc)]
        case "died" if doc["cause"] == "startup-failure":  # there is no kernel to run anything in
            return [_explanation(doc)]
        case "died":
            record = _HOW_TO_RECORD.get(doc.get("loaded_by") or "")
            return [_run_again(doc), *([record] if record else []), _explanation(doc)]
    return []


def _run_again(doc: Document) -> str:
    edited = [edit.get("execution_count") for fix in doc["fixes"][:1] for edit in fix["edits"]]
    counts = [f"[{count}]" for count in dict.fromkeys(edited) if count is not None]
    ended = doc["state"] == "ended"
    again = f"your cells again: {'a new' if ended else 'the restarted'} kernel has none of your variables."
    if not counts:
        is_of_code = doc["fixes"] and (ended or doc["causes"][0]["family"] in _OF_CODE)
        return f"Make one of the changes above, then run {again}" if is_of_code else f"Run {again}"
    first = f"Change {'cell' if len(counts) == 1 else 'cells'} {enumeration(counts)} as shown above, then run {again}"
    return f"{first} To see first whether that helps: `jupyter kerneldoctor try {one_line(doc['recording'])}`."


def _explanation(doc: Document) -> str:
    return f"Read more about this cause: `jupyter kerneldoctor explain {explained_cause(doc)}`."


def newer_recording(doc: Document) -> str | None:
    """Return the sentence that a recording newer than the one shown is worth a look; None when it is not."""
    recording = one_line(doc["recording"])
    if doc["state"] == "stuck":
        return f"A newer kernel is stuck: `jupyter kerneldoctor inspect {recording}`."
    if doc["state"] == "unknown":
        return f"How a newer kernel ended is not known: `jupyter kerneldoctor report {recording}`."
    return None
