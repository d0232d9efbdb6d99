"""What `export` packs without the user's code: nothing but what is known to be harmless, whatever was recorded."""

import dataclasses
import json

import pytest
from support.damaged import EVENTS, GPU, OUTPUT, SERVER_EVENTS

from jupyter_kerneldoctor.recording import events, layout, model, public_fields
from jupyter_kerneldoctor.recording.redact import Redaction

SECRET = "s3cret"
HOME = "/home/\xe9t\xe9"

TOLD = {
    *("file", "function"),  # of stacks, as documented
    *("process", "sidecar"),  # the boot id
    *(
        "event",
        "action",
        "by",
        "kind",
        "language",
        "loaded_by",
        "peak_basis",
        "reason",
        "source",
        "state",
        "when",
        "why",
    ),
    *("IPython", "python", "version", "versions", "cuda", "device", "dtype", "name"),
    *("error", "signal", "signature", "waits_in"),
}
"""The only fields in which a value that somebody made up would be found again."""


def exported(value, name=layout.JOURNAL, home=HOME):
    """What is exported of a line."""
    redaction = Redaction(home)
    lines = redaction.file(name, json.dumps(value).encode()).splitlines()
    return (json.loads(lines[0]) if lines else None), redaction.left_out


def with_secrets(value):
    """The same, with every text in it a secret one."""
    if isinstance(value, dict):
        return {name: value[name] if name == "event" else with_secrets(value[name]) for name in value}
    if isinstance(value, list):
        return [with_secrets(entry) for entry in value]
    return SECRET if isinstance(value, str) else value


def places(value, name=""):
    """The fields in which the secret is."""
    if isinstance(value, dict):
        return set().union(*(places(entry, key) for key, entry in value.items()))
    if isinstance(value, list):
        return set().union(*(places(entry, name) for entry in value), set())
    return {name} if SECRET in str(value) else set()


@pytest.mark.parametrize("event", [*EVENTS, *SERVER_EVENTS], ids=lambda event: event["event"])
def test_a_text_is_only_told_where_it_cannot_be_the_users(event):
    assert places(exported(with_secrets(event))[0]) <= TOLD


def test_what_stood_in_other_files_is_not_told():
    assert places(exported(with_secrets(OUTPUT[0]), layout.OUTPUT[0])[0]) == set()
    assert places(exported(with_secrets({**GPU[0], "others": [{"pid": 1, "name": SECRET}]}), layout.GPU[0])[0]) == set()
    assert exported([SECRET, "a b"], layout.SAMPLES)[0] is None


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"event": "start_failed", "command": ["/opt/x/python3", "-m", "mine", f"--token={SECRET}"]}, "command"),
        ({"event": "start_failed", "error": f"No such file: '/x/{SECRET}'"}, "error"),
        ({"event": "cell_end", "seq": 1, "error": SECRET}, "error"),
        ({"event": "incident", "error": f"my_project.{SECRET}"}, "error"),
        ({"event": "stack", "threads": [{"name": SECRET}]}, "threads.name"),
        ({"event": "stuck", "children": [{"name": SECRET}]}, "children.name"),
        ({"event": "child_end", "name": SECRET}, "name"),
        ({"event": "namespace", "objects": [{"name": SECRET, "type": f"mine.{SECRET}"}]}, "objects"),
        ({"event": "start", "kernel_id": f"kernel-{SECRET}", "hostname": SECRET, "notebook": SECRET}, "kernel_id"),
        ({"event": "surroundings", "filesystems": [{"path": f"/media/{SECRET}"}]}, "filesystems.path"),
        (
            {"event": "limits", "limits": [{"name": "memory limit", "source": f"/sys/{SECRET}/m"}]},
            "limits.source",
        ),
        ({"event": "end", "kernel_log": [f"Killed process 1 ({SECRET}), task_memcg=/{SECRET}, x"]}, "kernel_log"),
        ({"event": "start", "some_day": SECRET}, "some_day"),
        ({"event": "namespace", "objects": [{"dtype": f"[('{SECRET}', '<f8')]"}]}, "objects"),
        ({"event": "namespace", "objects": [{"dtype": SECRET}]}, "objects"),
        ({"event": "namespace", "objects": [{"device": f"cuda:0 {SECRET}"}]}, "objects"),
    ],
)
def test_what_leaked_once_is_left_out_and_said_so(event, field):
    kept, left_out = exported(event)

    assert SECRET not in json.dumps(kept)
    assert f"{event['event']}.{field}" in left_out


