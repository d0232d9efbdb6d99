"""The reference is generated from the rules, and what is committed is what they say."""

from pathlib import Path

import pytest

from jupyter_kerneldoctor.diagnosis import reference

PAGES = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("kind", ["causes", "fixes"])
def test_the_committed_page_is_up_to_date(kind):
    texts = reference.files(kind)
    written = {name: (PAGES / name).read_text(encoding="utf-8") for name in texts if (PAGES / name).exists()}
    assert written == texts, "run: python -m jupyter_kerneldoctor.diagnosis.reference"


def test_each_page_is_of_a_fix_that_is():
    names = {f"fixes/{path.name}" for path in (PAGES / "fixes").iterdir()}
    assert names == reference.files("fixes").keys() - {"fixes.md"}


def test_the_page_of_one_rule():
    page = reference.pages("causes")["oom-cgroup"]
    assert page.startswith("# Out of memory: a container or session limit\n")
    assert "## How it is recognised\n" in page
    assert "\n---" not in page


def test_main_writes_all_pages_and_removes_those_that_are_no_more(tmp_path):
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "gone.md").touch()
    reference.main(str(tmp_path))
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")}
    assert found == {*reference.files("causes"), *reference.files("fixes")}
