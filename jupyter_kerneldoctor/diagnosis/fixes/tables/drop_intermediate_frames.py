from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...edits import insert_before
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.copied_tables import copied_tables
from ...units import enumeration
from ...unused_objects import unused_objects

_LARGE = 0.1  # of what was missing
_TYPES = ("DataFrame", "Series", "ndarray")
_HELD = Namespace(
    -20.0,
    objects=(NamedObject("raw", "pandas.DataFrame", 900 << 20), NamedObject("clean", "pandas.DataFrame", 500 << 20)),
)


class DropIntermediateFrames(Fix):
    """Forget the tables that others were made of.

    What it does: `clean = raw.dropna()` leaves `raw` in memory for as long as it has its name. `del raw` at the top of
    the cell gives it back.

    When it is offered: Memory ran out, a table or array is a good part of what was in use, another one was made of it
    in an earlier cell, and the cell that ran does not name it, nor does what that calls.

    What it costs: Cells that use it later need it again: run the cell that makes it.
    """

    id, title, causes = "drop-intermediate-frames", "Forget the tables that others were made of: del", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd\nraw = pd.read_csv('a.csv')",
            "clean = raw.dropna()",
            "%%time\nwide = clean.apply(features, axis=1)",
            becomes="%%time\ndel raw  # no longer needed\nwide = clean.apply(features, axis=1)",
            before_mib=1500,
            namespaces=[_HELD],
            says=("`raw` (900 MiB)",),
        )
    ]
    SILENT = [
        Case("raw = load()", "clean = raw.dropna()", "wide = raw.join(clean)", before_mib=1500, namespaces=[_HELD]),
        Case("raw = load()", "def f(): return raw", "clean = raw + 1", "f()", before_mib=1500, namespaces=[_HELD]),
        Case("raw = load()\nclean = load()", "wide = g(clean)", before_mib=1500, namespaces=[_HELD]),
        Case("raw = load()", "clean = raw.dropna()", "wide = g(clean)", before_mib=1500),  # nothing was recorded
        *(  # the same memory
            Case("raw = load()", f"clean = {made}", "g(clean)", before_mib=1500, namespaces=[_HELD])
            for made in ("raw[5:]", "raw.to_numpy()", "raw.rename(columns=str)", "raw.dropna()\ny = raw['y']")
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes or 0
        module = code.module(code.last) if death.is_of_this_cell else None
        large = [one for one in unused_objects(death, _LARGE * missing) if one.type.rpartition(".")[2] in _TYPES]
        made_of = copied_tables(death.code) if large else set()  # which reads all cells
        gone = [one for one in large if one.name in made_of]
        if gone and module is not None and module.body:
            line = f"del {', '.join(one.name for one in gone)}  # no longer needed"
            yield Proposal(
                insert_before(module, module.body[0], line),
                f"{enumeration([f'{quote(one.name)} ({size(one.bytes)})' for one in gone])} stayed in memory after "
                "others were made of it, and this cell does not use it.",
                sum(one.bytes for one in gone),
            )
