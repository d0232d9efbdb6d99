"""What names and expressions stood for: said where the code or a recording shows it, and only there."""

import itertools
import sys

import numpy as np
import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.diagnosis.code.values import Values
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import held, local
from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

IMPORTS = "import numpy as np, pandas as pd\nfrom numpy import full\nfrom numpy.random import rand\nimport torch"


def values_of(*sources, namespaces=()):
    cells = recording(IMPORTS, *sources, signal="SIGKILL", namespaces=namespaces)
    code = Notebook(cells.cells, cells.cells[-1])
    return code, Values(code, cells.namespaces)


def value(expression, *before, namespaces=()):
    """What an expression stands for as the last line of the last cell."""
    code, values = values_of(*before, f"result = {expression}", namespaces=namespaces)
    scope = code.module(code.last)
    return values.of(scope.body[-1].value, scope)


def made(source, line=1, *before):
    code, values = values_of(*before, source)
    found = values.made_in(code.last, line)
    return None if found is None else (found.text, found.value.bytes)


@pytest.mark.parametrize(
    "expression",
    [
        "np.ones((40, 1_000))",
        "np.zeros([30, 30], dtype='f4')",
        "np.empty(10**4, np.float32)",
        "np.full((20, 3), 7.0)",
        "np.full((20, 3), 7, dtype=np.int8)",
        "np.zeros((5, 4), dtype=bool)",
        "np.random.rand(40, 1_000)",
        "np.random.default_rng(1).random((6, 7))",
        "np.random.normal(size=(6, 7))",
        "np.arange(10)",
        "np.arange(2, 20, 3)",
        "np.linspace(0, 1, 9)",
        "np.eye(12)",
        "np.ones((3, 4)) / 2",
        "np.ones((3, 4), dtype='int32') * 2",
        "np.ones((3, 4), dtype='uint8') / 2",
        "np.ones((300, 1)) - np.ones(40)",
        "np.ones(30)[:, None] - np.ones(40)[None, :]",
        "np.ones((30, 4))[7]",
        "np.ones((30, 4)).T",
        "np.ones((30, 4)) > 0.5",
        "np.ones((30, 4)).astype('float32')",
        "np.ones((30, 4)).reshape(60, 2)",
        "np.zeros((5,) * 3)",
        "np.zeros(2 * [5, 6])",
        "np.stack([np.ones((5, 6)) for _ in range(7)])",
        "np.concatenate([np.ones((5, 6)), np.ones((5, 6))])",
        "np.corrcoef(np.ones((50, 6)))",
        "np.zeros_like(np.ones((5, 6), 'f4'))",
        "np.outer(np.ones(5), np.ones(6, 'f4'))",
        "np.subtract.outer(np.ones(5), np.arange(6))",
        "np.kron(np.eye(3), np.ones((2, 5)))",
        "np.tile(np.ones((3, 4)), 5)",
        "np.tile(np.ones((3, 4), 'f4'), (2, 3, 1))",
        "np.repeat(np.ones((3, 4)), 5)",
        "np.repeat(np.ones((3, 4)), 5, axis=0)",
        "np.repeat(np.ones((3, 4), 'i4'), 5, 1)",
        "np.dot(np.ones((3, 4)), np.ones((4, 7)))",
        "np.ones((3, 4)).dot(np.ones((4, 7)))",
        "np.cov(np.ones((50, 6)), rowvar=False)",
        "np.eye(40)[np.arange(30)]",
        "np.eye(7, dtype='f4')[np.random.randint(0, 7, (30, 4))]",
        "np.exp(np.arange(9))",
        "np.sqrt(np.ones((3, 4), 'f4'))",
        "np.maximum(np.ones((3, 4)), 0)",
        "0.2 * np.sqrt(1 / 252) * np.ones((3, 4))",
    ],
)
def test_arrays_have_the_shape_and_the_size_that_numpy_gives_them(expression):
    with np.errstate(all="ignore"):
        array = eval(expression, {"np": np})

    found = value(expression)

    assert (found.shape, found.bytes) == (array.shape, array.nbytes)


@pytest.mark.parametrize("expression", ["2 == 3", "np.sqrt(-1)", "np.maximum(2, 3)", "np.exp(10**6)", "np.arctan2(2)"])
def test_numbers_that_cannot_be_worked_out_are_not_known(expression):
    assert value(expression) is None


