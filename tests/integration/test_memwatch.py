"""`%%memwatch` and `%memwatch`: what the user types and sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.kernels import LiveKernel

MEASURED = re.compile(r"memwatch: peak \S+ [KMG]iB, (?P<above>\S+ \w+) above the start; [^;]+; [\d.]+ m?s")


def mebibytes(figures: re.Match[str]) -> float:
    """How far the peak was above the start."""
    number, unit = figures["above"].split()
    return float(number) * {"bytes": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}[unit]


def test_a_cell_is_measured(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%%memwatch\nblock = bytearray(100 * 1024 * 1024)\ndel block\n'the last value'")

    figures = MEASURED.search(outcome.text)
    assert figures is not None, outcome.text
    assert 95 <= mebibytes(figures) <= 110
    assert outcome.result == "'the last value'"


def test_the_room_left_names_its_limit(living_kernel: LiveKernel) -> None:
    limits = "memory of this machine|container limit|session limit|memory limit"
    living_kernel.wait_recorded(lambda found: found.limits and found.samples)  # before that, the room is not known
    assert re.search(
        rf"at the peak, [\d.]+ [GM]iB of the ({limits}) \([^)]+\) were free",
        living_kernel.run("%%memwatch\nx = 1").text,
    )


def test_a_small_timeline_follows_and_can_be_left_out(living_kernel: LiveKernel) -> None:
    assert "█" in living_kernel.run("%%memwatch\nx = bytearray(50_000_000)").text
    assert living_kernel.run("%%memwatch\nimport time; time.sleep(0.1)").text.count("\n") == 1, "nothing to see"
    assert living_kernel.run("%%memwatch -n\nx = 1").text.count("\n") == 1


def test_a_page_gets_a_drawing_that_fits_any_width(living_kernel: LiveKernel) -> None:
    (data,) = living_kernel.run("%%memwatch\nx = bytearray(50_000_000)").shown

    assert MEASURED.search(data["text/html"])
    assert "<svg" in data["text/html"]


def test_one_line_is_measured(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%memwatch kept = bytearray(50 * 1024 * 1024)")

    assert re.search(r"kept (4[89]|5[0-2]) MiB", outcome.text), outcome.text
    assert living_kernel.run("len(kept)").result == str(50 * 1024 * 1024)


def test_a_line_may_begin_with_options(living_kernel: LiveKernel) -> None:
    assert living_kernel.run("%memwatch -n x = -3\n").text.count("\n") == 1
    assert living_kernel.run("x").result == "-3"


def test_a_line_within_a_cell_does_not_lower_the_cells_peak(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%%memwatch -n\nbig = b'x' * (80 * 1024 * 1024)\ndel big\n%memwatch -n y = 1")

    line, cell = (mebibytes(found) for found in MEASURED.finditer(outcome.text))
    assert line < 10
    assert cell >= 75


def test_wrong_arguments_are_said_and_nothing_runs(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%%memwatch --colour=red\nran = True")

    assert outcome.reply["status"] == "error"
    assert "unrecognized arguments: --colour=red" in outcome.stderr + outcome.traceback
    assert "%%memwatch?" in outcome.stderr + outcome.traceback
    assert living_kernel.run("'ran' in globals()").result == "False"
    recording = living_kernel.wait_recorded(lambda found: found.cells[-1].source.startswith("'ran'"))
    assert recording.cells[-2].source == "%%memwatch --colour=red\nran = True"


def test_a_line_that_cannot_be_compiled_is_not_measured(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%memwatch y=1+")

    assert outcome.reply["ename"] == "SyntaxError"
    assert outcome.stdout == ""


def test_the_line_magic_wants_a_line(living_kernel: LiveKernel) -> None:
    assert "needs a line of code" in living_kernel.run("%memwatch").stderr


def test_help_shows_the_options(living_kernel: LiveKernel) -> None:
    pages = [living_kernel.run(f"{magic}memwatch?").reply["payload"][0]["data"]["text/plain"] for magic in ("%", "%%")]

    assert all("--no-timeline" in page and "peak" in page for page in pages)


def test_an_error_is_the_cells_own_with_its_line(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%%memwatch\nx = 1\n1 / 0")

    assert outcome.reply["ename"] == "ZeroDivisionError"
    shown = re.sub(r"\x1b\[[\d;]*m", "", outcome.traceback)
    assert re.findall(r"-> *(\d+) (.*)", shown) == [("3", "1 / 0")], "the user's line and no other is pointed at"
    assert MEASURED.search(outcome.text)


def test_await_works(living_kernel: LiveKernel) -> None:
    outcome = living_kernel.run("%%memwatch -n\nimport asyncio\nawait asyncio.sleep(0.2)\n'awaited'")

    assert outcome.result == "'awaited'"
    assert re.search(r"; (?!0\.[01] s)[\d.]+ s", outcome.text), "as long as it slept, at least"


def test_it_stacks_with_other_cell_magics(living_kernel: LiveKernel) -> None:
    above = living_kernel.run("%%memwatch -n\n%%capture out\nprint('captured')")
    assert MEASURED.search(above.text)
    assert living_kernel.run("out.stdout").result == "'captured\\n'"

    timed = living_kernel.run("%%memwatch -n\n%%time\n6 * 7")
    assert timed.result == "42"

    below = living_kernel.run("%%time\n%%memwatch -n\nz = 3")
    assert "Wall time" in below.stdout
    assert MEASURED.search(below.text)


def test_it_measures_without_a_recording(living_kernel: LiveKernel) -> None:
    living_kernel.run("%kerneldoctor off")
    try:
        assert MEASURED.search(living_kernel.run("%%memwatch\nx = 1").text)
    finally:
        living_kernel.run("%kerneldoctor on")


def test_below_a_limit_of_the_process_that_is_the_limit(living_kernel: LiveKernel) -> None:
    lower = "import resource\nresource.setrlimit(resource.RLIMIT_{}, ({} << 20,) * 2)"
    for name, option, mebi in (("AS", "-v", 4000), ("DATA", "-d", 2000)):
        living_kernel.run(lower.format(name, mebi))
        text = living_kernel.run("%%memwatch\nblock = bytearray(700 << 20)\ndel block").text

        free = re.search(
            rf"at the peak, ([\d.]+) ([GM])iB of the memory that this process may reserve, `ulimit {option}`", text
        )
        assert free is not None, text
        assert float(free[1]) * {"G": 1024, "M": 1}[free[2]] < mebi - 700
