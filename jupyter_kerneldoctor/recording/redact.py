"""Removes what is the user's own from a recording, so that somebody else may see it.

Of each event only the fields that are named here are kept: numbers, times, words of ours, of Linux and of known
libraries, the files and functions of stacks. Anything else is left out, also what a later version may record, and is
listed. In what is kept the home directory becomes `~` and the user's name `user`, before it is written as JSON, which
would escape it.
"""

import builtins
import json
import math
import os
import re
from typing import Any

from .journal import values
from .layout import CRASH, GPU, OUTPUT, RECENT, SAMPLES

Fields = dict[str, Any]

LEFT_OUT = "left out"

_KNOWN_MODULES = frozenset(
    (
        *("builtins", "array", "collections", "concurrent", "io", "mmap", "multiprocessing", "os", "pathlib"),
        *("IPython", "PIL", "cudf", "cupy", "dask", "datasets", "distributed", "jax", "jaxlib", "joblib", "keras"),
        *("lightgbm", "loky", "matplotlib", "numba", "numpy", "pandas", "polars", "pyarrow", "rmm", "scipy", "sklearn"),
        *("tensorflow", "torch", "transformers", "xarray", "xgboost"),
    )
)
"""Types of these may be named. One of the user's own says what he works on."""

_CGROUP = re.compile(r"[^/]+(?=/)")
_PUBLIC_PARTS = frozenset(("proc", "sys", "fs", "cgroup", "memory", "user.slice", "system.slice", "PID"))
_PUBLIC_MOUNTS = frozenset(("/", "/tmp", "/var/tmp", "/dev/shm", "/home", "/var", "/run", "/usr", "/opt", "/mnt"))  # noqa: S108
_PUBLIC_WORDS = frozenset(("-m", "-f", "-c", "ipykernel_launcher", "ipykernel", "{connection_file}"))
_PUBLIC_PROGRAMS = re.compile(r"python[\d.]*t?|sh|bash|dash")

_DTYPE_WORDS = (
    "[usvo]|bfloat|binary|bool|boolean|bytes|categorical|category|complex|date|datetime|decimal|double|duration|enum|float"
    "|sparse|half|halffloat|int|large_binary|large_string|list|mixed|null|object|q?u?int|str|string|struct|structured|time"
    "|timedelta|timestamp|utf|void"
)
_DTYPE = re.compile(
    rf"[<>|]?({_DTYPE_WORDS})\d{{0,6}}(_e\dm\d[a-z]*)?(\[([a-z]{{1,2}}(, tz)?|({_DTYPE_WORDS})\d{{0,6}})\])?",
    re.ASCII | re.IGNORECASE,
)
_DEVICE = re.compile(r"(cuda|mps|tpu|xpu|rocm|gpu|cpu)(:[0-9]+)?")

_KERNEL_ID = re.compile(r"[0-9a-f-]{1,36}")

_CRASH_LINES = re.compile(
    r"Fatal Python error: [\w .,:()+-]*|Current thread 0x[0-9a-f]+|Thread 0x[0-9a-f]+"
    r'|  File ".*", line (\d+|\?\?\?) in .*'
    r"|  <no Python frame>|  Garbage-collecting|  \.\.\.|Python runtime state: [\w ]+|Timeout \([\d:.]+\)!"
)
"""What faulthandler writes. A line of anything else is the user's; a thread's name and what follows a line is, too."""

_LOG_LINES = re.compile(r"(?i)\b(out of memory|oom|killed process|segfault|traps:|general protection|nvrm|xid)\b")
_LOG_NAMES = re.compile(r"\((?!python)[^()]*\)|(?<=memcg=)[^, ]+|(?<=cpuset=)[^, ]+|(?<=comm=)\S+|(?<=task=)[^, ]+")


