"""A column that nothing recorded is known by what Linux was asked for: a number for each pair of rows."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.fixes.arrays.row_minus_column_broadcast import RowMinusColumnBroadcast
from jupyter_kerneldoctor.diagnosis.proposals import ask
from jupyter_kerneldoctor.recording.events import SystemState

CASE = Case("import numpy as np\ny = np.random.rand(40_000)", "error = y - model.predict(X)")
PAIRS = 40_000**2 * 8


@pytest.mark.parametrize(("asked_bytes", "is_offered"), [(PAIRS, True), (PAIRS // 2, False), (None, False)])
def test_the_bytes_that_were_asked_for_decide(asked_bytes, is_offered):
    death = CASE.death()
    data_bytes = None if asked_bytes is None else death.memory.before_bytes + asked_bytes
    states = (SystemState(death.recording.end.mono_s, "end", data_bytes=data_bytes),)
    asked = replace(death, recording=replace(death.recording, system_states=states))
    proposal, _ = ask(RowMinusColumnBroadcast(), asked)
    assert (proposal is not None) == is_offered
    if proposal is not None:
        assert proposal.edits[0].new_source == "error = y - model.predict(X).ravel()"
