import ast

from ...edits import import_as, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.loaders import Items, items_of, loaders_with_workers
from ...workers import workers_bytes

_DATA = (
    "import numpy as np\nfrom torch.utils.data import Dataset, DataLoader\nclass Texts(Dataset):\n"
    "    def __init__(self, n):\n        self.rows = {rows}\n    def __len__(self): return len(self.rows)\n"
    "    def __getitem__(self, i): return len(self.rows[i])\n"
)
_RUN = "for x in DataLoader(Texts(10**6), num_workers=4): pass"
_TEXTS = frozenset({"str", "zfill", "format", "join", "strip", "lower", "upper", "replace"})
_NUMBERS = frozenset({"int", "float", "len"})


class DatasetCopyOnAccess(Fix):
    """Keep what the data set holds in an array, not in a list of Python objects.

    What it does: Workers begin as a copy of the kernel that shares its memory. Who reads a Python object writes its
    reference count, and so copies the page it is on: during an epoch each worker gets a copy of the whole list. An
    array has one count for all its values.

    When it is offered: Memory ran out while workers of a `DataLoader` held a good part of it, and its data set keeps a
    list or a dict with an object for each sample.

    What it costs: Values are those of NumPy. Texts go into a column of Arrow: in an array of NumPy each takes as much
    as the longest, at four bytes a character.
    """

    id, title = "dataset-copy-on-access", "Keep the data set's items in an array, which workers share"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _DATA.format(rows="[float(i) for i in range(n)]"),
            _RUN,
            children_mib=1500,
            becomes={1: _DATA.format(rows="np.asarray([float(i) for i in range(n)])")},
            says=("self.rows",),
        ),
        Case(
            _DATA.format(rows="[str(i).zfill(99) for i in range(n)]"),
            _RUN,
            children_mib=1500,
            says=("string[pyarrow]",),
        ),
        Case(
            _DATA.format(rows="[{'id': i} for i in range(n)]"), _RUN, children_mib=1500, says=("self.rows", "np.array")
        ),
    ]
    SILENT = [
        Case(_DATA.format(rows="[str(i) for i in range(n)]"), _RUN),
        Case(_DATA.format(rows="np.arange(n)"), _RUN, children_mib=1500),
        Case(_DATA.format(rows="[str(i) for i in range(n)]"), _RUN.replace("=4", "=0"), children_mib=1500),
    ]

    def propose(self, death: Death) -> Proposals:
        held = workers_bytes(death)
        for loader in loaders_with_workers(death.code) if held else ():
            for items in items_of(loader, death.code):
                why = (
                    f"{quote(items.name)} holds a Python object for each sample. Each of the {loader.workers} workers "
                    f"of {quote(loader.call.text)} copies what it reads of them; together they held {size(held or 0)}."
                )
                scope, name = items.origin.scope, items.name.partition(".")[2]
                if _is(items, _NUMBERS):
                    numpy, imported = import_as(scope, death.code, "numpy", "np")
                    edits = replace(scope, items.made, f"{numpy}.asarray({scope.segment(items.made)})")
                    yield Proposal(imported + edits, why, held)
                elif _is(items, _TEXTS):
                    texts = scope.segment(items.made)
                    column = f'import pandas as pd\nself.{name} = pd.Series({texts}, dtype="string[pyarrow]")'
                    yield Proposal((), f"{why} A column of Arrow is shared.", held, snippet=column)
                else:
                    columns = f"self.{name}_ids = np.array([…])  # an array for each field, read in __getitem__"
                    yield Proposal((), f"{why} Keep an array for each field in its place.", held, snippet=columns)
                return


def _is(items: Items, makers: frozenset[str]) -> bool:
    """Whether the items are surely what these functions and methods give."""
    match items.made:
        case ast.ListComp(elt=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in makers
        case ast.ListComp(elt=ast.JoinedStr()):
            return makers is _TEXTS
    return False
