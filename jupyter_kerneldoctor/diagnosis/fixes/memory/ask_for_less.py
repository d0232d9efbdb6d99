from ...analysis.guilty_statement import keeps_what_grew
from ...fix import Case, Death, Family, Fix, Proposals
from ...lesser_ways import WAYS, counterexamples, examples, first_running
from ...place import guilty_place

_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"


class AskForLess(Fix):
    """Call what makes only what you need.

    What it does: Some functions make far more than is asked of them: a number for each combination of bins, a column
    for each tag, the whole output of a program. For each of them the snippet shows a call that makes only what is used.

    When it is offered: Memory ran out while such a function was running.

    What it costs: The result has another form: sparse, one part after the other, or only what occurs.
    """

    id, title, causes = "ask-for-less", "Call what makes only what you need", (Family.MEMORY,)

    broad, unless_offered = True, frozenset({"close-figures"})

    FIRES = [
        *examples(WAYS),
        Case(
            "import re",
            "n = max(re.findall('a  b', text))",
            becomes="n = max((found[0] for found in re.finditer('a  b', text)))",
        ),
        Case(
            "import sqlite3\ndb = sqlite3.connect('shop.db')",
            "for row in db.execute('select day,  price from sales where price > 3').fetchall():\n    send(row)",
            becomes="for row in db.execute('select day,  price from sales where price > 3'):\n    send(row)",
        ),
        Case(
            "from joblib import Parallel, delayed",
            "best = max(Parallel(\n    n_jobs=2,\n)(delayed(f)(x) for x in xs))",
            becomes="best = max(Parallel(\n    n_jobs=2, return_as='generator')(delayed(f)(x) for x in xs))",
        ),
        Case(
            "from keras.layers import CategoryEncoding\nclass Tags:\n    def __init__(self):\n"
            "        self.encode = CategoryEncoding(output_mode='multi_hot')\n"
            "    def columns(self, rows):\n        return self.encode(rows)\ntags = Tags()",
            "x = tags.columns(films)",
            says=("ds.map(lambda x, y: (self.encode(x), y))",),
        ),
        Case(
            "import keras\nnet = keras.Sequential()\ndef act(s):\n    return net.predict(s[None])[0].argmax()",
            "s = env.reset()\nwhile True:\n    s, reward = env.step(act(s))",
            line=3,
            says=("net(s[None], training=False)",),
        ),
        Case("from re import findall", "n = set(findall('a+', text))", says=("in re.finditer('a+', text)",)),
    ]
    SILENT = [
        *counterexamples(WAYS),
        Case("import numpy as np", "A = np.kron(L, I)\nbig = [0] * 10**10", line=2),
        Case("import subprocess", "subprocess.run(c)"),
        Case(_FRAME, "df.reindex(df.index[::2])"),
        Case(_FRAME, "y = df['x'].shift(1)"),
        Case("import torch\nopt = torch.optim.SGD(ps)", "opt.step()"),
        Case("import torch", "def forward(self, x):\n    return self.net(x.float() / 255)\ny = forward(net, x)"),
        Case("from sklearn.isotonic import IsotonicRegression\nvec = IsotonicRegression()", "vec.fit(X, y)"),
        Case("net = load()", "y = net.predict(X)"),
        Case("import matplotlib.pyplot as plt", "plt.savefig('a.png', dpi=50)"),
        Case("from PIL import Image", "x = Image.open('a').resize((224, 224))"),
        Case("import numpy as np", "y = np.repeat(x, 7, axis=1)"),
        Case("import numpy as np", "y = np.eye(50_000)[labels]"),
        Case("import seaborn as sns", "sns.heatmap(table)"),
        Case("import math", "row = [math.comb(n, k) for k in range(n)]"),
        Case("import pandas as pd", "rows = load(index=pd.date_range('2020', '2021', freq='s'))"),
        Case(_FRAME, "wide = pd.concat([df, pd.get_dummies(df['city'])], axis=1)"),  # the same rows
        Case(_FRAME + "\ncodes = pd.get_dummies(df['city'])", "wide = pd.concat([df, codes], axis=1)"),
        Case("from gensim.models import Doc2Vec", "m = Doc2Vec(texts)"),  # takes no sentences
        Case("import osmnx as ox", "parks = ox.features_from_place('Rome', tags)"),
        Case("import numpy as np", "pad = np.zeros((len(pictures), max(heights), max(widths), 3))[..., 0]"),
        Case("import numpy as np", "pad = np.ones(max(len(one) for one in texts) + 1) * x"),
        Case(_FRAME, "df = df.reindex(range(len(df)))"),
        Case("import asyncio", "p = await asyncio.gather(read(a), read(b))"),
        Case("import sqlite3\ncon = sqlite3.connect(':memory:')", "con.execute('select * from t')"),
        Case("import tifffile", "x = tifffile.imread(sorted(names))"),
        Case("from scipy.integrate import odeint", "y = odeint(f, y0, t)"),  # takes its arguments in another order
        Case("import trimesh", "mesh = trimesh.load('a.ply')"),  # not for laspy
        Case("from pydub import AudioSegment", "a = AudioSegment.silent(duration=n)"),
        Case("from skimage import io", "x = io.imread('a.png')"),
        Case("from scipy import signal", "c = signal.correlate(a, b, mode='same', method='fft')"),
        Case("import torch", "x = torch.randn(1, n)"),
        Case("import torch", "x = torch.randn(batch, 3, 224, 224)"),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        if at is not None and (found := list(first_running(WAYS, death, at.scope, at.node))):
            yield from found
        elif at is None or not keeps_what_grew(death.growth, death.statement_at(death.line)):
            yield from first_running(WAYS, death)
        else:  # what a function returns is kept round by round: another call in that function saves little
            yield from first_running(WAYS, death, at.scope)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - as in the base
        """Count no advice: what takes one item after the other may still be told how to keep less."""
        return not any(one.edits for one in first_running(WAYS, after))
