"""What a matrix of all pairs adds up is the same, when it is worked out in sorted order."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.fixes.arrays.sort_and_add_up import SortAndAddUp
from jupyter_kerneldoctor.diagnosis.proposals import ask

np = pytest.importorskip("numpy")
MATRICES = [
    f"{one} {sign} {other}"
    for sign in ("<", "<=", ">", ">=")
    for one, other in (
        ("t[:, None]", "t[None, :]"),
        ("t.reshape(1, -1)", "t.reshape(-1, 1)"),
        ("t", "t[:, np.newaxis]"),
        ("t[:, None]", "u"),
    )
]
SUMS = ["M.sum(1)", "M.sum(axis=0)", "M @ w", "v @ M", "(w * M).sum(1)", "(M * v[:, None]).sum(0)"]
SUMS += ["np.sum(np.exp(w)[None, :] * M, axis=1)", "np.where(M, w[None], 0).sum(1)", "np.where(~M, w, 0).sum(1)"]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("summed", SUMS)
def test_it_is_the_same_sum(matrix, summed):
    random = np.random.default_rng(0)
    names = {"np": np, "t": random.integers(0, 30, 50), "u": random.integers(0, 30, 40)}
    rows = 40 if "u" in matrix else 50
    names |= {"w": random.random(rows), "v": random.random(50)}
    cell = f"M = {matrix}\nresult = {summed}"
    exec(cell, names)
    proposal = ask(SortAndAddUp(), Case("import numpy as np", cell, line=1, cause="oom-cgroup").death())[0]
    expected = names["result"]
    exec(proposal.snippet.replace("counts =", "result ="), names)
    assert np.allclose(names["result"], expected), proposal.snippet
