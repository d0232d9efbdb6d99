from jupyter_kerneldoctor.render.textchart import ASCII, chart

MIB = 1024**2


def timeline(**changes):
    made = {
        "samples": {"t_s": [0, 5, 10], "memory_bytes": [100 * MIB, 100 * MIB, 200 * MIB]},
        "limit": None,
        "cells": [],
        "death_s": 10.0,
    }
    return {"started": None, "ended": None, "timeline": {**made, **changes}}


def test_memory_grows_from_left_to_right():
    lines = chart(timeline(), 60)

    heights = [sum(line[10 + column : 11 + column].strip() != "" for line in lines[:6]) for column in (0, 48)]
    assert heights == [3, 6]


def test_the_death_is_marked_at_the_right_edge():
    assert any(line.endswith("X") for line in chart(timeline(), 60, ASCII))


def test_a_limit_within_reach_is_drawn():
    lines = chart(timeline(limit={"bytes": 300 * MIB, "name": "container limit", "source": "f"}), 60)

    assert lines[0].startswith("  300 MiB ┄┄")
    assert "peak 200 MiB · container limit 300 MiB (dashed)" in lines[-1]


def test_a_limit_far_away_does_not_press_the_curve_flat():
    lines = chart(timeline(limit={"bytes": 64 * 1024 * MIB, "name": "the machine's memory", "source": "f"}), 60)

    assert "200 MiB" in lines[0]
    assert "the machine's memory 64.0 GiB (not drawn)" in lines[-1]


def test_cells_are_named_where_there_is_room():
    cells = [
        {"execution_count": 1, "start_s": 1.0, "end_s": 1.1},
        {"execution_count": 2, "start_s": 1.2, "end_s": 1.3},
        {"execution_count": None, "start_s": 4.0, "end_s": 5.0},
        {"execution_count": 3, "start_s": 8.0, "end_s": None},
    ]

    text = "\n".join(chart(timeline(cells=cells), 60))

    assert "[1]" in text
    assert "[2]" not in text
    assert "[3]" in text


def test_gaps_and_missing_values_are_bridged():
    samples = {"t_s": [0, 1, None, 10], "memory_bytes": [100 * MIB, None, 5, 100 * MIB]}

    assert "peak 100 MiB" in chart(timeline(samples=samples), 60)[-1]


def test_too_little_to_draw_draws_nothing():
    assert chart(timeline(samples={"t_s": [0], "memory_bytes": [1]}), 60) == []
    assert chart({"started": None, "ended": None}, 60) == []
