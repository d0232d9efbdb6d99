"""What the diagnosis of a whole day's work costs, counted in cells that are parsed."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.code import parsed_cells
from jupyter_kerneldoctor.recording.events import NamedObject, Namespace
from jupyter_kerneldoctor.recording.model import Cell, CgroupDelta, End, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample

GIB = 1 << 30
STEP = """\
rows = [{{"group": n % 17, "value": random.gauss(0, 1)}} for n in range({rows})]
groups = {{}}
for row in rows:
    groups.setdefault(row["group"], []).append(row["value"])
"""


def test_of_a_day_of_cells_that_are_alike_few_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = tuple(
        Cell(STEP.format(rows=2000 + number), number, seq=number, started_mono_s=60 * number, ended_mono_s=ended)
        for number in range(500)
        for ended in [60 * number + 20 if number < 499 else None]
    )
    last_s = cells[-1].started_mono_s
    counts = CgroupDelta("/k", "memory.events", oom_kills_before=0, oom_kills_after=1, limit_bytes=6 * GIB)
    held = NamedObject("rows", "builtins.list", GIB, items=2000)
    parsed = []

    def tree(*arguments: object) -> object:
        parsed.append(arguments[0])
        return whole(*arguments)

    whole = parsed_cells.CellTree
    monkeypatch.setattr(parsed_cells, "CellTree", tree)
    found = diagnose(
        Recording(
            "day",
            Kernel(ProcessIdentity(7, 1, "boot")),
            limits=(Limit("cgroup", "container limit", 6 * GIB, "memory.max"),),
            cells=cells,
            samples=tuple(Sample(last_s + s, (2 + s) * GIB, (2 + s) * GIB) for s in range(4)),
            namespaces=(Namespace(last_s - 40, 498, (held,)),),
            end=End("signal", last_s + 4, 1.8e9, "SIGKILL", cgroups=(counts,)),
        )
    )

    assert found.causes[0].id == "oom-cgroup"
    assert len(parsed) < 10
