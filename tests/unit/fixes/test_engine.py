"""The engine: what it lets through, in which order, and what it holds back."""

import dataclasses

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose, proposals
from jupyter_kerneldoctor.diagnosis.case import Case, Ran
from jupyter_kerneldoctor.diagnosis.causes import examine
from jupyter_kerneldoctor.diagnosis.changes import Change
from jupyter_kerneldoctor.diagnosis.code.notebook import CodeTooLargeError
from jupyter_kerneldoctor.diagnosis.examples import Group, cell_file, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth
from jupyter_kerneldoctor.diagnosis.family import Family
from jupyter_kerneldoctor.diagnosis.fix import Fix, Proposal
from jupyter_kerneldoctor.diagnosis.fixes import all_fixes
from jupyter_kerneldoctor.recording.events import Frame, Stack, ThreadStack

MIB = 1 << 20


def propose(*cells, **more):
    return proposals.propose(Case(*cells, **more).death())


class Fake(Fix):
    """A fix whose answers the test chooses."""

    causes = (Family.MEMORY,)

    def __init__(self, name="fake", *, share=1.0, edits=(), snippet=None, instead=None, again=False, fails=None):
        self.id = self.title = name
        self.share, self.edits, self.again, self.fails = share, edits, again, fails
        self.snippet, self.instead = snippet, instead
        self.asked = 0

    def propose(self, death):
        if self.fails:
            raise self.fails
        self.asked += 1
        if self.asked == 1 or self.again:
            explained = int(self.share * death.memory.missing_bytes)
            yield Proposal(self.edits, "Why.", explained, snippet=self.snippet, instead=self.instead)


@pytest.fixture
def with_fixes(monkeypatch):
    return lambda *fixes: monkeypatch.setattr(proposals, "all_fixes", lambda: fixes)


def test_largest_share_first_and_what_always_helps_last(with_fixes):
    general = Fake("general")
    general.general = True
    edit = Fake("edit", share=0.9, edits=(Change(0, 4, 5, "2"),))
    with_fixes(general, *(Fake(str(share), share=share) for share in (0.2, 0.9, 0.05, 0.5)), edit)
    assert [one.id for one in propose("x = 1")] == ["edit", "0.9", "0.5", "0.2", "general"]


def test_three_are_shown_and_the_others_are_there_for_who_asks(with_fixes):
    with_fixes(*(Fake(str(number)) for number in range(5)))
    death = Case("x = 1", groups=[Group(2000 * MIB, oom_kills=(0, 1))]).death()
    document = diagnose(death.recording).to_json()
    assert [one["id"] for one in document["fixes"]] == ["0", "1", "2"]
    assert [one["id"] for one in document["more_fixes"]] == ["3", "4"]


def test_is_left_out_where_a_fix_that_knows_better_explains_as_much(with_fixes):
    better, worse, small = Fake("better"), Fake("worse"), Fake("small", share=0.3)
    worse.unless_offered, better.unless_offered = frozenset({"better"}), frozenset({"small"})
    with_fixes(better, worse, small)
    assert [one.id for one in propose("x = 1")] == ["better", "small"]


def test_those_that_know_better_exist():
    ids = {fix.id for fix in all_fixes()}
    assert [(fix.id, sorted(fix.unless_offered - ids)) for fix in all_fixes() if fix.unless_offered - ids] == []


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError(), KeyError(), AssertionError()])
def test_a_fix_that_fails_is_left_out(with_fixes, error):
    with_fixes(Fake("bad", fails=error), Fake("good"))
    assert [one.id for one in propose("x = 1")] == ["good"]


def test_edit_is_made_in_the_users_text(with_fixes):
    with_fixes(Fake(edits=(Change(0, 4, 5, "2"),)))
    (made,) = propose("x = 1  # é\r\ny")[0].edits
    assert made.new_source == "x = 2  # é\r\ny"
    assert made.old_source == "x = 1  # é\r\ny"
    assert "-x = 1  # é\n+x = 2  # é\n" in made.diff


@pytest.mark.parametrize(("edit", "again"), [(Change(0, 4, 5, "("), False), (Change(0, 4, 5, "2"), True)])
def test_edit_that_fails_a_check_is_not_offered(with_fixes, edit, again):
    with_fixes(Fake(edits=(edit,), again=again))
    assert propose("x = 1") == ()
    with_fixes(Fake(edits=(edit,), again=again, snippet="do(this)"))
    proposal, *_ = propose("x = 1")
    assert (proposal.edits, proposal.applicability, proposal.snippet) == ((), "advice", "do(this)")


@pytest.mark.parametrize(("new", "copied"), [("2", None), ("(", "do(this)")])
def test_what_says_the_same_as_an_edit_is_shown_only_in_its_place(with_fixes, new, copied):
    with_fixes(Fake(edits=(Change(0, 4, 5, new),), instead="do(this)"))
    proposal, *_ = propose("x = 1")
    assert proposal.snippet == copied
    assert bool(proposal.edits) == (copied is None)


@pytest.mark.parametrize(
    ("fix", "reason"),
    [
        (Fake(share=0.03), "It explains 3% of what was missing; 10% is the least."),
        (Fake(edits=(Change(0, 4, 5, "("),)), "Edit refused: the new text does not parse"),
        (Fake(edits=(Change(0, 4, 9, "2"),)), "Edit refused: changes overlap, or lie outside of the text."),
        (Fake(edits=(Change(0, 4, 5, "2"),), again=True), "Not cured: it still has something to say about\nx = 2"),
        (Fake(edits=(Change(0, 4, 5, "("),), snippet="do(this)"), "Edit refused: "),
    ],
)
def test_reason_for_which_it_is_not_offered_is_told(fix, reason):
    proposal, wrong = proposals.ask(fix, Case("x = 1").death())
    assert wrong.startswith(reason)
    assert (proposal is None) == (fix.snippet is None)


