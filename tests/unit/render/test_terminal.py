import pytest
from rich.cells import cell_len

from jupyter_kerneldoctor.render import html, markdown, terminal


def test_says_what_where_why_and_what_to_change(doc):
    text = terminal.render(doc)

    assert text.startswith("The kernel ran out of memory in cell [8]")
    assert "cause proven · Killed by Linux at the container limit" in text
    assert "after 29 s in the cell" in " ".join(text.split())
    assert "▶ 3      losses.append(loss)" in text
    assert "+    losses.append(loss.item())" in text
    assert "jupyter kerneldoctor enable" in text
    assert "Expected peak: at most 3.0 GiB" in terminal.render(doc, details=True)


def test_is_brief_and_says_where_the_details_are(doc):
    brief, details = terminal.render(doc), terminal.render(doc, details=True)

    assert brief.count("\n") <= 50
    assert "`jupyter kerneldoctor report 20261121T140211Z-4711-ab12cd --details`" in brief
    for left_out in ("/sys/fs/cgroup/memory.max", "Not a crash in native code", doc["fixes"][1]["why"][:30], "▁"):
        assert left_out not in brief
        assert left_out in details


def test_what_to_change_comes_before_the_reasons_everywhere(doc):
    for text in (terminal.render(doc).upper(), html.render(doc).upper(), markdown.render(doc).upper()):
        assert text.index("WHERE") < text.index("WHAT TO CHANGE") < text.index("WHY WE THINK SO")


def test_fits_into_eighty_columns_without_escape_sequences(doc):
    text = terminal.render(doc)

    assert max(len(line) for line in text.split("\n")) <= 80
    assert "\x1b" not in text


def test_colors_only_when_asked(doc):
    assert "\x1b[1m" in terminal.render(doc, color=True)


def test_does_without_unicode(doc):
    doc["notebook"] = None

    assert terminal.render(doc, unicode=False).isascii()


def test_a_number_that_the_sentence_says_is_not_repeated(doc):
    assert "4.0 GiB ·" not in terminal.render(doc)


def test_shows_what_a_terminal_would_obey_as_escapes(doc):
    doc["cell"]["source"] = "print('\x1b[2J\x1b]0;owned\x07')\r\nx = '\ud800\u202e\x00[red]'"
    doc["headline"] = "It died\x1b[31m\nin [bold]cell[/bold]"
    doc["fixes"][0]["edits"][0]["diff"] = "+\x1b[2Jx\x85y"

    text = terminal.render(doc, color=False)

    assert "\x1b" not in text
    assert r"print('\x1b[2J\x1b]0;owned\x07')" in text
    assert r"x = '\ud800\u202e\x00[red]'" in text
    assert r"It died\x1b[31m in [bold]cell[/bold]" in text
    text.encode()


def test_a_long_cell_is_shown_around_its_line(doc):
    doc["cell"].update(source="\n".join(f"x{n} = {n}" for n in range(1, 501)), line=250)

    text = terminal.render(doc)

    assert "… 242 lines above" in text
    assert "▶ 250  x250 = 250" in text
    assert "x100 = 100" not in text
    assert "lines below" in text


def test_a_living_kernel_and_an_ordinary_end_need_no_cell_no_fix_no_timeline(doc):
    doc.update(cell=None, fixes=[], story=None, state="running", died=False, ended=None, ruled_out=[])
    doc["timeline"].update(samples={"t_s": [], "memory_bytes": []}, cells=[], death_s=None, limit=None)
    doc["end"] = {"kind": "running", "signal": None, "exit_code": None, "summary": ""}

    text = terminal.render(doc)

    assert "MEMORY" not in text
    assert "WHERE" not in text
    assert "The kernel is still running" in text


def test_the_list_says_what_was_survived(doc):
    row = {key: doc[key] for key in ("recording", "kernel_id", "pid", "notebook", "started")}
    full = "The disk was full in cell [2]."
    alive = {**row, "state": "survived", "headline": full, "survived": full}
    ended = {**row, "state": "ended", "headline": "The kernel was shut down.", "survived": full}
    died = {**row, "state": "died", "headline": "The kernel crashed.", "survived": full}

    text = " ".join(terminal.render_list([alive, ended, died], width=100).split())

    assert "Survived: The disk was full in cell [2]." in text
    assert "The kernel was shut down. Survived before: The disk was full in cell [2]." in text
    assert text.count("The disk was full") == 2


