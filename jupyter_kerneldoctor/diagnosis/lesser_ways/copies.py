"""Copies of pictures, arrays and pairs that are made where a part, a view or a count is enough."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import given, is_method_of, made_by, where_it_grew, without
from .way import LesserWay, called_object, names

_PIL = "from PIL import Image\nimport numpy as np\n"
_AS_FLOATS = (
    *("skimage.transform.resize", "skimage.transform.rescale", "skimage.color.rgb2gray", "skimage.color.rgb2hsv"),
    *("skimage.util.img_as_float", "skimage.util.img_as_float64", "skimage.img_as_float"),
)
_WITHOUT_FLOATS = {
    "resize": "cv2.resize({a0}, (224, 224), interpolation=cv2.INTER_AREA)",
    "rescale": "cv2.resize({a0}, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)",
    "rgb2gray": "cv2.cvtColor({a0}, cv2.COLOR_RGB2GRAY)",
    "rgb2hsv": "cv2.cvtColor({a0}, cv2.COLOR_RGB2HSV_FULL)",
}
_LONGEST = 60


def _is_kept(call: Call, _death: Death) -> bool:
    """Whether it is called for each of many, and what it gives is kept."""
    for node in walk(call.statement):
        match node:
            case ast.ListComp(elt=item) if any(one is call.node for one in walk(item)):
                return True
            case ast.Call(func=ast.Attribute(attr="append")) if call.scope.loops_around(call.node):
                return any(one is call.node for one in walk(node))
    return False


def _as_bytes(call: Call, death: Death) -> bool | Mapping[str, str]:
    if not _is_kept(call, death):
        return False
    result = " ".join(call.text.split())
    same = _WITHOUT_FLOATS.get(last_name(call.node.func) or "", "{a0}").format(**names(call))
    return {"result": result if len(result) < _LONGEST else "picture", "same": same}


def _is_picture(call: Call, death: Death) -> bool:
    """Whether a picture becomes an array outside of loops."""
    is_many = call.scope.loops_around(call.node) or _is_kept(call, death) or not call.scope.is_cell
    opened = call.node.args[0] if call.node.args else None
    is_small = any(map(death.code.has_text, (".resize(", ".thumbnail(", ".crop(", ".draft(", ".reduce(")))
    if is_many or opened is None or is_small:
        return False
    return any(name in ("PIL.Image.open", "Image.open") for name in made_by(opened, call, death))


def _in_place(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give the change in place of `x = np.where(mask, x, 0)` or `x = np.where(mask, 0, x)`: what was before is gone."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.Call(args=[mask, one, other]) as whole):
            if whole is not call.node:
                return False
        case _:
            return False
    condition = " ".join(call.scope.segment(mask).split())
    for kept, new, sign in ((one, other, "~"), (other, one, "")):
        if isinstance(kept, ast.Name) and kept.id == to and len(condition) < _LONGEST:
            is_plain = isinstance(mask, ast.Name | ast.Call)
            shown = condition if is_plain or not sign else f"({condition})"
            return {"change": f"np.copyto({to}, {call.scope.segment(new)}, where={sign}{shown})"}
    return False


def _pairs_in_groups(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the groups of which all pairs are made: `groups.apply(lambda g: list(combinations(g, 2)))`."""
    if call.name == ".add_edges_from":
        given_pairs = call.node.args[:1]
    else:
        given_pairs = [one.body for one in call.node.args[:1] if isinstance(one, ast.Lambda)]
    for node in (inner for one in given_pairs for inner in walk(one)):
        match node:
            case ast.Call(func=made, args=[_, ast.Constant(value=2)]) if last_name(made) in (
                "combinations",
                "permutations",
            ):
                return death.code.imports("itertools")
    return False


