"""A `defaultdict` that look-ups fill: the statement to blame is the one that asks, where memory grew there."""

import pytest

from jupyter_kerneldoctor.diagnosis.analysis.guilty_statement import guilty_statement
from jupyter_kerneldoctor.diagnosis.causes import examine
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import own_frame
from jupyter_kerneldoctor.recording.events import Growth, Held, NamedObject, StatementGrowth

FILLS = "from collections import defaultdict\nnear = defaultdict(list)\nfor a, b in pairs:\n    near[a].append(b)"
ASKS = "for x in xs:\n    for y in near[x]:\n        n += y"


def told(*parts):
    """Judge a death by memory in the cell that asks, of which so much came in these lines."""
    found = tuple(StatementGrowth((own_frame(cell, line),), size * MIB, 9) for cell, line, size in parts)
    table = NamedObject(
        "near", "collections.defaultdict", 1600 * MIB, items=9_000_000, item_type="list", grew_bytes=1500 * MIB,
        items_before=0,
    )  # fmt: skip
    memory = [(200 + 90 * step) * MIB for step in range(21)]
    more = {"held": [Held(-0.5, 2, (table,))], "growths": [Growth(-0.2, 2, 1500 * MIB, 0, 30, found)]}
    death = examine(recording(FILLS, ASKS, signal="SIGKILL", memory=memory, groups=[Group(2000 * MIB)], **more))
    return guilty_statement(death.growth, None)


def test_the_look_up_is_to_blame_where_memory_grew_in_it():
    found = told((ASKS, 2, 1500))

    assert (found.execution_count, found.line) == (2, 2)


@pytest.mark.parametrize("parts", [((FILLS, 4, 1400), (ASKS, 2, 100)), ((ASKS, 3, 1500),)])
def test_what_fills_it_is_to_blame_where_memory_grew_elsewhere(parts):
    found = told(*parts)

    assert (found.execution_count, found.line) == (1, 4)
