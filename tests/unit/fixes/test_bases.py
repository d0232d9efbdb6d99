"""Fixes that are only data: a call gets an argument, another function is called, or advice."""

import pytest

from jupyter_kerneldoctor.diagnosis import proposals
from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.edits import EditRefusedError
from jupyter_kerneldoctor.diagnosis.family import Family
from jupyter_kerneldoctor.diagnosis.fix import Advice, CallAnother
from jupyter_kerneldoctor.diagnosis.lesser_ways import GENERAL, WAYS, first_running


class Another(CallAnother):
    id, title, causes, why = "another", "Another", (Family.MEMORY, "no-display"), "opens a window."
    functions, becomes, imports = ("cv2.imshow",), "{imported}.imshow({1})", ("matplotlib.pyplot", "plt")


class Words(Advice):
    id, title, causes = "words", "Words", (Family.MEMORY,)
    functions, headline, why, snippet = ("numpy.*",), "{left} left", "{call} {where} took {missing}.", "{more}"

    def facts(self, death):
        return {"more": "x = {}"}


def ask(fix, *cells, **more):
    return proposals.ask(fix, Case(*cells, **more).death())


@pytest.mark.parametrize(
    ("cells", "becomes"),
    [
        (("import cv2", "%time x = 1\ncv2.imshow('a', big)  # é"), "import matplotlib.pyplot as plt\n"),
        (("import cv2\nfrom matplotlib import pyplot as p", "%time x = 1\ncv2.imshow('a', big)  # é"), ""),
    ],
)
def test_another_function_is_called_and_imported_where_nobody_did(cells, becomes):
    proposal, wrong = ask(Another(), *cells, cause="no-display")
    name = "plt" if becomes else "p"
    assert proposal.edits[0].new_source == f"{becomes}%time x = 1\n{name}.imshow(big)  # é", wrong
    assert proposal.explained_bytes is None


def test_nothing_is_called_where_an_argument_is_missing_or_the_name_is_taken():
    for cells in [("import cv2", "cv2.imshow('a')"), ("import cv2\nplt = 1", "cv2.imshow('a', x)")]:
        with pytest.raises(EditRefusedError):
            ask(Another(), *cells, cause="no-display")


def test_advice_has_the_names_and_numbers_of_the_death():
    proposal, wrong = ask(Words(), "import numpy as np", "x = 1\ny = np.ones(9)")
    assert (proposal.title, proposal.why, proposal.snippet) == (
        "1.8 GiB left",
        "`np.ones(9)` in cell [2], line 2 took 1.8 GiB.",
        "x = {}",
    ), wrong
    assert proposal.applicability == "advice"


def test_advice_is_silent_where_a_name_is_not_known_or_the_cell_took_nothing():
    words = Words()
    words.why = "{notebook} is too large."
    assert ask(words, "import numpy as np", "np.ones(9)")[0] is None
    assert ask(Words(), "import numpy as np", "np.ones(9)", before_mib=1990)[0] is None
    assert ask(Words(), "np = 1", "np.ones(9)")[0] is None


def test_a_long_text_stands_in_a_line_of_its_own_above_the_snippet():
    rows = "encode(torch.cat([first_half, second_half], dim=0)).detach().cpu()"
    (proposal,) = first_running(WAYS, Case("import torch", f"d = torch.cdist({rows}, X)").death())
    assert proposal.snippet.startswith(f"data = {rows}\n")
    assert "in data.split(1000)" in proposal.snippet


@pytest.mark.parametrize(
    ("before", "line", "expected"),
    [
        (
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "wide = df['p'].apply(pd.Series)",
            "parts = df['p'].dropna()",
        ),
        (
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "k = df['a'].map(str)",
            "hash_pandas_object(df[['a', 'b']], index",
        ),
        (
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "p = df['a'].str.split(',', expand=True)",
            "df['a'].str.split(',', n=1",
        ),
        (
            "import torch",
            "d = torch.cdist(a + b, c)",
            "torch.cdist(part, c).topk(5, largest=False).indices for part in (a + b)",
        ),
        ("import numpy as np", "y = np.exp(x)", "np.exp(x, out=x)"),
        ("import numpy as np", "np.fromfile(path)", "result = np.memmap(path"),
    ],
)
def test_a_snippet_has_the_names_of_the_user(before, line, expected):
    (proposal,) = first_running((*WAYS, *GENERAL), Case(before, line).death())
    assert expected in proposal.snippet
