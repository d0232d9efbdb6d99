from typing import Any

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...edits import Changes, hide_output
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, size
from ...units import plural

_SMALL = 0.1  # of the limit
_LOAD = "import numpy as np\ndef load(): return np.ones(10**8)"


def _kept(*names: str, mib: int = 400) -> dict[str, Any]:
    objects = tuple(NamedObject(name, "numpy.ndarray", mib * MIB, hidden=True) for name in names)
    return {"namespaces": [Namespace(-11.0, 2, objects)]}


class SuppressOutputCache(Fix):
    """End the cell with a semicolon, so that IPython does not keep what it shows.

    What it does: IPython keeps the value of a cell's last line for the rest of the session, as `Out[3]` and `_`. Large
    results that are only looked at fill the memory cell by cell. A `;` behind the line shows and keeps nothing; `x =
    f()` keeps one. A kernel that is started with `c.InteractiveShell.cache_size = 0` keeps none.

    When it is offered: Memory ran out, and the output cache held a good part of it.

    What it costs: The value is not shown below the cell; `display(x)` shows it and keeps nothing. `Out[3]` and `_` do
    not have it.
    """

    id, title = "suppress-output-cache", "Do not keep large results in Out: end the line with ;"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _LOAD,
            "%time x = 1\nload()  # é",
            "load()",
            becomes={2: "%time x = 1\nload();  # é", 3: "load();"},
            says=("`Out[2]`", "400 MiB", "cache_size"),
            before_mib=1500,
            **_kept("Out[2]"),
        )
    ]
    SILENT = [
        Case(_LOAD, "load();", "load()", before_mib=1500, **_kept("Out[1]", mib=20)),
        Case(_LOAD, "x = load()", "y = load()", before_mib=1500),
        Case(_LOAD, "load()", "load()", cause="segfault", **_kept("Out[2]")),
    ]

    def propose(self, death: Death) -> Proposals:
        look = next(iter(death.recording.namespaces[-1:]), None)
        kept = [one for one in look.objects if one.hidden and one.name.startswith("Out[")] if look is not None else []
        total, limit = sum(one.bytes for one in kept), death.memory.limit_bytes
        if not kept or limit is None or total < _SMALL * limit:
            return
        numbers = {one.name[4:-1] for one in kept}
        edits: Changes = ()
        for at, cell in enumerate(death.code.cells[: death.code.last + 1]):
            if str(cell.execution_count) in numbers or at == death.code.last:
                edits += hide_output(death.code.module(at))
        if not edits:
            return
        why = f"The output cache kept {plural(len(kept), 'result')}, {size(total)} in all: `{kept[0].name}` alone "
        why += f"{size(kept[0].bytes)}. A `;` at the end of a cell keeps nothing. With "
        why += "`c.InteractiveShell.cache_size = 0` in ipython_kernel_config.py the kernel keeps none at all."
        yield Proposal(edits, why, total, snippet="%reset -f out\n# or for one of them: %xdel x")