@pytest.mark.parametrize(
    ("expression", "numbers"),
    [
        ("cosine_similarity(X)", 30 * 30),
        ("cdist(X, Y, metric='cityblock')", 30 * 20),
        ("pdist(X)", 30 * 29 / 2),
        ("np.meshgrid(x, x, x, indexing='ij')", 3 * 9**3 + 3),
        ("torch.cdist(torch.ones((8, 4)), torch.ones((4, 4)))", 8 * 4 / 2),
        ("pd.DataFrame(X).corr()", 4 * 4),
        ("cosine_similarity(X, dense_output=False)", None),
        ("cdist(X, X[0:n])", None),
        ("np.meshgrid(x, x, sparse=True)", None),
        ("np.outer(X, Y, out=Z)", None),
    ],
)
def test_a_table_of_all_pairs_is_as_large_as_its_library_makes_it(expression, numbers):
    before = (
        "from scipy.spatial.distance import cdist, pdist\nfrom sklearn.metrics.pairwise import cosine_similarity\n"
        "X = np.ones((30, 4))\nY = np.ones((20, 4))\nx = np.ones(9)"
    )

    found = value(expression, before)

    assert (None if found is None else found.bytes) == (None if numbers is None else numbers * 8)


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("np.vstack([np.ones((30, 4)), np.ones((20, 4))])", 50 * 4 * 8),
        ("np.concatenate((np.ones(30), np.ones(5)), axis=0)", 35 * 8),
        ("torch.cat([torch.ones((3, 4)), torch.ones((8, 4))], dim=0)", 11 * 4 * 4),
        ("pd.concat([pd.DataFrame(np.ones((5, 6)))] * 7)", 7 * 5 * 6 * 8),
        ("pd.concat([pd.DataFrame(np.ones((5, 6))) for _ in range(7)], ignore_index=True)", 7 * 5 * 6 * 8),
        ("F.one_hot(torch.ones((32, 100)), 50_000)", 32 * 100 * 50_000 * 8),
    ],
)
def test_what_is_joined_is_as_large_as_its_parts(expression, size):
    found = value(expression, "import torch.nn.functional as F")

    assert (None if found is None else found.bytes) == size


@pytest.mark.parametrize(
    "expression", ["product(range(9), range(8), [1, 2])", "combinations(range(9), 3)", "permutations(range(5), 2)"]
)
def test_a_list_of_all_choices_has_a_tuple_for_each(expression):
    choices = list(eval(expression, vars(itertools)))

    found = value(f"list({expression})", "from itertools import combinations, permutations, product")

    assert found.shape == (len(choices),)
    kept_hash = 8 if sys.version_info >= (3, 14) else 0
    assert found.bytes == sum(sys.getsizeof(one) - kept_hash for one in choices) + 8 * len(choices)


def test_lists_of_lists_that_no_machine_could_hold_have_no_size():
    nested = "0"
    for _ in range(8):
        nested = f"[{nested} for _ in range(10**18)]"

    assert value(nested).bytes is None


@pytest.mark.parametrize(
    "choices",
    [
        "combinations(range(10**9), 10**8)",
        "permutations(range(9), -1)",
        "product(range(9), repeat=10**7)",
        "product(range(10**9), repeat=60)",
    ],
)
def test_choices_without_end_are_not_counted(choices):
    assert value(f"list({choices})", "from itertools import combinations, permutations, product") is None


def test_a_size_is_known_whether_or_not_the_memory_was_ever_touched():
    assert value("np.zeros((400_000, 400_000))").bytes == 400_000 * 400_000 * 8


def test_a_comprehension_makes_as_many_as_it_has_rounds():
    blocks = value("[np.ones(50_000_000) for _ in range(40)]")

    assert blocks.shape == (40, 50_000_000)
    assert blocks.bytes == 40 * (50_000_000 * 8 + 8)


def test_texts_and_lists_are_repeated_and_a_list_repeats_only_its_references():
    assert value("b'x' * 10**9").bytes == 10**9
    assert value("[0] * 10**9").bytes == 8 * 10**9
    assert value("bytearray(5_000)").bytes == 5_000


def test_names_are_followed_across_cells_and_into_functions():
    rows = "rows = 10**6\nshape = (rows, 400)"
    assert value("np.ones(shape)", rows).bytes == 3_200_000_000
    assert value("load(rows, width=40)", rows, "def load(n, width=3):\n    return rand(n, width)").bytes == 320_000_000
    assert value("load(rows)", rows, "def load(n, width=3):\n    return rand(n, width)").bytes == 24_000_000


def test_in_a_function_the_parameters_stand_for_what_its_one_call_gave():
    _, values = values_of("def work(n):\n    grid = rand(n, n)\n    return grid", "work(30_000)")

    assert values.made_in(1, 2).value.bytes == 30_000**2 * 8


