import ast
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import plain_names
from ...code.stores import stores
from ...code.trees import walk
from ...examples import MIB
from ...filled import filling, is_array_filled
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.item_forms import Smaller, parts_of
from ...frameworks.kept_items import kept_items
from ...frameworks.smaller_items import smaller
from ...place import guilty_place

_ROWS = NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_LOST = 0.6  # of what grew, where it is not known how much less a form takes


def _case(code: str, item: str | None, *says: str, before: str = "import numpy as np, torch, pandas as pd") -> Case:
    return Case(before, code, grew=replace(_ROWS, item_type=item), says=says)


class SmallerItems(Fix):
    """Keep each item in a form that takes less.

    What it does: Looks at what is kept of each round: a list of numbers, an array of floats, a picture, a table, a row,
    a part of a text, a model. For each of them it shows the same in fewer bytes.

    When it is offered: Memory ran out while a list, dict or set grew, and what its items are is known.

    What it costs: Smaller types keep fewer digits, and a sample not all. What is kept is made whole when it is used.
    """

    id, title, causes = "smaller-items", "Keep each item in a smaller form", (Family.MEMORY,)
    broad = True
    unless_offered = frozenset(
        {
            *("append-to-the-list-you-iterate", "close-figures", "detach-accumulated-loss", "drop-kept-tape"),
            *("detach-collected-outputs", "no-grad-evaluation", "bound-the-queue", "note-what-was-seen"),
            *("remove-hooks", "clear-after-update", "backward-each-batch", "one-tensor-for-a-column"),
        }
    )

    FIRES = [
        _case(
            "rows, last = [], [0] * 256\nfor c in text:\n    rows.append(last)\n    last = last[1:] + [n[c]]",
            "list",
            *("rows.append(np.array(last, dtype='int16'))", "46 KiB in place of 182 KiB"),
        ),
        _case(
            "rows = []\nfor points in clouds:\n    grid = torch.zeros(9)\n    grid[points] = 1\n    rows.append(grid)",
            "torch.Tensor",
            "rows.append(grid.to(torch.bool))",
        ),
        _case(
            "rows = []\nfor p in paths:\n    x = np.load(p)\n    rows.append({'x': x, 'p': p})",
            "dict",
            "rows.append({'x': x.astype('float32'), 'p': p})",
        ),
        _case(
            "rows = []\nfor p in paths:\n    rows.append(np.load(p))", "numpy.ndarray", "np.load(p).astype('float32')"
        ),
        _case("rows = []\nfor i in range(len(s)):\n    rows.append((s[i:], i))", "tuple", "lambda i: s[i:]"),
        _case(
            "rows = []\nfor i, row in df.iterrows():\n    if row['a'] > 3 and row['b'] != 0:\n        rows.append(row)",
            "pandas.Series",
            *("rows = df[(df['a'] > 3) & (df['b'] != 0)]", "rows.append(i)"),
        ),
        _case(
            "rows = []\nfor p in paths:\n    rows.append(pd.read_csv(p))", "pandas.DataFrame", "part.sample(frac=0.1)"
        ),
        Case(
            "import pandas as pd\ndf = pd.read_csv(p)\nfor n in range(99):\n    df[f'lag_{n}'] = df['y'].shift(n)",
            line=4,
            says=("df[f'lag_{n}'] = df['y'].shift(n).astype('float32')", "sliding_window_view(df['y'], n)"),
        ),
        _case(
            "rows = []\nfor b in ids:\n    rows.append(net(b))",
            "transformers.BaseModelOutput",
            "last_hidden_state.half()",
        ),
    ]
    SILENT = [
        Case("for u, v in steps:\n    rows[v] = rows[u] + [v]", line=2),
        Case(
            "from sklearn.cluster import KMeans",
            "for k in ks:\n    km = KMeans(k).fit(X)\n    n = score(km)\n    rows[k] = (km.inertia_, n)",
            line=3,
        ),
        Case("import numpy as np\nX = np.zeros((9, 9))\nfor i, row in df.iterrows():\n    X[i] = row", line=3),
        _case("rows = []\nfor x in xs:\n    rows.append(x)", None),
        _case("rows = []\nfor x in xs:\n    rows.append(x)", "list"),
        Case("rows = []\nfor x in xs:\n    rows.append([0] * 9)", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, fillers = death.growth.container, kept_items(stores(death.code.running))
        if not death.is_of_this_cell or (container is not None and container.with_graph):
            return
        each, at = death.growth.bytes_per_item, guilty_place(death)
        for kept in filling(death, fillers):
            if container is None and at is not None and at.node is not kept.statement:
                continue
            is_of_itself = kept.name in plain_names(kept.value)  # a new column of a table
            if container is None and not is_of_itself and any(isinstance(one, ast.Call) for one in walk(kept.value)):
                continue  # the call itself may have taken the memory
            if is_array_filled(kept, death.code) and not is_of_itself:
                continue
            values = (death.values.of(one, kept.scope) for one in parts_of(kept.value))
            value = next((one for one in values if one is not None and one.shape and one.dtype), None)
            item_type = None if container is None or kept.form == "listed" else container.item_type
            if (found := smaller(kept, item_type, death.code, value, each)) is not None:
                grew = death.memory.missing_bytes if container is None else container.grew_bytes or container.bytes
                yield _proposal(found, kept.name, grew or 0, death)
                return


def _proposal(found: Smaller, name: str, grew: int, death: Death) -> Proposal:
    each, lines = death.growth.bytes_per_item, []
    for form in found.forms:
        now = "" if form.share is None or not each else f": {size(each * form.share)} in place of {size(each)}"
        lines.append(f"{form.text}  # {form.note}{now}")
    left = found.forms[0].share
    why = f"{quote(name)} grew by {size(grew)}. {found.told}"
    return Proposal((), why, int(grew * (_LOST if left is None else 1 - left)), found.title, "\n".join(lines))
