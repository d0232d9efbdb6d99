"""Which fields of a recording somebody else may see, and by which rule. A new field stays out until it stands here."""

from typing import Any, NamedTuple

from .redaction_rules import (
    command,
    control_group,
    count_only,
    device,
    display,
    dtype,
    group_path,
    hidden,
    identity,
    kernel_id,
    libraries,
    log_lines,
    mount_point,
    number,
    numbers,
    source,
    traceback,
    type_name,
    word,
    words,
)

Fields = dict[str, Any]


class Numbered(NamedTuple):
    """A rule for a list of objects whose names are the user's: they are numbered."""

    fields: Fields


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
    **_fields(number, "bytes items hidden with_graph unmeasured written_bytes grew_bytes items_before"),
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
    "stack": {
        "reason": word,
        "threads": [THREAD_FIELDS],
        "children": [CHILD_STATE_FIELDS],
        "glances": [[number]],
        "glances_s": number,
    },
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
    "thread_error": {"error": type_name, "frames": [FRAME_FIELDS]},
    "namespace": {**_fields(number, "cell_seq complete"), "objects": Numbered(OBJECT_FIELDS)},
    "held": {**_fields(number, "cell_seq complete took_s"), "objects": Numbered(OBJECT_FIELDS)},
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
