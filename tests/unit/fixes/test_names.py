"""Names are resolved over the cells in the order in which they ran."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis.fixes._examples import Example
from jupyter_kerneldoctor.diagnosis.fixes._names import Executed


def resolve(*cells):
    """What the function of the first call in the last cell is."""
    code = Executed(Example(cells=cells).context())
    scope = code.running[0]
    call = next(node for node in scope.walk() if isinstance(node, ast.Call))
    return code.qualified(call.func, scope)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("import pandas as pd", "pd.read_csv(p)"), "pandas.read_csv"),
        (("from pandas import read_csv", "read_csv(p)"), "pandas.read_csv"),
        (("import torch.nn as nn", "nn.Linear(1, 2)"), "torch.nn.Linear"),
        (("import os.path", "os.getpid()"), "os.getpid"),
        (("import pandas as pd\nread = pd.read_csv", "read(p)"), "pandas.read_csv"),
        (("import pandas as pd", "import polars as pd", "pd.read_csv(p)"), "polars.read_csv"),
        (("import pandas as pd", "pd = frame()", "pd.read_csv(p)"), None),
        (("pd.read_csv(p)",), None),
        (("from .own import read_csv", "read_csv(p)"), None),
        (("def exit(): pass", "exit()"), None),
        (("exit()",), "builtins.exit"),
        (("for pd in frames: pass", "pd.read_csv(p)"), None),
        (("with x as pd: pass", "pd.read_csv(p)"), None),
        (("try:\n    import pandas as pd\nexcept ImportError:\n    pd = None", "pd.read_csv(p)"), None),
        (("%matplotlib inline\nimport pandas as pd", "%time df = pd.read_csv(p)"), "pandas.read_csv"),
    ],
)
def test_qualified(cells, expected):
    assert resolve(*cells) == expected


def test_what_is_bound_later_in_the_cell_does_not_count():
    assert resolve("import pandas as pd", "pd.read_csv(p)\nimport polars as pd") == "pandas.read_csv"


def test_a_cell_that_ran_after_counts_for_nothing():
    context = Example(cells=("import pandas as pd", "x = 1", "import polars as pd")).context()
    code = Executed(context)
    assert code.lookup("pd", code.running[0]).imported == "polars"


def test_functions_that_the_cell_may_call_are_running():
    code = Executed(
        Example(
            cells=(
                "def a(): b()\ndef b(): pass\ndef unused(): pass",
                "class Walker:\n    def __init__(self): self.go()\n    def go(self): a()\n    def other(self): pass",
                "w = Walker()",
                "w",
            )
        ).context()
    )
    assert sorted(scope.name for scope in code.running) == ["", "Walker.__init__", "Walker.go", "a", "b"]


def test_parameters_hide_what_the_module_holds():
    code = Executed(Example(cells=("import pandas as pd\ndef f(pd): pd.read_csv(p)", "f(x)")).context())
    function = code.running[1]
    call = next(node for node in function.walk() if isinstance(node, ast.Call))
    assert code.qualified(call.func, function) is None
