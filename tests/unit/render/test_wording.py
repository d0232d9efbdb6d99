import re
from pathlib import Path

import pytest

from jupyter_kerneldoctor.render import html, jsontext, markdown, terminal, wording
from jupyter_kerneldoctor.render.excerpt import excerpt
from jupyter_kerneldoctor.render.next_steps import next_steps
from jupyter_kerneldoctor.render.printable import visible


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x00", r"\x00"),
        ("\ud800", r"\ud800"),
        ("\u202e", r"\u202e"),
        ("\xad\u061c\u180e\u2028\u2064\u3164\ufff9", r"\xad\u061c\u180e\u2028\u2064\u3164\ufff9"),
        ("x\U000e0041", r"x\U000e0041"),
    ],
)
def test_what_would_be_obeyed_is_shown(given, shown):
    assert visible(given) == shown


def test_the_panel_hides_the_same_characters():
    source = (Path(__file__).parents[3] / "src/text.ts").read_text()
    (unseen,) = re.findall(r"UNSEEN =\s+/(\[.*\])/gu;", source)
    there = re.compile(re.sub(r"\\u\{(\w+)\}", lambda one: rf"\U{one[1]:0>8}", unseen))
    others = [chr(code) for code in (*range(0xA0, 0xD800), *range(0xE000, 0x110000))]
    assert [one for one in others if there.match(one)] == [one for one in others if visible(one) != one]


def test_how_sure_is_said_in_words_of_a_cause_that_says_why(doc):
    assert wording.certainty(doc) == "cause proven"
    assert wording.certainty({**doc, "certainty": "likely"}) == "cause likely"
    for nothing in ({"general": True}, {"cause": "unknown"}, {"state": "running"}):
        assert wording.certainty({**doc, **nothing}) is None


def test_how_sure_is_said_of_what_went_wrong_before_a_shutdown(doc):
    error = {"headline": "Memory was refused.", "id": "allocation-refused", "general": False, "certainty": "strong"}
    ended = {**doc, "state": "ended", "cause": "ordinary-end", "incidents": [error]}

    assert wording.certainty({**ended, "headline": "Memory was refused. It was shut down later."}) == "strong evidence"
    assert wording.certainty({**ended, "headline": "The kernel was shut down, as requested."}) is None


def test_an_end_without_a_summary_is_named_by_what_is_known():
    assert wording.end_summary({"end": {"kind": "signal", "signal": "SIGSEGV"}}) == "SIGSEGV"
    assert wording.end_summary({"end": {"kind": "exit", "exit_code": 3}}) == "exit code 3"
    assert wording.end_summary({"end": {"kind": "unknown"}}) == "unknown"


def test_a_kernel_that_is_loaded_at_start_needs_no_advice_to_load_it(doc):
    doc["loaded_by"] = "startup"

    assert not any("%load_ext" in step for step in next_steps(doc))


def test_an_ordinary_end_needs_no_next_step(doc):
    doc.update(state="ended", died=False)

    assert next_steps(doc) == []


def test_json_is_ascii_and_valid_whatever_is_inside():
    text = jsontext.render({"nan": float("nan"), "inf": [float("inf")], "lone": "\ud800", "esc": "\x1b", "é": 1.5})

    assert text == r'{"nan": null, "inf": [null], "lone": "\ud800", "esc": "\u001b", "\u00e9": 1.5}'


RENDERERS = [terminal.render, html.render, markdown.render]


@pytest.mark.parametrize("render", RENDERERS)
def test_a_killed_kernel_says_why_its_line_is_not_known(doc, render):
    sentence = "the kernel was killed before its stack could be read."
    doc["end"]["signal"] = "SIGKILL"
    assert sentence not in " ".join(render(doc).split())

    doc["cell"]["line"] = None
    assert sentence in " ".join(render(doc).split())

    doc["end"]["signal"] = "SIGSEGV"
    assert sentence not in " ".join(render(doc).split())


@pytest.mark.parametrize("render", RENDERERS)
def test_a_kernel_that_loaded_nothing_is_told_what_would_name_the_line(doc, render):
    doc["loaded_by"] = "server"
    doc["cell"]["line"] = None

    text = " ".join(render(doc).split())

    assert "as this kernel had not loaded KernelDoctor" in text
    assert "%load_ext kerneldoctor" in text.replace("\\_", "_")


