"""The types of what the server answers are those of the panel, and are true of real answers."""

import dataclasses
import importlib.util
import json
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from support.handwritten import write_recording

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.causes import all_causes
from jupyter_kerneldoctor.recording.events import Frame, NamedObject, Namespace, Stack, ThreadStack
from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.model import Cell, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.reports.documents import RecordingRow, Report
from jupyter_kerneldoctor.reports.inspection import describe
from jupyter_kerneldoctor.reports.kept_documents import is_a
from jupyter_kerneldoctor.reports.live import document, summary
from jupyter_kerneldoctor.reports.live_documents import Inspection, LiveDetail, LiveSummary
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

DOCS = Path(__file__).parents[3] / "docs"


def differences(value: Any, kind: Any, where: str = "") -> list[str]:
    """Where a JSON document is not of a type: what is missing, unknown, or of another type."""
    origin, parts = get_origin(kind), get_args(kind)
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        known = get_type_hints(kind)
        if not isinstance(value, dict):
            return [f"{where}: {value!r}"]
        found = [f"{where}.{name} is missing" for name in set(getattr(kind, "__required_keys__", known)) - value.keys()]
        found += [f"{where}.{name} is not known" for name in value.keys() - known.keys()]
        for name in value.keys() & known.keys():
            found += differences(value[name], known[name], f"{where}.{name}")
        return found
    if origin in (Union, types.UnionType):
        each = [differences(value, part, where) for part in parts]
        return [] if [] in each else min(each, key=len)
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            return [f"{where}: {value!r}"]
        return [difference for one in value for difference in differences(one, parts[0], f"{where}[]")]
    if origin is Literal:
        return [] if value in parts else [f"{where}: {value!r}"]
    is_of_it = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    return [] if is_of_it and not (kind is not bool and isinstance(value, bool)) else [f"{where}: {value!r}"]


def test_the_types_of_the_panel_are_up_to_date():
    spec = importlib.util.spec_from_file_location("rest_types", DOCS / "rest_types.py")
    rest_types = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rest_types)

    assert rest_types.module() == rest_types.FILE.read_text("utf-8"), "run: python docs/rest_types.py"


def test_reports_and_rows_are_as_they_are_described(tmp_path, monkeypatch):
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    write_recording(1, source="import ctypes\nctypes.string_at(0)")
    write_recording(2, source="import os\nos._exit(3)", exit_code=3)
    write_recording(3, signal=None)
    post_mortems = PostMortems()

    assert [differences(row, RecordingRow) for row in post_mortems.rows()] == [[], [], []]
    assert [differences(post_mortems.document(one), Report) for one in post_mortems.ids()] == [[], [], []]


def test_the_report_of_each_cause_is_as_it_is_described():
    examples = [list(cause.fires_on()) for cause in all_causes()]
    made = [one for these in examples for number, one in enumerate(these) if number == 0 or one.incidents]
    reports = [diagnose(recording).to_json() for recording in made]

    assert [one for report in reports for one in differences(report, Report)] == []
    assert all(is_a(Report, json.loads(json.dumps(report))) for report in reports)  # or none would be kept
    for name in ("statement", "fixes", "incidents", "cell"):
        assert any(report[name] for report in reports), name


def test_what_is_told_of_a_running_kernel_is_as_it_is_described():
    kernel = Kernel(ProcessIdentity(7, 1, "boot"), kernel_id="k")
    limits = (Limit("cgroup", "container limit", 1 << 30, "/sys/fs/cgroup/memory.max"),)
    cells = (
        Cell("x = 1", 1, "a", seq=1, started_mono_s=1.0, ended_mono_s=2.0),
        Cell("f()", 2, "b", seq=2, started_mono_s=3.0),
    )
    samples = tuple(Sample(float(at), 1 << 20, 1 << 21, 1 << 30, tree_bytes=3 << 20, children=1) for at in range(9))
    namespaces = (Namespace(2.0, 1, (NamedObject("a", "ndarray", 80, shape=(10,)),)),)
    running = Recording("r", kernel, limits=limits, cells=cells, samples=samples, namespaces=namespaces)
    stack = Stack(8.0, (ThreadStack(1, (Frame("/a.py", 3, "f"),), main=True),))

    shown = document(running, [running])
    detail = {name: value for name, value in shown.items() if name not in summary(running)}
    assert differences(summary(running), LiveSummary) == []
    assert differences(detail, LiveDetail) == []
    assert all(detail[name] for name in ("variables", "children", "others"))
    assert differences(describe(running, stack), Inspection) == []
