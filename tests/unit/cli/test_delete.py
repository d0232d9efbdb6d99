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


@pytest.mark.parametrize("arguments", [[""], ["", "--yes"], [" "]])
def test_an_empty_id_deletes_nothing(record, remaining, capsys, arguments):
    kept = {record(1), record(2)}

    assert main(["delete", *arguments]) == 1
    assert remaining() == kept
    assert "There is no recording" in capsys.readouterr().err


def test_several_and_one_twice(record, remaining, capsys):
    first, second, kept = record(1), record(2), record(3)

    assert main(["delete", first, second, first]) == 0
    assert remaining() == {kept}
    assert capsys.readouterr().out == f"Deleted {first}.\nDeleted {second}.\n"


def test_one_that_cannot_be_deleted_and_nothing_is(record, record_living, remaining):
    ended, living = record(1), record_living(2)

    assert main(["delete", ended, living]) == 2
    assert main(["delete", ended, ""]) == 1
    assert remaining() == {ended, living}


def test_the_end_of_the_input_means_no(record, remaining, monkeypatch, capsys):
    record(1)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def control_d(_):
        raise EOFError

    monkeypatch.setattr("builtins.input", control_d)

    assert main(["delete", "--all"]) == 0
    assert len(remaining()) == 1
    assert "Nothing was deleted." in capsys.readouterr().out
