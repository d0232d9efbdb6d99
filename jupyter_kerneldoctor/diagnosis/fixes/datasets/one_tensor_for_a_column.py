from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.stores import stores
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.column_tensors import filled_columns, index_of_items, made_columns
from ...place import guilty_place

_ROWS = NamedObject(
    "rows", "list", 1600 * MIB, items=2_000_000, grew_bytes=1500 * MIB, items_before=0, item_type="tuple"
)
_SET = (
    "class Ratings(torch.utils.data.Dataset):\n    def __init__(self, df):\n        self.rows = []\n        {loop}\n"
    "    def __getitem__(self, n):\n        return self.rows[n]"
)
_ZIP = (
    "for u, r in zip(df.user, df.rating):\n            user = torch.tensor(u, dtype=torch.long)\n"
    "            self.rows.append((user, torch.tensor(r).float()))"
)
_EACH = "for {row}:\n            self.rows.append({value})"
_MOST = 1000  # bytes of a tensor of one number, with its place
_FEW = 1000


def _case(loop: str, *says: str) -> Case:
    grew = replace(_ROWS, name="self.rows")
    return Case("import torch", _SET.format(loop=loop), "data = Ratings(df)", grew=grew, says=says)


class OneTensorForAColumn(Fix):
    """Make one tensor for each column, not one for each number.

    What it does: A tensor of one number takes some hundred bytes, for four or eight that it holds. One tensor of a
    whole column takes no more than its numbers, and `__getitem__` indexes it.

    When it is offered: Memory ran out while a loop made tensors of single numbers of a table's rows, and kept them.

    What it costs: Nothing: an index into a tensor gives a tensor of one number, too. Where no `dtype` is written,
    compare it: a float of Python makes a tensor of float32, a column may be of float64.
    """

    id, causes = "one-tensor-for-a-column", (Family.MEMORY,)
    title = "Make one tensor for each column, and index it in __getitem__: torch.as_tensor(column)"

    FIRES = [
        _case(
            _ZIP,
            "import numpy as np",
            "self.user = torch.as_tensor(np.asarray(df.user), dtype=torch.long)",
            "self.r = torch.as_tensor(np.asarray(df.rating), dtype=torch.float)",
            "def __getitem__(self, n):",
            "return self.user[n], self.r[n]",
        ),
        _case(
            _EACH.format(
                row="row in df.itertuples()", value="(torch.tensor(row.user), torch.FloatTensor([row.rating]))"
            ),
            "self.user = torch.as_tensor(df.user.tolist())",
            "self.rating = torch.as_tensor(df.rating.values, dtype=torch.float)[:, None]",
        ),
        _case(
            _EACH.format(
                row="_, row in df.iterrows()",
                value="{'x': torch.tensor(float(row['price'])), 'y': torch.tensor(row['y'])}",
            ),
            "self.x = torch.as_tensor(df['price'].values, dtype=torch.float)",
            "return {'x': self.x[n], 'y': self.y[n]}",
        ),
        Case(
            "import torch",
            "rows, ys = [], []\nfor i in range(len(df)):\n    rows.append(torch.tensor(df['x'].iloc[i]))\n"
            "    ys.append(torch.tensor([df.y[i]]))",
            grew=_ROWS,
            says=("rows = torch.as_tensor(np.asarray(df['x']))", "ys = torch.as_tensor(np.asarray(df.y))[:, None]"),
        ),
        _case(
            _EACH.format(row="u, r in df[['user', 'rating']].values", value="(torch.tensor(int(u)), torch.tensor(r))"),
            "self.r = torch.as_tensor(df[['user', 'rating']].values[:, 1])",
        ),
        _case(
            _EACH.format(row="a, b in df.itertuples(index=False)", value="(torch.tensor(a), torch.tensor([b, a]))"),
            "self.a = torch.as_tensor(df.iloc[:, 0].tolist())",
            "torch.stack([torch.as_tensor(df.iloc[:, 1].tolist()), torch.as_tensor(df.iloc[:, 0].tolist())], dim=1)",
        ),
        Case(
            "import torch",
            "rows = [torch.tensor(y, dtype=torch.long) for y in df['label'].tolist()]",
            grew=replace(_ROWS, item_type="torch.Tensor"),
            says=("torch.as_tensor(np.asarray(df['label']), dtype=torch.long)", "rows[i]"),
        ),
        Case(
            "import torch",
            "rows = []\nfor a, b, y in zip(df.a, df.b, df.y):\n    x = torch.LongTensor([a, b])\n"
            "    rows.append((x, torch.tensor(y)))",
            grew=_ROWS,
            says=(
                "x = torch.as_tensor(np.stack([np.asarray(df.a), np.asarray(df.b)], axis=1), dtype=torch.long)",
                "TensorDataset(x, y)",
            ),
        ),
    ]
    SILENT = [
        _case(_EACH.format(row="text in df.text", value="torch.tensor(encode(text))")),
        _case(
            _EACH.format(row="x, y in pairs", value="(torch.tensor(x), torch.tensor(y))")
        ),  # what they are is not known
        _case(_EACH.format(row="u, r in zip(df.user, df.rating)", value="(u, r)")),
        _case(_EACH.format(row="u, r in zip(df.user, df.rating)", value="(torch.tensor(u), net(r))")),
        Case(
            "import torch", "rows = []\nfor y in df.y:\n    rows.append(torch.tensor(y))"
        ),  # nothing shows that it grew
        Case(
            "import torch", "rows = []\nfor y in df.y:\n    rows.append(torch.tensor(y))", grew=_ROWS, cause="segfault"
        ),
        Case(  # a tensor of a megabyte each
            "import torch",
            "rows = []\nfor y in df.picture:\n    rows.append(torch.tensor(y))",
            grew=replace(_ROWS, items=1500),
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        at, grown = guilty_place(death), {one.name.rpartition(".")[2]: one for one in death.growth.objects}
        if not death.is_of_this_cell or not grown:
            return
        made = () if at is None else made_columns(at.node, at.scope, death.code)
        for found in (*filled_columns(list(stores(death.code.running)), death.code), *made):
            one = next((grown[name] for name in found.words if name in grown), None)
            gained = 0 if one is None else death.growth.items_gained(one)
            if one is None or gained < _FEW or (one.grew_bytes or 0) > gained * len(found.columns) * _MOST:
                continue
            grew = one.grew_bytes or 0
            if at is not None and found.has_in_its_loop(at.node, at.scope):
                grew = max(grew, death.memory.missing_bytes or 0)  # only a part of what each takes is measured
            why = (
                f"{quote(one.name)} gained {gained:,} rows, with a tensor for each number: some hundred bytes each. "
                "In the tensor of a whole column a number takes 4 or 8."
            )
            code = found.code(index_of_items(found.scope, death.code))
            imported = "import numpy as np\n\n" if "np." in code and not death.code.imports("numpy") else ""
            yield Proposal((), why, grew, snippet=imported + code)
            return
