"""`delete`: asks first, keeps what is being written, and goes on where one cannot be deleted."""

import io

import pytest

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.recording.store import Store


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

    assert main(["delete", "--all", "--yes"]) == 0

    said = capsys.readouterr().out
    assert remaining() == {living}
    assert "Deleted 2 recordings." in said
    assert f"Kept {living}" in said


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("", 1), ("y", 0), ("Yes", 0)])
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


def test_it_asks_for_what_it_will_delete_and_says_what_it_keeps(record, record_living, monkeypatch):
    record(1)
    record(2)
    record_living(3)
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")

    main(["delete", "--all"])

    assert asked[0].startswith("Delete 2 recordings in ")
    assert "(1 recording of running kernels will be kept)? [y/N]" in asked[0]


def test_where_nothing_can_be_deleted_nothing_is_asked(record_living, monkeypatch, capsys):
    record_living(1)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("it asked"))

    assert main(["delete", "--all"]) == 0
    assert "Deleted 0 recordings." in capsys.readouterr().out


@pytest.mark.parametrize("piped", ["y\n", "yes\n"])
def test_without_a_terminal_a_yes_may_be_piped_in(record, remaining, monkeypatch, piped):
    record(1)
    monkeypatch.setattr("sys.stdin", io.StringIO(piped))

    assert main(["delete", "--all"]) == 0
    assert not remaining()


@pytest.mark.parametrize("piped", ["n\n", ""])
def test_without_a_terminal_and_without_a_yes_nothing_is_deleted(record, remaining, monkeypatch, capsys, piped):
    kept = {record(1), record(2)}
    monkeypatch.setattr("sys.stdin", io.StringIO(piped))

    assert main(["delete", "--all"]) == 1
    assert remaining() == kept
    assert "`--yes` deletes without asking" in capsys.readouterr().err


def test_a_closed_standard_input_deletes_nothing(record, remaining, monkeypatch):
    record(1)
    monkeypatch.setattr("sys.stdin", None)

    assert main(["delete", "--all"]) == 1
    assert len(remaining()) == 1


def test_a_link_that_leads_nowhere_is_no_recording(record, remaining, data_root, capsys):
    record(1)
    link = data_root / "recordings" / "20261121T032105Z-11-aaaaaa"
    link.symlink_to("/nowhere")

    assert main(["delete", "--all", "--yes"]) == 0
    assert remaining() == {link.name}
    assert "Deleted 1 recording." in capsys.readouterr().out


def test_what_may_not_be_deleted_stays_and_the_rest_goes(record, remaining, data_root, call_unprivileged):
    record(1)
    protected = record(2)
    record(3)
    (data_root / "recordings" / protected).chmod(0o500)

    result = call_unprivileged("delete", "--all", "--yes")

    assert result.returncode == 1
    assert result.stdout == "Deleted 2 recordings.\n"
    assert result.stderr == f"The recording {protected} cannot be deleted: Permission denied.\n"
    assert remaining() == {protected}


def test_what_another_process_removes_meanwhile_is_no_error(record, remaining, monkeypatch):
    gone, there = record(1), record(2)
    ids = Store().ids()
    Store().delete(gone)
    monkeypatch.setattr(Store, "ids", lambda _: ids)

    assert main(["delete", "--all", "--yes"]) == 0
    assert not remaining()
    assert main(["delete", there]) == 0


def test_the_beginning_of_an_id_will_do(record, remaining, capsys):
    first, second = record(1), record(12)

    assert main(["delete", "20261121T0321"]) == 1
    error = capsys.readouterr().err
    assert "2 recordings begin with '20261121T0321'." in error
    assert f"{second}, {first}?" in error
    assert remaining() == {first, second}

    assert main(["delete", "20261121T032112"]) == 0
    assert remaining() == {first}
