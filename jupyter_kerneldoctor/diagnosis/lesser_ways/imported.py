"""The imports that a snippet needs and a notebook does not have."""

import re

from ..death import Death

_MODULES = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "tf": "tensorflow",
    "nx": "networkx",
    **{name: name for name in ("torch", "keras", "xgboost", "json", "tifffile")},
}
"""By the name that snippets use."""


def with_imports(snippet: str, death: Death) -> str:
    """Return a snippet behind the imports of what it names, where no cell imports that package."""
    lines = ""
    for name, module in _MODULES.items():
        is_used = re.search(rf"(?m)^[^#\n]*(?<![\w.'\"]){name}\.", snippet)
        is_there = re.search(rf"(?m)^[^\n]*\bimport [^\n]*\b{name}\b", snippet)
        if is_used and not is_there and not death.code.imports(module.split(".")[0]):
            lines += f"import {module}\n" if name == module else f"import {module} as {name}\n"
    return f"{lines}\n{snippet}" if lines else snippet
