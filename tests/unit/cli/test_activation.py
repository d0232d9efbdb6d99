"""`enable` and `disable` change one name in a list, and nothing else of the user's configuration."""

import json
import stat

import pytest

from jupyter_kerneldoctor.cli import main


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "prefix"


@pytest.fixture
def config(prefix):
    return prefix / "etc" / "ipython" / "ipython_kernel_config.json"


def given(config, text):
    config.parent.mkdir(parents=True)
    config.write_text(text)


def test_enable_creates_the_file_and_disable_removes_it(config, capsys):
    assert main(["enable"]) == 0
    assert json.loads(config.read_text()) == {"InteractiveShellApp": {"extra_extensions": ["kerneldoctor"]}}
    said = capsys.readouterr().out
    assert str(config) in said
    assert all(line.endswith((".", ".)")) for line in said.splitlines()), "no line breaks within a sentence"

    assert main(["disable"]) == 0
    assert not config.exists()


def test_both_may_be_repeated(config, capsys):
    main(["enable"])
    before = config.read_text()
    assert main(["enable"]) == 0
    assert config.read_text() == before
    assert "already" in capsys.readouterr().out

    main(["disable"])
    assert main(["disable"]) == 0


def test_what_others_wrote_stays(config):
    others = {
        "InteractiveShellApp": {"extra_extensions": ["autoreload"], "extensions": ["x"]},
        "ZMQ": {"é": [1, None]},
        "version": 1,
    }
    given(config, json.dumps(others))
    config.chmod(0o640)

    main(["enable"])

    changed = json.loads(config.read_text())
    assert changed["InteractiveShellApp"]["extra_extensions"] == ["autoreload", "kerneldoctor"]
    assert stat.S_IMODE(config.stat().st_mode) == 0o640

    main(["disable"])
    assert json.loads(config.read_text()) == others


@pytest.mark.parametrize(
    "damaged", ["{", "[]", '{"InteractiveShellApp": []}', '{"InteractiveShellApp": {"extra_extensions": "x"}}']
)
@pytest.mark.parametrize("command", ["enable", "disable"])
def test_a_file_that_is_no_configuration_is_left_alone(config, capsys, damaged, command):
    given(config, damaged)

    assert main([command]) == 2

    assert config.read_text() == damaged
    error = capsys.readouterr().err
    assert str(config) in error
    assert "Nothing was changed" in error


def test_a_read_only_prefix_offers_the_users_own_profile(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.prefix", "/proc/version")  # nobody, not even root, can make a directory below it

    assert main(["enable"]) == 1
    assert "jupyter kerneldoctor enable --user" in capsys.readouterr().err


def test_user_writes_the_users_profile(prefix, tmp_path, capsys):
    assert main(["enable", "--user"]) == 0

    config = tmp_path / "ipython" / "profile_default" / "ipython_kernel_config.json"
    assert json.loads(config.read_text()) == {"InteractiveShellApp": {"extra_extensions": ["kerneldoctor"]}}
    assert not prefix.exists()

    main(["disable"])
    assert "disable --user" in capsys.readouterr().out

    main(["disable", "--user"])
    assert not config.exists()


def test_a_link_stays_a_link(config, tmp_path):
    config.parent.mkdir(parents=True)
    (tmp_path / "dotfiles.json").write_text("{}")
    config.symlink_to(tmp_path / "dotfiles.json")

    main(["enable"])

    assert config.is_symlink()
    assert "kerneldoctor" in (tmp_path / "dotfiles.json").read_text()
    assert [path.name for path in config.parent.iterdir()] == [config.name]


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(config, monkeypatch):
    given(config, "{}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)

    assert main(["enable"]) == 1
    assert [path.name for path in config.parent.iterdir()] == [config.name]
    assert config.read_text() == "{}"
