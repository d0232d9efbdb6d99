"""The few words of a notification."""

from jupyter_kerneldoctor.server.death_monitor import brief

CAUSE = {"id": "oom-cgroup", "title": "Out of memory: a container or session limit"}
CELL = {"execution_count": 3, "line_source": "  orders = pd.read_csv('orders.csv')"}


def document(**changes):
    return {"cause": "oom-cgroup", "causes": [CAUSE], "cell": CELL, "statement": None, "other_cells": [], **changes}


def test_it_begins_with_the_cause_the_cell_and_the_line():
    assert brief(document()) == "Out of memory in cell [3]: `orders = pd.read_csv('orders.csv')`"


def test_the_users_own_statement_comes_before_the_line_that_ran():
    statement = {"execution_count": 1, "source": "\n    kept.append(`row`)\n    more()"}
    assert brief(document(statement=statement)) == "Out of memory in cell [1]: `kept.append('row')`"


def test_both_cells_are_named_where_either_may_have_run():
    cells = {"cell": {"execution_count": 3, "line_source": None}, "other_cells": [{"execution_count": 4}]}
    assert brief(document(**cells)) == "Out of memory in cell [3] or [4]"


def test_a_long_line_is_cut_and_what_is_not_known_is_left_out():
    long = brief(document(cell={"execution_count": 3, "line_source": "x" * 500}))
    assert long is not None
    assert long.endswith("x…`")
    assert len(long) < 100
    assert brief(document(cell=None)) == "Out of memory"
    assert brief(document(cell={"execution_count": 3, "line_source": None})) == "Out of memory in cell [3]"
    assert brief(document(cause="unknown")) is None
