"""What the chart of the memory is drawn from."""

from dataclasses import replace

from jupyter_kerneldoctor.diagnosis.causes import examine
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, recording
from jupyter_kerneldoctor.diagnosis.texts.timeline import timeline
from jupyter_kerneldoctor.recording.events import Rlimit, SystemState
from jupyter_kerneldoctor.recording.samples import Sample


def drawn(peak_bytes, *samples):
    """What is drawn of a cell that ran from 10 s to 19 s, with 100 MiB before and after."""
    made = recording("f()", idle=True, signal="SIGKILL")
    cell = replace(made.cells[0], peak_bytes=peak_bytes)
    shown = timeline(examine(replace(made, cells=(cell,), samples=samples))).samples
    return [(time, size // MIB) for time, size in zip(shown["t_s"], shown["memory_bytes"], strict=True)]


def test_a_peak_between_two_samples_is_drawn_where_memory_moved_most():
    samples = Sample(12.0, 610 * MIB), Sample(18.0, 100 * MIB)
    assert drawn(625 * MIB, *samples) == [(10.0, 100), (12.0, 610), (15.0, 625), (18.0, 100), (19.0, 100)]


def test_a_peak_that_a_sample_saw_is_drawn_once():
    assert drawn(610 * MIB, Sample(12.0, 610 * MIB)) == [(10.0, 100), (12.0, 610), (19.0, 100)]
    assert drawn(None) == [(10.0, 100), (19.0, 100)]


def test_a_lower_limit_of_the_process_is_the_limit_of_the_chart():
    made = recording("f()", idle=True, signal="SIGKILL")
    (machine,) = made.limits
    for soft, name in (
        (GIB, "limit of the process (ulimit -v)"),
        (2 * machine.bytes, machine.name),
        (None, machine.name),
    ):
        states = (SystemState(0.5, "start", rlimits={"AS": Rlimit(soft, soft), "DATA": Rlimit(None, None)}),)
        assert timeline(examine(replace(made, system_states=states))).limit["name"] == name
