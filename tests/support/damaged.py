"""Recordings as nobody would write them: bytes at random, and JSON in which any value may be of a wrong type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from jupyter_kerneldoctor.recording import layout

if TYPE_CHECKING:
    from pathlib import Path

ODD_VALUES = [
    None,
    True,
    -1,
    0,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    1 << 63,
    -(1 << 70),
    10**400,
    "",
    "\x1b]52;c;eA==\x07",
    "\ud800",
    "`" * 5,
    "<img src=x onerror=alert(1)>",
    "/home/\xe9t\xe9",
    "x" * 5000,
    [],
    {},
    [[]],
    [None],
    {"": []},
    {"event": "end"},
]

JUNK_LINES = [b"[" * 100_000, b'{"a":' * 50_000, b"\0" * 99]

odd = st.sampled_from(ODD_VALUES) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)

FRAME = {"file": "/tmp/ipykernel_1/2.py", "line": 1, "function": "f"}
THREAD = {"frames": [FRAME], "thread_id": 1, "main": True, "name": "t", "state": "S", "waits_in": "futex_wait_queue"}
CHILD = {"pid": 2, "name": "sh", "state": "S", "rss_bytes": 1, "cpu_s": 0.1, "forked": True, "stack": [FRAME]}
STATE = {
    "when": "end",
    "rlimits": {"AS": {"soft": 1, "hard": 2}},
    "threads": 3,
    "filesystems": [{"path": "/tmp"}],
    "neighbours": [{"pid": 9}],
}
INCIDENT = {"kind": "memory-error", "error": "MemoryError", "cell_seq": 1, "frames": [FRAME], "numbers": {"pid": 1}}

EVENTS: list[dict[str, Any]] = [
    {"event": "start", "format": 1, "process": [4711, 1, "gone"], "sidecar": [4712, 2, "gone"], "kernel_id": "k"},
    {"event": "start", "notebook": "a.ipynb", "hostname": "here", "loaded_by": "server", "versions": {"IPython": "9"}},
    {"event": "limits", "limits": [{"kind": "cgroup", "name": "limit", "bytes": 1000, "source": "/sys"}]},
    {"event": "cell_start", "seq": 1, "execution_count": 1, "cell_id": "c", "source": "x = load()\nx.fit()"},
    {"event": "cell_start", "seq": 2, "source_of": 1, "beside": [1], "rss_before_bytes": 5},
    {"event": "cell_end", "seq": 1, "rss_after_bytes": 7, "peak_bytes": 9, "peak_basis": "exact", "error": "E"},
    {"event": "cell_withdrawn", "seq": 2},
    {"event": "exit_request", "by": "cell", "restart": False},
    {"event": "surroundings", **STATE},
    {"event": "stack", "reason": "end", "threads": [THREAD], "children": [CHILD]},
    {"event": "no_stacks", "why": "not permitted"},
    {"event": "stuck", "since_mono_s": 1.0, "children": [CHILD], "threads": [THREAD], "over": False},
    {"event": "child_end", "pid": 3, "name": "sh", "kind": "signal", "signal": "SIGKILL", "oom_kills": 1},
    {"event": "incident", **INCIDENT, "surroundings": STATE},
    {"event": "thread_error", "error": "ValueError", "frames": [FRAME]},
    {"event": "namespace", "cell_seq": 1, "objects": [{"name": "df", "type": "DataFrame", "bytes": 9, "shape": [1]}]},
    {"event": "look_thread", "thread_id": 123},
    {"event": "held", "cell_seq": 2, "objects": [{"name": "self.seen", "type": "dict", "bytes": 9, "grew_bytes": 8}]},
    {"event": "growth", "cell_seq": 2, "grew_bytes": 9, "statements": [{"frames": [FRAME], "bytes": 8, "reads": 2}]},
    {"event": "framework", "name": "torch", "version": "2", "allocated_bytes": 1, "reserved_bytes": 2},
    {"event": "gpus", "driver": {"version": "1", "cuda": "12"}, "devices": [{"index": 0, "name": "H"}]},
    {"event": "xid", "code": 79, "index": 0},
    {"event": "clock"},
    {"event": "off"},
    {"event": "lost"},
    {"event": "kernel_log", "lines": ["Out of memory: Killed process 4711 (python)"]},
    {"event": "end", "kind": "signal", "signal": "SIGKILL", "cgroups": [{"path": "/", "oom_kills_before": 0}]},
]
SERVER_EVENTS: list[dict[str, Any]] = [
    {"event": "request", "action": "restart", "by": "user"},
    {"event": "exit", "returncode": -9},
    {"event": "restarted", "automatic": True},
    {"event": "start_failed", "never_ready": True, "command": ["python", "-m", "x"], "error": "e", "stderr": "No mod"},
    {"event": "server_end"},
]
OUTPUT = [{"fd": 2, "text": "Fatal Python error: Aborted"}, {"fd": 1, "text": "terminate called"}]
GPU = [{"index": 0, "used_bytes": 1, "others": [{"pid": 1, "bytes": 2}]}]
SAMPLES = [["mono_s", "rss_bytes", "cgroup_bytes"], [1.0, 100, 200], [2.0, 300, 400]]


def _spoilt(value: Any, draw: Any, chance: int) -> Any:
    """The value, with some of what is in it replaced."""
    if draw(st.integers(0, chance)) == 0:
        return draw(odd)
    if isinstance(value, dict):
        return {name: _spoilt(entry, draw, chance) for name, entry in value.items()}
    if isinstance(value, list):
        return [_spoilt(entry, draw, chance) for entry in value]
    return value


@st.composite
def _lines(draw: Any, valid: list[Any], most: int) -> bytes:
    """Some of these lines with spoilt values, lines of junk between them, the last perhaps cut."""
    lines = []
    chance = draw(st.sampled_from([4, 25, 1000]))
    for _ in range(draw(st.integers(0, most))):
        value = draw(st.sampled_from(valid))
        if isinstance(value, dict):
            value = {"mono_s": draw(st.floats(0, 100)), "wall_s": 1795231260.0, **value}
        lines.append(json.dumps(_spoilt(value, draw, chance)).encode())
        if draw(st.integers(0, 15)) == 0:
            lines.append(
                draw(st.binary(max_size=20) | st.sampled_from([b"[" * 100_000, b'{"a":' * 50_000, b"\0" * 99]))
            )
    return b"\n".join(lines) + draw(st.sampled_from([b"\n", b""]))


def files() -> st.SearchStrategy[dict[str, bytes]]:
    """The files of a recording, by name; any may be missing."""
    return st.fixed_dictionaries(
        {layout.JOURNAL: _lines(EVENTS, 10)},
        optional={
            layout.KERNEL: _lines([{"event": "lost"}], 1),
            layout.SERVER: _lines(SERVER_EVENTS, 3),
            layout.OUTPUT[0]: _lines(OUTPUT, 2),
            layout.GPU[0]: _lines(GPU, 2),
            layout.SAMPLES: _lines(SAMPLES, 4),
            layout.RECENT[0]: st.binary(max_size=50),
            layout.CRASH: st.binary(max_size=200),
        },
    )


def examples(count: int) -> list[dict[str, bytes]]:
    """The files of some recordings, the same ones in each run: for tests that hypothesis cannot run itself."""
    found: list[dict[str, bytes]] = []

    @settings(max_examples=count, database=None, phases=[Phase.generate], derandomize=True, deadline=None)
    @given(files())
    def collect(contents: dict[str, bytes]) -> None:
        found.append(contents)

    collect()
    return found


def write(root: Path, contents: dict[str, bytes], recording_id: str = "20260101T000000Z-4711-abcdef") -> str:
    """Put such files in the place of a recording; return its id."""
    directory = layout.recordings_dir(root) / recording_id
    if not directory.exists():
        layout.create(recording_id, root)
    for name in layout.FILES:
        (directory / name).unlink(missing_ok=True)
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return recording_id
