"""The documentation site, built by `make docs` into build/docs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = json.loads((ROOT / "package.json").read_text("utf-8"))["repository"]["url"]

project = "KernelDoctor"
author = "KernelDoctor contributors"
extensions = ["myst_parser"]
exclude_patterns = ["generated/http.md", "generated/event.md", "generated/post_mortem.md"]  # parts of other pages
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
suppress_warnings = ["misc.highlighting_failure"]  # cells have magics and `…`, which are no Python
linkcheck_ignore = [f"{ADDRESS.removeprefix('git+').removesuffix('.git')}.*"]

html_theme = "pydata_sphinx_theme"
html_title = "KernelDoctor"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_end": [],
}


def setup(app: Sphinx) -> None:
    """Put the generated page of each fix below the list of fixes."""

    def add_pages(_: Sphinx, page: str, text: list[str]) -> None:
        if page == "fixes":
            text[0] += "\n```{toctree}\n:hidden:\n:glob:\n\nfixes/*\n```\n"

    app.connect("source-read", add_pages)
