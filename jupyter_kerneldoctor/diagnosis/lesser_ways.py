"""Functions that make far more than is asked of them, and what to call in their place: one entry for each.

`calls` are full names; or `.fetchall`, any method of that name, or `.()`, any object that is called. A snippet may name
`{owner}` (what a method is called on, or the object), `{table}` (where that begins), `{column}` (without `.str`), and
`{a0}`, `{a1}`: the call's first arguments as they are written.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .calls import calls_at
from .code.notebook import Call
from .code.origins import all_origins
from .death import Death


class LesserWay(NamedTuple):
    """What a function makes too much of, and another way."""

    calls: tuple[str, ...]
    title: str
    makes: str
    """What is wrong with the call, as a sentence that follows it."""
    snippet: str
    fits: Callable[[Call, Death], bool] = lambda _call, _death: True


def running(way: LesserWay, death: Death) -> Iterator[Call]:
    """Yield the calls of an entry that may have been running at the death, where the cell took the memory."""
    known = [one for one in way.calls if not one.startswith(".")]
    methods = {one[1:] for one in way.calls} if not known else set()
    found = [*calls_at(death, *known)] if known else []
    for scope in death.code.running if methods and death.is_of_this_cell else ():
        found += [Call(node, scope, way.calls[0]) for node in scope.calls if _called(node) in methods]
    at_work = (one for one in found if known or death.was_running(one.node, one.scope))
    yield from (one for one in at_work if way.fits(one, death))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else "()"


def names(call: Call) -> dict[str, str]:
    """Return what the texts of an entry may name of a call."""
    segment, function = call.scope.segment, call.node.func
    owner = segment(function.value) if isinstance(function, ast.Attribute) else segment(function)
    given = {f"a{at}": segment(one) for at, one in enumerate(call.node.args[:2])}
    table = owner.split(".")[0].split("[")[0] if not owner.startswith("self.") else owner.split("[")[0]
    owner = segment(function) if call.name.startswith("jax.") else owner
    return {"owner": owner, "column": owner.removesuffix(".str"), "table": table, "a0": "data", "a1": "other", **given}


def _is_made_by(*makers: str) -> Callable[[Call, Death], bool]:
    """Return a test whether what a method is called on, or an object that is called, was made by one of these."""

    def test(call: Call, death: Death) -> bool:
        function = call.node.func
        owner = function.value if isinstance(function, ast.Attribute) else function
        return any(name.endswith(makers) for name in _made_by(owner, call, death))

    return test


def _made_by(node: ast.expr, call: Call, death: Death) -> Iterator[str]:
    for one, where in all_origins(node, call.scope, death.code):
        if isinstance(one, ast.Call) and (name := death.code.qualified(one.func, where)):
            yield name


def _captures(call: Call, death: Death) -> bool:
    output = call.argument("stdout")
    takes = call.argument("capture_output") is not None or "check_output" in call.name
    return takes or (output is not None and death.code.qualified(output, call.scope) == "subprocess.PIPE")


def _of_a_product(call: Call, death: Death) -> bool:
    given = [*call.node.args, *(word.value for word in call.node.keywords)]
    return any(name.endswith("MultiIndex.from_product") for one in given for name in _made_by(one, call, death))


def _of_keras(call: Call, death: Death) -> bool:
    return any(map(death.code.imports, ("keras", "tensorflow"))) and bool(call.node.args)


def _of_a_data_set(call: Call, death: Death) -> bool:
    """Whether an array of each batch of TensorFlow's data set is kept."""
    loop = next(iter(call.scope.loops_around(call.node)), None)
    match call.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))) if isinstance(loop, ast.For):
            made = _made_by(loop.iter, call, death)
            return any("dataset_from" in name or name.startswith("tensorflow.data.") for name in made)
    return False