class Redaction:
    """One export: what the user is called, and what was left out."""

    def __init__(self, home: str) -> None:
        self.left_out: set[str] = set()
        """Names of fields, as `event.field`."""
        homes = sorted({home, os.path.realpath(home)} - {"", "/"}, key=len, reverse=True)
        self._homes = [path.rstrip("/") for path in homes]
        names = {os.path.basename(path) for path in self._homes} - {"", "root", "user", "home"}
        self._names = re.compile("|".join(rf"(?<=/){re.escape(name)}(?=/|$)" for name in sorted(names)) or r"(?!)")

    def text(self, value: str) -> str:
        """Return text without the user's home directory and name."""
        for home in self._homes:
            value = value.replace(home, "~")
        return self._names.sub("user", value)

    def file(self, name: str, content: bytes) -> bytes:
        """Return the content of a file of a recording, without what is the user's own."""
        if name == CRASH:
            return self._crash_text(content.decode("utf-8", "replace")).encode("utf-8", "replace")
        lines = (self._line(name, value) for value in values(content))
        return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines if line is not None)

    def _crash_text(self, text: str) -> str:
        kept = []
        for line in text.splitlines():
            found = _CRASH_LINES.match(line)
            kept.append(LEFT_OUT if found is None else self.text(found[0]))
            if found is None and line:
                self.left_out.add("text in crash.txt")
        return "".join(f"{line}\n" for line in kept)

    def _line(self, name: str, value: Any) -> Any:
        if name in (SAMPLES, *RECENT):
            return self._row(value)
        if name in OUTPUT:
            return self.object("output", value, OUTPUT_FIELDS)
        if name in GPU:
            return self.object("gpu", value, GPU_FIELDS)
        kind = value.get("event") if isinstance(value, dict) else None
        fields = EVENTS.get(kind) if isinstance(kind, str) else None
        if fields is None:
            self.left_out.add(f"{kind if isinstance(kind, str) and kind.isidentifier() else 'what is no event'}")
            return None
        return self.object(str(kind), value, fields)

    def _row(self, value: Any) -> Any:
        names = isinstance(value, list) and all(isinstance(cell, str) and cell.isidentifier() for cell in value)
        return value if names or (isinstance(value, list) and all(map(_is_number, value))) else None

    def object(self, where: str, value: Any, fields: Fields) -> dict[str, Any] | None:
        """Return the fields that are allowed of an object; None for what is none."""
        if not isinstance(value, dict):
            return None
        kept: dict[str, Any] = {}
        for name, entry in value.items():
            place = f"{where}.{name}"
            rule = fields.get(name)
            if entry is None:
                if rule is not None:
                    kept[name] = None
            elif rule is None:
                self.left_out.add(place if name.isidentifier() else f"{where} (a field without a name)")
            else:
                kept[name] = self._value(place, entry, rule)
        return kept

    def _value(self, place: str, value: Any, rule: Any) -> Any:
        if isinstance(rule, dict):
            return self.object(place, value, rule)
        if isinstance(rule, list):
            entries = value if isinstance(value, list) else []
            return [kept for entry in entries if (kept := self._value(place, entry, rule[0])) is not None]
        try:
            kept = rule(value, self)
        except (TypeError, ValueError, AttributeError):  # a damaged recording has lists where text belongs
            kept = None
        if kept != value:
            self.left_out.add(place)
        return kept


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def number(value: Any, _redaction: Redaction) -> Any:
    """Keep a number, or yes and no."""
    return value if _is_number(value) else None


def numbers(value: Any, _redaction: Redaction) -> Any:
    """Keep a list or an object of numbers."""
    if isinstance(value, dict):
        return {name: entry for name, entry in value.items() if name.isidentifier() and _is_number(entry)}
    return [entry for entry in value if _is_number(entry)] if isinstance(value, list) else None


def word(value: Any, redaction: Redaction) -> Any:
    """Keep words that are ours, the system's or a library's."""
    return redaction.text(value) if isinstance(value, str) else None


def words(value: Any, redaction: Redaction) -> Any:
    """Keep such words in a list or an object."""
    if isinstance(value, dict):
        return {redaction.text(name): word(entry, redaction) for name, entry in value.items()}
    return [word(entry, redaction) for entry in value] if isinstance(value, list) else word(value, redaction)


def count_only(value: Any, _redaction: Redaction) -> Any:
    """Keep how many there are, but no names and addresses."""
    return ["one"] * len(value) if isinstance(value, list) else None


def identity(value: Any, _redaction: Redaction) -> Any:
    """Keep a process id with its start time and boot id."""
    return (
        value if isinstance(value, list) and all(_is_number(part) or isinstance(part, str) for part in value) else None
    )


def type_name(value: Any, _redaction: Redaction) -> Any:
    """Keep the name of a type if it is Python's or a known library's."""
    if not isinstance(value, str):
        return None
    module, _, _ = value.partition(".")
    return value if module in _KNOWN_MODULES or isinstance(getattr(builtins, value, None), type) else LEFT_OUT


def dtype(value: Any, _redaction: Redaction) -> Any:
    """Keep the name of a dtype, not the names of a structured array's columns."""
    return value if isinstance(value, str) and _DTYPE.fullmatch(value) else LEFT_OUT


def device(value: Any, _redaction: Redaction) -> Any:
    """Keep the kind of a device and its number."""
    return value if isinstance(value, str) and _DEVICE.fullmatch(value) else LEFT_OUT


def source(value: Any, _redaction: Redaction) -> Any:
    """Keep how many lines there were, so that line numbers still say something."""
    return "# code left out" + "\n#" * value.count("\n") if isinstance(value, str) else None


