"""The size of an array that stands in the code: told where it is certain, and only there."""

import numpy as np
import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.code.arraysize import array_made
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording

IMPORTS = "import numpy as np\nfrom numpy import full\nfrom numpy.random import rand\nimport torch"


def made(code, line=1):
    cells = recording(IMPORTS, code, signal="SIGKILL").cells
    return array_made(Notebook(cells, cells[-1]), cells[-1], line)


@pytest.mark.parametrize(
    "call",
    [
        "np.ones((40, 1_000))",
        "np.zeros([30, 30], dtype='f4')",
        "np.empty(10**4, np.float32)",
        "np.full((20, 3), 7)",
        "np.full((20, 3), 7, dtype=np.int8)",
        "np.zeros((5, 4), dtype=bool)",
        "np.random.rand(40, 1_000)",
    ],
)
def test_it_is_what_numpy_takes(call):
    assert made(f"x = {call}") == (call, eval(call, {"np": np}).nbytes)


def test_names_of_numbers_and_of_functions_are_followed():
    assert made("rows = 10**6\nx = rand(rows, 400)", 2) == ("rand(rows, 400)", 3_200_000_000)
    assert made("x = full((2, 2), 0.5) + np.ones((2, 200))") == ("np.ones((2, 200))", 3200)


@pytest.mark.parametrize(
    "code",
    [
        "x = torch.ones((400, 1_000))",
        "x = np.ones((n, 1_000))",
        "x = np.ones((400, 1_000), dtype=kind)",
        "x = np.ones(shape)",
        "x = np.full((400, 1_000), row)",
        "x = np.ones(*shape)",
        "x = np.ones((400, 1_000), like=y)",
        "for n in (1, 2): x = np.ones(n)",
        "x = np.ones((400,",
    ],
)
def test_nothing_is_said_of_what_is_not_certain(code):
    assert made(code) is None


def test_a_name_that_is_bound_twice_is_no_number():
    assert made("n = 5\nn = n * 2\nx = np.ones(n)", 3) is None


def test_the_report_of_a_memory_death_tells_the_number():
    full = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=1 * GIB)
    answer = diagnose(
        recording(IMPORTS, "x = rand(400, 1_000_000)", signal="SIGKILL", memory=(100 * MIB, 900 * MIB), groups=[full])
    )

    assert "The array of `rand(400, 1_000_000)` needs 3.0 GiB." in [one.text for one in answer.cause.evidence]