def test_a_data_frame_is_as_large_as_the_array_it_is_made_of():
    frame = value("pd.DataFrame(np.ones((1_000, 20)))")

    assert (frame.type, frame.shape, frame.bytes) == ("pandas.DataFrame", (1_000, 20), 160_000)


def test_what_was_recorded_of_a_variable_comes_before_the_code():
    recorded = Namespace(-10.5, objects=(NamedObject("a", "numpy.ndarray", 8_000, (1_000,), "float64"),))

    difference = value("a[:, None] - a", "a = read()", namespaces=[recorded])

    assert (difference.shape, difference.bytes, difference.recorded) == ((1_000, 1_000), 8_000_000, True)


def test_the_largest_object_of_a_line_is_named():
    assert made("x = full((2, 2), 0.5) + np.ones((2, 200))") == ("np.ones((2, 200))", 3200)
    assert made("rows = 10**6\nx = rand(rows, 400)", 2) == ("rand(rows, 400)", 3_200_000_000)
    assert made("n = 5\nn = n * 2\nx = np.ones(n)", 3) == ("np.ones(n)", 80)


@pytest.mark.parametrize(
    "source",
    [
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
def test_nothing_is_said_of_what_is_not_certain(source):
    assert made(source) is None


@pytest.mark.parametrize(
    "between", ["if big: n = 10**9", "for n in sizes: pass", "while more():\n    n = n * 10", "n += 1"]
)
def test_a_name_that_depends_on_a_branch_or_a_loop_is_not_known(between):
    assert value("np.ones(n)", "n = 5", between) is None


def test_what_cannot_be_or_has_a_length_that_is_not_known_has_no_value():
    assert value("np.ones(3) + np.ones(4)") is None
    assert value("rand(3)[1:]") is None


def test_a_value_that_leads_back_to_itself_is_not_known():
    assert value("a", "a = b", "b = a") is None
    assert value("f(3)", "def f(n):\n    return f(n)") is None


def test_the_report_of_a_memory_death_says_what_the_line_needs_and_what_was_left():
    full = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=1 * GIB)
    answer = diagnose(
        recording(IMPORTS, "x = rand(400, 1_000_000)", signal="SIGKILL", memory=(100 * MIB, 900 * MIB), groups=[full])
    )

    assert ": the line needs 3.0 GiB; " in answer.cause.headline
    (said,) = [one for one in answer.cause.evidence if "needs" in one.text]
    assert said.text.startswith("`rand(400, 1_000_000)` needs 3.0 GiB; ")
    assert said.text.endswith(" was left when the cell began.")
    assert said.value == 400 * 1_000_000 * 8


def test_what_a_growing_cell_held_tells_the_arguments_of_its_functions():
    source = "class Scaler:\n    def apply(self, x):\n        return x - self.mean"
    looks = [
        held(2, local(source, "Scaler.apply", "x", "numpy.ndarray", 800, shape=(100,), dtype="float64")),
        held(2, local(source, "Scaler.apply", "self.mean", "numpy.ndarray", 80, shape=(10,), dtype="float64")),
    ]
    cells = recording(source, "Scaler().apply(load())", signal="SIGKILL")
    code = Notebook(cells.cells, cells.cells[-1])
    values = Values(code, held=[one for look in looks for one in look.objects])
    (scope,) = [one for one in code.scopes(0) if one.function == "apply"]
    difference = scope.body[-1].value
    assert values.of(difference.left, scope).shape == (100,)
    assert values.of(difference.right, scope).shape == (10,)


MODEL = """class Linear:
    def __init__(self, width=20): self.width = width
    def fit(self, X, y):
        self.w = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y.reshape(-1, 1))
        return self
    def predict(self, X): return X @ self.w"""


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("model.predict(A)", (300, 1)),
        ("b.reshape(3, -1)", (3, 100)),
        ("np.ones(A.shape)", (300, 20)),
        ("np.ones((A.shape[1], 2))", (20, 2)),
        ("A.ravel()", (6000,)),
    ],
)
def test_values_are_followed_through_methods_attributes_and_shapes(expression, shape):
    before = MODEL, "A, b = rand(300, 20), rand(300)\nmodel = Linear().fit(A, b)"
    assert value(expression, *before).shape == shape


def test_an_attribute_that_is_set_in_two_places_is_not_known():
    other = MODEL + "\n    def load(self): self.w = None"
    assert value("model.predict(A)", other, "A, b = rand(300, 20), rand(300)\nmodel = Linear().fit(A, b)") is None
