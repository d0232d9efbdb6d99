"""Layers and data sets of Keras and TensorFlow, and functions of PyTorch that make one tensor of all."""

import ast

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..death import Death
from ..frameworks.gradients import goes_backward
from ..frameworks.keras import is_dataset
from .conditions import both, given, is_gathered, is_method_of, made, without
from .way import LesserWay, names


def _of_each_layer(call: Call, _death: Death) -> bool:
    """Whether a module keeps a triangle as a mask of its own: `self.register_buffer("mask", torch.tril(...))`."""
    statement = call.statement
    inside = [last_name(one.func) for one in call.scope.calls if one is not call.node and call.node in one.args]
    is_kept = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
    return call.scope.function == "__init__" and (is_kept or "register_buffer" in inside)


_MANY_TOKENS = 200_000
_TOKENS = (
    "row = zlib.crc32(name.encode()) % 50_000  # a bucket for each id, shared by some\n"
    "buckets = torch.nn.Embedding(50_000, 64)  # an embedding of its own, narrower than that of the words\n"
    "# or tokens for the frequent ids only, and one <other> for the rest: Counter(names).most_common(20_000)"
)


def _has_many_tokens(call: Call, death: Death) -> bool:
    """Whether a vocabulary was set to a great number: `GPT2Config(vocab_size=n)`."""
    name = death.code.qualified(call.node.func, call.scope) or ""
    if name.startswith("transformers.") and "Config" in name:
        return False
    sizes = [(one.argument("vocab_size"), one.scope) for one in death.code.calls("transformers.*")]
    return any((death.values.number(one, where) or 0) >= _MANY_TOKENS for one, where in sizes if one is not None)


def _is_sample(call: Call, death: Death) -> bool:
    """Whether a call is given a part of the rows already, or a `tf.data` pipeline, which gives batches."""
    match call.node.args:
        case [ast.Subscript(slice=ast.Slice(upper=ast.Constant()) | ast.Slice(step=ast.Constant()))]:
            return True
        case [given, *_]:
            return is_dataset(given, call.scope, death.code)
    return False


_PRODUCTS = {
    "kron": "product = A @ X @ B.T  # what kron(A, B) does to a matrix X, row by row",
    "block_diag": "product = torch.bmm(blocks, x.view(len(blocks), -1, 1)).flatten()  # blocks: (how many, n, n)",
    "diag_embed": "product = d[..., None] * x  # what a diagonal matrix does to x, with its diagonal d",
}


def _times_parts(call: Call, _death: Death) -> dict[str, str]:
    return {"product": _PRODUCTS[call.name.rpartition(".")[2]]}


_FIRST = {
    "svd": "U, S, V = torch.svd_lowrank({a0}, q=50)  # about the 50 largest: exact where the others are small\n"
    "U, S, Vh = torch.linalg.svd({a0}, full_matrices=False)  # all, but no more vectors than there are values",
    "eig": "from scipy.sparse.linalg import eigs\n\nvalues, vectors = eigs({a0}.numpy(), k=10)  # the ten largest",
}
_SYMMETRIC = "values, vectors = torch.lobpcg({a0}, k=10)  # the ten largest, also of a sparse matrix; not below 30 rows"


def _first_of_them(call: Call, _death: Death) -> dict[str, str]:
    return {"first": _FIRST.get(call.name.rpartition(".")[2], _SYMMETRIC).format(**names(call))}


