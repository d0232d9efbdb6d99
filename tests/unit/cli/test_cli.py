"""The command as a whole: bad arguments, failures, what it imports."""

import json
import subprocess
import sys

import pytest

from jupyter_kerneldoctor.cli import main


@pytest.mark.parametrize(
    "arguments", [[], ["repotr"], ["report", "a", "--last"], ["report", "--format", "pdf"], ["delete"]]
)
def test_bad_arguments_end_with_2_and_a_hint(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: jupyter kerneldoctor" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.strip()


def test_a_bug_of_ours_shows_no_traceback_but_says_how_to_get_one(record, monkeypatch, capsys):
    record(1)
    monkeypatch.setattr("jupyter_kerneldoctor.archive.Archive.document", lambda *_: 1 / 0)

    assert main(["report", "--json"]) == 1

    said = capsys.readouterr()
    assert json.loads(said.out) is None
    assert "ZeroDivisionError" in said.err
    assert "KERNELDOCTOR_DEBUG=1" in said.err
    assert "Traceback" not in said.err

    monkeypatch.setenv("KERNELDOCTOR_DEBUG", "1")
    main(["report"])
    assert "Traceback" in capsys.readouterr().err


def test_an_unreadable_data_directory_is_like_an_empty_one(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path / "file"))

    assert main(["list", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"


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
    assert "oom-cgroup" in text
    assert "What it means" in text


def test_explain_knows_fixes_too(capsys):
    assert main(["explain", "read-in-chunks"]) == 0
    assert "read-in-chunks" in capsys.readouterr().out


def test_explain_offers_what_is_spelled_alike(capsys):
    assert main(["explain", "oom-cgruop"]) == 2
    assert "Did you mean oom-cgroup" in capsys.readouterr().err
