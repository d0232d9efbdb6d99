"""Pictures, figures and graphs."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import is_gathered, is_method_of, made_by
from .way import LesserWay

_SMALL, _FEW_DOTS = 2048, 150
_AXES = 2
_PAIRS = (
    *("all_pairs_shortest_path_length", "all_pairs_shortest_path", "all_pairs_dijkstra_path_length", "johnson"),
    *("all_pairs_dijkstra_path", "all_pairs_dijkstra", "all_pairs_bellman_ford_path_length", "floyd_warshall"),
)


def _is_made_small(call: Call) -> bool:
    """Whether its line makes a picture of a few dots of it."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Attribute(attr="resize" | "thumbnail"), args=[ast.Tuple(elts=sides), *_]):
                return all(isinstance(one, ast.Constant) and one.value in range(_SMALL) for one in sides)
    return False


def _of_matplotlib(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether a method draws a picture of an array; `cv2.imshow(name, image)` opens a window."""
    name = death.code.qualified(call.node.func, call.scope) or ""
    if not isinstance(call.node.func, ast.Attribute) or name.startswith("cv2"):
        return False
    method, given = call.name.removeprefix("."), [call.scope.operand(one) for one in call.node.args]
    cut = [f"{given[0]}[::10, ::10]"] if given else []
    if len(given) > _AXES:  # x, y and the numbers
        axes = [f"{one}[::10]" for one in given[:_AXES]]
        cut = [*axes, f"{given[_AXES]}[::10, ::10]"]
    about = "  # x and y, too, where they are tables: [::10, ::10]" if len(cut) > 1 else ""
    return {"drawn": f"{call.scope.segment(call.node.func.value)}.{method}({', '.join(cut)}){about}"}


def _resizes_all(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether pictures are resized outside of a pipeline that does that one by one."""
    given = "".join(f", {call.scope.segment(one)}" for one in call.node.args[1:])
    mapped = f"map({call.scope.function}" if call.scope.function else "map(lambda"
    in_pipeline = any(mapped in death.code.source(at) for at in range(len(death.code.cells)))
    return False if in_pipeline or call.scope.loops_around(call.node) else {"rest": given}


def _of_windows(call: Call, death: Death) -> bool:
    """Whether the windows of an image are reshaped: that copies what was a view."""
    match call.node.func:
        case ast.Attribute(attr="reshape", value=owner):
            views = ("view_as_windows", "sliding_window_view", "as_strided")
            return any(name.endswith(views) for name in made_by(owner, call, death))
    return False


def _to_floats(call: Call, death: Death) -> bool:
    """Whether whole images become floats: divided by 255 in the same statement, and not in a network's own method."""
    numbers = (one.value for one in call.scope.inside(call.statement) if isinstance(one, ast.Constant))
    is_batch = call.scope.function in ("forward", "__call__", "__getitem__")
    return death.code.imports("torch") and not is_batch and any(one in (255, 127.5) for one in numbers)


def _scales_bytes(call: Call, death: Death) -> bool:
    """Whether pictures become floats from 0 to 1 for a network of Keras: `x.astype("float32") / 255`."""
    given = call.argument("dtype", 0)
    is_float = given is not None and "float" in call.scope.segment(given)
    if not is_float or not any(map(death.code.imports, ("keras", "tensorflow"))):
        return False
    for one in call.scope.inside(call.statement):
        match one:
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=255 | 127.5)) if left is call.node:
                return True
    name = call.scope.segment(call.statement.targets[0]) if isinstance(call.statement, ast.Assign) else None
    return any(
        isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Div) and call.scope.segment(one.target) == name
        for one in call.scope.nodes
    )


