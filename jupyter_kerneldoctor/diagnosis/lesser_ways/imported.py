"""The imports that a snippet needs and a notebook does not have."""

import re

from ..death import Death

_MODULES = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "tf": "tensorflow",
    "nx": "networkx",
    "gpd": "geopandas",
    "xr": "xarray",
    "px": "plotly.express",
    "smf": "statsmodels.formula.api",
    **{name: name for name in ("torch", "keras", "xgboost", "json", "tifffile", "re", "random", "zlib", "scipy")},
    **{name: name for name in ("lightgbm", "catboost", "gensim", "cv2", "librosa", "sqlite3", "pickle", "anndata")},
    **{name: name for name in ("category_encoders", "hdbscan", "rasterio", "shap", "umap", "GPy", "obspy", "requests")},
}
"""By the name that snippets use."""


def with_imports(snippet: str, death: Death) -> str:
    """Return a snippet behind the imports of what it names, where no cell gave that a name."""
    lines = ""
    for name, module in _MODULES.items():
        is_used = re.search(rf"(?m)^(?!from |import )[^#\n]*(?<![\w.'\"]){name}\.", snippet)
        is_there = re.search(rf"(?m)^[^#\n]*\bimport [^\n]*\b{name}\b(?![\w.]* as\b)", snippet)
        if is_used and not is_there and not _is_bound(name, death):
            lines += _written(name, module, death)
    return f"{lines}\n{snippet}" if lines else snippet


def _is_bound(name: str, death: Death) -> bool:
    scope = death.code.running_module
    return scope is not None and death.code.lookup(name, scope) is not None


def _written(name: str, module: str, death: Death) -> str:
    if name == "keras" and death.code.imports("tensorflow"):
        return "from tensorflow import keras\n"
    return f"import {module}\n" if name == module else f"import {module} as {name}\n"
