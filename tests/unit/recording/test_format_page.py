"""docs/recording.md speaks of every file, event and field that there is."""

import ast
import importlib.util
from pathlib import Path

import pytest

from jupyter_kerneldoctor.recording import layout

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGE = (DOCS / "recording.md").read_text("utf-8")


def test_the_tables_are_up_to_date():
    spec = importlib.util.spec_from_file_location("recorded_fields", DOCS / "recorded_fields.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.page() == PAGE, "run: python docs/recorded_fields.py"


@pytest.mark.parametrize("name", layout.FILES)
def test_every_file_is_on_it(name):
    assert f"`{name}`" in PAGE


def events_in_code():
    """The first argument of each call that writes or reads an event by its name, as far as it is a constant."""
    for path in (ROOT / "jupyter_kerneldoctor").glob("[krs]*/**/*.py"):  # kernel, recording, server, sidecar
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = ast.unparse(node.func).rpartition(".")[2]
                if name in ("note", "message", "event", "newest", "all_of") and isinstance(node.args[0].value, str):
                    yield node.args[0].value


def test_every_event_is_on_it():
    events = {*events_in_code(), "cell_start", "cell_queued", "cell_end", "cell_withdrawn"}

    assert len(events) > 25
    assert [event for event in sorted(events) if f"| `{event}` |" not in PAGE and event != "lost"] == []


def test_the_values_of_enumerations_are_on_it():
    assert '| `kind` | "signal" or "exit" or "unknown" |' in PAGE
    assert '"startup" or "magic" or "server"' in PAGE
    assert "Literal" not in PAGE
