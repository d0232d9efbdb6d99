"""What a running kernel uses, what is left, and how long that lasts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jupyter_kerneldoctor.recording.events import (
    Gpu,
    GpuSample,
    Incident,
    NamedObject,
    Namespace,
    Rlimit,
    Stuck,
    SystemState,
)
from jupyter_kerneldoctor.recording.model import Cell, End, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.reports.live import document, fingerprint, lasts_s, summary

MIB = 1 << 20
GROUP = Limit("cgroup", "container limit", 1500 * MIB, "/sys/fs/cgroup/memory.max")
RAM = Limit("ram", "memory of this machine", 16_000 * MIB, "/proc/meminfo MemTotal")


def sample(mono_s: float, own: int, used: int | None = None, available: int = 8_000, **more: int) -> Sample:
    return Sample(mono_s, own * MIB, None if used is None else used * MIB, available * MIB, **more)


def recording(*samples: Sample, cells: tuple[Cell, ...] = (), kernel_id: str = "k", **more: object) -> Recording:
    kernel = Kernel(ProcessIdentity(7, 1, "boot"), kernel_id=kernel_id)
    return Recording("r", kernel, limits=(GROUP, RAM), samples=samples, cells=cells, **more)  # type: ignore[arg-type]


def test_the_limit_is_the_one_with_the_least_room() -> None:
    by_group = summary(recording(sample(1, 900, used=1070)))
    by_machine = summary(recording(sample(1, 900, used=1070, available=100)))

    assert by_group["reserved_bytes"] is None
    assert (by_group["limit"]["name"], by_group["left_bytes"], by_group["level"]) == (
        "container limit",
        430 * MIB,
        "ok",
    )
    assert (by_machine["limit"]["name"], by_machine["left_bytes"]) == ("memory of this machine", 100 * MIB)
    assert by_machine["level"] == "critical"


@pytest.mark.parametrize(
    ("state", "option"),
    [
        (SystemState(1.0, "start", {"AS": Rlimit(4_000 * MIB)}, address_space_bytes=3_000 * MIB), "ulimit -v"),
        (SystemState(1.0, "start", {"DATA": Rlimit(1_300 * MIB)}, data_bytes=300 * MIB), "ulimit -d"),
    ],
)
def test_the_limit_of_the_process_counts_what_is_reserved_and_what_was_added_since(
    state: SystemState, option: str
) -> None:
    samples = sample(0.5, 100, used=200), sample(2, 1_000, used=1_100)
    found = summary(recording(*samples, system_states=(state, SystemState(1.5, "changed"))))

    assert found["limit"]["name"] == f"limit of the process, {option}"
    assert (found["left_bytes"], found["level"]) == (100 * MIB, "critical")
    assert found["reserved_bytes"] == found["used_bytes"] - 1_000 * MIB  # nobody else counts


def test_a_limit_of_the_process_that_is_further_away_does_not_count() -> None:
    state = SystemState(1.0, "start", {"AS": Rlimit(64_000 * MIB)}, address_space_bytes=3_000 * MIB)

    assert summary(recording(sample(0.5, 100, used=200), system_states=(state,)))["limit"]["name"] == GROUP.name


@pytest.mark.parametrize(("used", "level"), [(1100, "ok"), (1250, "low"), (1400, "critical"), (1600, "critical")])
def test_little_left_is_said(used: int, level: str) -> None:
    assert summary(recording(sample(1, 900, used=used)))["level"] == level


@pytest.mark.parametrize("kind", ["cgroup", "ram"])
def test_a_limit_of_nothing_is_none(kind: str) -> None:
    samples = (sample(1, 900, used=1000, available=0),)
    found = Recording("r", recording().kernel, limits=(Limit(kind, "m", 0, "s"),), samples=samples)

    assert summary(found)["limit"] is summary(found)["level"] is None
    assert document(found, [found])["others"] == []


def test_without_a_sample_nothing_is_claimed() -> None:
    found = document(recording())

    assert found["limit"] is found["left_bytes"] is found["level"] is found["children"] is None


RUNNING = (Cell("load()", 7, "c7", seq=7, started_mono_s=0.0),)


def test_steady_growth_tells_how_long_the_rest_lasts() -> None:
    steady = recording(*(sample(second, 100 + 50 * second) for second in range(11)), cells=RUNNING)
    jump = recording(*(sample(second, 100 + 500 * (second > 8)) for second in range(11)), cells=RUNNING)
    over = (Cell("load()", 7, "c7", seq=7, started_mono_s=0.0, ended_mono_s=9.0),)

    assert lasts_s(steady, 500 * MIB) == 10.0
    assert lasts_s(steady, 500_000 * MIB) is None  # that is no news
    assert lasts_s(jump, 500 * MIB) is None
    assert lasts_s(recording(*steady.samples, cells=over), 500 * MIB) is None
    assert lasts_s(recording(*steady.samples[:3], cells=RUNNING), 500 * MIB) is None


def test_what_may_need_another_report_is_noted() -> None:
    waits, went_on = Stuck(20.0, 10.0), Stuck(31.0, 10.0, over=True)
    survived = Incident("memory-error", 40.0, "MemoryError")

    def failed(error: str) -> Cell:
        return Cell("load()", 1, seq=1, started_mono_s=2.0, ended_mono_s=50.0, error=error)

    noted = [
        summary(recording(sample(1, 100), **more))["noted_mono_s"]
        for more in (
            {},
            {"stuck": (waits,)},
            {"stuck": (waits, went_on)},
            {"stuck": (waits,), "incidents": (survived,)},
            {"cells": (failed("MemoryError"),)},
            {"cells": (failed("KeyError"),)},
        )
    ]

    assert noted == [None, 20.0, 31.0, 40.0, 50.0, None]


def test_a_kernel_that_has_ended_runs_nothing() -> None:
    ended = recording(sample(1, 900, used=1000), cells=RUNNING, end=End("signal", 1.0, 1.0, "SIGKILL"))

    assert summary(recording(*ended.samples, cells=RUNNING))["running"]["execution_count"] == 7
    assert (summary(ended)["is_recorded"], summary(ended)["running"]) == (False, None)


def test_a_cell_is_measured_by_the_kernel_or_by_the_samples() -> None:
    measured = Cell(
        "a",
        1,
        seq=1,
        started_mono_s=2.5,
        ended_mono_s=4.5,
        rss_before_bytes=10,
        rss_after_bytes=30,
        peak_bytes=900 * MIB,
    )
    sampled = Cell("\n  b = 1\nc", 2, seq=2, started_mono_s=5.5, ended_mono_s=7.5)
    samples = [sample(1, 100), sample(3, 200), sample(5, 150), sample(6, 600), sample(7, 500), sample(8, 400)]

    first, second = document(recording(*samples, cells=(measured, sampled)))["cells"]

    assert (first["took_bytes"], first["kept_bytes"]) == (900 * MIB - 10, 20)
    assert (second["peak_bytes"], second["took_bytes"], second["kept_bytes"]) == (600 * MIB, 450 * MIB, 250 * MIB)
    assert second["source"] == "  b = 1"


def test_the_curve_has_the_peak_that_no_sample_saw() -> None:
    took = Cell("a", 1, started_mono_s=2.5, ended_mono_s=4.5, rss_before_bytes=100, rss_after_bytes=300 * MIB)
    samples = [sample(2, 100), sample(3, 200), sample(4, 700), sample(5, 300)]

    unseen = document(recording(*samples, cells=(replace(took, peak_bytes=900 * MIB),)))["timeline"]["samples"]
    seen = document(recording(*samples, cells=(replace(took, peak_bytes=700 * MIB),)))["timeline"]["samples"]

    assert [memory // MIB for memory in unseen["memory_bytes"]] == [100, 200, 900, 700, 300]
    assert unseen["t_s"] == sorted(unseen["t_s"])
    assert [memory // MIB for memory in seen["memory_bytes"]] == [100, 200, 700, 300]


def test_the_document_names_variables_children_and_neighbours() -> None:
    frame = NamedObject("df", "DataFrame", 380 * MIB, shape=(10, 2))
    own = recording(
        sample(1, 900, used=1000, tree_bytes=950 * MIB, children=3),
        cells=(Cell("df = load()", 7, seq=7, ended_mono_s=1.0),),
        namespaces=(Namespace(1.0, 7, (frame,)),),
    )
    elsewhere = Recording("x", own.kernel, limits=(RAM,), samples=own.samples)

    found = document(own, [recording(sample(1, 300), kernel_id="other"), elsewhere])

    assert json.loads(json.dumps(found))["variables"]["objects"][0]["name"] == "df"
    assert found["variables"]["execution_count"] == 7
    assert found["children"] == {"count": 3, "bytes": 50 * MIB}
    assert found["others"] == [{"kernel_id": "other", "bytes": 300 * MIB}]


def test_each_card_is_told_as_it_was_seen_last() -> None:
    cards = tuple(Gpu(index, f"card {index}", total_bytes=8_000 * MIB) for index in (0, 1, 2))
    looks = tuple(
        GpuSample(mono_s, index, used * MIB, 5 * MIB) for mono_s, index, used in ((1, 0, 7), (1, 1, 8), (2, 0, 9))
    )

    told = document(recording(sample(1, 900), gpus=cards, gpu_samples=looks))["gpus"]

    assert [(card["index"], card["used_bytes"] // MIB) for card in told] == [(0, 9), (1, 8)], (
        "nobody looked at the third"
    )
    assert told[1] == {
        "index": 1,
        "name": "card 1",
        "total_bytes": 8_000 * MIB,
        "used_bytes": 8 * MIB,
        "own_bytes": 5 * MIB,
    }


def test_a_kernel_that_rests_says_nothing_new() -> None:
    before, after = document(recording(sample(1, 900, used=1000))), document(recording(sample(9, 900, used=1000)))
    grown = document(recording(sample(9, 950, used=1000)))

    assert fingerprint(before) == fingerprint(after) != fingerprint(grown)