WAYS = (
    LesserWay(
        (".step", ".backward", "transformers.*"),
        "Make no token of each id: an embedding of its own, or some thousand buckets",
        "has a row of weights for each token of a very large vocabulary, and one of numbers for each place in a text.",
        _TOKENS,
        Case(
            "from transformers import GPT2Config, GPT2LMHeadModel\nN = 900_000\nc = GPT2Config(vocab_size=N)",
            "model = GPT2LMHeadModel(c)",
            says=("zlib.crc32", "torch.nn.Embedding(50_000, 64)"),
        ),
        _has_many_tokens,
        silent=(
            Case(
                "from transformers import GPT2Config, GPT2LMHeadModel\nc = GPT2Config(vocab_size=50_000)",
                "model = GPT2LMHeadModel(c)",
            ),
        ),
    ),
    LesserWay(
        (".resize_token_embeddings",),
        "Make no token of each id: an embedding of its own, or some thousand buckets",
        "makes a row of weights for each new token, and training keeps three more numbers of each weight.",
        _TOKENS,
        Case("import transformers\nmodel = transformers.AutoModel.from_config(c)", "model.resize_token_embeddings(n)"),
        is_method_of("transformers"),
        silent=("model.resize(n)",),
    ),
    LesserWay(
        ("torch.tril", "torch.triu"),
        "One mask for all layers, or none: is_causal=True",
        "makes a number of four bytes for each pair of positions, in each layer or head that is made.",
        "out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # no mask is needed\n\n"
        "mask = torch.ones(n, n, dtype=torch.bool).tril()  # or one byte each, made once and given to all of them",
        Case(
            "import torch\nclass Head(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
            "        self.register_buffer('tril', torch.tril(torch.ones(n, n)))",
            "heads = [Head(9000) for _ in range(9)]",
        ),
        _of_each_layer,
        silent=(Case("import torch", "mask = torch.tril(torch.ones(9000, 9000))"),),
    ),
    LesserWay(
        (".texts_to_matrix", ".sequences_to_matrix"),
        "Give the numbers of the words to an Embedding, not a column for each word: texts_to_sequences",
        "makes a column of eight bytes for each word of the vocabulary, nearly all of them zero.",
        "rows = {owner}.texts_to_sequences(texts)  # made with num_words=10_000: only the most frequent\n"
        "{to} = keras.utils.pad_sequences(rows, maxlen=200)  # 200 numbers for each text, for an Embedding layer",
        Case(
            "from keras.preprocessing.text import Tokenizer\nt = Tokenizer()",
            "X = t.texts_to_matrix(texts, mode='binary')",
        ),
        lambda _call, death: any(map(death.code.imports, ("keras", "tensorflow", "keras_preprocessing"))),
    ),
    LesserWay(
        (".adapt",),
        "Learn the words of a sample: adapt(ds.take(1000))",
        "keeps every word and every group of words of `ngrams` before it cuts the list to `max_tokens`.",
        "ds = tf.data.Dataset.from_tensor_slices({a0}).batch(256)  # where it is no Dataset yet\n"
        "{owner}.adapt(ds.take(1000))  # 1,000 batches; with fewer ngrams, the list is much shorter",
        Case("from keras.layers import TextVectorization\nv = TextVectorization(ngrams=3)", "v.adapt(texts)"),
        lambda call, death: any(
            made(one, "TextVectorization", "StringLookup", "IntegerLookup")(call, death)
            for one in ("keras", "tensorflow")
        ),
    ),
    LesserWay(
        (".adapt",),
        "Learn the mean and the variance of a sample, or of one batch after the other: adapt(x[::50])",
        "turns all rows into one tensor of floats, and makes more of that size to work out the mean or the bins.",
        "{owner}.adapt({of0}[::50])  # every fiftieth row: a sample is enough\n\n"
        "total, squares, n = 0.0, 0.0, 0  # or exactly, in batches: of each channel or column at the end\n"
        "for at in range(0, len({of0}), 256):\n    part = np.asarray({of0}[at : at + 256], dtype='float64')\n"
        "    part = part.reshape(-1, part.shape[-1])  # of one column alone: part.reshape(-1, 1)\n"
        "    n, total, squares = n + len(part), total + part.sum(0), squares + (part**2).sum(0)\n"
        "mean = total / n  # then Normalization(mean=mean, variance=squares / n - mean**2), without adapt\n\n"
        "keras.layers.Rescaling(1 / 127.5, offset=-1)  # pictures: known numbers, nothing to learn",
        Case(
            "import keras\nnorm = keras.layers.Normalization(axis=-1)",
            "norm.adapt(x)",
            says=("norm.adapt(x[::50])", "Normalization(mean=mean"),
        ),
        lambda call, death: (
            not _is_sample(call, death)
            and any(
                made(one, "Normalization", "Discretization")(call, death) for one in ("keras", "tensorflow", "tf_keras")
            )
        ),
        silent=(
            "norm.adapt(x[:500])",
            Case("import sklearn\nfrom mine import Normalization\nnorm = Normalization()", "norm.adapt(x)"),
            Case(
                "import tensorflow as tf\nnorm = tf.keras.layers.Normalization()\n"
                "ds = tf.data.Dataset.from_tensor_slices(x).batch(8)",
                "norm.adapt(ds)",
            ),
        ),
    ),
    LesserWay(
        (".jacobian",),
        "Take the derivatives of each row by itself: batch_jacobian",
        "makes the derivatives of each row by every other row, which are zero, too.",
        "J = {owner}.batch_jacobian({a0}, {a1})  # rows x outputs x inputs\n"
        "# for parameters: {owner}.jacobian(y, w, experimental_use_pfor=False) works on one output after the other",
        Case("import tensorflow as tf", "with tf.GradientTape() as tape:\n    y = net(x)\nJ = tape.jacobian(y, x)"),
        both(lambda _call, death: death.code.imports("tensorflow"), without("experimental_use_pfor", 4)),
    ),
    LesserWay(
        ("tensorflow_datasets.load",),
        "Take one batch after the other: no batch_size=-1",
        "puts all rows into one batch with `batch_size=-1`.",
        "{to} = {function}({a0}, split='train', as_supervised=True)  # without batch_size=-1\n"
        "model.fit({to}.batch(128).prefetch(1))",
        Case("import tensorflow_datasets as tfds", "d = tfds.load('a', batch_size=-1)"),
        lambda call, _death: (size := call.argument("batch_size")) is not None and call.scope.segment(size) == "-1",
        silent=("d = tfds.load('a')",),
    ),
    LesserWay(
        (".as_numpy_iterator",),
        "Give the data set itself to fit: it makes one batch after the other",
        "gives an array for each row, and all of them are kept.",
        "model.fit({owner}.batch(128), epochs=1)  # no batch where it has them; take(n), skip(n) part it\n"
        "for row in {owner}.as_numpy_iterator():\n    ...  # or one row at a time",
        Case("import tensorflow as tf\nds = tf.data.Dataset.range(9)", "rows = list(ds.as_numpy_iterator())"),
        is_gathered,
    ),
    LesserWay(
        ("tensorflow.sparse.to_dense",),
        "Multiply it as it is: tf.sparse.sparse_dense_matmul",
        "writes all zeros, too.",
        "product = tf.sparse.sparse_dense_matmul({a0}, w)  # the sparse tensor as it is; sums: tf.sparse.reduce_sum",
    ),
    LesserWay(
        ("tensorflow.tile", "tensorflow.meshgrid"),
        "Let it broadcast, without a copy: x[:, None]",
        "writes the same numbers again and again. Arithmetic repeats them by itself where a dimension is 1.",
        "total = x[:, None] + z[None]  # with your arrays: none is repeated before, the sum alone is made",
    ),
    LesserWay(
        (".repeat", "torch.tile"),
        "Let it broadcast, without a copy: expand",
        "writes the same numbers again and again. Arithmetic repeats them by itself where a dimension is 1.",
        "view = x.expand(n, *x.shape)  # n times, along a dimension of its own: a view that takes no memory\n"
        "total = x[:, None] + z[None]  # or nothing at all: dimensions of 1 are repeated in arithmetic",
        Case("import torch\nx = torch.zeros(9, 9)", "g = x.repeat(10**6, 1)"),
        lambda call, death: call.name.startswith("torch.") or is_method_of("torch")(call, death),
    ),
    LesserWay(
        ("torch.nn.functional.interpolate", "torch.nn.functional.upsample"),
        "Enlarge what is used of it only: the classes, one picture at a time",
        "makes all channels of all pictures at the new size.",
        "for maps in {a0}:  # one picture at a time\n"
        "    large = torch.nn.functional.interpolate(maps[None], size=(512, 512))  # with your own arguments\n"
        "    kept = large.argmax(1).to(torch.uint8)  # of classes a byte for a dot; or write the picture to a file",
        fits=lambda _call, death: not goes_backward(death.code),
        silent=(Case("import torch", "y = torch.nn.functional.interpolate(x, size=512)\ny.mean().backward()", line=1),),
    ),
    LesserWay(
        ("torch.kron", "torch.block_diag", "torch.diag_embed"),
        "Multiply the parts: no full matrix is needed for a product",
        "makes a full matrix of all that its parts say: `kron` repeats one of them, the others are nearly all zeros.",
        "{product}",
        fits=_times_parts,
    ),
    LesserWay(
        ("torch.outer", "torch.ger"),
        "Keep the diagonal, or the product with a vector: no table of all pairs",
        "makes a number for each pair of entries, as of all parameters of a network.",
        "diagonal = {a0} * {a1}  # what a Fisher matrix is mostly needed for\n"
        "product = {a0} * ({a1} @ v)  # or what the table times a vector v gives",
        Case("import torch", "F = F + torch.outer(g, g)", says=("diagonal = g * g", "g * (g @ v)")),
        lambda call, _death: len({*map(call.scope.segment, call.node.args)}) == 1,
        silent=("angles = torch.outer(positions, frequencies)",),
    ),
    LesserWay(
        ("torch.linalg.svd", "torch.svd", "torch.linalg.eigh", "torch.linalg.eig", "torch.symeig"),
        "Ask for the first of them only",
        "makes all vectors, and copies of the full matrix.",
        "{first}",
        Case(
            "import torch",
            "U, S, Vh = torch.linalg.svd(A)",
            says=("torch.svd_lowrank(A, q=50)", "torch.linalg.svd(A, full_matrices=False)"),
        ),
        _first_of_them,
    ),
    LesserWay(
        (".()",),
        "Take some rows of the derivatives at a time: chunk_size",
        "works out all derivatives at once.",
        "from torch.func import jacrev\n\n"
        "{to} = jacrev(f, chunk_size=16)({a0})  # f: your function; 16 outputs at a time",
        Case("from torch.func import jacrev\nj = jacrev(f)", "J = j(x)"),
        made("torch", "jacrev", told=without("chunk_size")),
        silent=(Case("from torch.func import jacrev", "J = jacrev(f, chunk_size=16)(x)"),),
    ),
    LesserWay(
        ("torchaudio.load", "soundfile.read"),
        "Read a minute at a time, as float32",
        "reads the whole recording, soundfile in numbers of eight bytes.",
        "import soundfile\n\nrate = soundfile.info({a0}).samplerate\n"
        "for part in soundfile.blocks({a0}, blocksize=60 * rate, dtype='float32'):\n"
        "    ...  # a minute; torchaudio.load({a0}, frame_offset=at, num_frames=60 * rate)",
        Case("import soundfile as sf", "x, rate = sf.read('a.wav')"),
        without("frames", "num_frames", "frame_offset", "start", 1),
        silent=("x, rate = sf.read('a.wav', frames=1000)",),
    ),
    LesserWay(
        (".fit",),
        "Learn the mean of a sample of the pictures, without ZCA: zca_whitening=False",
        "makes a number for each pair of dots of a picture with `zca_whitening=True`.",
        "{owner} = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)  # and your others\n"
        "{owner}.fit({of0}[::20])  # a sample is enough: every twentieth picture",
        Case(
            "from keras.preprocessing.image import ImageDataGenerator\ng = ImageDataGenerator(zca_whitening=True)",
            "g.fit(X)",
        ),
        lambda call, death: any(
            made(one, "ImageDataGenerator", told=given(True, "zca_whitening"))(call, death)
            for one in ("keras", "tensorflow")
        ),
    ),
)
