"""The example of docs/reference/python.md runs."""

import re
from pathlib import Path

from support.handwritten import write_recording

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "python.md"


def test_the_example_prints_the_death(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    write_recording(1)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)

    exec(code, {})

    assert "segfault" in capsys.readouterr().out