@pytest.mark.parametrize("render", RENDERERS)
def test_why_no_stack_could_be_read_is_why_no_line_is_known(doc, render):
    doc.update(loaded_by="server", no_stacks="Python 3.10 keeps it elsewhere")
    doc["cell"]["line"] = None

    text = " ".join(render(doc).split())

    assert "The line is not known: Python 3.10 keeps it elsewhere." in text.replace("\\", "")
    assert "had not loaded KernelDoctor" not in text


@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("cause", ["hang", "fork-unsafe", "memory-stall"])
def test_a_kernel_that_is_stuck_is_to_be_interrupted(doc, cause, render):
    doc.update(cause=cause, state="stuck", died=False, ended=None)
    doc["end"] = {"kind": "running", "signal": None, "exit_code": None, "summary": "Running"}

    text = " ".join(render(doc).split())

    assert "Interrupt the kernel (■, or Kernel > Interrupt): your variables stay." in text.replace("&gt;", ">").replace(
        "\\>", ">"
    )
    assert f"jupyter kerneldoctor explain {cause}" in text


def test_an_end_that_nobody_saw_has_only_a_time_at_which_the_kernel_was_last_seen(doc):
    assert not wording.time_of_end(doc).startswith("last seen")

    doc["end"]["seen"] = False
    assert wording.time_of_end(doc).startswith("last seen 2026-11-21")
    assert wording.time_of_end(doc).endswith("14:03 UTC, after at least 29 s in the cell")

    doc["timeline"]["death_s"] = doc["timeline"]["cells"][-1]["start_s"]
    assert wording.time_of_end(doc).endswith("14:03 UTC")


@pytest.mark.parametrize("render", RENDERERS)
def test_other_causes_are_less_likely_without_a_number(doc, render):
    text = render(doc)

    assert "Less likely: Killed by someone else." in text
    assert text.count("cause proven") == 1


def test_that_nothing_is_wrong_is_no_other_cause(doc):
    doc["causes"][1] |= {"title": "The kernel is running", "family": "alive"}
    assert wording.less_likely(doc) == []


@pytest.mark.parametrize("render", RENDERERS)
def test_what_is_not_known_stands_with_the_checks_that_would_tell(doc, render):
    reason = {"text": "An argument may be wrong.", "check": "print(a)"}
    doc["causes"][0] |= {"not_known": "Why the address was wrong is not known.", "usual_reasons": [reason]}

    text = " ".join(render({**doc, "general": True}).split())

    assert "Why the address was wrong is not known." in text
    assert "An argument may be wrong. Check: " in text
    assert "print(a)" in text
    assert "cause proven" not in text


@pytest.mark.parametrize("render", RENDERERS)
def test_no_name_of_our_own_files_is_an_origin(doc, render):
    sources = ("journal", "samples", "PIDFD_GET_INFO", "/proc/4711/stat", "Jupyter server")
    doc["causes"][0]["evidence"] = [{"text": "So.", "value": None, "unit": None, "source": name} for name in sources]

    text = render(doc, details=True) if render is terminal.render else render(doc)

    assert not [name for name in ("journal", "samples", "PIDFD", "PIDFD_GET", "4711/stat") if name in text]
    assert text.count("exit status, read by KernelDoctor") == 2
    assert "recorded by KernelDoctor" in text
    assert "measured by KernelDoctor" in text
    assert "Jupyter server" in text


def incident(headline, second):
    time = f"2026-11-21T14:02:{second}.000+00:00"
    return {"id": "disk-full", "title": "", "headline": headline, "confidence": 0.9, "evidence": [], "time": time}


@pytest.mark.parametrize("render", RENDERERS)
def test_what_was_survived_before_a_death_is_listed_once(doc, render):
    doc["incidents"] = [
        incident("The disk was full.", 31),
        incident("It ran out.", 32),
        incident("The disk was full.", 33),
    ]

    text = " ".join(render(doc).split())

    assert text.count("The disk was full.") == 1
    assert "2 times, last at" in text
    assert text.index("The disk was full.") < text.index("It ran out.")


@pytest.mark.parametrize("render", RENDERERS)
def test_a_living_kernel_is_told_of_by_what_it_survived_last(doc, render):
    doc.update(state="survived", died=False, ended=None, fixes=[], story=None)
    doc["end"] = {"kind": "running", "signal": None, "exit_code": None, "summary": "Survived, still running"}
    doc["incidents"] = [incident("It ran out.", 31), incident(doc["headline"], 32)]

    text = " ".join(render(doc).split())

    assert text.count("It ran out.") == 1
    assert "Survived, still running" in text
    assert "your variables are still there" in text
    assert wording.time_of_end(doc).endswith("14:02 UTC")


