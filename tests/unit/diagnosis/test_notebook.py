"""The code that ran: names over the cells in the order in which they ran, calls, and what the last cell reaches."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis.code.cellsource import _parse
from jupyter_kerneldoctor.diagnosis.code.notebook import CodeTooLargeError, Notebook
from jupyter_kerneldoctor.recording.model import Cell


def notebook(*sources, line=None):
    cells = [Cell(source) for source in sources]
    return Notebook(cells, cells[-1], line)


def first_call(code):
    scope = code.running.scopes[0]
    return scope.calls[0].func, scope


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("import pandas as pd", "pd.read_csv(p)"), "pandas.read_csv"),
        (("from pandas import read_csv", "read_csv(p)"), "pandas.read_csv"),
        (("import torch.nn as nn", "nn.Linear(1, 2)"), "torch.nn.Linear"),
        (("import os.path", "os.getpid()"), "os.getpid"),
        (("import os.path\n(1)", "os.getpid()"), "os.getpid"),
        (("from pandas import (\n    read_csv as read\n)", "read(p)"), "pandas.read_csv"),
        (("import pandas as pd\nread = pd.read_csv", "read(p)"), "pandas.read_csv"),
        (("import pandas as pd", "import polars as pd", "pd.read_csv(p)"), "polars.read_csv"),
        (("import pandas as pd", "pd = frame()", "pd.read_csv(p)"), None),
        (("pd.read_csv(p)",), None),
        (("from .own import read_csv", "read_csv(p)"), None),
        (("def exit(): pass", "exit()"), None),
        (("class exit: pass", "exit()"), None),
        (("exit()",), "builtins.exit"),
        (("stop = exit", "stop()"), "builtins.exit"),
        (("for pd in frames: pass", "pd.read_csv(p)"), None),
        (("with x as pd: pass", "pd.read_csv(p)"), None),
        (("try:\n    import pandas as pd\nexcept ImportError:\n    pd = None", "pd.read_csv(p)"), None),
        (("%matplotlib inline\nimport pandas as pd", "%time df = pd.read_csv(p)"), "pandas.read_csv"),
        (("def load():\n    global pd\n    import pandas as pd", "pd.read_csv(p)"), "pandas.read_csv"),
        (("import pandas as pd\nclass Lazy:\n    pd = None", "pd.read_csv(p)"), "pandas.read_csv"),
        (("import pandas as pd", "pd.read_csv(p)\nimport polars as pd"), "pandas.read_csv"),
        (("x = x", "x()"), None),
        (("a, b = b, a", "a.b()"), None),
    ],
)
def test_the_full_name_of_what_is_called(cells, expected):
    code = notebook(*cells)
    assert code.qualified(*first_call(code)) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("import subprocess as s\nx = s.Popen(['x'])", "x.kill()"), "subprocess.Popen(…).kill"),
        (("import subprocess as s\nx = s.Popen(y, process_group=0)", "x.kill()"), "subprocess.Popen(apart).kill"),
        (("import psutil, os", "psutil.Process(os.getpid()).kill()"), "psutil.Process().kill"),
        (("import psutil", "psutil.Process(42).kill()"), "psutil.Process(…).kill"),
        (("os.kill()",), "os.kill"),
        (("def stop(): pass\nhalt = stop", "halt()"), "stop"),
        (("for os in x: pass", "os.kill()"), None),
    ],
)  # fmt: skip
def test_what_an_expression_stands_for(cells, expected):
    code = notebook(*cells)
    assert code.described(*first_call(code)) == expected


def test_a_cell_that_ran_after_counts_for_nothing():
    cells = [Cell("import pandas as pd"), Cell("f(pd)"), Cell("import polars as pd")]
    code = Notebook(cells, cells[1])
    assert code.lookup("pd", code.module(1)).imported == "pandas"
    assert code.at(cells[2]).lookup("pd", code.module(2)).imported == "polars"
    assert Notebook(cells).lookup("pd", code.module(1)).imported == "pandas"


def test_a_function_sees_what_is_around_it_and_its_parameters_hide_that():
    code = notebook("import pandas as pd", "def f(x):\n    import os\n    def g(pd): os.a(pd.b())\n    g(pd.c())\nf(1)")
    assert [call.name for call in code.running.calls()] == ["pandas.c", "os.a"]


def test_what_the_cell_may_call_is_running():
    code = notebook(
        "def a(): b()\ndef b(): pass\ndef unused(): pass",
        "class Walker:\n    def __init__(self): self.go()\n    def go(self): a()\n    def other(self): pass",
        "w = Walker()",
        "w",
    )
    assert sorted(scope.name for scope in code.running) == ["", "Walker.__init__", "Walker.go", "a", "b"]
    assert [scope.name for scope in code.functions_named("go")] == ["Walker.go"]


def test_nothing_runs_between_cells():
    assert len(Notebook([Cell("exit()")]).running) == 0


def test_calls_by_name_in_all_cells_and_their_arguments():
    code = notebook(
        "from numpy import ones as o", "o((3, 4), 'f4')", "import numpy as np\nnp.ones(*n, dtype=int)", "x = 1"
    )
    calls = list(code.calls("numpy.ones"))
    assert [call.text for call in calls] == ["np.ones(*n, dtype=int)", "o((3, 4), 'f4')"]
    assert [ast.unparse(one) if (one := call.argument("dtype", 1)) else None for call in calls] == ["int", "'f4'"]
    assert calls[0].argument(0) is None
    assert [call.cell for call in code.calls("numpy.*")] == [2, 1]
    assert list(code.calls("torch.*", "numpy.zeros")) == []


def test_the_statement_of_a_node_and_the_loops_around_it():
    source = "for i in f(0):\n    while a:\n        with b as c:\n            x = [g(1) for _ in y]\ndef h():\n    k(2)"
    (scope, function) = notebook(source).scopes(0)
    f, g = scope.calls
    assert (scope.statement_of(f).lineno, scope.loops_around(f)) == (1, ())
    assert (scope.statement_of(g).lineno, [one.lineno for one in scope.loops_around(g)]) == (4, [2, 1])
    assert [one.lineno for one in scope.around(g)] == [3, 2, 1]
    assert function.loops_around(function.calls[0]) == ()
    assert function.segment(function.calls[0]) == "k(2)"


def test_what_may_have_been_running():
    code = notebook("def f():\n    a()", "f()\nb(\n1)", line=3)
    assert [call.func.id for scope in code.running for call in scope.calls if code.is_at_line(call, scope)] == [
        "b",
        "a",
    ]


def test_an_edit_is_read_and_the_other_cells_stay_parsed():
    code = notebook("import os as a", "a.f()", line=1)
    assert code.qualified(*first_call(code)) == "os.f"
    edited = code.edited({0: "import sys as a"})
    assert edited.qualified(*first_call(edited)) == "sys.f"
    assert (edited.module(1) is code.module(1), edited.line) == (True, 1)
    assert code.edited({1: "\na.f()"}).line is None


def test_only_cells_with_the_letters_of_a_name_are_parsed():
    _parse.cache_clear()
    code = notebook("import os as o", *[f"step_{number}(o.x, y(o))" for number in range(50)], "o._exit(1)")
    assert code.qualified(*first_call(code)) == "os._exit"
    assert _parse.cache_info().misses == 2 + 50  # `y(o)` may be a part of a target
    _parse.cache_clear()
    code = notebook("import os", *[f"step_{number}(os.x)" for number in range(50)], "os._exit(1)")
    assert code.qualified(*first_call(code)) == "os._exit"
    assert _parse.cache_info().misses == 2


@pytest.mark.parametrize(
    ("word", "text", "stands"),
    [
        ("read", "read(x)", True),
        ("read", "x.read", True),
        ("read", "reads(spread); pd.read", True),
        ("read", "reads(read_csv, spread)", False),
        ("def f", "def f(): pass", True),
        ("def f", "def found(): pass", False),
        ("self.kept", "self.kept.append(x)", True),
        ("self.kept", "myself.kept", False),
        ("größe", "übergröße", False),
    ],
)
def test_a_word_is_no_part_of_another(word, text, stands):
    assert [*notebook(text).with_words(word)] == [0] * stands


def test_cells_cut_short_or_in_another_language_have_no_scope():
    cells = [Cell("x = 1", truncated=True), Cell("%%bash\nx=1"), Cell("x = (")]
    code = Notebook(cells, cells[-1])
    assert [code.module(index) for index in range(3)] == [None] * 3
    assert len(code.running) == 0
    assert code.lookup("x", notebook("x").module(0)) is None


def test_what_is_too_much_to_read_is_refused_each_time():
    code = notebook(*["print(1, o)\n" * 2000] * 400, "o.f()")
    for _ in range(2):
        with pytest.raises(CodeTooLargeError):
            code.qualified(*first_call(code))
    with pytest.raises(CodeTooLargeError):
        code.edited({1: "x"}).module(0).walk()