def command(value: Any, _redaction: Redaction) -> Any:
    """Keep that Python was started, and its module for kernels; an argument may be a token."""
    if not isinstance(value, list):
        return None
    program = [os.path.basename(word) for word in value[:1] if isinstance(word, str)]
    first = [word if _PUBLIC_PROGRAMS.fullmatch(word) else LEFT_OUT for word in program]
    return first + [word if word in _PUBLIC_WORDS else LEFT_OUT for word in map(str, value[1:])]


def control_group(value: Any, _redaction: Redaction) -> Any:
    """Keep where in the hierarchy it is, and the file's name; a group may be called after its user or container."""
    if not isinstance(value, str):
        return None
    return _CGROUP.sub(lambda part: part[0] if part[0] in _PUBLIC_PARTS or part[0].isdigit() else "x", value)


def group_path(value: Any, redaction: Redaction) -> Any:
    """Keep how deep a control group is."""
    return control_group(f"{value}/", redaction)[:-1] if isinstance(value, str) else None


def mount_point(value: Any, _redaction: Redaction) -> Any:
    """Keep where every system has a file system."""
    return value if value in _PUBLIC_MOUNTS else LEFT_OUT


def log_lines(value: Any, redaction: Redaction) -> Any:
    """Keep what the operating system logged, without the names of programs and control groups."""
    lines = [line for line in value if isinstance(line, str)] if isinstance(value, list) else []
    return [_LOG_NAMES.sub("x", redaction.text(line)) if _LOG_LINES.search(line) else LEFT_OUT for line in lines]


def kernel_id(value: Any, _redaction: Redaction) -> Any:
    """Keep what Jupyter calls a kernel; of one that somebody named himself that there was a name."""
    return value if isinstance(value, str) and _KERNEL_ID.fullmatch(value) else LEFT_OUT


def display(value: Any, _redaction: Redaction) -> Any:
    """Keep whether there is a display, and a local one's number."""
    return value if isinstance(value, str) and re.fullmatch(r"(:[\d.]+)?", value) else LEFT_OUT


def libraries(value: Any, _redaction: Redaction) -> Any:
    """Keep the names of files, not where they are."""
    return [os.path.basename(path) for path in value if isinstance(path, str)] if isinstance(value, list) else None


def traceback(value: Any, redaction: Redaction) -> Any:
    """Keep the places and the type of an error of ours, not what it says."""
    if not isinstance(value, str):
        return None
    lines = [line for line in value.splitlines() if line.startswith(("Traceback", '  File "'))]
    return redaction.text("\n".join([*lines, value.splitlines()[-1].partition(":")[0] if value else ""]))


def hidden(_value: Any, _redaction: Redaction) -> Any:
    """Say that there was something."""
    return LEFT_OUT


def _named_objects(value: Any, redaction: Redaction) -> Any:
    """Keep the sizes and types of variables, numbered."""
    objects = (
        [redaction.object("namespace.objects", entry, OBJECT_FIELDS) for entry in value]
        if isinstance(value, list)
        else []
    )
    return [{**kept, "name": f"object {place}"} for place, kept in enumerate(objects, 1) if kept is not None]


def _fields(rule: Any, names: str) -> Fields:
    return dict.fromkeys(names.split(), rule)


STAMPS = {"event": word, **_fields(number, "mono_s wall_s dropped")}

FRAME_FIELDS = {**_fields(word, "file function"), "line": number}
THREAD_FIELDS = {
    **_fields(number, "thread_id main has_limit"),
    **_fields(word, "state waits_in"),
    "wakers": count_only,
    "frames": [FRAME_FIELDS],
}
CHILD_STATE_FIELDS = {
    **_fields(number, "pid rss_bytes cpu_s forked reads_terminal"),
    **_fields(word, "state waits_in"),
    "stack": [FRAME_FIELDS],
}
RLIMIT_FIELDS = _fields(number, "soft hard")
FILE_SYSTEM_FIELDS = {
    "path": mount_point,
    "kind": word,
    "roles": words,
    **_fields(number, "total_bytes free_bytes mapped_bytes"),
}
STATE_FIELDS = {
    **STAMPS,
    **_fields(word, "when"),
    "rlimits": dict.fromkeys(["AS", "DATA", "CPU", "NOFILE", "NPROC", "STACK", "FSIZE"], RLIMIT_FIELDS),
    "filesystems": [FILE_SYSTEM_FIELDS],
    "neighbours": [_fields(number, "pid rss_bytes")],
    "cpu_flags": words,
    "display": display,
    "libraries": libraries,
    **_fields(
        number,
        "threads open_files address_space_bytes data_bytes cpu_s swap_total_bytes swap_free_bytes commit_limit_bytes "
        "committed_bytes overcommit_mode pressure_some pressure_full pids_current pids_limit under_oom "
        "oom_killer_disabled",
    ),
}
CGROUP_FIELDS = {
    "path": group_path,
    "source": control_group,
    **_fields(
        number,
        "oom_kills_before oom_kills_after limit_hits_before limit_hits_after usage_before_bytes limit_bytes peak_bytes "
        "group_kills_before group_kills_after",
    ),
}
OBJECT_FIELDS = {
    **_fields(type_name, "type item_type"),
    **_fields(word, "file function"),
    "dtype": dtype,
    "device": device,
    "shape": numbers,
    **_fields(number, "bytes items hidden with_graph unmeasured grew_bytes items_before"),
}
GPU_PROCESS_FIELDS = _fields(number, "pid bytes")
GPU_FIELDS = {
    **_fields(number, "mono_s index used_bytes own_bytes utilisation temperature_c power_w ecc_uncorrected"),
    "throttle": words,
    "others": [GPU_PROCESS_FIELDS],
}
OUTPUT_FIELDS = {**_fields(number, "mono_s fd"), "text": hidden}

