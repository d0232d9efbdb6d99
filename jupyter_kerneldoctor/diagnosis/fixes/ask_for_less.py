"""The fix `ask-for-less`."""

from collections.abc import Iterator

from ..case import Case
from ..death import Death
from ..family import Family
from ..fix import Fix, Proposal
from ..lesser_ways import WAYS, names, running
from ..units import quote

_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"
_TEXTS = "from sklearn.feature_extraction.text import TfidfVectorizer\nvec = TfidfVectorizer(ngram_range=(1, 5))"
_VOCABULARY = "from tensorflow import keras\nencode = keras.layers.TextVectorization(output_mode='multi_hot')"


class AskForLess(Fix):
    """Call what makes only what you need.

    What it does
    ------------
    Some functions make far more than is asked of them: a number for each combination of bins, a column for each tag,
    the whole output of a program. For each of them the snippet shows a call that makes only what is used.

    When it is offered
    ------------------
    Memory ran out while such a function was running.

    What it costs
    -------------
    The result has another form: sparse, one part after the other, or only what occurs.
    """

    id, title, causes = "ask-for-less", "Call what makes only what you need", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np", "counts, _ = np.histogramdd(points, bins=edges)", says=("only the bins that occur",)
        ),
        Case("import numpy as np", "A = np.kron(L, I) + np.kron(I, L)", says=("sparse.csr_array(L)",)),
        Case("import numpy as np", "grid = np.tile(row, (10**6, 1))", says=("np.broadcast_to(row",)),
        Case("import numpy as np", "data = np.loadtxt('a.txt')", says=("pd.read_csv('a.txt'",)),
        Case("from torch.autograd.functional import jacobian", "J = jacobian(net, z)", says=("vmap(jacrev(net)",)),
        Case("import jax", "J = jax.jacrev(f)(xs)", says=("jax.vmap(jax.jacrev(f))(rows)",)),
        Case("import torch", "d = torch.cdist(Q, X)", says=("in Q.split(1000)",)),
        Case("import torch", "for x in xs:\n    k = x if k is None else torch.cat((k, net(x)))", says=("argmax(-1)",)),
        Case("import torch\nopt = torch.optim.LBFGS(ps)", "opt.step(closure)", says=("history_size",)),
        Case("import torch", "x = torch.from_numpy(x).permute(0, 3, 1, 2).float() / 255", says=("__getitem__",)),
        Case(
            "import tensorflow as tf\nds = tf.data.Dataset.range(9)",
            "for x in ds:\n    xs.append(x.numpy())",
            says=("fit(ds",),
        ),
        Case(_VOCABULARY, "X = encode(texts)", says=(".map(lambda x, y: (encode(x), y))",)),
        Case(_FRAME, "wide = df['tags'].str.get_dummies('|')", says=("df['tags'].str.split", "MultiLabelBinarizer")),
        Case(_FRAME, "long = df.melt(id_vars='time')", says=("wide form", "df.columns")),
        Case(_FRAME, "full = pd.MultiIndex.from_product([a, b])\nout = df.reindex(full)", says=("asfreq",)),
        Case(_FRAME, "lags = {k: df['x'].shift(k) for k in range(200)}", says=("float32",)),
        Case(_TEXTS, "X = vec.fit_transform(texts)", says=("HashingVectorizer", "transform(texts)")),
        Case("import subprocess", "out = subprocess.run(c, capture_output=True).stdout", says=("Popen(c,",)),
        Case("from xml.etree import ElementTree", "tree = ElementTree.parse('a.xml')", says=("iterparse('a.xml')",)),
        Case(_FRAME, "sheet = pd.read_excel('a.xlsx')", says=("read_only=True",)),
        Case("import requests", "body = requests.get(url).content", says=("requests.get(url, stream=True)",)),
        Case("import sqlite3", "rows = cursor.fetchall()", says=("for row in cursor",)),
        Case("import networkx as nx", "A = nx.to_numpy_array(G)", says=("to_scipy_sparse_array(G)",)),
        Case("from transformers import Trainer\nt = Trainer(m, args)", "t.evaluate()", says=("logits.argmax(-1)",)),
        Case("import keras\nnet = keras.Sequential()", "y = net.predict(X)", says=("net.predict(X[start",)),
    ]
    SILENT = [
        Case("import numpy as np", "A = np.kron(L, I)\nbig = [0] * 10**10", line=2),
        Case("import subprocess", "subprocess.run(c)"),
        Case(_FRAME, "df.reindex(df.index[::2])"),
        Case(_FRAME, "y = df['x'].shift(1)"),
        Case("import torch\nopt = torch.optim.SGD(ps)", "opt.step()"),
        Case("from sklearn.svm import SVC\nvec = SVC()", "vec.fit(X)"),
        Case("net = load()", "y = net.predict(X)"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Say what to call in place of the first of these functions that was running."""
        if not death.memory.grew_here:
            return
        for way in WAYS:
            for call in running(way, death):
                why = f"{quote(call.text)} {way.makes}"
                snippet = way.snippet.format(**names(call))
                yield Proposal((), why, death.memory.missing_bytes, way.title, snippet)
                return