def test_all_that_is_yielded_is_one_fix(with_fixes):
    fake = Fake()
    parts = [Proposal((Change(at, 4, 5, "2"),), f"Why {at}.", MIB * 700 * (at + 1)) for at in (0, 1)]
    fake.propose = lambda death: [] if death.code.source(0) == "x = 2" else parts
    with_fixes(fake)
    proposal, *_ = propose("x = 1", "y = 1")
    assert [edit.new_source for edit in proposal.edits] == ["x = 2", "y = 2"]
    assert (proposal.why, proposal.explained_bytes) == ("Why 0.", 1400 * MIB)


def test_edit_of_a_truncated_cell_is_not_offered(with_fixes):
    with_fixes(Fake(edits=(Change(0, 4, 5, "2"),)))
    death = Case("x = 1").death()
    cell = dataclasses.replace(death.cell, truncated=True)
    cut = dataclasses.replace(death.recording, cells=(cell,))
    assert proposals.propose(dataclasses.replace(death, recording=cut).judged(death.causes)) == ()


def test_a_fix_may_be_for_one_cause_or_a_family_of_them(with_fixes):
    one, family = Fake("one"), Fake("family")
    one.causes = ("oom-host",)
    with_fixes(one, family)
    assert [fix.id for fix in propose("x = 1", cause="oom-cgroup")] == ["family"]
    one.asked = family.asked = 0
    assert [fix.id for fix in propose("x = 1", cause="oom-host")] == ["one", "family"]


@pytest.mark.slow
def test_too_much_code_is_told(with_fixes):
    made = recording("x = x + x\n" * 200_000, signal="SIGSEGV")
    found = diagnose(made)
    assert (found.fixes, found.fixes_left_out) == ((), "The code is too long to look for fixes.")
    with_fixes(Fake(fails=CodeTooLargeError()))
    with pytest.raises(CodeTooLargeError):
        propose("x = 1")


def test_edit_names_the_cell_that_defines_the_value():
    proposal, *_ = propose(
        "batch_size = 16",
        Ran("batch_size = 4096"),
        "import torch",
        "for x in data.split(batch_size):\n    net(x).mean().backward()",
    )
    (made,) = proposal.edits
    assert (made.execution_count, made.cell_id, made.new_source) == (2, "cell-2", "batch_size = 256")


def test_edit_imports_pytorch_where_only_parts_of_it_were_imported():
    proposal, *_ = propose("from torch import nn\nnet = nn.RNN()", "%time y = 1\nx = 1\nfor x in rows:\n    net(x)")
    (made,) = proposal.edits
    assert made.new_source == (
        "import torch\n%time y = 1\nx = 1\nwith torch.no_grad():\n    for x in rows:\n        net(x)"
    )


def test_network_is_known_in_the_function_that_it_is_given_to():
    define = "def score(model, rows):\n    return [model(x) for x in rows]"
    proposal, *_ = propose(f"import torch\nnet = torch.nn.RNN()\n{define}", "a = score(net, rows)")
    assert "    with torch.no_grad():\n        return [model(x) for x in rows]" in proposal.edits[0].new_source
    found = propose(f"import torch\nnet = torch.nn.RNN()\n{define}", "score(net, x)\nscore(len, x)")
    assert [one for one in found if one.edits] == []


@pytest.mark.parametrize(("line", "ids"), [(2, ["downcast-float32"]), (3, [])])
def test_an_edit_is_judged_by_the_lines_that_memory_was_charged_to(line, ids):
    cells = ("import numpy as np\nROWS = 300_000", "n = 1\nW = np.ones((ROWS, 1000))\nbig = [0] * 10**9")
    frames = (Frame(cell_file(cells[1]), line, "<module>"),)
    stack = Stack(-0.1, "end", (ThreadStack(frames, main=True),))
    death = Case(*cells, stacks=[stack]).death()
    grown = dataclasses.replace(death.recording, growths=(growth(2, grew_in(10**9, *frames)),))
    found = proposals.propose(examine(grown).judged(death.causes))
    assert [one.id for one in found if one.edits] == ids


def test_an_edit_that_saves_half_of_what_a_kill_cut_off_is_only_told(with_fixes):
    edits = (Change(0, 4, 5, "2"),)
    half, whole = Fake("half", share=0.5, edits=edits), Fake("whole", edits=edits)
    with_fixes(half, whole)
    first, second = propose("x = 1")
    assert (first.id, bool(first.edits)) == ("whole", True)
    assert (second.id, second.edits, second.applicability, second.snippet) == ("half", (), "advice", "x = 2")


@pytest.mark.parametrize(
    ("leaves_mib", "package", "is_edit"), [(900, "numpy", True), (1600, "numpy", False), (900, "keras", False)]
)
def test_what_an_edit_leaves_has_to_fit_with_its_copies(with_fixes, leaves_mib, package, is_edit):
    half = Fake("half")
    edits = (Change(1, 4, 5, "2"),)
    half.propose = lambda death: (
        [Proposal(edits, "Why.", 900 * MIB, leaves=leaves_mib * MIB)] if death.code.source(1) == "x = 1" else []
    )
    with_fixes(half)
    assert bool(propose(f"import {package}", "x = 1")[0].edits) is is_edit
