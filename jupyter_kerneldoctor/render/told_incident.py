"""What the kernel survived, where the headline of its report tells of that."""

from typing import Any

from .printable import one_line

Document = dict[str, Any]


def told_before_the_end(doc: Document) -> Document | None:
    """Return the incident that the headline of an end begins with."""
    told = told_of_before(doc) if doc["state"] in ("died", "ended") else None
    return told if told is not None and doc["headline"].startswith(told["headline"]) else None


def told_of_before(doc: Document) -> Document | None:
    """Return the latest incident of which the headline tells."""
    told = (one for one in reversed(doc.get("incidents") or []) if one.get("headline"))
    return next((one for one in told if one["headline"] in doc["headline"]), None)


def explained_cause(doc: Document) -> str:
    """Return the id of the cause that the headline tells: that of an incident, where it tells of one."""
    told = (told_of_before(doc) if doc["state"] in ("died", "ended", "running") else None) or {}
    return one_line(told.get("id") or doc["cause"])
