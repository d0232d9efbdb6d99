"""Maps, grids of the weather and shapes: rasters, xarray, GeoPandas."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import last_name, plain_names
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import is_method_of, without
from .way import LesserWay, called_object

_MANY = 2  # dimensions of a grid
_OF_GRIDS = ("x", "y", "lat", "lon", "latitude", "longitude", "time")


def _of_points(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the columns of a table by which a grid is asked for points: `ds.sel(lat=df.lat, lon=df.lon)`."""
    if not is_method_of("xarray")(call, death):
        return False
    columns, tables = dict[str, str](), set[str]()
    for word in call.node.keywords:
        match _unpacked(word.value):
            case (
                ast.Attribute(value=ast.Name(id=table))
                | ast.Subscript(value=ast.Name(id=table), slice=ast.Constant(value=str()))
            ) if word.arg is not None and word.arg != "method":
                columns[word.arg] = call.scope.segment(word.value)
                tables.add(table)
    if len(columns) < _MANY or len(tables) != 1:
        return False
    given = ", ".join(f"{name}=xr.DataArray({text}, dims='point')" for name, text in columns.items())
    return {"given": given, "method": call.name.removeprefix(".")}


def _unpacked(node: ast.expr) -> ast.expr:
    """Return the column of `df['lat'].values` or `df.lat.to_numpy()`: xarray takes no Series."""
    match node:
        case ast.Attribute(value=ast.Attribute() | ast.Subscript() as column, attr="values"):
            return column
        case ast.Call(func=ast.Attribute(value=column, attr="to_numpy")):
            return column
    return node


def _by_accessor(call: Call, _death: Death) -> bool:
    """Whether it is a method of rioxarray: `ds.rio.clip(shapes)`."""
    match call.node.func:
        case ast.Attribute(value=ast.Attribute(attr="rio")):
            return True
    return False


