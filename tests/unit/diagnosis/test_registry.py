import importlib
import sys
import textwrap

import pytest

from jupyter_kerneldoctor.diagnosis.registry import Rule, page, rules


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "some_rules"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "second": """
            from jupyter_kerneldoctor.diagnosis.registry import Rule
            from .first import First
            class Second(Rule):
                id = "b"
                title = "B"
        """,
        "first": """
            from jupyter_kerneldoctor.diagnosis.registry import Rule
            class Base(Rule):
                "Has no id."
            class First(Base):
                id = "a"
                title = "A"
        """,
        "_helper": "raise ImportError('not a rule')",
    }.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("some_rules")
    for name in [name for name in sys.modules if name.startswith("some_rules")]:
        del sys.modules[name]


def test_rules_are_found_once_each_and_sorted(package):
    assert [rule.id for rule in rules(package, Rule)] == ["a", "b"]


def test_a_page_is_the_docstring():
    class Example(Rule):
        """One line.

        What it means: This.
        """

        headings = ("What it means",)
        id = "example"
        title = "An example"

    assert page(Example) == "# An example\n\n`example`\n\nOne line.\n\n## What it means\nThis.\n"
    Example.title = "One line"
    assert page(Example) == "# One line\n\n`example`\n\n## What it means\nThis.\n"
