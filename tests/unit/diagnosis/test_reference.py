"""The reference is generated from the rules, and what is committed is what they say."""

from pathlib import Path

import pytest

from jupyter_kerneldoctor.diagnosis import reference

PAGES = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("kind", ["causes", "fixes"])
def test_the_committed_page_is_up_to_date(kind):
    written = (PAGES / f"{kind}.md").read_text(encoding="utf-8")
    assert written == reference.whole_page(kind), "run: python -m jupyter_kerneldoctor.diagnosis.reference"


def test_the_page_of_one_rule():
    page = reference.pages("causes")["oom-cgroup"]
    assert page.startswith("# Out of memory: a container or session limit\n")
    assert "## How it is recognised\n" in page
    assert "\n---" not in page


def test_main_writes_both_pages(tmp_path):
    reference.main(str(tmp_path / "new"))
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["causes.md", "fixes.md"]