WAYS = (
    LesserWay(
        (".astype",),
        "Keep the bytes, and let the network scale them: Rescaling(1 / 255)",
        "makes four bytes of each, and the division another such array.",
        "{to} = {owner}  # the bytes as they are: a quarter of float32\n"
        "keras.layers.Rescaling(1 / 255)  # the first layer of the network, behind Input: scales batch by batch\n"
        "# or in the pipeline: ds = tf.data.Dataset.from_tensor_slices(({owner}, y)).batch(32)\n"
        "# ds = ds.map(lambda x, y: (tf.cast(x, 'float32') / 255, y))",
        Case(
            "import keras\nimport numpy as np\nphotos = np.zeros((9000, 96, 96, 3), 'uint8')",
            "x = photos.astype('float32') / 255.0",
            says=("layers.Rescaling(1 / 255)",),
        ),
        _scales_bytes,
        silent=(Case("import keras\nimport numpy as np", "x = table.astype('float32')"),),
    ),
    LesserWay(
        (".get_fdata",),
        "Take slices of the volume in its file: dataobj, float32",
        "makes numbers of eight bytes of all voxels, which mostly have two.",
        "part = {owner}.dataobj[..., 0:10]  # some slices; the rest stays in the file\n"
        "volume = {owner}.get_fdata(dtype='float32')  # or all of it, in half",
        Case("import nibabel as nib\nimg = nib.load(p)", "v = img.get_fdata()"),
        lambda call, _death: not call.node.keywords,
    ),
    LesserWay(
        tuple(f"tensorflow.image.{name}" for name in ("resize", "resize_with_pad", "grayscale_to_rgb")),
        "Resize each picture where it is taken: ds.map, or a Resizing layer",
        "makes all pictures at once, in float32: four bytes for each value of the larger size.",
        "ds = tf.data.Dataset.from_tensor_slices((images, labels))\n"
        "ds = ds.map(lambda image, label: ({function}(image{rest}), label)).batch(32).prefetch(1)\n"
        "model.fit(ds)  # or a first layer in the model: keras.layers.Resizing(height, width)",
        Case("import tensorflow as tf", "X = tf.image.resize(X, (96, 96))", says=("resize(image, (96, 96)), label",)),
        _resizes_all,
    ),
    LesserWay(
        ("networkx.to_numpy_array", "networkx.floyd_warshall_numpy"),
        "Keep the graph's matrix sparse: to_scipy_sparse_array",
        "makes a number for each pair of nodes.",
        "A = nx.to_scipy_sparse_array({a0})",
    ),
    LesserWay(
        ("skimage.util.view_as_windows", ".reshape"),
        "Let the windows stay a view: reduce them before they are reshaped",
        "copies each window, and each value as often as a window has values.",
        "means = windows.mean(axis=(-2, -1))  # of the view, nothing is copied\n\n"
        "# what needs whole windows: some rows at a time, or every fourth window\n"
        "for row in windows[::4, ::4]:\n    part = row.reshape(len(row), -1)",
        Case(
            "from skimage.util import view_as_windows",
            "w = view_as_windows(img, (9, 9))\nX = w.reshape(-1, 81)",
            line=2,
        ),
        _of_windows,
    ),
    LesserWay(
        ("cv2.resize", "cv2.warpPerspective", "cv2.warpAffine", "cv2.copyMakeBorder", "PIL.Image.new"),
        "Make the picture smaller, or keep less of each",
        "makes a picture of width x height x 3 bytes, each time.",
        "import cv2\n\nsmall = cv2.resize({a0}, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)  # a sixteenth",
    ),
    LesserWay(
        tuple(f"networkx.{name}" for name in _PAIRS),
        "Take one node after the other: single_source_…",
        "holds an entry for each pair of nodes.",
        "for node in {a0}:\n    lengths = nx.single_source_shortest_path_length({a0}, node)\n"
        "    ...  # keep only what is needed of it; `cutoff=3` looks no further\n\n"
        "# as numbers, a block of nodes at a time\nfrom scipy.sparse.csgraph import dijkstra\n"
        "part = dijkstra(nx.to_scipy_sparse_array({a0}), indices=range(1000), unweighted=True)",
    ),
    LesserWay(
        tuple(f"networkx.{name}" for name in ("all_simple_paths", "find_cliques", "enumerate_all_cliques")),
        "Take one after the other, not a list of all",
        "finds more than can be kept.",
        "for one in {again}:  # `cutoff=4` bounds the paths\n    ...",
        Case(
            "import networkx as nx",
            "p = list(nx.all_simple_paths(G, 1, 2))",
            says=("for one in nx.all_simple_paths(G, 1, 2)",),
        ),
        lambda call, death: is_gathered(call, death) and {"again": " ".join(call.text.split())},
    ),
    LesserWay(
        ("networkx.from_pandas_edgelist", "networkx.read_edgelist", "networkx.complete_graph", "networkx.complement"),
        "Keep a large graph as a sparse matrix",
        "makes dictionaries of dictionaries, some hundred bytes for each edge.",
        "from scipy import sparse\nfrom scipy.sparse import csgraph\n\n"
        "A = sparse.coo_array((np.ones(len(start)), (start, end)), shape=(n, n)).tocsr()  # numbers of the nodes\n"
        "parts, labels = csgraph.connected_components(A)",
    ),
    LesserWay(
        (".imshow", ".pcolormesh", ".pcolor", ".contourf", ".plot_surface", ".matshow"),
        "Draw every tenth row and column: nobody sees more dots than the screen has",
        "copies the data, and makes colours of four numbers for each value.",
        "# a hundredth of it, with your other arguments\n{drawn}",
        Case(
            "import matplotlib.pyplot as plt",
            "plt.pcolormesh(x, y, z + 1)",
            says=("(x[::10], y[::10], (z + 1)[::10, ::10])",),
        ),
        _of_matplotlib,
    ),
    LesserWay(
        (".savefig", "matplotlib.pyplot.savefig"),
        "Save it with fewer dots to the inch, or as PDF",
        "draws width x dpi by height x dpi dots of four bytes, and needs more than one picture of that size.",
        "{owner}.savefig({a0}, dpi=150)\n\n# or lines and texts in place of dots\n{owner}.savefig('figure.pdf')",
        Case("import matplotlib.pyplot as plt", "plt.savefig('a.png', dpi=3000)"),
        lambda call, _death: getattr(call.argument("dpi"), "value", 300) > _FEW_DOTS,
    ),
    LesserWay(
        (
            *("cv2.imread", "PIL.Image.open", "skimage.io.imread", "matplotlib.pyplot.imread", "tifffile.imread"),
            *("imageio.imread", "imageio.v2.imread", "imageio.v3.imread", "matplotlib.image.imread"),
        ),
        "Make each picture small when it is read, or read it when it is needed",
        "reads a picture of width x height x 3 bytes, and all of them are kept.",
        "from PIL import Image\n\ndef pictures(paths):  # one after the other, at most 256 dots wide and high\n"
        "    for path in paths:\n"
        "        with Image.open(path) as picture:\n            picture.thumbnail((256, 256))\n"
        "            yield np.asarray(picture)  # uint8: one byte for each value",
        Case("import cv2", "frames = [cv2.imread(p) for p in paths]"),
        is_gathered,
    ),
    LesserWay(
        (".convert", ".resize", ".rotate", ".filter", ".crop", ".transpose", ".load"),
        "Make the picture smaller before anything else: thumbnail",
        "makes another picture in full, of up to four bytes a dot.",
        "picture = Image.open(path)\npicture.draft('RGB', (2048, 2048))  # a JPEG is read smaller at once\n"
        "picture.thumbnail((2048, 2048))  # in place",
        Case("from PIL import Image\nimg = Image.open('a')", "x = img.convert('RGB')"),
        lambda call, death: not _is_made_small(call) and is_method_of("PIL")(call, death),
    ),
    LesserWay(
        ("seaborn.*", "plotly.express.*", "plotly.graph_objects.*", "altair.Chart"),
        "Draw a sample, or the sums of groups",
        "copies the data into the figure, once for each panel.",
        "few = {of0}.sample(5000)  # nobody sees more points than that\n{function}(few)  # with your other arguments",
        Case("import seaborn as sns", "sns.pairplot(df)"),
        lambda call, _death: not call.name.endswith(("map", "imshow", "set_theme", "set_style")),  # no points
    ),
    LesserWay(
        ("matplotlib.pyplot.hist", ".hist"),
        "Take fewer bins",
        "makes a bar for each bin, with some kilobytes each.",
        "plt.hist({a0}, bins=100)",
        Case("import matplotlib.pyplot as plt", "plt.hist(x, bins=10**8)"),
        lambda call, _death: call.argument("bins") is not None,
    ),
    LesserWay(
        ("matplotlib.pyplot.subplots",),
        "Draw fewer panels to a figure, and close each figure",
        "makes axes with all their ticks for each panel, some hundred kilobytes each.",
        "for at in range(0, len(panels), 20):  # twenty to a figure\n"
        "    fig, axes = plt.subplots(5, 4)\n    ...\n    fig.savefig(f'panels-{{at}}.png')\n    plt.close(fig)",
        Case("import matplotlib.pyplot as plt", "f, a = plt.subplots(100, 100)"),
        lambda call, _death: len(call.node.args) > 1,
    ),
    LesserWay(
        (".float",),
        "Keep the images as uint8, and convert each where it is taken: __getitem__",
        "makes four bytes of each byte, of all images, and the arithmetic on them as much again.",
        "def __getitem__(self, i):\n    return self.images[i].float() / 255, self.labels[i]  # images: uint8",
        Case("import torch", "x = torch.from_numpy(x).permute(0, 3, 1, 2).float() / 255"),
        _to_floats,
    ),
)

GENERAL = (
    LesserWay(
        ("skimage.*", "scipy.ndimage.*"),
        "Work on a smaller picture, or with float32",
        "makes new pictures, most of them of float64: eight bytes for each value.",
        "small = {of0}[::2, ::2].astype('float32')  # half as wide and high, half as exact: an eighth\n"
        "{to} = {function}(small)  # with your other arguments, lengths halved",
        Case("from scipy import ndimage", "out = ndimage.gaussian_filter(img, 3)"),
    ),
)
