"""The fix `dataset-copy-on-access`."""

import ast
from collections.abc import Iterator

from ..case import Case
from ..death import Death
from ..edits import EditRefusedError, import_as, replace
from ..family import Family
from ..fix import Fix, Proposal
from ..frameworks.loaders import Items, items_of, loaders_with_workers
from ..units import quote, size
from ..workers import workers_bytes

_DATA = (
    "import numpy as np\nfrom torch.utils.data import Dataset, DataLoader\nclass Texts(Dataset):\n"
    "    def __init__(self, n):\n        self.rows = {rows}\n    def __len__(self): return len(self.rows)\n"
    "    def __getitem__(self, i): return len(self.rows[i])\n"
)
_RUN = "for x in DataLoader(Texts(10**6), num_workers=4): pass"
_TEXTS = frozenset({"str", "zfill", "format", "join", "strip", "lower", "upper", "replace", "int", "float"})


class DatasetCopyOnAccess(Fix):
    """Keep what the data set holds in an array, not in a list of Python objects.

    What it does
    ------------
    Workers begin as a copy of the kernel that shares its memory. Who reads a Python object writes its reference count,
    and so copies the page it is on: during an epoch each worker gets a copy of the whole list. An array has one count
    for all its values.

    When it is offered
    ------------------
    Memory ran out while workers of a `DataLoader` held a good part of it, and its data set keeps a list or a dict with
    an object for each sample.

    What it costs
    -------------
    Values are those of NumPy. All texts of an array take as much as the longest.
    """

    id, title = "dataset-copy-on-access", "Keep the data set's items in an array, which workers share"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _DATA.format(rows="[str(i).zfill(99) for i in range(n)]"),
            _RUN,
            children_mib=1500,
            becomes={1: _DATA.format(rows="np.asarray([str(i).zfill(99) for i in range(n)])")},
            says=("self.rows",),
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

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Make an array of a list of texts or numbers; say how for other objects."""
        held = workers_bytes(death)
        for loader in loaders_with_workers(death.code) if held else ():
            for items in items_of(loader, death.code):
                why = (
                    f"{quote(items.name)} holds a Python object for each sample. Each of the {loader.workers} workers "
                    f"of {quote(loader.call.text)} copies what it reads of them; together they held {size(held or 0)}."
                )
                try:
                    numpy, edits = import_as(items.origin.scope, death.code, "numpy", "np")
                except EditRefusedError:
                    numpy, edits = "np", ()
                text = items.origin.scope.segment(items.made)
                if _is_plain(items):
                    edits += replace(items.origin.scope, items.made, f"{numpy}.asarray({text})")
                    yield Proposal(edits, why, held)
                else:
                    field = items.name.partition(".")[2]
                    columns = f"self.{field}_ids = {numpy}.array([…])  # an array for each field, read in __getitem__"
                    yield Proposal((), f"{why} Keep an array for each field in its place.", held, snippet=columns)
                return


def _is_plain(items: Items) -> bool:
    """Whether the items surely are texts or numbers."""
    match items.made:
        case ast.ListComp(elt=ast.Constant() | ast.JoinedStr()):
            return True
        case ast.ListComp(elt=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _TEXTS
    return False
