from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.stores import stores
from ...examples import MIB
from ...filled import filling
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.kept_items import kept_items
from ...frameworks.later_uses import later_uses
from ...frameworks.one_in_memory import one_in_memory

_ROWS = NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_LOST = 0.5
"""Of what grew: that is offered after what keeps less of each, which takes no other code later."""


def _case(code: str, item: str | None, *says: str, name: str = "rows", of: str = "list") -> Case:
    grew = replace(_ROWS, name=name, item_type=item, type=of)
    return Case("import numpy as np, pandas as pd", code, grew=grew, says=says)


class OneInMemory(Fix):
    """Have one item in memory at a time.

    What it does: Writes the loop that fills a container so that it holds none: as a generator, as `__getitem__` of the
    data set, as an array that lies in a mapped file, as a file for each table, as a dict on the disk.

    When it is offered: Memory ran out while a list or a dict grew, and the loop does not need those that it has made.

    What it costs: What is made anew takes its time again, and a file is slower than memory.
    """

    id, title, causes = "one-in-memory", "Have one of them in memory at a time", (Family.MEMORY,)
    broad = True
    unless_offered = frozenset(
        {
            *("append-to-the-list-you-iterate", "close-figures", "detach-accumulated-loss", "drop-kept-tape"),
            *("detach-collected-outputs", "no-grad-evaluation", "bound-the-queue", "note-what-was-seen"),
            *("remove-hooks", "clear-after-update", "backward-each-batch"),
            *("load-items-on-demand", "do-it-at-once", "generator-instead-of-list", "yield-items"),
        }
    )

    FIRES = [
        _case(
            "rows = []\nfor line in open(p):\n    words = line.split()\n    if words:\n        rows.append(words)",
            "list",
            *("def rows():", "if not (words): continue", "yield words"),
        ),
        _case(
            "class Clips:\n    def __init__(self, paths):\n        self.rows = []\n        for p in paths:\n"
            "            wave = load(p)\n            self.rows.append(wave[:99])\n"
            "    def __getitem__(self, i): return self.rows[i]\nc = Clips(paths)",
            "numpy.ndarray",
            *("self.sources = list(paths)", "    p = self.sources[i]\n    wave = load(p)\n    return wave[:99]"),
            name="self.rows",
        ),
        _case(
            "rows = []\nfor p in paths:\n    rows.append(np.load(p))\nX = np.array(rows)",
            "numpy.ndarray",
            *("rows[i] = np.load(p)", "open_memmap('rows.npy'", "preallocated"),
        ),
        _case(
            "rows = []\nfor p in paths:\n    rows.append(pd.read_csv(p))",
            "pandas.DataFrame",
            "to_parquet(f'rows/part-{i}",
        ),
        _case(
            "rows = {}\nfor w in words:\n    rows[w] = vector(w)", "list", "if w in wanted:", "shelve.open", of="dict"
        ),
    ]
    SILENT = [
        _case("rows = []\nfor x in xs:\n    rows.append(len(x))", "int"),
        _case("rows = [1]\nwhile True:\n    rows.append(rows[-1] + f())", "int"),
        _case("rows = []\nfor x in xs:\n    fit(x)\n    rows.append(predict(x))", "list"),
        Case("rows = []\nfor x in xs:\n    rows.append(load(x))", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, fillers = death.growth.container, kept_items(stores(death.code.running))
        if container is None or container.with_graph or not death.is_of_this_cell:
            return
        for kept in filling(death, fillers):
            uses = later_uses(kept.name, kept.scope, [kept.statement], death.code)
            if (less := one_in_memory(kept, container.item_type, uses, death.code)) is not None:
                grew = container.grew_bytes or container.bytes or 0
                why = f"{quote(container.name)} grew by {size(grew)}, and holds {container.length or 0:,} at once."
                yield Proposal((), why, int(grew * _LOST), less.title, less.code)
                return
