"""Reads what the operating system's log says about a process that was killed for memory.

Sources: `mm/oom_kill.c` of Linux (`oom-kill:constraint=...`, `Out of memory: Killed process ...`), `kill.c` of
earlyoom, `src/oom/oomd-manager.c` and `src/core/unit.c` of systemd.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Scope = Literal["cgroup", "machine", "service"]
"""Whose memory ran out: a control group's, the machine's; or a service that watches over memory acted before."""

_CONSTRAINT = re.compile(
    r"oom-kill:constraint=(CONSTRAINT_\w+)\b(?:.{0,999}?\boom_memcg=([^,\s]+))?.{0,999}?\bpid=(\d+)"
)
_KILLED = re.compile(r"\b(Memory cgroup out of memory|Out of memory)[^:]*: Kill(?:ed)? process (\d+)")
_TASK = re.compile(r"\btask=[^,]{1,15},pid=\d+")
_HELD = re.compile(r"anon-rss:(\d+)kB")
_EARLYOOM = re.compile(r"sending SIG(?:TERM|KILL) to process (\d+)")
_NAMED_SERVICE = re.compile(r"\b(systemd-oomd|earlyoom|nohang)\b")
_OOMD = re.compile(r"Killed \S+ due to memory (?:used|pressure)|systemd-oomd killed \d+ process")

_MOST_DIGITS = 18
_LONGEST_LINE = 2000  # of Linux it has half as many at most
_LONGEST = 120
_LONGEST_GROUP = 60  # characters; the end of a path says more than its beginning


@dataclass(frozen=True)
class OomKill:
    """A line that says the process was ended for memory."""

    scope: Scope
    line: str
    held_bytes: int | None = None
    """What the process held of its own, where the line says it."""
    group: str | None = None
    """The control group whose limit was reached."""
    service: str | None = None
    """Which service it was."""
    pid: int | None = None
    """The process that the line names; None where it names none."""

    @property
    def short(self) -> str:
        """The part of the line that names the process and the group: the whole can have 300 characters."""
        if found := _CONSTRAINT.search(self.line):
            task = _TASK.search(self.line)
            named = f"oom-kill: {task[0] if task else f'pid={found[3]}'}"
            group = found[2] or ""
            return f"{named}, oom_memcg={group if len(group) <= _LONGEST_GROUP else '…' + group[-_LONGEST_GROUP:]}"
        return self.line.split(" total-vm:")[0][:_LONGEST]


def oom_kill(lines: Iterable[str], pid: int) -> OomKill | None:
    """Return what the lines say of the end of process `pid`; None when they do not speak of one for memory.

    The process id in the log is the machine's. In a container it has another there, and the recorder reads nothing.
    """
    own = [
        kill for kill in (_judge(one[:_LONGEST_LINE]) for one in lines) if kill is not None and kill.pid in (None, pid)
    ]
    if not own:
        return None
    own.sort(key=lambda kill: kill.pid is None)
    best = own[0]
    held = next((kill.held_bytes for kill in own if kill.held_bytes is not None), None)
    group = next((kill.group for kill in own if kill.group is not None), None)
    return OomKill(best.scope, best.line, held, group, best.service, best.pid)


def _judge(line: str) -> OomKill | None:
    held = _HELD.search(line)
    held_bytes = int(held[1]) * 1024 if held and len(held[1]) < 16 else None
    if found := _CONSTRAINT.search(line):
        scope: Scope = "cgroup" if found[1] == "CONSTRAINT_MEMCG" else "machine"
        return OomKill(scope, line, held_bytes, found[2] if scope == "cgroup" else None, pid=_number(found[3]))
    if found := _KILLED.search(line):
        scope = "cgroup" if found[1].startswith("Memory cgroup") else "machine"
        return OomKill(scope, line, held_bytes, pid=_number(found[2]))
    sent = _EARLYOOM.search(line)
    if sent or _OOMD.search(line):
        named = _NAMED_SERVICE.search(line)
        service = named[1] if named else "earlyoom" if sent else "systemd-oomd"
        return OomKill("service", line, held_bytes, service=service, pid=_number(sent[1]) if sent else None)
    return None


def _number(digits: str) -> int:
    return int(digits[:_MOST_DIGITS])
