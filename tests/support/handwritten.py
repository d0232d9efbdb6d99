"""Recordings written by hand, for tests that need no kernel."""

from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.layout import JOURNAL, create
from jupyter_kerneldoctor.recording.processes import identify

GONE = [4711, 1, "another-boot"]
"""A process of an earlier boot: it cannot be alive."""

EPOCH_S = 1795231260.0


def write_recording(
    second,
    *,
    kernel_id="kernel-1",
    notebook=None,
    signal="SIGSEGV",
    living_pid=None,
    loaded_by="magic",
    source="1 / 0",
    idle=False,
    exit_code=None,
):
    """Write a kernel that ran one cell and then ended by a signal; without a signal it was shut down in good order.

    If `idle` the cell had ended before. With `exit_code` the cell ended the process with it. With `living_pid` it is
    the recording of that process, and has no end. Return the id.
    """
    pid = living_pid or GONE[0]
    recording_id = f"20261121T0321{second:02}Z-{pid}-ab12cd"
    started_s = EPOCH_S + second
    events = [
        {
            "event": "start",
            "format": 1,
            "process": identify(living_pid) if living_pid else GONE,
            "sidecar": GONE,
            "kernel_id": kernel_id,
            "notebook": notebook,
            "loaded_by": loaded_by,
        },
        {"event": "cell_start", "seq": 1, "execution_count": 1, "cell_id": "c1", "source": source},
    ]
    if exit_code is not None:
        events.append({"event": "end", "kind": "exit", "exit_code": exit_code, "source": "pidfd"})
    elif living_pid is None and signal is None:
        events.append({"event": "cell_end", "seq": 1})
        events.append({"event": "exit_request", "by": "message"})
        events.append({"event": "end", "kind": "exit", "exit_code": 0, "source": "pidfd"})
    elif living_pid is None:
        events += [{"event": "cell_end", "seq": 1}] * idle
        events.append({"event": "end", "kind": "signal", "signal": signal, "source": "pidfd"})
    journal = JsonLines(create(recording_id) / JOURNAL)
    for after_s, event in enumerate(events):
        journal.write({**event, "mono_s": 100.0 + after_s, "wall_s": started_s + after_s})
    journal.close()
    return recording_id
