"""Figures, films and texts of pages: an object for each bar, cell, face or frame."""

from ..case import Case
from ..code.literals import number
from ..code.notebook import Call
from ..death import Death
from .conditions import both, given, is_gathered, is_method_of, made, where_it_grew, without
from .way import LesserWay

_PLT = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()"
_PLOTTED = is_method_of("matplotlib")


def _has_many_levels(call: Call, _death: Death) -> bool:
    """Whether more than 256 grey levels are written: fewer are little."""
    levels = call.argument("levels", 3)
    return levels is not None and (number(levels) or 0) > 256


WAYS = (
    LesserWay(
        (".bar", ".barh"),
        "Draw one line or area, not an object for each bar: stairs, fill_between",
        "makes an object of some kilobytes for each value.",
        "plt.stairs(heights, fill=True)  # one object; heights: the values of your bars\n"
        "counts, edges = np.histogram(values, bins=200)  # or fewer bars: plt.stairs(counts, edges, fill=True)",
        Case("import matplotlib.pyplot as plt", "plt.bar(x, y)"),
        lambda call, death: (
            (death.code.qualified(call.node.func, call.scope) or "").startswith("matplotlib.")
            or _PLOTTED(call, death) is not False
        ),
    ),
    LesserWay(
        (".show", ".write_html", ".to_html", ".write_image"),
        "Draw a sample, or sums: what a page gets is text",
        "writes every point of the figure as text into the page.",
        "few = df.sample(5000)  # your table: nobody sees more points than that\n"
        "counts, xs, ys = np.histogram2d(df['x'], df['y'], bins=200)  # or count here: the page gets the counts\n"
        "fig = px.imshow(counts.T, x=xs[:-1], y=ys[:-1], origin='lower')\n"
        "fig.update_traces(hovertemplate=None, text=None)  # a text for each point takes most",
        Case("import plotly.graph_objects as go\nfig = go.Figure(go.Scatter(x=x, y=y))", "fig.show()"),
        is_method_of("plotly"),
        silent=(Case("import plotly\nfig = make()", "fig.show()"),),
    ),
    LesserWay(
        ("bokeh.plotting.show", "bokeh.plotting.save", "bokeh.io.show", "bokeh.io.save"),
        "Draw a sample, or a picture of the counts",
        "writes every point of the figure into the page.",
        "few = df.sample(5000)  # your table: nobody sees more points than that\n"
        "counts, xs, ys = np.histogram2d(df['x'], df['y'], bins=300)  # or count first\n"
        "p.image([counts.T], x=xs[0], y=ys[0], dw=xs[-1] - xs[0], dh=ys[-1] - ys[0])",
        Case("from bokeh.plotting import figure, show\np = figure()\np.scatter(x, y)", "show(p)"),
    ),
    LesserWay(
        ("seaborn.heatmap",),
        "Draw the table as a picture, without a text for each cell: annot=False, imshow",
        "makes an object of some kilobytes for each cell that has its number written in.",
        "plt.imshow({a0}, aspect='auto')  # one picture, however many cells\nplt.colorbar()",
        Case("import seaborn as sns", "sns.heatmap(c, annot=True)"),
        lambda call, death: bool(call.node.args) and given(True, "annot")(call, death) is True,
        silent=("sns.heatmap(c)\nf(big)",),
    ),
    LesserWay(
        ("seaborn.clustermap",),
        "Order a sample, or groups of rows: no distance of all pairs",
        "works out the distance of each pair of rows, and of each pair of columns, to order them.",
        "{function}({of0}.sample(1000), col_cluster=False)  # a thousand rows; with your other arguments\n"
        "{function}({a0}, row_cluster=False)  # or without an order of the rows",
        Case("import seaborn as sns", "sns.clustermap(t)"),
        lambda call, death: bool(call.node.args) and given(False, "row_cluster")(call, death) is not True,
    ),
    LesserWay(
        ("scipy.cluster.hierarchy.dendrogram",),
        "Draw the last joins only: truncate_mode='lastp', p=30",
        "makes a line and a text for each row, one inside the other.",
        "{to} = {function}({a0}, truncate_mode='lastp', p=30, no_labels=True)  # thirty groups",
        Case("from scipy.cluster.hierarchy import dendrogram", "dendrogram(Z)"),
        lambda call, _death: bool(call.node.args) and call.argument("truncate_mode", 2) is None,
        silent=("dendrogram(Z, 30, 'lastp')\nf(big)",),
    ),
    LesserWay(
        ("pandas.DataFrame.plot", "pandas.Series.plot", "pandas.DataFrame.boxplot", ".plot"),
        "Draw the thirty most frequent: head(30)",
        "makes a bar, a tick and a text for each row.",
        "{owner}.head(30).plot(kind='bar')  # with your other arguments\n"
        "{owner}.plot(drawstyle='steps', xticks=[])  # or one line of all",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df['id'].value_counts().plot(kind='bar')"),
        lambda call, death: (
            any(given(one, "kind")(call, death) is True for one in ("bar", "barh", "pie"))
            and death.code.imports("pandas")
        ),
        silent=("df['id'].value_counts().plot(kind='hist')\nf(big)",),
    ),
    LesserWay(
        ("matplotlib.pyplot.xticks", "matplotlib.pyplot.yticks", ".set_xticks", ".set_yticks"),
        "Give some twenty ticks: each is a line and a text",
        "makes a line and a text for each of the values.",
        "from matplotlib.ticker import MaxNLocator\n\nplt.gca().xaxis.set_major_locator(MaxNLocator(20))  # or yaxis",
        Case("import matplotlib.pyplot as plt", "plt.xticks(np.arange(0, 10**7))", line=1),
        where_it_grew(lambda call, death: bool(call.node.args) and death.code.imports("matplotlib")),
        silent=("plt.xticks(range(12))\nf(big)",),
    ),
    LesserWay(
        (".voxels", ".plot_trisurf", ".tricontourf", ".tripcolor"),
        "Draw dots, or every tenth of them: scatter",
        "makes a polygon for each face between the points.",
        "ax.scatter(x[::10], y[::10], z[::10], s=1)  # your points; of voxels: np.nonzero(block[::4, ::4, ::4])",
        Case(_PLT, "ax.voxels(block)"),
        lambda _call, death: death.code.imports("matplotlib"),
    ),
    LesserWay(
        ("matplotlib.pyplot.table", ".table"),
        "Show the first rows: a table is a cell and a text for each value",
        "makes a box and a text for each value.",
        "plt.table(rows[:50], loc='center')  # rows: your cellText\n\ndf.head(50)  # or no figure at all",
        Case("import matplotlib.pyplot as plt", "plt.table(cellText=rows)"),
        lambda call, death: call.argument("cellText") is not None and death.code.imports("matplotlib"),
    ),
    LesserWay(
        ("sklearn.tree.plot_tree", "sklearn.tree.export_graphviz"),
        "Draw the first levels: max_depth=3",
        "draws a box for each node of the tree.",
        "{function}({a0}, max_depth=3)  # with your other arguments; print({of0}.get_n_leaves())",
        Case("from sklearn.tree import plot_tree", "plot_tree(model)"),
        without("max_depth"),
        silent=("plot_tree(model, max_depth=2)",),
    ),
    LesserWay(
        (".to_jshtml", ".to_html5_video"),
        "Write the film to a file, frame by frame: save",
        "keeps a picture of each frame as text, for the page, up to the `embed_limit` that is set.",
        "{owner}.save('film.mp4', dpi=80, fps=20)  # with ffmpeg; or fewer frames=\n"
        "from IPython.display import Video\n\nVideo('film.mp4')",
        Case(
            "import matplotlib as mpl\nfrom matplotlib.animation import FuncAnimation\n"
            "mpl.rcParams['animation.embed_limit'] = 9000\nani = FuncAnimation(fig, draw)",
            "page = ani.to_jshtml()",
        ),
        lambda _call, death: death.code.has_text("embed_limit"),  # 20 MB where none is set
        silent=(
            Case("from matplotlib.animation import FuncAnimation\na = FuncAnimation(fig, f)", "p = a.to_jshtml()"),
        ),
    ),
    LesserWay(
        ("imageio.mimsave", "imageio.mimwrite", "imageio.v2.mimsave", "imageio.v2.mimwrite"),
        "Write frame after frame: get_writer, append_data",
        "is given all frames at once.",
        "import imageio.v2 as imageio\n\nwith imageio.get_writer('film.mp4', fps=20) as writer:  # no GIF\n"
        "    for at in range(n_frames):  # draw: what makes a frame\n"
        "        writer.append_data(draw(at)[::2, ::2])  # half as wide and high; a GIF would keep all of them",
    ),
    LesserWay(
        (".to_soundarray", ".iter_frames"),
        "Take a piece of the film at a time",
        "gives all of the film, as numbers of eight bytes or as pictures, and all of it is kept.",
        "for part in clip.audio.iter_chunks(chunksize=44_100, fps=44_100):  # of the sound: a second\n"
        "    ...  # keep a number of it\nfor frame in clip.iter_frames(fps=2):  # of the pictures: two a second\n"
        "    small = frame[::4, ::4]",
        Case("from moviepy.editor import VideoFileClip\nc = VideoFileClip('a.mp4')", "x = c.audio.to_soundarray()"),
        both(made("moviepy"), lambda call, death: call.name == ".to_soundarray" or is_gathered(call, death)),
    ),
    LesserWay(
        (".getdata", ".getpixel"),
        "Take the picture as an array: np.asarray",
        "gives a Python object for each dot, and all of them are kept.",
        "pixels = np.asarray({owner}.convert('RGB'))  # a byte for each value, as height x width x colours\n"
        "colours, counts = np.unique(pixels.reshape(-1, pixels.shape[-1])[::10], axis=0, return_counts=True)",
        Case("from PIL import Image\nimg = Image.open('a')", "dots = list(img.getdata())"),
        both(is_method_of("PIL"), is_gathered),
    ),
    LesserWay(
        (".read_region",),
        "Read a tile, or a coarser level of the slide",
        "reads width x height x 4 bytes at that level.",
        "level = {owner}.get_best_level_for_downsample(16)  # a sixteenth as wide and high\n"
        "small = {owner}.read_region((0, 0), level, {owner}.level_dimensions[level])\n"
        "tile = {owner}.read_region((x, y), 0, (1024, 1024))  # or a tile in full",
        Case("import openslide\ns = openslide.OpenSlide('a.svs')", "img = s.read_region((0, 0), 0, s.dimensions)"),
        both(made("openslide"), lambda call, _death: "dimensions" in call.text),
        silent=(Case("import openslide\ns = openslide.OpenSlide('a')", "img = s.read_region((0, 0), 0, (256, 256))"),),
    ),
    LesserWay(
        ("skimage.feature.graycomatrix", "skimage.feature.greycomatrix"),
        "Bring the picture to 32 grey levels first: levels=32",
        "makes a number for each pair of grey levels: with 65,536 of them 32 GiB.",
        "small = ({of0} // ({of0}.max() // 32 + 1)).astype('uint8')  # 32 levels\n"
        "{to} = {function}(small, [1], [0], levels=32)  # with your distances and angles",
        Case("from skimage.feature import graycomatrix", "g = graycomatrix(img, [1], [0], levels=65536)"),
        _has_many_levels,
        silent=(
            "g = graycomatrix(img, [1], [0], levels=32)",
            "g = graycomatrix(img, [1], [0], levels=img.levels)",
            "g = graycomatrix(img, [1], [0], levels=None)",
        ),
    ),
    LesserWay(
        ("skimage.measure.marching_cubes",),
        "Take larger steps: step_size=4",
        "makes points and faces wherever the surface goes, of each cell of the volume.",
        "vertices, faces, normals, values = {function}({a0}, step_size=4)  # a sixteenth of the faces",
        Case("from skimage.measure import marching_cubes", "m = marching_cubes(v)"),
        without("step_size"),
        silent=("m = marching_cubes(v, step_size=4)",),
    ),
    LesserWay(
        ("scipy.ndimage.distance_transform_edt",),
        "Measure in four bytes a dot: cv2.distanceTransform",
        "makes a number of eight bytes, and the place of the nearest in each dimension, for each dot.",
        "import cv2\n\n{to} = cv2.distanceTransform({of0}.astype('uint8'), cv2.DIST_L2, 5)  # not quite exact\n"
        "# where there are three dimensions: scipy.ndimage.distance_transform_cdt, another distance, four bytes",
    ),
)
