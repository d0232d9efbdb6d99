import ast

from ...calls import nodes_at
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote

_READERS = ("h5py", "netCDF4", "zarr", "tables", "xarray", "rasterio", "nibabel")
_ARRAYS = ("numpy.array", "numpy.asarray")
_H5 = "import h5py\nf = h5py.File('a.h5')"


class ReadASlice(Fix):
    """Read a part of the file's array at a time.

    What it does: `file["images"][:]` reads the whole array of an HDF5, NetCDF or Zarr file. Without the `[:]` it stays
    in the file; `file["images"][0:1000]` reads a thousand rows. The snippet goes through them in a loop.

    When it is offered: Memory ran out on a line that takes all of an array with `[:]`, `[...]` or `np.array()`, and one
    of these libraries is used.

    What it costs: Sums and means have to be put together of parts.
    """

    id, title, causes = "read-a-slice", "Read a part of the file's array at a time", (Family.MEMORY,)

    FIRES = [
        Case(_H5, "x = f['images'][:]", says=("f['images'][at : at + 1000]", "stays in the file")),
        Case(_H5 + "\nimport numpy as np", "x = np.array(f['images'])", says=("data = f['images']",)),
        Case("from netCDF4 import Dataset\nd = Dataset('a.nc')", "t = d.variables['t'][...]", says=("['t'][at :",)),
    ]
    SILENT = [
        Case(_H5, "x = f['images'][:10]"),
        Case("f = load()", "x = f['images'][:]"),
        Case(_H5, "x = names[:]\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.Subscript, ast.Call) if any(map(death.code.imports, _READERS)) else ():
            whole = _whole(node, scope, death)
            if whole is not None:
                text = scope.segment(whole)
                yield Proposal(
                    (),
                    f"{quote(scope.segment(node))} reads all of the array. Without that it stays in the file, and "
                    "a slice reads only its own rows.",
                    death.memory.missing_bytes,
                    snippet=f"data = {text}  # stays in the file\nfor at in range(0, len(data), 1000):\n"
                    f"    part = {text}[at : at + 1000]  # 1,000 rows are read\n"
                    "    ...  # keep a sum or a count of it",
                )
                return


def _whole(node: ast.AST, scope: Scope, death: Death) -> ast.expr | None:
    """Return what is read in full: `x` of `x[:]`, `x[...]`, `x[()]`, `np.array(x["name"])`."""
    match node:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=None), ctx=ast.Load()):
            return value
        case ast.Subscript(value=value, slice=ast.Constant(value=inner), ctx=ast.Load()) if inner is ...:
            return value
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[]), ctx=ast.Load()):
            return value
        case ast.Call(func=function, args=[ast.Subscript(slice=ast.Constant(value=str())) as value]):
            return value if death.code.qualified(function, scope) in _ARRAYS else None
    return None
