import ast
from collections.abc import Mapping
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.stores import stores
from ...edits import replace as replaced
from ...examples import MIB
from ...filled import filling
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.kept_items import KeptItem, kept_items
from ...frameworks.numpy import VIEWS
from ...frameworks.smaller_items import package_of, parts_of

_ROWS = NamedObject("rows", "list", 1600 * MIB, items=90, grew_bytes=1500 * MIB, items_before=0)
_TORCH = "import torch\nnet = torch.nn.Linear(9, 9)\nrows = []\nwith torch.no_grad():\n    for x in xs:\n"
_NUMPY = "import numpy as np\nrows = []\nfor p in paths:\n    page = np.load(p)\n"
_COPIES = {"torch": "clone", "numpy": "copy"}


def _case(code: str, of: str, *says: str, becomes: Mapping[int, str] | str = {}) -> Case:
    return Case(code, grew=replace(_ROWS, item_type=of), says=says, becomes=becomes)


class CopyThePart(Fix):
    """Copy the part that is kept of an array, so that the rest of it can go.

    What it does: `page[:10]` and `frames[:, -1]` are views: each keeps the memory of the whole array that it is a part
    of. A copy of the part needs only its own room.

    When it is offered: Memory ran out while a list or dict grew into which a loop puts a part of an array of NumPy or a
    tensor that was made in the same round.

    What it costs: The time to copy the part.
    """

    id, title, causes = "copy-the-part", "Copy the part that is kept: a view keeps the whole array", (Family.MEMORY,)

    FIRES = [
        _case(
            _TORCH + "        frames = net(x)\n        rows.append(frames[:, -1])",
            "torch.Tensor",
            becomes=_TORCH + "        frames = net(x)\n        rows.append(frames[:, -1].clone())",
        ),
        _case(
            _NUMPY + "    rows.append((p, page[10:20]))",
            "tuple",
            becomes=_NUMPY + "    rows.append((p, page[10:20].copy()))",
        ),
        _case(
            _NUMPY + "    head = page[:5]\n    rows.append(head)",
            "numpy.ndarray",
            becomes=_NUMPY + "    head = page[:5].copy()\n    rows.append(head)",
        ),
        _case(  # many parts of one picture may be more than it
            "import cv2\nrows = []\nfor p in paths:\n    img = cv2.imread(p)\n    for x, y in at[p]:\n"
            "        rows.append(img[y:y + 9, x:x + 9])",
            "numpy.ndarray",
            "img[y:y + 9, x:x + 9].copy()",
        ),
    ]
    SILENT = [
        _case(_NUMPY + "    rows.append(page[page > 3])", "numpy.ndarray"),
        _case(_NUMPY + "    rows.append(page[3])", "numpy.float64"),
        _case(_NUMPY + "    rows.append(page[:5].mean())", "numpy.float64"),
        _case(
            "import numpy as np\npage = np.load(p)\nrows = []\nfor i in range(9):\n    rows.append(page[i:i + 9])",
            "numpy.ndarray",
        ),
        _case("rows = []\nfor p in paths:\n    page = open(p).read()\n    rows.append(page[:5])", "str"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, fillers = death.growth.container, kept_items(stores(death.code.running))
        if container is None or container.with_graph or not death.is_of_this_cell:
            return
        for kept in filling(death, fillers):
            loops, segment = kept.scope.loops_around(kept.statement), kept.scope.segment
            for part in _views(kept, death) if loops else ():
                is_itself = part is kept.value or isinstance(kept.value, ast.Name)
                known = f"{container.item_type}".partition(".")[0] if is_itself else ""
                package = known if known in _COPIES else package_of(part.value, kept.scope, death.code)
                if package not in _COPIES or not (around := _made_in(part.value, kept.scope)):
                    continue
                text, grew = segment(part), container.grew_bytes or container.bytes
                why = f"{quote(text)} is a view: as long as it is kept, all of {quote(segment(part.value))} is. "
                why += (
                    f"{quote(container.name)} holds {container.length or 0:,} of them, and grew by {size(grew or 0)}."
                )
                new = f"{text}.{_COPIES[package]}()"
                edits = replaced(kept.scope, part, new) if around == loops else ()  # else many parts of one array
                yield Proposal(edits, why, grew, snippet=None if edits else new, applicability="safe")
                return


def _made_in(whole: ast.expr, scope: Scope) -> tuple[ast.AST, ...]:
    """Return the loops around the call that makes an array; nothing where it is no new array, or not known."""
    stored = [one for one in scope.named(getattr(whole, "id", None)) if isinstance(one.ctx, ast.Store)]
    statement = scope.statement_of(stored[0]) if len(stored) == 1 else None
    match statement:
        case ast.Assign(value=ast.Call(func=function) as made) if last_name(function) not in VIEWS - {
            "load",
            "get",
        } and "mmap" not in scope.segment(made):
            return scope.loops_around(statement)
    return ()


def _views(kept: KeptItem, death: Death) -> list[ast.Subscript]:
    """Return the expressions among what is kept, or behind its name, that surely are views: slices, no lists."""
    found = []
    for part in parts_of(kept.value):
        origins = all_origins(part, kept.scope, death.code)[1:2] if isinstance(part, ast.Name) else [(part, kept.scope)]
        found += [one for one, where in origins if isinstance(one, ast.Subscript) and where is kept.scope]
    return [one for one in found if _is_basic(one.slice)]


def _is_basic(index: ast.expr) -> bool:
    """Whether an index has a slice, and beside it only slices and numbers that are written there."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    plain = (ast.Slice, ast.Constant, ast.UnaryOp)
    return any(isinstance(one, ast.Slice) for one in parts) and all(isinstance(one, plain) for one in parts)
