import ast
import re

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...examples import MIB
from ...fix import Advice, Case, Death, Family, Scope, quote, size

_SMALL = 0.1  # of the limit
_KEPT = [Namespace(-11.0, 2, (NamedObject("Out[2]", "numpy.ndarray", 600 * MIB, hidden=True),))]
_SHOWS = "import numpy as np\nx = np.ones(10**8)"


class XdelVariable(Advice):
    """Delete a variable that was shown with %xdel: del alone frees nothing.

    What it does: What a cell shows is also kept as `Out[2]` and `_`. `del x` takes away one of three names; `%xdel x`
    takes away all of them, so that the memory is given back.

    When it is offered: Memory ran out, a cell deletes a variable, and the output cache still held a value of that size.

    What it costs: Nothing.
    """

    id, title, causes = "xdel-variable", "Delete what was shown with %xdel, not with del", (Family.MEMORY,)
    share = 1.0  # wherever the memory went: the value that is kept is a part of what fills the kernel
    why = "{deletes} freed nothing: what was shown is kept as {kept}, too. `%xdel` takes away all of its names."
    snippet = "%xdel {name}"

    FIRES = [Case(_SHOWS, "x", "del x", "y = [0] * 10**9", namespaces=_KEPT, says=("%xdel x", "`Out[2]`", "600 MiB"))]
    SILENT = [Case(_SHOWS, "del x", "y = [0] * 10**9"), Case(_SHOWS, "x", "del z", "y = [0] * 10**9", namespaces=_KEPT)]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find a name that was shown, is kept, and was deleted."""
        limit = death.memory.limit_bytes or 0
        look = next(iter(death.recording.namespaces[-1:]), None)
        kept = [one for one in (look.objects if look is not None else ()) if one.hidden and one.bytes > _SMALL * limit]
        for one in kept:
            found = re.fullmatch(r"Out\[(\d+)\]", one.name)
            number = int(found[1]) if found is not None else None
            at = next((at for at, cell in enumerate(death.code.cells) if cell.execution_count == number), None)
            module = None if at is None or number is None else death.code.module(at)
            match module.body[-1:] if module is not None else []:
                case [ast.Expr(value=ast.Name(id=name))] if any(
                    _deletes(name, scope) for scope in death.code.mentioning("del")
                ):
                    what = f"{quote(one.name)} ({size(one.bytes)})"
                    return {"deletes": quote(f"del {name}"), "kept": what, "name": name}
        return None


def _deletes(name: str, scope: Scope) -> bool:
    return any(
        isinstance(node, ast.Delete) and any(getattr(one, "id", None) == name for one in node.targets)
        for node in scope.nodes
    )
