"""The names of dtypes say nothing of the user's data, and no code of his runs for them."""

import math

import pytest

from jupyter_kerneldoctor.kernel.object_sizes import SizeEstimator

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")

RAN = []


class Dtype(pandas.api.extensions.ExtensionDtype):
    """A dtype of the user's, which writes down what of it runs."""

    type = object
    name = property(lambda _: RAN.append("name") or "secret")

    def __hash__(self):
        RAN.append("hash")
        return 1

    def __str__(self):
        RAN.append("str")
        return "secret"

    @classmethod
    def construct_array_type(cls):
        return Column


class Column(pandas.api.extensions.ExtensionArray):
    """A column of the user's."""

    dtype = property(lambda _: RAN.append("dtype") or Dtype())
    nbytes = property(lambda _: RAN.append("nbytes") or 8)

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, item):
        return self if isinstance(item, slice) else 1

    def copy(self):
        return self

    def isna(self):
        return numpy.zeros(self.count, bool)

    @classmethod
    def _from_sequence(cls, scalars, **_):
        return cls(len(scalars))


def dtype(value):
    return SizeEstimator(math.inf).measure(value).dtype


def test_a_dtype_of_the_users_is_called_after_its_class():
    series = pandas.Series(Column(3))
    RAN.clear()
    assert dtype(series) == f"{__name__}.Column"
    assert RAN == []


def test_columns_of_a_structured_array_are_not_named():
    assert dtype(numpy.zeros(3, dtype=[("salary", "f8"), ("name", "U9")])) == "structured"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (numpy.zeros(3, "f4"), "float32"),
        (pandas.DataFrame({"a": [1.0], "b": [2.0]}), "float64"),
        (pandas.DataFrame({"a": [1.0], "b": ["x"]}), "mixed"),
        (pandas.Series(["a"], dtype="category"), "category"),
        (pandas.Series(pandas.to_datetime(["2026-01-01"]).tz_localize("UTC").as_unit("ns")), "datetime64[ns, tz]"),
        (pandas.Series(pandas.arrays.SparseArray([0.0, 1.0])), "Sparse[float64]"),
        (pandas.RangeIndex(9), "int64"),
        (pandas.Index([1.5]), "float64"),
        (pandas.MultiIndex.from_product([[1, 2], [3]]), "object"),
    ],
)
def test_names_of_libraries_dtypes(value, name):
    assert dtype(value) == name


class Labels(pandas.Index):
    """An index of the user's own class."""

    def __len__(self):
        RAN.append("len")
        return super().__len__()


def test_the_length_of_an_index_is_asked_for_by_the_method_of_pandas():
    frame = pandas.DataFrame({"a": numpy.zeros(1_000)}, index=Labels._simple_new(numpy.arange(1_000)))
    assert len(frame.index) == 1_000
    assert "len" in RAN
    RAN.clear()

    measured = SizeEstimator(math.inf).measure(frame)

    assert measured.shape == (1_000, 1)
    assert RAN == []