END_FIELDS: Fields = {**_fields(word, "kind signal source"), "exit_code": number, "cgroups": [CGROUP_FIELDS]}

_EVENTS: dict[str, Fields] = {
    "start": {
        **_fields(number, "format ram_bytes stacks"),
        **_fields(identity, "process sidecar"),
        "kernel_id": kernel_id,
        **_fields(word, "loaded_by python language"),
        "versions": words,
        "runtime": numbers,
        "namespaces": numbers,
    },
    "limits": {"limits": [{**_fields(word, "kind name"), "bytes": number, "source": control_group}]},
    "cell_start": {
        **_fields(number, "seq execution_count rss_before_bytes truncated source_length source_of"),
        "source": source,
        "beside": numbers,
    },
    "cell_end": {
        **_fields(number, "seq rss_after_bytes peak_bytes asked_exit"),
        "peak_basis": word,
        "error": type_name,
    },
    "cell_queued": {**_fields(number, "seq execution_count truncated source_length"), "source": source},
    "cell_withdrawn": {"seq": number},
    "last_words": _fields(numbers, "fds begins"),
    "look_thread": {"thread_id": number},
    "exit_request": {"by": word, "restart": number},
    "surroundings": STATE_FIELDS,
    "stack": {"reason": word, "threads": [THREAD_FIELDS], "children": [CHILD_STATE_FIELDS]},
    "no_stacks": {"why": word},
    "not_locked": {"why": word},
    "stuck": {
        **_fields(number, "since_mono_s over faults_per_s"),
        "lock_files": count_only,
        "threads": [THREAD_FIELDS],
        "children": [CHILD_STATE_FIELDS],
    },
    "child_end": {
        **_fields(number, "pid parent_pid started_mono_s exit_code peak_bytes oom_kills"),
        **_fields(word, "kind signal"),
    },
    "incident": {
        "kind": word,
        "error": type_name,
        "signature": word,
        "frames": [FRAME_FIELDS],
        **_fields(number, "cell_seq asked_bytes rss_bytes"),
        "numbers": numbers,
        "surroundings": STATE_FIELDS,
    },
    "namespace": {**_fields(number, "cell_seq complete"), "objects": _named_objects},
    "held": {**_fields(number, "cell_seq complete took_s"), "objects": _named_objects},
    "growth": {
        **_fields(number, "cell_seq grew_bytes unknown_bytes reads"),
        "statements": [{**_fields(number, "bytes reads"), "frames": [FRAME_FIELDS]}],
    },
    "framework": {
        **_fields(word, "name version device"),
        "built_for": words,
        **_fields(number, "cell_seq allocated_bytes reserved_bytes peak_bytes total_bytes asked_bytes free_bytes"),
    },
    "gpus": {
        "driver": _fields(word, "version cuda error"),
        "devices": [{**_fields(number, "index total_bytes"), "name": word}],
    },
    "xid": _fields(number, "code index"),
    "fault": {"traceback": traceback},
    "end_begun": END_FIELDS,
    "end": {**END_FIELDS, **_fields(number, "parent_gone parent_seen_mono_s lost"), "kernel_log": log_lines},
    "kernel_log": {"lines": log_lines},
    **{kind: {} for kind in ("crash_memory", "clock", "off", "lost")},
    # The server's.
    **{kind: {} for kind in ("request_failed", "server_end")},
    "request": _fields(word, "action by"),
    "exit": {"returncode": number},
    "restarted": {"automatic": number},
    "start_failed": {"never_ready": number, "command": command, **_fields(hidden, "error stderr")},
}
EVENTS = {kind: {**STAMPS, **fields} for kind, fields in _EVENTS.items()}
"""What is kept of each event, by field: how, or the fields of an object, or of each object in a list."""