def _takes_few(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give the scores of which each row is sorted, to take a few: `np.argsort(-S, axis=1)[:, :10]`."""
    axis = call.argument("axis", 1)
    if not isinstance(axis, ast.Constant) or axis.value != 1 or call.name != "numpy.argsort":
        return False
    for node in walk(call.statement):
        match node:
            case ast.Subscript(value=whole, slice=ast.Tuple(elts=[ast.Slice(), ast.Slice(lower=low, upper=high)])):
                if whole is not call.node or (low is None) == (high is None):
                    continue
                few = high if low is None else low.operand if isinstance(low, ast.UnaryOp) else None
                if few is None or isinstance(few, ast.UnaryOp):
                    continue  # all but the first, or but the last
                scores, is_turned = call.node.args[0], low is not None
                if isinstance(scores, ast.UnaryOp) and isinstance(scores.op, ast.USub):
                    scores, is_turned = scores.operand, not is_turned
                sign = "-" if is_turned else ""
                return {"scores": call.scope.segment(scores), "sign": sign, "few": call.scope.segment(few)}
    return False


def _of_lines(call: Call, death: Death) -> bool:
    """Whether a table is made of a record on each line: `pd.DataFrame(json.loads(line) for line in file)`."""
    match call.node.args[:1]:
        case [ast.ListComp(elt=made) | ast.GeneratorExp(elt=made)]:
            return isinstance(made, ast.Call) and death.code.qualified(made.func, call.scope) == "json.loads"
    return False


WAYS = (
    LesserWay(
        _AS_FLOATS,
        "Keep the pictures as bytes: cv2.resize, astype('uint8')",
        "gives numbers of eight bytes, where the picture has one for each.",
        "kept = ({result} * 255).astype('uint8')  # a byte for each value again; from 0 to 1 it was\n"
        "kept = {same}  # or without floats at all\n"
        "# all of them: one array np.empty((n, 224, 224, 3), 'uint8'), filled one by one",
        Case("from skimage import transform", "small = [transform.resize(one, (224, 224)) for one in pictures]"),
        _as_bytes,
        silent=("small = transform.resize(picture, (224, 224))\nf(big)",),
    ),
    LesserWay(
        ("numpy.array", "numpy.asarray"),
        "Make the picture small, or cut a part, before it becomes an array: thumbnail, crop",
        "unpacks the whole picture: a byte for each colour of each dot, whatever the file takes.",
        "im = Image.open(path)  # your file: nothing is read yet\n"
        "im.draft('RGB', (2000, 2000))  # a JPEG is read smaller\n"
        "im.thumbnail((2000, 2000))  # at most so many dots\npart = np.asarray(im)\n\n"
        "part = np.asarray(Image.open(path).crop((0, 0, 2000, 2000)))  # or a part: left, top, right, bottom\n"
        "# that unpacks the picture once, not three times; rasterio reads a window of a TIFF alone",
        Case(_PIL + "im = Image.open('map.tif')", "a = np.array(im)"),
        _is_picture,
        silent=("a = np.array(im.resize((9, 9)))\nf(big)",),
    ),
    LesserWay(
        (".save",),
        "Write frame after frame: imageio.get_writer, append_data",
        "keeps all frames, to write what differs from one to the next.",
        "import imageio.v2 as imageio\n\nwith imageio.get_writer('film.mp4', fps=20) as writer:  # no GIF\n"
        "    for frame in frames:  # one after the other: make each when it is written\n"
        "        writer.append_data(np.asarray(frame))",
        Case(_PIL, "frames[0].save('a.gif', save_all=True, append_images=frames[1:])"),
        lambda call, death: death.code.imports("PIL") and call.argument("append_images") is not None,
        silent=("im.save('a.png')",),
    ),
    LesserWay(
        (".detectAndCompute", ".detect"),
        "Look for points in a smaller picture: resize, ORB",
        "works on copies of the picture in many sizes, in float32; SIFT begins with one twice as wide and high.",
        "small = cv2.resize({a0}, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)  # a sixteenth of the dots\n"
        "points, descriptors = cv2.ORB_create(5000).detectAndCompute(small, None)  # 32 bytes for each point",
        Case("import cv2\nsift = cv2.SIFT_create()", "k, d = sift.detectAndCompute(img, None)"),
        is_method_of("cv2"),
    ),
    LesserWay(
        ("sklearn.feature_extraction.image.extract_patches_2d",),
        "Take some of the patches, or a view of them: max_patches, sliding_window_view",
        "copies each dot as often as a patch has dots.",
        "{to} = {function}({a0}, {a1}, max_patches=10_000, random_state=0)  # ten thousand of them\n"
        "view = np.lib.stride_tricks.sliding_window_view({a0}, {a1}, axis=(0, 1))  # or all, without a copy",
        Case(
            "from sklearn.feature_extraction.image import extract_patches_2d",
            "p = extract_patches_2d(img, (9, 9))",
        ),
        lambda call, _death: len(call.node.args) == 2 and call.argument("max_patches", 2) is None,
        silent=("p = extract_patches_2d(img, (9, 9), max_patches=900)\nf(big)",),
    ),
    LesserWay(
        ("skimage.transform.hough_circle",),
        "Look for fewer radii, in a smaller picture",
        "makes a picture of eight bytes a dot for each radius.",
        "small = {of0}[::2, ::2]  # half as wide and high, and so are the radii\n"
        "found = {function}(small, np.arange(5, 50, 5))  # of 10 to 100 before, every tenth",
        Case("from skimage.transform import hough_circle", "h = hough_circle(edges, np.arange(10, 500))"),
        lambda call, _death: bool(call.node.args),
    ),
    LesserWay(
        ("numpy.where",),
        "Change the array itself: np.copyto(where=), no second array",
        "makes another array, beside the old one.",
        "{change}  # in the array itself; the old numbers are gone",
        Case("import numpy as np", "x = np.where(x > 0, x, 0)", line=1, says=("np.copyto(x, 0, where=~(x > 0))",)),
        where_it_grew(_in_place),
        silent=("y = np.where(x > 0, 1, 0)\nf(big)",),
    ),
    LesserWay(
        (".apply", ".agg", ".add_edges_from"),
        "Count the pairs of one group after the other, and leave out the largest groups",
        "makes all pairs of each group: one of 10,000 members has 50 million.",
        "from collections import Counter\nfrom itertools import combinations\n\ncounts = Counter()\n"
        "for members in groups:  # of a table: for _, members in df.groupby('order')['item']\n"
        "    if len(members) < 200:  # a very large group says little about each of its pairs\n"
        "        counts.update(combinations(sorted(set(members)), 2))\n"
        "pairs = [(a, b, n) for (a, b), n in counts.items() if n > 1]  # those that occur again",
        Case(
            "import pandas as pd\nfrom itertools import combinations\ndf = pd.DataFrame(a)",
            "p = df.groupby('order')['item'].apply(lambda one: list(combinations(one, 2)))",
        ),
        _pairs_in_groups,
        silent=("p = df.groupby('order')['item'].apply(lambda one: len(one))",),
    ),
    LesserWay(
        ("mdtraj.load", "mdtraj.load_xtc", "mdtraj.load_dcd"),
        "Read every tenth frame, of the atoms you need: stride, atom_indices, iterload",
        "reads all frames, with twelve bytes for each atom.",
        "import mdtraj as md\n\n"
        "few = {function}({a0}, top=top, stride=10, atom_indices=atoms)  # atoms: top.topology.select('name CA')\n"
        "for part in md.iterload({a0}, top=top, chunk=100):  # or a hundred frames at a time\n    ...",
        Case("import mdtraj as md", "t = md.load('a.xtc', top='a.pdb')"),
        without("stride", "atom_indices"),
        silent=("t = md.load('a.xtc', top='a.pdb', stride=10)\nf(big)",),
    ),
    LesserWay(
        ("mne.time_frequency.tfr_morlet", "mne.time_frequency.tfr_multitaper"),
        "Keep every tenth sample, of a few channels and frequencies: decim, picks, average=True",
        "makes a number of eight bytes for each sample, frequency, channel, and for each epoch without a mean.",
        "few = np.geomspace(4, 40, 12)  # twelve frequencies\n"
        "less = dict(decim=10, picks=['Cz', 'Pz'], average=True, return_itc=False)  # with your channels\n"
        "{to} = {function}({a0}, few, n_cycles=few / 2, **less)",
        Case("import mne", "t = mne.time_frequency.tfr_morlet(epochs, freqs, 7)"),
        without("decim"),
    ),
    LesserWay(
        ("anndata.concat",),
        "Keep the genes that all of them have, or join them in a file: join='inner', concat_on_disk",
        "makes a column for each gene of any of them with `join='outer'`, full where one of them is.",
        "from anndata.experimental import concat_on_disk\n\n"
        "{to} = {function}({a0}, join='inner')  # genes that all have\n"
        "concat_on_disk(paths, 'all.h5ad', join='inner')  # or from file to file; paths: your .h5ad files",
        Case("import anndata as ad", "a = ad.concat(parts, join='outer')"),
        given("outer", "join"),
        silent=("a = ad.concat(parts)\nf(big)",),
    ),
    LesserWay(
        (".to_df",),
        "Take some genes: adata[:, genes].to_df()",
        "makes a full table of all genes of all cells, most of them zero.",
        "{to} = {owner}[:, ['CD3D', 'CD8A']].to_df()  # with your genes\n"
        "mean = {owner}.X.mean(axis=0)  # sums and means need no table",
        Case("import scanpy as sc\nadata = sc.read_h5ad('a')", "t = adata.to_df()"),
        lambda call, death: (
            (death.code.imports("scanpy") or death.code.imports("anndata"))
            and isinstance(called_object(call), ast.Name | ast.Attribute)
        ),
        silent=("t = adata[:, ['CD3D']].to_df()\nf(big)",),
    ),
    LesserWay(
        ("numpy.argsort", "numpy.sort"),
        "Keep the few best of some rows at a time: argpartition",
        "makes a number of eight bytes for the place of each, to take a few of them.",
        "few = []\nfor part in np.array_split({scores}, 100):  # a hundredth of the rows at a time\n"
        "    few.append(np.argpartition({sign}part, {few}, axis=1)[:, :{few}].astype('int32'))  # in no order\n"
        "best = np.concatenate(few)",
        Case("import numpy as np", "best = np.argsort(-S, axis=1)[:, :10]", says=("np.argpartition(-part, 10",)),
        _takes_few,
        silent=("order = np.argsort(-S, axis=1)\nf(big)", "rest = np.argsort(S, axis=1)[:, 5:]\nf(big)"),
    ),
    LesserWay(
        ("pandas.DataFrame", "pandas.DataFrame.from_records"),
        "Read the lines some at a time: read_json(lines=True, chunksize)",
        "makes a dict of Python objects of each line first, and keeps all of them.",
        "parts = []\nfor part in pd.read_json(path, lines=True, chunksize=10_000):  # your file\n"
        "    parts.append(part[['the columns', 'you need']])  # or a sum of them\n{to} = pd.concat(parts)",
        Case("import json\nimport pandas as pd", "df = pd.DataFrame(json.loads(line) for line in open('a.jsonl'))"),
        _of_lines,
        silent=("df = pd.DataFrame(make(line) for line in open('a.txt'))\nf(big)",),
    ),
    LesserWay(
        ("mne.Epochs",),
        "Leave the epochs in the file, of fewer samples and channels: preload=False, decim",
        "copies each epoch as numbers of eight bytes with `preload=True`; those that overlap more than once.",
        "{to} = mne.Epochs({a0}, {a1}, preload=False, decim=5, picks=['Cz', 'Pz'])  # with your other arguments\n"
        "mean = {to}.average()  # reads one epoch after the other",
        Case("import mne", "e = mne.Epochs(raw, events, preload=True)"),
        lambda call, death: given(True, "preload")(call, death) is True and len(call.node.args) > 1,
        silent=("e = mne.Epochs(raw, events)\nf(big)",),
    ),
    LesserWay(
        ("sklearn.neighbors.radius_neighbors_graph", "sklearn.neighbors.kneighbors_graph"),
        "Link fewer neighbours, some rows at a time: a smaller radius, n_neighbors=10",
        "keeps two numbers for each neighbour of each row: twice the radius has four times as many, or more.",
        "from sklearn.neighbors import NearestNeighbors\n\nsearch = NearestNeighbors(n_neighbors=10).fit({a0})\n"
        "for at in range(0, {of0}.shape[0], 1000):\n"
        "    near = search.kneighbors({of0}[at : at + 1000], return_distance=False).astype('int32')\n"
        "    ...  # ten numbers for each row: the first is its own",
        Case("from sklearn.neighbors import radius_neighbors_graph", "G = radius_neighbors_graph(X, 5)"),
        lambda call, _death: bool(call.node.args),
    ),
)