def test_the_list_has_a_line_for_each_recording(doc):
    row = {key: doc[key] for key in ("recording", "kernel_id", "pid", "notebook", "started", "headline", "state")}
    unknown = {**row, "notebook": None, "kernel_id": None, "started": None, "state": "unknown"}

    text = terminal.render_list([row, unknown])

    assert "train_cnn.ipynb" in text
    assert "process 4711" in text
    assert "started not" not in text


def test_the_list_says_ipython_in_a_terminal_only_where_that_is_known(doc):
    row = {**doc, "notebook": None, "kernel_id": None}

    assert "IPython in a terminal" in terminal.render_list([row])
    assert "IPython" not in terminal.render_list([{**row, "loaded_by": None}])


def test_a_long_path_in_the_list_is_not_cut(doc):
    path = f"/home/ada/{'very-' * 30}long/journal.jsonl"

    text = terminal.render_list([{**doc, "headline": f"The recording cannot be read: Permission denied ({path})."}])

    assert path in "".join(text.split())


def test_a_note_stands_above_all(doc):
    assert terminal.render(doc, note="A newer one.").startswith("A newer one.\n\nThe kernel ran out")


LONG = "rows = rows[rows.column > 3]  # keep only the rows, columns or sums that you need, and nothing else at all"


def test_no_line_of_code_is_broken_or_cut(doc):
    doc["cell"]["source"] = f"{LONG} in the cell"
    doc["fixes"][0]["edits"][0]["diff"] = f"@@ -0,0 +1 @@\n+{LONG}"
    doc["fixes"][1]["snippet"] = f"{LONG}\n{LONG}"

    lines = terminal.render(doc, width=50, details=True).split("\n")

    assert f"    1  {LONG} in the cell" in lines
    assert f"       +{LONG}" in lines
    assert lines.count(f"       {LONG}") == 2


def test_a_command_in_backticks_is_not_broken(doc):
    command = '`journalctl --since "2026-11-21 03:21:06 UTC" --until "2026-11-21 03:22:06 UTC"`'
    doc["fixes"][0]["why"] = f"Words before it. {command}, and after."

    for width in range(40, 101):
        lines = [line.strip() for line in terminal.render(doc, width=width).split("\n")]
        assert any(f"{command}," in line for line in lines)
        assert any("`losses.append(loss)`" in line or command in line for line in lines)
        assert all("`jupyter kerneldoctor enable`" in line for line in lines if "kerneldoctor enable" in line)


def test_continuation_lines_are_indented_and_no_word_is_lost(doc):
    doc["story"] = "Wörter 漢字漢字 and words. " * 20

    text = terminal.render(doc, width=40)

    assert " ".join(doc["story"].split()) in " ".join(text.split())
    story = [line for line in text.split("\n") if "words." in line]
    assert all(line.startswith("  ") and cell_len(line) <= 40 for line in story)


def test_a_narrow_list_has_the_headline_below_the_id(doc):
    text = terminal.render_list([doc, doc], width=45)

    assert text.startswith("20261121T140211Z-4711-ab12cd\nThe kernel ran out of memory in cell [8]: it\n")
    assert "\n\n2026" in text
    assert max(len(line) for line in text.split("\n")) <= 45


def test_more_fixes_are_named_with_the_command_that_shows_them(doc):
    told = terminal.render({**doc, "more_fixes": doc["fixes"]}, width=200)
    assert f"… {len(doc['fixes'])} more: `jupyter kerneldoctor report {doc['recording']} --all`" in told
    assert "--all" not in terminal.render({**doc, "more_fixes": []})


@pytest.mark.parametrize("view", [terminal, markdown, html])
def test_one_line_that_is_left_out_is_no_lines(doc, view):
    doc["statement"] = None
    for count, said in ((15, "… 1 line below"), (16, "… 2 lines below")):
        doc["cell"].update(line=1, source="\n".join(["x = 1"] * count))
        assert said in view.render(doc)


def test_a_sample_stands_apart_from_the_change_above_it(doc):
    doc["fixes"][0]["snippet"] = "sample()"
    assert doc["fixes"][0]["edits"]

    lines = terminal.render(doc).splitlines()

    assert lines[lines.index("       sample()") - 1] == ""
