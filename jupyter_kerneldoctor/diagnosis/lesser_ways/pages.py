"""Pages, maps and reports: what a browser gets, and documents that are opened whole, unpacked or downloaded."""

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import is_made_by, is_method_of, without
from .way import LesserWay

_PLOTTED = is_method_of("matplotlib")


def _is_drawn(call: Call, death: Death) -> bool:
    """Whether Matplotlib draws: `plt.plot(x)`, `ax.plot(x)`, not `df.plot(x="a")`."""
    name = death.code.qualified(call.node.func, call.scope) or ""
    return name.startswith("matplotlib.") or _PLOTTED(call, death) is not False


def _unpacked(module: str) -> str:
    """Return how a file of this kind is unpacked piece by piece."""
    if module == "zlib":
        return (
            "import zlib\n\nunpack = zlib.decompressobj()\n"
            "with open('packed', 'rb') as packed, open('data', 'wb') as file:\n"
            "    while part := packed.read(1 << 20):\n        file.write(unpack.decompress(part))"
        )
    ending = {"gzip": "gz", "bz2": "bz2", "lzma": "xz"}[module]
    return (
        f"import {module}, shutil\n\nwith {module}.open('data.{ending}') as packed, open('data', 'wb') as file:\n"
        "    shutil.copyfileobj(packed, file)  # or: for line in packed"
    )


WAYS = (
    LesserWay(
        ("folium.Marker", "folium.CircleMarker", "folium.Circle"),
        "Give the map one layer of all points: FastMarkerCluster",
        "makes an object, a name and a piece of a page for each point.",
        "from folium.plugins import FastMarkerCluster\n\n"
        "FastMarkerCluster(points[['lat', 'lon']].values.tolist()).add_to(m)  # one layer; or HeatMap, or a sample",
        Case("import folium", "for p in ps:\n    folium.Marker(p).add_to(m)"),
    ),
    LesserWay(
        ("ydata_profiling.ProfileReport", "pandas_profiling.ProfileReport"),
        "Ask for less of the report: minimal=True, and the first rows",
        "compares all columns with each other, and keeps tables of all values.",
        "report = {function}({of0}.head(20_000), minimal=True)  # no correlations, no pairs",
        Case("from ydata_profiling import ProfileReport", "ProfileReport(df)"),
        lambda call, _death: bool(call.node.args) and call.argument("minimal") is None,
    ),
    LesserWay(
        (".readtext",),
        "Read a smaller picture, some lines at a time: canvas_size, batch_size",
        "looks for letters in a picture of up to 2,560 dots on a side, in numbers of four bytes, layer by layer.",
        "found = {owner}.readtext({a0}, canvas_size=1280, batch_size=1)  # a quarter of the dots\n"
        "found = {owner}.readtext(picture[0:1000])  # or a strip of the page at a time; picture: an array",
        Case("import easyocr\nr = easyocr.Reader(['en'])", "t = r.readtext('page.png')"),
        without("canvas_size"),
        silent=("t = r.readtext('page.png', canvas_size=900)",),
    ),
    LesserWay(
        ("pdf2image.convert_from_path",),
        "Take one page at a time, at a lower resolution",
        "makes a picture of each page, and keeps all of them.",
        "from pdf2image import convert_from_path, pdfinfo_from_path\n\n"
        "for page in range(1, pdfinfo_from_path({a0})['Pages'] + 1):\n"
        "    [image] = convert_from_path({a0}, dpi=150, first_page=page, last_page=page)\n    ...",
    ),
    LesserWay(
        ("pdfplumber.open", "fitz.open", "pypdf.PdfReader", "PyPDF2.PdfReader", "pdfminer.high_level.extract_pages"),
        "Take the text of one page at a time, and close the file: with, page.extract_text()",
        "keeps the objects of each page that was looked at, until the file is closed.",
        "import pdfplumber\n\nwith pdfplumber.open({a0}) as pdf:\n    for page in pdf.pages:  # one page at a time\n"
        "        text = page.extract_text()  # keep the text, or a count, not the page\n"
        "        page.close()  # forgets its objects; behind the loop `with` closes the file",
    ),
    LesserWay(
        ("xml.dom.minidom.parse", "xml.dom.minidom.parseString", "xmltodict.parse"),
        "Take one element at a time: iterparse",
        "makes objects of all elements, many times the size of the file.",
        "import xml.etree.ElementTree as ET\n\nfor event, element in ET.iterparse(path):\n"
        "    if element.tag == 'item':  # with your tag\n        ...  # use it\n        element.clear()",
    ),
    LesserWay(
        ("osmnx.graph_from_place", "osmnx.graph_from_polygon"),
        "Ask for a smaller place, and only the roads you need",
        "keeps a Python dict for each piece of each way.",
        '{to} = {function}({a0}, custom_filter=\'["highway"~"motorway|trunk|primary"]\')\n'
        "# a district in place of a country; for a whole country read its .osm.pbf with pyrosm or osmium",
        Case("import osmnx as ox", "G = ox.graph_from_place('Germany')"),
        without("custom_filter"),
        silent=("G = ox.graph_from_place('Ulm', custom_filter=f)",),
    ),
    LesserWay(
        (".add_edge",),
        "Add only the edges that count: those below a bound, or the nearest",
        "keeps a dict for each edge, twice where they have no direction: some 500 bytes.",
        "edges = [(i, j) for i, j in pairs if weight(i, j) < bound]  # or KDTree.query_pairs(r)\n\n"
        "from scipy import sparse\n\nA = sparse.coo_array((weights, (rows, columns))).tocsr()  # 12 bytes for an edge",
        Case(
            "import networkx as nx\nG = nx.Graph()",
            "for i in range(n):\n    for j in range(n):\n        G.add_edge(i, j)",
        ),
        is_made_by("networkx.Graph", "networkx.DiGraph", "networkx.MultiGraph"),
    ),
    LesserWay(
        ("zlib.decompress", "gzip.decompress", "bz2.decompress", "lzma.decompress"),
        "Unpack piece by piece",
        "unpacks everything at once, beside the packed bytes.",
        "{lines}",
        Case("import gzip", "raw = gzip.decompress(packed)", says=("gzip.open('data.gz')",)),
        lambda call, _death: {"lines": _unpacked(call.name.partition(".")[0])},
    ),
    LesserWay(
        ("requests.get", "urllib.request.urlopen"),
        "Write the download to a file as it comes: stream=True",
        "keeps all that the server sends.",
        "with requests.get({a0}, stream=True) as response, open('download', 'wb') as file:\n"
        "    for part in response.iter_content(1 << 20):\n        file.write(part)",
    ),
)

