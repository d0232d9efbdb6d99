"""`enable` and `disable` add lines and remove them, and change nothing else of the user's configuration."""

import json
import stat
import subprocess
import sys

import pytest
from traitlets.config.loader import PyFileConfigLoader

from jupyter_kerneldoctor.cli import main


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "prefix"


@pytest.fixture
def config(prefix):
    return prefix / "etc" / "ipython" / "ipython_kernel_config.py"


def loaded(config):
    """The extensions that IPython loads with this configuration alone."""
    found = PyFileConfigLoader(config.name, config.parent).load_config()
    return found.InteractiveShellApp.extra_extensions.get_value([])


def given(config, text):
    config.parent.mkdir(parents=True)
    config.write_text(text)


def test_enable_creates_the_file_and_disable_removes_it(config, capsys):
    assert main(["enable"]) == 0
    assert loaded(config) == ["kerneldoctor"]
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


def test_without_the_package_nothing_is_loaded(config, monkeypatch, tmp_path):
    main(["enable"])

    (tmp_path / "kerneldoctor").mkdir()  # as a clone of the repository is called
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "kerneldoctor", raising=False)

    assert loaded(config) == []


def test_a_file_beside_the_notebook_is_not_taken_for_the_extension(config, tmp_path):
    """A kernel starts when a notebook is opened: nothing that was downloaded with it may run by that alone."""
    main(["enable"])
    for name in ("kerneldoctor.py", "jupyter_kerneldoctor.py"):
        (tmp_path / name).write_text("raise SystemExit('what lay beside the notebook ran')")
    begin = f"""
import os, sys
from traitlets.config.loader import PyFileConfigLoader
PyFileConfigLoader({config.name!r}, {str(config.parent)!r}).load_config()
os.chdir({str(tmp_path)!r})
sys.path.insert(0, "")  # as IPython does before it loads extensions
import kerneldoctor, jupyter_kerneldoctor.kernel.doctor
"""
    subprocess.run([sys.executable, "-c", begin], cwd=config.parent, check=True)


def test_what_others_wrote_stays(config):
    given(config, others := "c.InteractiveShellApp.extensions = ['é']")
    config.chmod(0o640)

    main(["enable"])

    assert loaded(config) == ["kerneldoctor"]
    assert stat.S_IMODE(config.stat().st_mode) == 0o640

    main(["disable"])
    assert config.read_text() == others


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_the_name_that_was_once_written_as_json_is_removed(config, capsys, command):
    old = config.with_suffix(".json")
    given(old, json.dumps({"InteractiveShellApp": {"extra_extensions": ["autoreload", "kerneldoctor"]}, "version": 1}))

    assert main([command]) == 0

    assert json.loads(old.read_text()) == {"InteractiveShellApp": {"extra_extensions": ["autoreload"]}, "version": 1}
    assert "will not load" in capsys.readouterr().out or command == "enable"
    assert config.exists() == (command == "enable")


@pytest.mark.parametrize("damaged", ["{", "[]", '{"InteractiveShellApp": []}', '{"InteractiveShellApp": {"x": 1}}'])
def test_json_of_others_is_left_alone(config, damaged):
    given(config.with_suffix(".json"), damaged)

    assert main(["enable"]) == 0
    assert main(["disable"]) == 0

    assert config.with_suffix(".json").read_text() == damaged


def test_a_file_that_cannot_be_read_is_left_alone(config, capsys):
    config.parent.mkdir(parents=True)
    config.write_bytes(b"\xff")

    assert main(["enable"]) == 2

    assert config.read_bytes() == b"\xff"
    error = capsys.readouterr().err
    assert str(config) in error
    assert "Nothing was changed" in error


def test_a_read_only_prefix_offers_the_users_own_profile(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.prefix", "/proc/version")  # nobody, not even root, can make a directory below it

    assert main(["enable"]) == 1
    assert "jupyter kerneldoctor enable --user" in capsys.readouterr().err


def test_user_writes_the_users_profile(prefix, tmp_path, capsys):
    assert main(["enable", "--user"]) == 0

    config = tmp_path / "ipython" / "profile_default" / "ipython_kernel_config.py"
    assert loaded(config) == ["kerneldoctor"]
    assert not prefix.exists()

    main(["disable"])
    assert "disable --user" in capsys.readouterr().out

    main(["disable", "--user"])
    assert not config.exists()


def test_a_link_stays_a_link(config, tmp_path):
    config.parent.mkdir(parents=True)
    (tmp_path / "dotfiles.py").write_text("")
    config.symlink_to(tmp_path / "dotfiles.py")

    main(["enable"])

    assert config.is_symlink()
    assert "kerneldoctor" in (tmp_path / "dotfiles.py").read_text()
    assert [path.name for path in config.parent.iterdir()] == [config.name]


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(config, monkeypatch):
    given(config, "c.x = 1\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)

    assert main(["enable"]) == 1
    assert [path.name for path in config.parent.iterdir()] == [config.name]
    assert config.read_text() == "c.x = 1\n"
