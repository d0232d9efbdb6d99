"""The addresses and the README that the package index shows, absolute, from `repository` in package.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Metadata(MetadataHookInterface):
    """Called by hatchling, see pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what `dynamic` announces."""
        root = Path(self.root)
        repository = json.loads((root / "package.json").read_text("utf-8"))["repository"]["url"]
        address = repository.removeprefix("git+").removesuffix(".git")
        metadata["urls"] = {
            "Source": address,
            "Issues": f"{address}/issues",
            "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
        }
        readme = absolute_links((root / "README.md").read_text("utf-8"), address)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def absolute_links(markdown: str, address: str) -> str:
    """Return the text with each link to a file of the repository, and each picture, at its address there."""
    pictures = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\1{address}/raw/HEAD/", markdown)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\1{address}/blob/HEAD/", pictures)