GENERAL = (
    LesserWay(
        tuple(
            f"{owner}.{name}"
            for owner in ("matplotlib.pyplot", "")
            for name in ("plot", "scatter", "hist", "bar", "stem", "fill_between", "quiver", "eventplot")
        ),
        "Draw every hundredth, or count first: hist2d, np.histogram",
        "makes a point, a line or a bar of each number, several times over.",
        "{function}({of0}[::100], ...)  # the same of each array; a screen has two million points in all\n\n"
        "import numpy as np\n\ncounts, edges = np.histogram({a0}, bins=200)  # or count first: 200 bars of any number\n"
        "plt.stairs(counts, edges)",
        Case("import matplotlib.pyplot as plt", "plt.scatter(xs, ys)"),
        lambda call, death: bool(call.node.args) and _is_drawn(call, death),
    ),
    LesserWay(
        ("pandas.DataFrame.plot", "pandas.Series.plot", "pandas.DataFrame.boxplot"),
        "Draw every hundredth row, or the mean of each day",
        "makes a point of each row, and a line with all of them for each column.",
        "{owner}.iloc[::100].plot()  # with your other arguments; a screen is two thousand dots wide\n"
        "{owner}.resample('D').mean().plot()  # or means, where the index is a time",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.plot()"),
        lambda call, _death: ".iloc[::" not in call.text and ".sample(" not in call.text,
    ),
)
