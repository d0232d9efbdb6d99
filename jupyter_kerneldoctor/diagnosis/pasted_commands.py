"""What may stand in a command that people paste: what a recording says is no command, and no package to install."""

import re
import shlex

_EXPANDED = re.compile(r"[{}$]")  # IPython puts values into a line with `!` or `%` before a shell sees it

_SAME_NAME = frozenset(
    (
        *("av", "bokeh", "bottleneck", "catboost", "cffi", "contourpy", "cryptography", "cvxpy", "Cython"),
        *("dask", "datasets", "distributed", "duckdb", "fastparquet", "fiona", "gensim", "geopandas", "h5py"),
        *("ipykernel", "jax", "jaxlib", "joblib", "jupyter_client", "jupyter_core", "keras", "lightgbm"),
        *("llvmlite", "lxml", "matplotlib", "netCDF4", "numba", "numexpr", "numpy", "open3d", "openpyxl"),
        *("pandas", "polars", "psutil", "psycopg2", "pyarrow", "pyfftw", "pyproj", "pyvista", "rasterio", "scipy"),
        *("sentencepiece", "shap", "shapely", "spacy", "statsmodels", "tensorflow", "tokenizers", "torch"),
        *("torchaudio", "torchvision", "tornado", "traitlets", "transformers", "vtk", "xarray", "xgboost", "zarr"),
    )
)
_OTHER_NAME = {
    "IPython": "ipython",
    "PIL": "pillow",
    "cv2": "opencv-python",
    "faiss": "faiss-cpu",
    "grpc": "grpcio",
    "ipykernel_launcher": "ipykernel",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}


def distribution(module: str | None) -> str | None:
    """Return what the package index calls the package of a module; None for one that is not well known.

    A module of the user's own may have the name of somebody else's package there.
    """
    return module if module in _SAME_NAME else _OTHER_NAME.get(module or "")


def shell_word(text: str) -> str | None:
    """Return a text as one word of a line that begins with `!`; None where it cannot be one."""
    if not text.isprintable() or _EXPANDED.search(text):
        return None
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
