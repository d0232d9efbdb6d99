"""Whatever stands in the cells: `propose` does not raise, and an edit changes nothing but what it says."""

import difflib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.code.cellsource import mask
from jupyter_kerneldoctor.diagnosis.fix import Fix
from jupyter_kerneldoctor.diagnosis.fixes import all_fixes
from jupyter_kerneldoctor.diagnosis.proposals import ask, propose

CAUSES = sorted({case.cause for fix in all_fixes() for case in fix.FIRES})


def is_at_a_line(case):
    """Whether it says which line ran: a head that a test writes above moves it, and stacks name a cell by its text."""
    return case.line is not None or not {"stacks", "growths"}.isdisjoint(case._recorded)


def begins_anew(case):
    """Whether the edit writes a first line, above which a head of the test would stand."""
    for number, text in case.changed.items():
        old, new = (one.split("\n") for one in (case.sources[number - 1], text))
        first = old[0].startswith("%%")
        if new[first] not in old and (old[first] in new or new[first].startswith(("import ", "from "))):
            return True
    return False


FIRING = [
    (fix, case)
    for fix in all_fixes()
    for case in fix.FIRES
    if case.changed and not is_at_a_line(case) and not begins_anew(case)
]
RELAXED = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

PIECES = st.sampled_from(
    [
        *[
            "import torch\n",
            "import pandas as pd\n",
            "import sys, os, ctypes\n",
            "from torch import nn as n\n",
            "%%time\n",
        ],
        *[
            "!ls {x}\n",
            "%matplotlib inline\n",
            "x = !ls\n",
            "x?\n",
            "for x in xs:\n",
            "while True:\n",
            "def f(x, n=3):\n",
        ],
        *[
            "    ",
            "\t",
            "class A:\n",
            "    def __bool__(self): return bool(self)\n",
            "with torch.no_grad():\n",
            "\r\n",
            "\n",
        ],
        *[
            "loss = f(x).mean()\n",
            "loss.backward()\n",
            "kept.append(loss)\n",
            "total += loss\n",
            "exit()\n",
            "os._exit(1)\n",
        ],
        *[
            "pd.read_csv('a').groupby('k')['v'].sum()\n",
            "df = pd.read_csv(p)\n",
            "sys.setrecursionlimit(10**9)\n",
            "f(f)\n",
        ],
        *[
            "batch_size = 2**12\n",
            "data(batch_size)\n",
            "lib = ctypes.CDLL(None)\n",
            "lib.f(1)\n",
            "x = x\n",
            "f = f\n",
        ],
        *[
            "# é\n",
            "'''\n",
            "(",
            ")",
            "\\\n",
            "lambda: ",
            "await x\n",
            "return 1\n",
            "\0",
            "\ud800",
            "😀",
            "match x:\n",
        ],
    ]
)
CODE = st.lists(PIECES, max_size=14).map("".join)
TEXT = st.one_of(CODE, CODE, st.text(max_size=60), st.text(st.characters(codec=None, categories=None), max_size=20))


@RELAXED
@given(cells=st.lists(TEXT, min_size=1, max_size=4), cause=st.sampled_from(CAUSES), line=st.none() | st.integers(-1, 9))
def test_propose_never_raises(cells, cause, line):
    for proposal in propose(Case(*cells, cause=cause, line=line, crash="\n".join(cells)).death()):
        for edit in proposal.edits:
            assert mask(edit.new_source) is not None
            assert edit.old_source in cells


HEADS = [
    "",
    "%%time\n",
    "\n\n",
    "# ünï 😀\n",
    "!ls *.csv\n%matplotlib inline\n",
    "'''a\n\ttext'''\n",
    "x = [1,\n\t2]\n",
]
TAILS = ["", "\n", "  # end", "\n\n", "\n# ß\n"]


@RELAXED
@given(
    firing=st.sampled_from(FIRING),
    head=st.sampled_from(HEADS),
    tail=st.sampled_from(TAILS),
    line_end=st.sampled_from(["\n", "\r\n"]),
    indent=st.sampled_from(["    ", "  ", "\t"]),
)
def test_all_other_bytes_stay(firing, head, tail, line_end, indent):
    fix, case = firing
    if any(text.startswith(case.sources[count - 1] + "\n") for count, text in case.changed.items()):
        tail = tail.lstrip(" ")  # a comment stays on its line, before what is inserted behind that
        tail = "\n" + tail if tail.startswith("#") else tail

    def dressed(text):
        head_fits = not (head.startswith("%%") and text.startswith("%%"))
        body = text.replace("    ", indent)
        if text.startswith("%%"):
            first, _, rest = body.partition("\n")
            return (first + "\n" + (head if head_fits else "") + rest + tail).replace("\n", line_end)
        return (head + body + tail).replace("\n", line_end)

    again = case.with_sources(*(dressed(source) for source in case.sources))
    (proposal,) = [one for one in propose(again.death()) if one.id == fix.id]
    changed = {edit.execution_count: edit.new_source for edit in proposal.edits}
    if any("    " in new and "    " not in case.sources[count - 1] for count, new in case.changed.items()):
        indent = "    "  # nothing in the cell shows how it indents
    expected = {
        # where nothing in the cell shows how its lines end, they end as Python's do
        count: dressed(text) if "\n" in dressed(case.sources[count - 1]) else dressed(text).replace("\r\n", "\n")
        for count, text in case.changed.items()
    }
    assert changed == expected
    for edit in proposal.edits:
        matcher = difflib.SequenceMatcher(None, edit.old_source, edit.new_source, autojunk=False)
        kept = sum(block.size for block in matcher.get_matching_blocks())
        assert kept >= min(len(edit.old_source) - 90, len(edit.old_source) // 2)
    assert not edited_again(fix, again, changed)


def edited_again(fix, case, changed):
    """What a fix would edit in the edited cells, if they died in the same way; a number may get smaller still."""
    edited = case.with_sources(*(changed.get(at, source) for at, source in enumerate(case.sources, 1)))
    changes_a_number = fix.edits_cure or type(fix).is_cured is not Fix.is_cured
    return () if changes_a_number or (again := ask(fix, edited.death())[0]) is None else again.edits


@pytest.mark.parametrize("fix", all_fixes(), ids=lambda fix: fix.id)
def test_applying_twice_changes_nothing(fix):
    assert not [case.changed for case in fix.FIRES if case.changed and edited_again(fix, case, case.changed)]
