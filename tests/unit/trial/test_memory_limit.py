"""A control group in which no limit can be set is not left behind."""

from pathlib import Path

import pytest

from jupyter_kerneldoctor.trial import memory_limit


@pytest.mark.parametrize("make", [memory_limit._cgroup_v1, memory_limit._cgroup_v2])
def test_a_group_without_its_limit_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make):
    group = tmp_path / "group"
    group.mkdir()
    monkeypatch.setattr(memory_limit, "_make_group", lambda *given: group)
    monkeypatch.setattr(Path, "exists", lambda path: True)
    monkeypatch.setattr(Path, "write_text", _refused)

    with pytest.raises(PermissionError):
        make(1 << 30)

    assert list(tmp_path.iterdir()) == []


def _refused(path: Path, text: str) -> None:
    raise PermissionError(f"{path}: {text}")