@pytest.mark.parametrize(
    "told",
    [
        *({"dtype": name} for name in ("float64", "Int64", "bfloat16", "float8_e4m3fn", "quint8", "<U10", "string")),
        *(
            {"dtype": name}
            for name in ("datetime64[ns]", "datetime64[ns, tz]", "category", "mixed", "structured", "Sparse[float64]")
        ),
        {"device": "cuda:0"},
    ],
)
def test_dtypes_and_devices_of_libraries_are_told(told):
    kept, left_out = exported({"event": "namespace", "objects": [told]})
    assert kept["objects"] == [{**told, "name": "object 1"}]
    assert left_out in (set(), {"namespace.objects"})


def test_an_event_that_is_not_known_is_left_out_and_said_so():
    assert exported({"event": "some_day", "what": SECRET}) == (None, {"some_day"})


def test_a_home_whose_name_is_escaped_in_json_is_not_told():
    frame = {"file": f"{HOME}/work/model.py", "line": 3, "function": "f"}
    kept, _ = exported({"event": "stack", "threads": [{"frames": [frame, {**frame, "file": "/data/\xe9t\xe9/x.py"}]}]})

    files = [frame["file"] for frame in kept["threads"][0]["frames"]]
    assert files == ["~/work/model.py", "/data/user/x.py"]


def test_of_a_crash_only_what_faulthandler_writes_is_told():
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        f"Current thread 0x00007f1 [{SECRET}] (most recent call first):\n"
        f'  File "{HOME}/x.py", line 3 in f\n'
        f"Extension modules: numpy, {SECRET} (total: 2)\n{SECRET}\n"
    )
    kept = Redaction(HOME).file(layout.CRASH, text.encode()).decode()

    assert SECRET not in kept
    assert HOME not in kept
    assert '  File "~/x.py", line 3 in f' in kept


LEFT_OUT_ON_PURPOSE = {
    "Kernel": {"notebook", "started_by", "hostname", "kernel_name", "executable", "directory", "uid"},
    "Cell": {"cell_id", "ended_mono_s", "started_mono_s"},
    "Gpu": {"uuid"},
    "GpuProcess": {"name"},
    "Child": {"name"},
    "ChildState": {"name"},
    "ThreadStack": {"name"},
    "NamedObject": {"name"},
    "FileSystem": {"shrunk_files"},
    "Neighbour": {"name", "notebook"},
}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (model.Kernel, public_fields.EVENTS["start"]),
        (model.Cell, public_fields.EVENTS["cell_start"] | public_fields.EVENTS["cell_end"]),
        (model.End, public_fields.EVENTS["end"]),
        (model.CgroupDelta, public_fields.CGROUP_FIELDS),
        (model.ExitRequest, public_fields.EVENTS["exit_request"]),
        (events.Stack, public_fields.EVENTS["stack"]),
        (events.ThreadStack, public_fields.THREAD_FIELDS),
        (events.Frame, public_fields.FRAME_FIELDS),
        (events.ChildState, public_fields.CHILD_STATE_FIELDS),
        (events.Child, public_fields.EVENTS["child_end"]),
        (events.Stuck, public_fields.EVENTS["stuck"]),
        (events.Incident, public_fields.EVENTS["incident"]),
        (events.Neighbour, public_fields.STATE_FIELDS["neighbours"][0]),
        (events.FileSystem, public_fields.FILE_SYSTEM_FIELDS),
        (events.Namespace, public_fields.EVENTS["namespace"]),
        (events.NamedObject, public_fields.OBJECT_FIELDS),
        (events.Held, public_fields.EVENTS["held"]),
        (events.Growth, public_fields.EVENTS["growth"]),
        (events.StatementGrowth, public_fields.EVENTS["growth"]["statements"][0]),
        (events.Framework, public_fields.EVENTS["framework"]),
        (events.Gpu, public_fields.EVENTS["gpus"]["devices"][0]),
        (events.GpuDriver, public_fields.EVENTS["gpus"]["driver"]),
        (events.GpuSample, public_fields.GPU_FIELDS),
        (events.GpuProcess, public_fields.GPU_PROCESS_FIELDS),
        (events.Output, public_fields.OUTPUT_FIELDS),
        (events.Xid, public_fields.EVENTS["xid"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_of_every_field_it_is_decided(kind, fields):
    names = {field.name for field in dataclasses.fields(kind)}
    assert names - set(fields) == LEFT_OUT_ON_PURPOSE.get(kind.__name__, set())
