"""Growth is charged to the statements that ran; what falls is taken back from the newest."""

from __future__ import annotations

from typing import Any

from jupyter_kerneldoctor.sidecar.stacks.growth import Growth, user_statement

MIB = 1 << 20
CELL = "/tmp/ipykernel_12/34.py"
OTHER_CELL = "/tmp/ipykernel_12/56.py"
LIBRARY = "/env/lib/python3.11/site-packages/torch/nn.py"


def at(line: int, function: str = "<module>", file: str = CELL) -> dict[str, Any]:
    return {"file": file, "line": line, "function": function}


def stack(*frames: dict[str, Any]) -> Any:
    return user_statement(frames)


def told(growth: Growth) -> dict[int, int]:
    """The MiB of each innermost line."""
    event = growth.event(1.0, over=True)
    return {} if event is None else {s["frames"][0]["line"]: s["bytes"] // MIB for s in event["statements"]}


def test_a_statement_is_the_users_frames() -> None:
    frames = [at(3, "forward", LIBRARY), at(12, "forward", OTHER_CELL), at(9, "call", LIBRARY), at(1)]

    assert stack(*frames) == ((OTHER_CELL, 12, "forward"), (CELL, 1, "<module>"))


def test_a_main_thread_that_runs_no_cell_has_no_statement() -> None:
    frames = [at(3, "work", "/home/u/work.py")]

    assert user_statement(frames) == ()
    assert user_statement(frames, main=False) == (("/home/u/work.py", 3, "work"),)


def test_of_a_recursion_the_inner_frames_and_the_cell_are_kept() -> None:
    statement = stack(*[at(2, "down")] * 1000, at(9))

    assert len(statement) < 10
    assert statement[-1] == (CELL, 9, "<module>")


def test_each_step_goes_to_the_statement_that_is_seen_then() -> None:
    growth = Growth(7, 100 * MIB)
    growth.charge(140 * MIB, stack(at(2)))
    growth.charge(200 * MIB, stack(at(3)))
    growth.charge(210 * MIB, stack(at(2)))
    growth.charge(213 * MIB, ())
    event = growth.event(5.0, over=True)

    assert event == {
        "cell_seq": 7,
        "mono_s": 5.0,
        "grew_bytes": 113 * MIB,
        "unknown_bytes": 3 * MIB,
        "reads": 3,
        "statements": [
            {"frames": [at(3)], "bytes": 60 * MIB, "reads": 1},
            {"frames": [at(2)], "bytes": 50 * MIB, "reads": 2},
        ],
    }


def test_what_comes_and_goes_leaves_what_was_there_before() -> None:
    growth = Growth(1, 0)
    growth.charge(1000 * MIB, stack(at(2)))
    for _ in range(500):
        growth.charge(1500 * MIB, stack(at(5)))
        assert growth.waiting(1000 * MIB) == 0
    assert told(growth) == {2: 1000}

    growth.charge(1500 * MIB, stack(at(5)))
    assert told(growth) == {2: 1000, 5: 500}, "at the peak it is there"
    growth.waiting(400 * MIB)
    assert told(growth) == {2: 400}


def test_a_long_run_with_many_statements_stays_small() -> None:
    growth = Growth(1, 0)
    level = 0
    for number in range(20_000):
        level += 10 * MIB if number % 3 == 0 else MIB
        growth.charge(level, stack(at(1 if number % 3 == 0 else 100 + number, "f"), at(9)))
    event = growth.event(1.0, over=True)

    assert event is not None
    assert event["grew_bytes"] == level
    assert event["statements"][0]["frames"][0]["line"] == 1
    assert len(event["statements"]) <= 12
    assert len(growth._sums) + len(growth._steps) <= 130


def test_it_is_told_when_noteworthy_when_doubled_and_when_the_cell_is_over() -> None:
    growth = Growth(1, 0)
    due = []
    for level in range(1, 301):
        growth.charge(level * MIB, stack(at(2)))
        if growth.event(1.0, over=False) is not None:
            due.append(level)

    assert due == [32, 64, 128, 256]
    assert growth.event(1.0, over=True) is not None
    growth.waiting(0)
    assert growth.event(1.0, over=True)["grew_bytes"] == 0, "what was told before is no longer so"  # type: ignore[index]


def test_little_growth_and_growth_without_any_stack_are_not_told() -> None:
    little = Growth(1, 0)
    little.charge(20 * MIB, stack(at(2)))
    unknown = Growth(1, 0)
    unknown.charge(200 * MIB, ())

    assert little.event(1.0, over=True) is None
    assert unknown.event(1.0, over=True) is None
