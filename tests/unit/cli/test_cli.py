"""The command as a whole: bad arguments, failures, what it imports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.commands import output


@pytest.mark.parametrize(
    "arguments", [["repotr"], ["report", "a", "--last"], ["report", "--format", "pdf"], ["delete"]]
)
def test_bad_arguments_end_with_2_and_a_hint(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: jupyter kerneldoctor" in capsys.readouterr().err


def test_without_arguments_it_says_what_there_is(capsys):
    assert main([]) == 0

    said = capsys.readouterr()
    assert said.out.startswith("usage: jupyter kerneldoctor")
    assert "show why a kernel died" in said.out
    assert said.err == ""


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.strip()


def test_a_bug_of_ours_shows_no_traceback_but_says_how_to_get_one(record, monkeypatch, capsys):
    record(1)
    monkeypatch.setattr("jupyter_kerneldoctor.reports.post_mortems.PostMortems.document", lambda *_: 1 / 0)

    assert main(["report", "--json"]) == 1

    said = capsys.readouterr()
    assert json.loads(said.out) is None
    assert "ZeroDivisionError" in said.err
    assert "KERNELDOCTOR_DEBUG=1" in said.err
    assert "Traceback" not in said.err

    monkeypatch.setenv("KERNELDOCTOR_DEBUG", "1")
    main(["report"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["list"], ["report"], ["delete", "--all"], ["delete", "x"]])
def test_a_data_directory_that_is_none_is_not_called_empty(monkeypatch, tmp_path, capsys, arguments):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path / "file"))

    assert main(arguments) == 1

    error = capsys.readouterr().err
    assert f"{tmp_path / 'file' / 'recordings'} cannot be read: Not a directory." in error
    assert "KERNELDOCTOR_DATA_DIR is set" in error


@pytest.mark.parametrize(("command", "nothing"), [("list", "[]\n"), ("report", "null\n")])
def test_a_program_gets_json_of_the_usual_shape_in_any_case(monkeypatch, tmp_path, capsys, command, nothing):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path / "file"))

    assert main([command, "--json"]) == 1
    assert capsys.readouterr().out == nothing


@pytest.mark.parametrize("arguments", [["explain", "oom-cgroup"], ["list", "--json"]])
def test_a_full_disk_below_the_output_is_said_plainly(arguments):
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "jupyter_kerneldoctor", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert result.returncode == 1
    assert result.stderr == b"The output could not be written: No space left on device.\n"


@pytest.mark.parametrize("command", ["report", "list", "explain", "delete", "enable", "disable"])
def test_each_help_is_a_sentence_that_names_the_product_right(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])

    described = capsys.readouterr().out.split("\n\n")[1]
    assert described[0].isupper()
    assert described.endswith(".")
    assert "Kerneldoctor" not in described.replace("kerneldoctor", "Kerneldoctor").replace("KernelDoctor", "")


def test_a_report_for_a_program_imports_nothing_it_does_not_need(record):
    record(1)
    script = (
        "import sys; from jupyter_kerneldoctor.cli import main; main(['report', '--json'])\n"
        "heavy = {'rich', 'IPython', 'tornado', 'jupyter_server', 'zmq', 'pandas', 'numpy', 'jupyter_core'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert result.stderr.strip() == "[]"


def test_the_package_itself_imports_nothing(tmp_path):
    script = "import sys; before = set(sys.modules); import jupyter_kerneldoctor; print(set(sys.modules) - before)"

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "{'jupyter_kerneldoctor'}"


def test_explain_prints_the_reference_page(capsys):
    assert main(["explain", "oom-cgroup"]) == 0

    text = capsys.readouterr().out
    assert "`oom-cgroup`" in text
    assert "\nWHAT IT MEANS\n" in text
    assert not any(line.startswith("#") for line in text.splitlines())


def test_explain_fits_the_terminal_and_lists_all_without_an_id(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["explain", "oom-cgroup"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60

    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert "\n\nOut of memory\n  allocation-refused  " in listed
    assert "\n\nTables: pandas" in listed
    assert "\n  read-in-chunks  " in listed


def test_explain_knows_fixes_too(capsys):
    assert main(["explain", "read-in-chunks"]) == 0
    assert "read-in-chunks" in capsys.readouterr().out


def test_explain_offers_what_is_spelled_alike(capsys):
    assert main(["explain", "oom-cgruop"]) == 2
    assert "Did you mean oom-cgroup" in capsys.readouterr().err


def test_explain_offers_all_that_have_the_word_in_them(capsys):
    assert main(["explain", "OOM"]) == 2

    error = capsys.readouterr().err
    assert "Did you mean gpu-oom, oom-cgroup, oom-container, oom-host, oom-userspace or " in error


def test_explain_takes_several_in_any_case(capsys):
    assert main(["explain", "OOM-cgroup", "Segfault"]) == 0

    text = capsys.readouterr().out
    assert "`oom-cgroup`" in text
    assert "`segfault`" in text


def test_explain_prints_nothing_when_one_name_is_wrong(capsys):
    assert main(["explain", "oom-cgroup", "nonsense"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert "`jupyter kerneldoctor explain` lists all." in " ".join(told.err.split())
    assert len(told.err) < 300


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("1", 40), ("1000", 100), ("", 80), ("wide", 80)])
def test_columns_is_honoured_in_a_pipe(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)

    assert output.width() == width