def test_what_was_survived_before_the_notebook_went_on_has_its_cause_and_is_said_once_in_a_list(doc):
    told = "The kernel was shut down, as requested. Earlier: The disk was full."
    doc.update(state="ended", died=False, cause="ordinary-end", headline=told)
    doc["incidents"] = [incident("The disk was full.", 31)]

    assert "`jupyter kerneldoctor explain disk-full`" in next_steps(doc)[-1]
    assert wording.row_headline({"headline": told, "survived": "The disk was full.", "state": "ended"}) == told


def test_an_earlier_cell_without_an_end_is_not_the_one_that_ran(doc):
    doc["timeline"]["cells"] = [
        {"execution_count": 7, "start_s": 1.0, "end_s": None},
        {"execution_count": 8, "start_s": 2.0, "end_s": 3.0},
    ]
    doc["cell"]["execution_count"] = 8

    assert "in the cell" not in wording.time_of_end(doc)


def test_between_cells_no_cell_has_run_for_any_time(doc):
    doc["cell"] = None
    assert "in the cell" not in wording.time_of_end(doc)


STATEMENT = {
    "execution_count": 2,
    "cell_id": "c2",
    "line": 2,
    "end_line": 3,
    "file": None,
    "via": [
        {"execution_count": 8, "cell_id": "c8", "line": 2, "function": None, "file": None},
        {"execution_count": None, "cell_id": None, "line": 31, "function": "fit", "file": "/home/ada/loops.py"},
    ],
    "cell_source": "def step(x):\n    kept.append(\n        net(x))\n",
}


@pytest.mark.parametrize("render", RENDERERS)
def test_the_statement_to_blame_is_shown_in_the_cell_where_it_stands(doc, render):
    doc["statement"] = STATEMENT
    shown = " ".join(render(doc).split())

    assert "def step(x)" in shown
    assert "cell [2], line 2" in shown.replace("\\", "")
    assert wording.called_from(doc) == "Called from `fit` in loops.py, line 31, and cell [8], line 2."


def test_each_line_of_the_statement_is_marked():
    shown = excerpt({**STATEMENT, "source": STATEMENT["cell_source"]})

    assert [line.number for line in shown.lines if line.culprit] == [2, 3]


def test_a_statement_in_a_file_is_told_in_words(doc):
    doc["statement"] = {**STATEMENT, "file": "/home/ada/load.py", "cell_source": None, "via": STATEMENT["via"][:1]}

    assert wording.shown_cell(doc) == doc["cell"]
    assert wording.called_from(doc) == "In load.py, line 2, called from cell [8], line 2."


@pytest.mark.parametrize("render", RENDERERS)
def test_all_views_have_the_same_order(doc, render):
    shown = render(doc).lower().replace("\\", "")
    titles = ["the kernel ran out of memory", "where", "what to change", "why we think so", "what to do now"]

    assert sorted(titles, key=shown.index) == titles


@pytest.mark.parametrize("render", [html.render, markdown.render])
def test_only_the_first_fix_is_open(doc, render):
    doc["fixes"] = [doc["fixes"][0], {**doc["fixes"][0], "title": "Another"}]
    shown = render(doc).replace("\\", "")

    assert f"<summary>1. {doc['fixes'][0]['title']}" not in shown
    assert "<summary>2. Another</summary>" in shown


def test_a_function_that_called_itself_is_named_once(doc):
    call = {"execution_count": 2, "cell_id": "c2", "line": 4, "function": "walk", "file": None}
    doc["statement"] = {**STATEMENT, "via": [{**call, "function": None, "line": 9}, *[call] * 80]}

    assert wording.called_from(doc) == "Called from `walk` in cell [2], line 4 (80 times), and cell [2], line 9."


def test_many_changed_cells_leave_room_on_the_screen(doc):
    fix = doc["fixes"][0]
    fix["edits"] = [{**fix["edits"][0], "execution_count": count} for count in range(2, 8)]

    assert "In cell [7]:" not in terminal.render(doc)
    assert "And in cell [5], cell [6] and cell [7]: `--details` shows it." in terminal.render(doc)
    assert "In cell [7]:" in terminal.render(doc, details=True)
    assert next_steps(doc)[0].startswith("Change cells [2], [3], [4], [5], [6] and [7] as shown above")