def _measures_all(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the other table of shapes, where each shape is measured against all: `a.apply(lambda p: b.distance(p))`."""
    match call.node.args[:1]:
        case [ast.Lambda(args=ast.arguments(args=[own]), body=body)] if death.code.imports("geopandas"):
            for node in walk(body):
                match node:
                    case ast.Call(func=ast.Attribute(attr="distance" | "intersects" | "within", value=other)):
                        named = plain_names(other)
                        if named and own.arg not in named and body is node:
                            return {"others": next(iter(sorted(named)))}
    return False


def _burns(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Say how shapes become bytes: `geometry_mask` gives booleans."""
    is_mask = call.name.endswith("geometry_mask")
    kinds = {"kind": "", "as_bytes": ".astype('uint8')"} if is_mask else {"kind": "dtype='uint8', ", "as_bytes": ""}
    return kinds if call.node.args else False


def _makes_points(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the columns of which a point is made row by row: `df.apply(lambda r: Point(r.x, r.y), axis=1)`."""
    match call.node.args[:1]:
        case [ast.Lambda(body=ast.Call(func=made, args=[x, y]))] if last_name(made) == "Point":
            names = [one.attr if isinstance(one, ast.Attribute) else _text(one) for one in (x, y)]
            is_there = death.code.imports("shapely") or death.code.imports("geopandas")
            return {"x": names[0], "y": names[1]} if all(names) and is_there else False
    return False


def _text(node: ast.expr) -> str:
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


WAYS = (
    LesserWay(
        (".sel", ".interp"),
        "Ask for points, not for all pairs: give both coordinates one dimension",
        "gives a value for each pair of the one coordinate and the other: a grid, not a row of points.",
        "{to} = {owner}.{method}({given}{nearest})  # one value for each point",
        Case(
            "import xarray as xr\nds = xr.open_dataset('a.nc')",
            "a = ds.sel(lat=df['lat'].values, lon=df['lon'].to_numpy(), method='nearest')",
            says=("lat=xr.DataArray(df['lat'].values, dims='point'), lon=xr.DataArray(", ", method='nearest')"),
        ),
        lambda call, death: (
            {**told, "nearest": ", method='nearest'" if call.argument("method") is not None else ""}
            if isinstance(told := _of_points(call, death), dict)
            else False
        ),
        silent=("a = ds.sel(lat=50, lon=9, method='nearest')", "a = ds.sel(lat=other.lat, lon=grid.lon)"),
    ),
    LesserWay(
        ("xarray.open_mfdataset", "xarray.concat", "xarray.merge", "xarray.combine_by_coords"),
        "Join them by place, and only what you need: join='override', preprocess",
        "makes a place for each coordinate of any of them: coordinates that differ by rounding are other ones.",
        "{to} = xr.open_mfdataset(paths, preprocess=lambda one: one[['t2m']],  # your files, and your variables\n"
        "                         combine='nested', concat_dim='time', join='override',  # or join='exact': an error\n"
        "                         data_vars='minimal', coords='minimal', compat='override', chunks={{'time': 100}})",
        Case("import xarray as xr", "ds = xr.open_mfdataset('*.nc')"),
        without("join"),
        silent=("ds = xr.open_mfdataset('*.nc', join='exact')",),
    ),
    LesserWay(
        ("rasterio.merge.merge",),
        "Join them in a file, at a coarser resolution: dst_path, res, gdalbuildvrt",
        "makes one picture around all of them, with nothing between those that are far apart.",
        "{function}({a0}, dst_path='all.tif', mem_limit=500)  # into a file, 500 MB at a time: rasterio 1.4\n"
        "coarse, place = {function}({a0}, res=100)  # or coarser, in units of the map\n"
        "# or a list of the files, which reads what is asked for: gdalbuildvrt all.vrt *.tif",
        Case("from rasterio.merge import merge", "m, t = merge(srcs)"),
        without("dst_path", "res"),
        silent=("m, t = merge(srcs, dst_path='all.tif')",),
    ),
    LesserWay(
        ("rasterio.mask.mask",),
        "Cut out one shape at a time, of one band: crop=True, indexes=1",
        "makes a picture of all bands, around all shapes or of the whole file, with a mask beside it.",
        "for shape in {a1}:  # one at a time\n"
        "    part, _ = {function}({a0}, [shape], crop=True, indexes=1, filled=False)\n"
        "    ...  # keep its mean: what is outside is masked, and does not count",
        Case("from rasterio.mask import mask", "o, t = mask(src, shapes, crop=True)"),
        lambda call, _death: len(call.node.args) > 1,
    ),
    LesserWay(
        ("rasterio.features.rasterize", "rasterio.features.geometry_mask"),
        "Burn the shapes into a window at a time, as bytes",
        "makes a value for each cell of the picture, and a list of all shapes.",
        "from rasterio.windows import Window, transform as part_of\n\n"
        "for row in range(0, height, 2048):  # height, width, transform: those of your picture\n"
        "    window = Window(0, row, width, min(2048, height - row))\n"
        "    part = {function}({a0}, out_shape=(window.height, width), {kind}transform=part_of(window, transform))\n"
        "    out.write(part{as_bytes}, 1, window=window)  # out: a file that is open to write",
        Case("from rasterio.features import rasterize", "r = rasterize(shapes, out_shape=(90_000, 90_000))"),
        _burns,
    ),
    LesserWay(
        ("rasterio.warp.reproject",),
        "Reproject window by window: WarpedVRT",
        "works on all of the old and of the new picture.",
        "from rasterio.vrt import WarpedVRT\n\n"
        "with rasterio.open(path) as src, WarpedVRT(src, crs='EPSG:4326') as warped:  # your file, and your crs\n"
        "    for _, window in warped.block_windows(1):\n"
        "        part = warped.read(1, window=window)  # only this part is worked out",
        Case("from rasterio.warp import reproject", "reproject(a, b)"),
    ),
    LesserWay(
        (".clip", ".reproject", ".reproject_match"),
        "Cut out the box first, and open it in chunks: clip_box, chunks",
        "reads all of the picture, and makes another of it.",
        "import rioxarray\n\nds = rioxarray.open_rasterio('map.tif', chunks={{'x': 2048, 'y': 2048}})  # your file\n"
        "small = ds.rio.clip_box(*shapes.total_bounds)  # reads this box only; shapes: your table of shapes\n"
        "{to} = small.rio.clip(shapes.geometry, from_disk=True)  # or .rio.reproject(crs, resolution=100): coarser",
        Case("import rioxarray\nds = rioxarray.open_rasterio('a.tif')", "c = ds.rio.clip(shapes)"),
        _by_accessor,
        silent=(Case("import pandas as pd\nds = pd.DataFrame(a)", "c = ds.clip(0, 1)\nf()", line=2),),
    ),
    LesserWay(
        (".apply", ".map"),
        "Ask for the nearest only: sjoin_nearest",
        "makes a number for each pair of a shape and another.",
        "import geopandas as gpd\n\n"
        "near = gpd.sjoin_nearest({table}, {others}, distance_col='distance', max_distance=5000)\n"
        "# the nearest of each, in units of the map; who meets whom: gpd.sjoin(..., predicate='intersects')",
        Case("import geopandas as gpd\ng = gpd.read_file('a')", "d = g.geometry.apply(lambda p: shops.distance(p))"),
        _measures_all,
        silent=(
            "d = g.geometry.apply(lambda p: p.distance(home))",
            "d = g.geometry.apply(lambda p: g.distance(p).min())",
        ),
    ),
    LesserWay(
        (".apply",),
        "Make all points at once: gpd.points_from_xy",
        "makes a Series of each row, and an object of each point.",
        "import geopandas as gpd\n\n"
        "points = gpd.points_from_xy({table}['{x}'], {table}['{y}'])\n"
        "{table} = gpd.GeoDataFrame({table}, geometry=points)",
        Case(
            "import pandas as pd\nfrom shapely.geometry import Point\ndf = pd.read_csv('a.csv')",
            "df['geometry'] = df.apply(lambda r: Point(r.lon, r['lat']), axis=1)",
            says=("points_from_xy(df['lon'], df['lat'])",),
        ),
        _makes_points,
    ),
    LesserWay(
        (".explore", "folium.GeoJson", "folium.Choropleth", "lonboard.viz", "keplergl.KeplerGl"),
        "Make the shapes simpler, and show few of them: simplify, sample",
        "writes all corners of all shapes as text into the page.",
        "few = {of0}[['name', 'geometry']].to_crs(3857)  # only what is shown; in metres\n"
        "few['geometry'] = few.geometry.simplify(500)  # no corners nearer than 500 m\n"
        "few.explore()  # of very many, few.sample(5000)",
        Case("import geopandas as gpd\ng = gpd.read_file('a')", "g.explore()", says=("few = g[[",)),
        lambda call, death: (
            (is_method_of("geopandas")(call, death) and {"of0": call.scope.operand(called_object(call))})
            if call.name == ".explore"
            else bool(call.node.args)
        ),
    ),
    LesserWay(
        tuple(f"libpysal.weights.{name}" for name in ("DistanceBand", "DistanceBand.from_dataframe", "Kernel")),
        "Let each shape have its nearest few only: KNN(k=8)",
        "keeps a Python list of all neighbours within the distance: twice as far has four times as many.",
        "from libpysal.weights import KNN\n\n{to} = KNN{of_table}({a0}, k=8)  # eight for each",
        Case("from libpysal.weights import DistanceBand", "w = DistanceBand.from_dataframe(g, 5000)"),
        lambda call, _death: (
            {"of_table": ".from_dataframe" if call.name.endswith("from_dataframe") else ""} if call.node.args else False
        ),
    ),
    LesserWay(
        ("shapely.ops.unary_union", "shapely.ops.cascaded_union", "shapely.unary_union", "shapely.union_all"),
        "Make the shapes simpler, and join them in groups",
        "makes one shape with the corners of all of them.",
        "import shapely\n\nsimple = shapely.simplify({a0}, 10)  # in units of the map: far fewer corners\n"
        "parts = [shapely.union_all(simple[at : at + 1000]) for at in range(0, len(simple), 1000)]\n"
        "shape = shapely.union_all(parts)",
        Case("from shapely.ops import unary_union", "u = unary_union(shapes)"),
        lambda call, _death: bool(call.node.args),
    ),
    LesserWay(
        (".voxelized",),
        "Take larger cells: a larger pitch",
        "makes a cell for each piece of the surface: half the pitch has four times as many.",
        "cells = {owner}.voxelized(pitch={owner}.extents.max() / 200)  # 200 cells along the longest side",
        Case("import trimesh\nm = trimesh.load('a.stl')", "v = m.voxelized(0.001)"),
        lambda _call, death: death.code.imports("trimesh"),
    ),
)
