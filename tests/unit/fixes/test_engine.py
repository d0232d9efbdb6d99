"""The engine: what it lets through, in which order, and what it holds back."""

import dataclasses
import subprocess
import sys

import pytest

from jupyter_kerneldoctor.diagnosis import fixes
from jupyter_kerneldoctor.diagnosis.fixes._edits import Replacement
from jupyter_kerneldoctor.diagnosis.fixes._examples import Example, Ran
from jupyter_kerneldoctor.diagnosis.fixes._rule import CellEdit, Draft, FixRule, Size

MIB = 1 << 20


def propose(*cells, **more):
    return fixes.propose(Example(cells=cells, **more).context())


class Fake(FixRule):
    """A rule whose answers the test chooses."""

    causes = ("oom-cgroup",)
    applicability = "suggested"
    examples = ()

    def __init__(self, name="fake", *, share=1.0, edits=(), snippet=None, again=None, fails=None):
        self.id = self.title = name
        self.share, self.edits, self.snippet, self.again, self.fails = share, edits, snippet, again, fails
        self.asked = 0

    def detect(self, context, code):
        if self.fails:
            raise self.fails
        self.asked += 1
        return "found" if self.asked == 1 else self.again

    def size(self, context, code, found):
        return Size(int(self.share * context.missing_bytes))

    def fix(self, context, code, found):
        return Draft("Why.", self.edits, self.snippet)


@pytest.fixture
def with_rules(monkeypatch):
    return lambda *rules: monkeypatch.setattr(fixes, "fixes", lambda: rules)


def edit(start, end, text, cell=0):
    return (CellEdit(cell, (Replacement(start, end, text),)),)


def test_largest_share_first_and_three_at_most(with_rules):
    with_rules(*(Fake(str(share), share=share) for share in (0.2, 0.9, 0.05, 0.5, 0.3)))
    assert [one.id for one in propose("x = 1")] == ["0.9", "0.5", "0.3"]


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError(), KeyError(), AssertionError()])
def test_a_rule_that_fails_is_left_out(with_rules, error):
    with_rules(Fake("bad", fails=error), Fake("good"))
    assert [one.id for one in propose("x = 1")] == ["good"]


def test_edit_is_made_in_the_users_text(with_rules):
    with_rules(Fake(edits=edit(4, 5, "2")))
    (made,) = propose("x = 1  # é\r\ny")[0].edits
    assert made.new_source == "x = 2  # é\r\ny"
    assert made.old_source == "x = 1  # é\r\ny"
    assert "-x = 1  # é\n+x = 2  # é\n" in made.diff


@pytest.mark.parametrize(
    ("source", "edits"),
    [
        ("x = 1", edit(4, 5, "(")),  # does not parse
        ("x = 1", edit(4, 5, "1")),  # changes nothing
        ("x = 1", edit(0, 9, "y")),  # outside of the text
        ("%time x = 1\ny = 2", edit(0, 3, "#")),  # touches a magic
        ("x = 1", (CellEdit(0, (Replacement(0, 3, "a"), Replacement(2, 4, "b"))),)),  # overlap
        ("%%bash\nls", edit(7, 9, "pwd")),  # another language
    ],
)
def test_edit_that_fails_a_check_is_not_offered(with_rules, source, edits):
    with_rules(Fake(edits=edits))
    assert propose(source) == ()
    with_rules(Fake(edits=edits, snippet="do(this)"))
    (proposal,) = propose(source)
    assert (proposal.edits, proposal.applicability, proposal.snippet) == ((), "advice", "do(this)")


def test_edit_that_leaves_the_pattern_is_not_offered(with_rules):
    with_rules(Fake(edits=edit(4, 5, "2"), again="found"))
    assert propose("x = 1") == ()


def test_edit_of_a_truncated_cell_is_not_offered(with_rules):
    with_rules(Fake(edits=edit(4, 5, "2")))
    context = Example(cells=("x = 1",)).context()
    cell = dataclasses.replace(context.cell, truncated=True)
    recording = dataclasses.replace(context.recording, cells=(cell,))
    assert fixes.propose(dataclasses.replace(context, recording=recording, cell=cell)) == ()


def test_no_cell_was_running():
    context = dataclasses.replace(Example(cells=("exit()",), cause="exit-call").context(), cell=None, culprit=None)
    assert fixes.propose(context) == ()


def test_no_numbers_at_all():
    example = Example(cells=("import pandas as pd", "pd.read_csv('a.csv')"))
    context = dataclasses.replace(example.context(), limit_bytes=None, peak_bytes=None, rss_before_bytes=None)
    assert fixes.propose(context) == ()


def test_edit_names_the_cell_that_defines_the_value():
    (proposal,) = propose(
        "batch_size = 16",
        Ran("batch_size = 4096", cell_id="defines-it"),
        "import torch",
        "for x in data.split(batch_size):\n    net(x).mean().backward()",
    )
    (made,) = proposal.edits
    assert (made.execution_count, made.cell_id, made.new_source) == (2, "defines-it", "batch_size = 256")


def test_libcst_is_not_imported():
    code = "import sys; from jupyter_kerneldoctor.diagnosis import fixes; fixes.fixes(); print('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
