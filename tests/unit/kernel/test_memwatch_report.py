from jupyter_kerneldoctor.kernel import memwatch_report
from jupyter_kerneldoctor.kernel.memory import Stretch
from jupyter_kerneldoctor.recording.samples import Sample, SampleWriter

MIB = 1 << 20


def test_a_peak_is_drawn_where_memory_moved_and_not_while_the_cell_slept(tmp_path, monkeypatch):
    """A cell sleeps, then allocates faster than anybody looks; its peak is a little above what it kept."""
    monkeypatch.setattr(memwatch_report, "_LIMITS_PATIENCE_S", 0)
    writer = SampleWriter(tmp_path)
    for mono_s in (100.0, 100.1, 100.3):
        writer.write(Sample(mono_s, 100 * MIB, None, 8 << 30, 0))
    stretch = Stretch(exact=False)
    stretch.started_mono_s, stretch.ended_mono_s = 100.0, 100.4
    stretch.before_bytes, stretch.after_bytes, stretch.peak_bytes = 100 * MIB, 140 * MIB, 150 * MIB

    _, drawn = memwatch_report.report(stretch, memwatch_report.Recorded(tmp_path), timeline=True)

    samples = drawn["timeline"]["samples"]
    slept = [size for t_s, size in zip(samples["t_s"], samples["memory_bytes"], strict=True) if t_s < 0.31]
    assert set(slept) == {100 * MIB}
    assert max(samples["memory_bytes"]) == 150 * MIB