def _joins_its_own(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether a loop puts something more behind what the same name stood for: `kept = torch.cat((kept, out))`."""
    match call.statement, call.argument("tensors", 0):
        case ast.Assign(targets=[target]), ast.Tuple(elts=parts) | ast.List(elts=parts):
            own = call.scope.segment(target) in map(call.scope.segment, parts)
            return own and bool(call.scope.loops_around(call.node))
    return False


def _to_floats(call: Call, death: Death) -> bool:
    """Whether whole images become floats: they are divided by 255 in the same statement."""
    numbers = (one.value for one in call.scope.inside(call.statement) if isinstance(one, ast.Constant))
    return death.code.imports("torch") and any(one in (255, 127.5) for one in numbers)


def _again_and_again(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    around = [*call.scope.loops_around(call.node), *call.scope.around(call.node)]
    inside = call.scope.inside(call.statement)
    made = (one for one in inside if isinstance(one, ast.ListComp | ast.DictComp | ast.GeneratorExp))
    return any(isinstance(one, ast.For) for one in around) or any(call.node in ast.walk(one) for one in made)


WAYS = (
    LesserWay(
        ("numpy.histogramdd", "numpy.histogram2d"),
        "Count only the bins that occur, or take fewer bins",
        "makes a number for each combination of bins, nearly all of them zero.",
        "found, counts = np.unique(np.floor(points / width), axis=0, return_counts=True)  # width of a bin",
    ),
    LesserWay(
        ("numpy.kron", "scipy.linalg.block_diag"),
        "Make the matrix sparse: scipy.sparse",
        "makes a full matrix, nearly all of it zeros.",
        "from scipy import sparse\nfrom scipy.sparse.linalg import spsolve\n"
        'A = sparse.kron(sparse.csr_array({a0}), sparse.csr_array({a1}), format="csr")\nx = spsolve(A, b)',
    ),
    LesserWay(
        ("numpy.tile", "numpy.repeat"),
        "Let it broadcast, without a copy: np.broadcast_to",
        "writes the same numbers again and again. Arithmetic repeats them by itself where a dimension is 1.",
        "view = np.broadcast_to({a0}, shape)  # takes no memory; often `x[:, None]` is enough",
    ),
    LesserWay(
        ("numpy.genfromtxt", "numpy.loadtxt"),
        "Read the numbers with pandas, as float32",
        "takes many times the size of the file while it reads.",
        "data = pd.read_csv({a0}, header=None, dtype='float32').to_numpy()  # sep=r'\\s+' for columns by blanks",
    ),
    LesserWay(
        ("torch.autograd.functional.jacobian", "torch.autograd.functional.hessian"),
        "Take the derivatives of each row by itself: vmap(jacrev)",
        "makes the derivatives of each row by every other row, which are zero, too.",
        "from torch.func import jacrev, vmap\nJ = vmap(jacrev({a0}), chunk_size=64)({a1})  # rows x outputs x inputs",
    ),
    LesserWay(
        ("jax.jacrev", "jax.jacfwd", "jax.jacobian", "jax.hessian"),
        "Take the derivatives of each row by itself: vmap",
        "makes the derivatives of each row by every other row, which are zero, too.",
        "J = jax.vmap({owner}({a0}))(rows)  # rows x outputs x inputs",
    ),
    LesserWay(
        ("torch.cdist",),
        "Compare some rows at a time",
        "makes the table of all pairs at once.",
        "nearest = torch.cat([torch.cdist(part, {a1}).topk(5, largest=False).indices for part in {a0}.split(1000)])",
    ),
    LesserWay(
        ("torch.cat", "torch.concat", "torch.vstack", "torch.hstack"),
        "Keep less of each batch, and join once, after the loop",
        "copies all that came before in each round, and keeps the whole of each batch.",
        "kept.append(output.argmax(-1))  # in the loop: what is used of it later\nresult = torch.cat(kept)  # after it",
        _joins_its_own,
    ),
    LesserWay(
        (".step",),
        "Let L-BFGS remember fewer steps: history_size",
        "keeps two vectors as long as all parameters of each step it remembers, 100 of them where nothing is given.",
        "optimizer = torch.optim.LBFGS(model.parameters(), history_size=10)",
        _is_made_by("torch.optim.LBFGS"),
    ),
    LesserWay(
        (".float",),
        "Keep the images as uint8, and convert each where it is taken: __getitem__",
        "makes four bytes of each byte, of all images, and the arithmetic on them as much again.",
        "def __getitem__(self, i):\n    return self.images[i].float() / 255, self.labels[i]  # images: uint8",
        _to_floats,
    ),
    LesserWay(
        (".numpy",),
        "Give the data set itself to fit: it makes one batch after the other",
        "is kept of every batch, so that all rows, and each window as a copy, are in memory at once.",
        "model.fit(ds, epochs=1)  # ds.take(n) and ds.skip(n) part it into validation and training",
        _of_a_data_set,
    ),
    LesserWay(
        (".()",),
        "Encode each batch, not all rows: ds.map",
        "makes a number for each row and each word of the vocabulary.",
        "ds = tf.data.Dataset.from_tensor_slices(({a0}, labels)).batch(256)\n"
        "model.fit(ds.map(lambda x, y: ({owner}(x), y)).prefetch(1))",
        _is_made_by("layers.TextVectorization", "layers.CategoryEncoding", "layers.StringLookup"),
    ),
    LesserWay(
        ("pandas.Series.str.get_dummies",),
        "Keep the parts sparse, or count them with explode",
        "makes a column for each part that occurs anywhere.",
        "{column}.str.split('|').explode().value_counts()  # where counts are enough\n\n"
        "from sklearn.preprocessing import MultiLabelBinarizer\n"
        "parts = MultiLabelBinarizer(sparse_output=True).fit_transform({column}.str.split('|'))",
    ),
    LesserWay(
        ("pandas.DataFrame.melt", "pandas.melt", "pandas.wide_to_long"),
        "Work on the wide form, or on some columns at a time",
        "repeats the other columns, and the name of its column, for each value.",
        "{table}.mean(numeric_only=True)  # most questions can be asked of the wide form\n\n"
        "for name in {table}.columns:  # or one column at a time\n    part = {table}[name]",
    ),
    LesserWay(
        ("pandas.DataFrame.reindex",),
        "Fill the gaps of one group at a time: groupby, asfreq",
        "makes a row for each pair of the product, also where there is none.",
        "for name, part in {table}.groupby(level=0):\n    part = part.droplevel(0).asfreq('min').ffill(limit=30)\n"
        "    ...  # keep only what is needed of it",
        _of_a_product,
    ),
    LesserWay(
        ("pandas.DataFrame.shift", "pandas.Series.shift"),
        "Make fewer shifted copies, of float32",
        "makes a copy of the column for each shift, of eight bytes a number.",
        "{table} = {table}.astype('float32')\nlags = [1, 2, 3, 24, 48, 168]  # those that matter",
        _again_and_again,
    ),
    LesserWay(
        (".fit_transform", ".fit"),
        "Count with a fixed number of columns: HashingVectorizer",
        "keeps every word and n-gram that occurs in a dict; `max_features` only helps afterwards.",
        "from sklearn.feature_extraction.text import HashingVectorizer\n"
        "X = HashingVectorizer(ngram_range=(2, 4), n_features=2**20).transform({a0})  # with your other arguments",
        _is_made_by("text.CountVectorizer", "text.TfidfVectorizer"),
    ),
    LesserWay(
        ("subprocess.run", "subprocess.check_output"),
        "Read the program's output line by line: Popen",
        "keeps all that the program writes.",
        "with subprocess.Popen({a0}, stdout=subprocess.PIPE, text=True) as process:\n"
        "    for line in process.stdout:\n        ...",
        _captures,
    ),
    LesserWay(
        ("xml.etree.ElementTree.parse", "lxml.etree.parse"),
        "Take one element at a time: iterparse",
        "makes an object of each element, ten times the size of the file.",
        "for event, element in ElementTree.iterparse({a0}):\n    ...\n    element.clear()",
    ),
    LesserWay(
        ("pandas.read_excel", "openpyxl.load_workbook"),
        "Read the sheet row by row: read_only=True",
        "makes an object of each cell of the workbook.",
        "from openpyxl import load_workbook\n"
        "for row in load_workbook({a0}, read_only=True).active.iter_rows(values_only=True):\n    ...",
    ),
    LesserWay(
        ("requests.get", "urllib.request.urlopen"),
        "Write the download to a file as it comes: stream=True",
        "keeps all that the server sends.",
        "with requests.get({a0}, stream=True) as response, open('download', 'wb') as file:\n"
        "    for part in response.iter_content(1 << 20):\n        file.write(part)",
    ),
    LesserWay(
        (".fetchall",),
        "Take one row after the other from the cursor",
        "makes a list of all rows.",
        "for row in {owner}:\n    ...",
    ),
    LesserWay(
        ("networkx.to_numpy_array", "networkx.adjacency_matrix", "networkx.floyd_warshall_numpy"),
        "Keep the graph's matrix sparse: to_scipy_sparse_array",
        "makes a number for each pair of nodes.",
        "A = nx.to_scipy_sparse_array({a0})",
    ),
    LesserWay(
        (".evaluate", ".predict"),
        "Keep of each batch only what the metric needs: preprocess_logits_for_metrics",
        "keeps the logits of all batches for `compute_metrics`.",
        "trainer = Trainer(..., preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))\n"
        "# compute_metrics then gets the classes in place of the logits",
        _is_made_by("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"),
    ),
    LesserWay(
        (".predict",),
        "Predict some rows at a time, and keep less of each",
        "keeps what the network gives of all rows, for a moment twice. A smaller batch does not change that.",
        "parts = [{owner}.predict({a0}[start:start + 256], verbose=0).mean(axis=(1, 2))  # as pooling does\n"
        "         for start in range(0, len({a0}), 256)]\nresults = np.concatenate(parts)",
        _of_keras,
    ),
)
