"""docs/recording.md speaks of every file, event and field that there is."""

import importlib.util
from pathlib import Path

import pytest

from jupyter_kerneldoctor.recording import layout

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "recording.md").read_text("utf-8")


def test_the_tables_are_up_to_date():
    spec = importlib.util.spec_from_file_location("recorded_fields", DOCS / "recorded_fields.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.page() == PAGE, "run: python docs/recorded_fields.py"


@pytest.mark.parametrize("name", layout.FILES)
def test_every_file_is_on_it(name):
    assert f"`{name}`" in PAGE
