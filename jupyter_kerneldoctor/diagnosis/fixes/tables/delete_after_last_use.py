import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.cellsource import line_of
from ...code.trees import walk
from ...edits import Changes, EditRefusedError, insert_after
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.numpy import VIEWS
from ...place import guilty_place
from ...units import enumeration

_ENOUGH = 0.4  # of what was missing: with less the cell would only die a few lines later
_TYPES = ("DataFrame", "Series", "ndarray")
_KEEPERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Starred, ast.Return, ast.Yield, ast.AugAssign)
"""What stands around a name that is given on, so that something else holds the object, too."""
_RUN_LATER = (ast.Lambda, ast.GeneratorExp, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ADDERS = ("append", "add", "extend", "insert", "put", "setdefault", "update")
_CELL = "df1 = df.dropna()\ndf2 = df1.assign(k=1)\ndf3 = df2.sort_values('k')\nprint(df3)"
_HELD = NamedObject("df1", "pandas.DataFrame", 1200 * MIB, grew_bytes=1200 * MIB)
_SMALL = NamedObject("df1", "pandas.DataFrame", 400 * MIB, grew_bytes=400 * MIB)


class DeleteAfterLastUse(Fix):
    """Delete each table after its last use.

    What it does: `df2 = df1.assign(...)` leaves `df1` in memory for as long as it has its name, to the end of the cell
    and after. The edit writes `del df1` behind the last line that uses it, and does so for all tables of such a chain.
    Where they are less than two fifths of what was missing, it is advice.

    When it is offered: Memory ran out in a cell or function that makes one table of another, and an earlier one, which
    is not used any more, is a good part of what was missing.

    What it costs: Cells that use such a table later need it again.
    """

    id, title, causes = "delete-after-last-use", "Delete each table after its last use: del", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            _CELL,
            line=3,
            grew=_HELD,
            becomes={"df3 =": "del df1\ndf3 =", "print": "del df2\nprint"},
            says=("`df1` (1.2 GiB)",),
        ),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", _CELL, line=3, grew=_SMALL, says=("del df1",)),
    ]
    SILENT = [
        Case("df = load()", _CELL, line=3),  # nothing was seen to hold memory
        Case("df = load()", _CELL, line=2, grew=_HELD),  # it is in use
        Case("df = load()", _CELL.replace("print(df3)", "print(df3, df1)"), line=3, grew=_HELD),
        Case("df = load()", _CELL.replace("df1.assign(k=1)", "f([df1])"), line=3, grew=_HELD),  # somebody may keep it
        Case("def show(): print(df1)\ndf = load()", _CELL + "\nshow()", line=3, grew=_HELD),
        Case("df = load()", _CELL + "\n%timeit df1.sum()\nprint(1)", line=3, grew=_HELD),
        Case("df = load()", _CELL.replace("print(df3)", "out = sql('select * from df1')\nout"), line=3, grew=_HELD),
        Case("df = load()", _CELL.replace("df1.assign(k=1)", "df1.reshape(-1, 3)"), line=3, grew=_HELD),  # a view
        Case("df = load()", _CELL.replace("df3 =", "f = lambda: df1\ndf3 ="), line=4, grew=_HELD),
    ]

    def propose(self, death: Death) -> Proposals:
        at, missing = guilty_place(death), death.memory.missing_bytes or 0
        held = {one.name: one.grew_bytes or 0 for one in death.growth.objects if _is_table(one.type)}
        if at is None or not held or at.scope.loops_around(at.node):
            return
        body = at.scope.body
        here = next((place for place, one in enumerate(body) if one is at.node), -1)
        ends = {name: last for name, last in _last_uses(at.scope, death) if last <= here and last + 1 < len(body)}
        gone = [name for name, last in ends.items() if last < here and held.get(name)]
        saved = sum(held[name] for name in gone)
        if not gone or saved < missing // 10:
            return
        edits: Changes = ()
        with suppress(EditRefusedError):
            if saved >= _ENOUGH * missing:
                edits = tuple(
                    one for name, last in ends.items() for one in insert_after(at.scope, body[last], f"del {name}")
                )
        told = enumeration([f"{quote(name)} ({size(held[name])})" for name in gone])
        why = f"{told} stayed in memory after the last line that uses it. Cells that come later may need it again."
        yield Proposal(edits, why, saved, snippet=f"del {', '.join(gone)}  # and so with each that is used no more")


def _is_table(kind: str | None) -> bool:
    return (kind or "").rpartition(".")[2] in _TYPES


def _last_uses(scope: Scope, death: Death) -> Iterator[tuple[str, int]]:
    """Yield the names that one statement makes of a table, and the place of the last statement that uses each.

    Only those that nothing else may hold or ask for: other names, containers, functions that are run later.
    """
    nodes = [list(walk(one)) for one in scope.body]
    for made, statement in enumerate(scope.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute()) | ast.Subscript()):
                users = [
                    (place, one)
                    for place, inner in enumerate(nodes)
                    for one in inner
                    if any(isinstance(part, ast.Name) and part.id == name for part in ast.iter_child_nodes(one))
                ]
                later = [(place, one) for place, one in users if place > made]
                is_alone = len(users) == len(later) + 1 and len(scope.bindings.get(name, ())) == 1
                is_alone = is_alone and not any(_may_keep(one, name) for _, one in later)
                later_run = any(
                    isinstance(one, _RUN_LATER) and any(getattr(part, "id", "") == name for part in walk(one))
                    for inner in nodes
                    for one in inner
                )
                is_asked = _is_in_texts(name, scope, nodes) or (scope.is_cell and _is_global(name, death))
                if later and is_alone and not (later_run or is_asked):
                    yield name, later[-1][0]


def _is_in_texts(name: str, scope: Scope, nodes: list[list[ast.AST]]) -> bool:
    """Whether a text or a magic names it: `duckdb.sql("select * from df")`, `%timeit df.sum()`."""
    inner = [one for some in nodes for one in some]
    texts = [one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    magics = (one for one in inner if isinstance(one, ast.Expr | ast.Assign) and isinstance(one.value, ast.Constant))
    texts += [line_of(scope.tree.source, one.lineno) for one in magics]
    return any(re.search(rf"\b{name}\b", one) for one in texts)


def _may_keep(user: ast.AST, name: str) -> bool:
    """Whether what stands around a name may hold on to its object."""
    match user:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _ADDERS
        case ast.Assign(value=ast.Name(id=given)):
            return given == name
        case ast.keyword():
            return False
        case ast.Attribute(attr=attr) if attr in VIEWS:
            return True
        case ast.Subscript(slice=ast.Slice() | ast.Tuple()):
            return True
    return isinstance(user, _KEEPERS)


def _is_global(name: str, death: Death) -> bool:
    """Whether a function of a cell uses a variable of the notebook."""
    scopes = death.code.scopes_mentioning(name)
    return any(not scope.is_cell and scope.named(name) for scope in scopes)
