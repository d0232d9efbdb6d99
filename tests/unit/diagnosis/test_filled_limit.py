"""A container that fills a limit of the process: the small request that is refused at last is not to blame."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, cell_file, recording
from jupyter_kerneldoctor.recording.events import (
    Frame,
    Growth,
    Held,
    Incident,
    NamedObject,
    Namespace,
    Rlimit,
    StatementGrowth,
    SystemState,
)
from jupyter_kerneldoctor.recording.model import Cell
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.render.next_steps import next_steps

MAKES = "import numpy as np\nrng = np.random.default_rng(0)\ndef simulate(step):\n    return rng.normal(size=1_000_000)"
FILLS = "history = []\nfor step in range(100_000):\n    history.append(simulate(step))"
MEANS = "means = [run.mean() for run in history]"

BEGAN, ENDED = 10.0, 20.0
BEFORE_BYTES, PEAK_BYTES, LIMIT_BYTES = 70 * MIB, 1962 * MIB, 3 * GIB


def history(items: int, **more: object) -> NamedObject:
    return NamedObject("history", "list", items * 8_000_000, items=items, item_type="numpy.ndarray", **more)


def memory_at(moment: float) -> int:
    """As it grew, evenly, while the cell ran; from then on it stays."""
    part = min(1.0, (moment - BEGAN) / (ENDED - BEGAN))
    return int(BEFORE_BYTES + part * (PEAK_BYTES - BEFORE_BYTES))


def filled(fills: str = FILLS, *, watched_until_s: float = ENDED, asked_bytes: int | None = 8_000_000):
    """A kernel with `ulimit -v` in which `history` grew until a small request was refused, and that lives."""
    cells = (
        Cell(MAKES, 1, seq=1, started_mono_s=1.0, ended_mono_s=2.0),
        Cell(
            fills,
            2,
            seq=2,
            started_mono_s=BEGAN,
            ended_mono_s=ENDED,
            rss_before_bytes=BEFORE_BYTES,
            peak_bytes=PEAK_BYTES,
            error="MemoryError",
        ),
    )
    frames = (Frame(cell_file(MAKES), 4, "simulate"), Frame(cell_file(fills), 3, "<module>"))
    times = [BEGAN + 0.25 * number for number in range(1, int(4 * (watched_until_s - BEGAN)) + 1)]
    return replace(
        recording(alive=True),
        cells=cells,
        samples=tuple(Sample(one, rss_bytes=memory_at(one)) for one in times),
        growths=(Growth(ENDED, 2, 1892 * MIB, statements=(StatementGrowth(frames, 1892 * MIB),)),),
        held=(Held(BEGAN + 0.7, 2, (history(28),)),),  # the one look that there was while it grew
        namespaces=(Namespace(2.1, 1), Namespace(ENDED + 0.1, 2, (history(248),))),
        incidents=(Incident("memory-error", ENDED, "MemoryError", 2, frames, asked_bytes=asked_bytes),),
        system_states=(
            SystemState(
                ENDED + 0.05, "incident", rlimits={"AS": Rlimit(LIMIT_BYTES)}, address_space_bytes=LIMIT_BYTES - 4096
            ),
        ),
    )


@pytest.mark.parametrize("later_s", [0, 1, 9, 600])
def test_what_filled_the_limit_is_known_at_the_error_and_stays_known(later_s):
    answer = diagnose(filled(watched_until_s=ENDED + later_s))

    assert answer.cause.headline == (
        "Memory was refused in cell [2] on `history.append(simulate(step))`: "
        "`history` had filled this process's limit of 3.0 GiB."
    )
    assert [(one.name, one.length) for one in answer.grown] == [("history", 248)]


@pytest.mark.parametrize("asked_bytes", [8_000_000, None])
def test_the_statement_that_keeps_is_to_blame_not_the_one_that_asked_last(asked_bytes):
    """Python's own objects do not say how much they asked for."""
    at = diagnose(filled(asked_bytes=asked_bytes)).statement

    assert (at.execution_count, at.line, at.source.strip()) == (2, 3, "history.append(simulate(step))")


def test_a_large_request_is_to_blame_itself():
    answer = diagnose(filled(asked_bytes=2 * GIB))

    assert (answer.statement.function, answer.statement.source.strip()) == (
        "simulate",
        "return rng.normal(size=1_000_000)",
    )
    assert answer.cause.headline.startswith("A request for 2.0 GiB of memory was refused in `simulate`")


def test_what_is_used_later_in_the_cell_is_all_that_need_be_kept_the_first_time_it_runs():
    first = diagnose(filled(f"{FILLS}\n{MEANS}")).fixes[0]

    assert first.title == "Keep only `run.mean()` of each item in `history`"
    assert "history.append(run.mean())" in first.snippet


def test_what_holds_the_memory_is_to_be_freed_first():
    full = filled()
    answer = diagnose(full)
    assert answer.free_first == "history.clear()"
    assert next_steps(answer.to_json())[0].startswith(
        "The kernel is still running, with hardly any memory left: free it first: `history.clear()`."
    )

    cleared = Cell("history.clear()", 3, seq=3, started_mono_s=30.0, ended_mono_s=30.1)
    freed = diagnose(replace(full, cells=(*full.cells, cleared), namespaces=(*full.namespaces, Namespace(30.2, 3))))
    assert (freed.state, freed.free_first) == ("survived", None)
    assert next_steps(freed.to_json())[0] == "The kernel is still running, and your variables are still there."
