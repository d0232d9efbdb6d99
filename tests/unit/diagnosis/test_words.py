"""Numbers and code for people, the story of the memory, the chart."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.texts.timeline import thin
from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, plural, quote, size
from jupyter_kerneldoctor.recording.samples import Sample


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (500 * MIB, "500 MiB"),
        (1.5 * MIB, "1.5 MiB"),
        (1024 * MIB - 1, "1.0 GiB"),
        (2.4 * GIB, "2.4 GiB"),
        (250 * GIB, "250 GiB"),
        (-5 * MIB, "-5.0 MiB"),
        (1 << 80, "1048576 EiB"),
    ],
)
def test_size(amount, text):
    assert size(amount) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [(0.004, "4 ms"), (0.4, "0.4 s"), (29, "29 s"), (59.7, "1 min"), (125, "2 min 5 s"), (11_400, "3 h 10 min")],
)
def test_duration(time_s, text):
    assert duration(time_s) == text


def test_code_is_quoted_on_one_line():
    assert quote("  x = [\n  1]") == "`x = [ 1]`"
    assert quote("a" * 100) == "`" + "a" * 59 + "…`"
    assert quote("!echo `date` \x1b[0m\x00") == "`!echo 'date' �[0m�`"


def test_names_and_plurals():
    assert (cell_name(7), cell_name(None)) == ("cell [7]", "a cell without a number")
    assert (plural(1, "process"), plural(2, "process"), plural(2, "cell")) == ("1 process", "2 processes", "2 cells")


def story(*sources, memory, limit=4 * GIB, **death):
    full = Group(limit, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=limit)
    return diagnose(recording(*sources, signal="SIGKILL", memory=memory, groups=[full], **death)).story


def test_the_story_of_a_ramp():
    ramp = [number * 100 * MIB for number in range(5, 40)]
    assert story("fit()", memory=ramp) == (
        "Cell [1] began with 500 MiB in use and reached 3.8 GiB in 9.1 s. Memory grew steadily, by 340 MiB a second."
    )


def test_the_story_of_a_jump():
    assert "Most of the growth came within 0.3 s" in story("f()", memory=[500 * MIB] * 30 + [3900 * MIB] * 2)


def test_the_story_of_a_full_house():
    assert "Most of the memory allowed was in use before the cell began" in story(
        "f()", memory=[3800 * MIB, 3990 * MIB]
    )


def test_the_story_of_a_staircase():
    full = Group(2 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=2 * GIB)
    recorded = recording(*["load()"] * 6, signal="SIGKILL", memory=(1500 * MIB, 1600 * MIB), groups=[full])
    *earlier, last = recorded.cells
    stairs = tuple(
        replace(cell, rss_before_bytes=300 * number * MIB, rss_after_bytes=300 * (number + 1) * MIB)
        for number, cell in enumerate(earlier)
    )
    assert diagnose(replace(recorded, cells=(*stairs, last))).story.startswith(
        "Cell [6] began with 1.5 GiB in use, 1.5 GiB of it left by cells [1], [2], [3] and 2 more. "
        "It needed at least 528 MiB more."
    )


def test_the_story_of_children():
    assert "belonged to other processes" in story("Parallel(8)(jobs)", memory=[80 * MIB, 90 * MIB])


def test_more_than_the_limit_is_explained():
    above = {"memory": [100 * MIB, 313 * MIB], "limit": 250 * MIB}
    assert "reached 313 MiB" in story("f()", **above)
    assert "A process can hold more than the limit" in story("f()", **above)
    assert "can hold more" not in story("f()", memory=[100 * MIB, 240 * MIB], limit=250 * MIB)


def test_no_samples_no_story_of_growth():
    assert "reached" not in (story("f()", memory=()) or "")


def test_a_short_recording_is_charted_whole():
    answer = diagnose(recording("x", "f()", signal="SIGSEGV", memory=(1 * MIB, 2 * MIB)))
    chart = answer.timeline
    assert [value for value in chart.samples["memory_bytes"] if value < 50 * MIB][-2:] == [1 * MIB, 2 * MIB]
    assert chart.samples["t_s"] == sorted(chart.samples["t_s"])
    assert chart.cells[1] == {"execution_count": 2, "start_s": 20.0, "end_s": None}
    assert chart.cells[0]["end_s"] == 19.0
    assert chart.death_s == 30.0
    assert chart.limit["name"] == "the machine's memory"


def test_a_kernel_that_died_before_its_first_sample_has_the_measurements_of_its_cells():
    chart = diagnose(recording("x", "f()", signal="SIGSEGV")).timeline
    assert chart.samples["t_s"] == [10.0, 19.0, 20.0]


def test_thinning_keeps_the_ends_the_peaks_and_the_order():
    samples = [Sample(float(number), number % 1000) for number in range(20_000)]
    samples[14_321] = Sample(14_321.0, 10**9)
    samples[12_345] = Sample(12_345.0, None)
    kept = thin(samples)
    assert len(kept) <= 600
    assert kept[0] is samples[0]
    assert kept[-1] is samples[-1]
    assert samples[14_321] in kept
    assert [sample.mono_s for sample in kept] == sorted(sample.mono_s for sample in kept)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("container limit", "the container allows 500 MiB"),
        ("session limit", "the session limit is 500 MiB"),
        ("memory limit", "the memory limit is 500 MiB"),
    ],
)
def test_a_limit_is_called_what_it_is(name, words):
    full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)
    recorded = recording("f()", signal="SIGKILL", memory=(100 * MIB, 480 * MIB), groups=[full])
    limit, *others = recorded.limits
    answer = diagnose(replace(recorded, limits=(replace(limit, name=name), *others)))
    assert answer.cause.headline.endswith(f": {words}.")
    assert answer.end.summary == f"Killed by Linux at the {name}"
    assert answer.timeline.limit["name"] == name


def test_one_duration_is_told_once():
    recorded = recording("f()", signal="SIGKILL", groups=[Group(4 * GIB, (0, 1), (0, 9), 4 * GIB)])
    steps = ((10.04, 110), (10.54, 3900), (13, 4000), (16, 4000), (19, 4000))
    samples = tuple(Sample(moment_s, mib * MIB) for moment_s, mib in steps)

    told = diagnose(replace(recorded, samples=samples)).story

    assert "reached 3.9 GiB in 0.5 s." in told
    assert "Most of the growth" not in told
