import pytest

from jupyter_kerneldoctor.cli import main


@pytest.fixture
def remaining(data_root):
    return lambda: {path.name for path in (data_root / "recordings").iterdir()}


def test_one(record, remaining):
    first, second = record(1), record(2)

    assert main(["delete", first]) == 0
    assert remaining() == {second}


def test_an_id_that_is_a_path_deletes_nothing(record, data_root, capsys):
    record(1)
    (data_root / "precious").mkdir()

    assert main(["delete", "../precious"]) == 1
    assert (data_root / "precious").is_dir()
    assert "There is no recording" in capsys.readouterr().err


def test_the_recording_of_a_living_kernel_is_kept(record_living, remaining, capsys):
    living = record_living(1)

    assert main(["delete", living]) == 2
    assert remaining() == {living}
    assert "%kerneldoctor off" in capsys.readouterr().err


def test_all_but_those_of_living_kernels(record, record_living, remaining, capsys):
    record(1)
    record(2)
    living = record_living(3)

    assert main(["delete", "--all"]) == 0

    said = capsys.readouterr().out
    assert remaining() == {living}
    assert "Deleted 2 recordings." in said
    assert f"Kept {living}" in said


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("", 1), ("y", 0)])
def test_all_asks_in_a_terminal(record, remaining, monkeypatch, answer, left):
    record(1)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)

    assert main(["delete", "--all"]) == 0
    assert len(remaining()) == left


def test_yes_is_not_asked(record, remaining, monkeypatch):
    record(1)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("it asked"))

    assert main(["delete", "--all", "--yes"]) == 0
    assert remaining() == set()
