"""Samples: full rate for the last minute, thinned before that, never a hole where memory moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_kerneldoctor.recording.samples import (
    Sample,
    SampleWriter,
    bounded,
    read_samples,
    thin,
    time_of_unseen_peak,
)

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def test_samples_come_back_in_order(tmp_path: Path) -> None:
    writer = SampleWriter(tmp_path)
    samples = [Sample(float(i), i * MIB, None, 5, 0) for i in range(1, 10)]
    for sample in samples:
        writer.write(sample)

    assert read_samples(tmp_path) == tuple(samples)


def test_a_peak_that_no_sample_saw_was_where_memory_moved() -> None:
    assert time_of_unseen_peak([(0.0, 5), (0.1, 5), (0.3, 5), (0.4, 45)]) == pytest.approx(0.35)
    assert time_of_unseen_peak([(0.0, 5), (0.1, 5), (0.3, 5)]) == pytest.approx(0.2)
    assert time_of_unseen_peak([(7.0, 5)]) == 7.0


@pytest.mark.slow
def test_the_last_minute_is_at_full_rate_and_a_day_is_small(tmp_path: Path) -> None:
    writer = SampleWriter(tmp_path)
    for second in range(24 * 3600):
        writer.write(Sample(float(second), 500 * MIB + second % 7, 600 * MIB, 10**9, 0))

    samples = read_samples(tmp_path)
    assert [sample.mono_s for sample in samples[-60:]] == [float(24 * 3600 - 60 + i) for i in range(60)]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1_000_000


@pytest.mark.slow
def test_days_in_which_memory_never_rests_are_bounded(tmp_path: Path) -> None:
    writer = SampleWriter(tmp_path)
    kept = tmp_path / "samples.jsonl"
    sizes = []
    for second in range(0, 3 * 24 * 3600, 3):
        writer.write(Sample(float(second), (1000 + 37 * (second % 29)) * MIB, None, 10**10, 0, 2000 * MIB, 3))
        if second % (24 * 3600) == 0:
            sizes.append(kept.stat().st_size)

    assert sizes[1] < 2_000_000
    assert kept.stat().st_size - sizes[1] < 2 * 600_000


def test_leaving_out_much_keeps_the_highest_and_the_lowest() -> None:
    samples = [Sample(float(i), (500 + i % 7) * MIB) for i in range(600)]
    samples[311] = Sample(311.0, 9000 * MIB)
    samples[205] = Sample(205.0, 1 * MIB)
    few = bounded(samples, 16)

    assert len(few) <= 16
    assert {samples[205], samples[311]} <= set(few)
    assert few == sorted(few)


def test_memory_of_children_that_moves_is_no_flat_stretch() -> None:
    samples = [Sample(float(i), 100 * MIB, tree_bytes=(200 if i < 10 else 900) * MIB, children=2) for i in range(20)]

    assert [sample.mono_s for sample in thin(samples)] == [0.0, 9.0, 10.0, 19.0]


def test_a_jump_keeps_both_its_ends_when_thinned() -> None:
    flat = [Sample(float(i), 100 * MIB) for i in range(20)]
    high = [Sample(20.0 + i, 900 * MIB) for i in range(20)]

    assert [sample.mono_s for sample in thin(flat + high)] == [0.0, 19.0, 20.0, 39.0]


def test_a_change_of_the_out_of_memory_counter_is_kept() -> None:
    samples = [Sample(float(i), 100 * MIB, oom_kills=0 if i < 5 else 1) for i in range(10)]

    assert 5.0 in [sample.mono_s for sample in thin(samples)]


def test_dying_while_the_files_rotate_loses_and_doubles_nothing(tmp_path: Path) -> None:
    writer = SampleWriter(tmp_path)
    for second in range(200):
        writer.write(Sample(float(second), second * MIB))
    kept = (tmp_path / "samples.jsonl").read_bytes()
    recent = (tmp_path / "recent-0.jsonl").read_bytes()
    writer.write(Sample(200.0, 200 * MIB))
    (tmp_path / "recent-0.jsonl").write_bytes(kept + recent)  # as if the older minute had not been emptied yet

    times = [sample.mono_s for sample in read_samples(tmp_path)]
    assert times == sorted(set(times))


def test_columns_of_another_version_and_damage_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(
        '["mono_s","future_bytes","rss_bytes"]\n[1.0, 77, 5]\n[2.0, 77]\n["x", 1, 2]\n[true, 1, 2]\n{}\n'
        "[3.0, null, null]\n[4."
    )

    assert read_samples(tmp_path) == (Sample(1.0, 5), Sample(3.0))
