"""The fix `read-in-chunks`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.code.cellsource import segment
from jupyter_kerneldoctor.diagnosis.units import cell_name, quote

from ._accumulation import backward_calls
from ._chunks import ROWS, WholeRead, grouped_edit, with_argument
from ._examples import Example, Ran
from ._numbers import MEMORY, grew_here, of_words
from ._rule import CellEdit, Draft, FixRule, Size

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_READERS = frozenset({"pandas.read_csv", "pandas.read_table"})
_PARTIAL = frozenset({"chunksize", "iterator", "nrows"})
_SMALL_SHARE = 0.1
_MOST_COLUMNS = 8


class ReadInChunks(FixRule[WholeRead]):
    """Read a large file piece by piece, or only the columns that are needed.

    What it does
    ------------
    `pd.read_csv(path)` holds the whole file in memory, text columns at several times their size on disk. With
    `chunksize=` it gives one piece after the other, and only what you keep of each stays. A read that goes straight
    into a `groupby` with sum, count, size, min or max is rewritten; for all else there is a snippet with the call as
    you wrote it. Often `usecols=` and `dtype=` are enough.

    When it is offered
    ------------------
    Memory ran out in a cell that reads a file whole with pandas, and it was this cell that took the memory: not when
    the kernel was full before, and not when the same read ran earlier and took little.

    What it costs
    -------------
    The data are no longer there as one frame. In the rewritten form sums may differ in their last digits, and the name
    of the frame disappears.

    Example
    -------
    `pd.read_csv(path).groupby("day")["n"].sum()` becomes
    `pd.concat(chunk.groupby("day")["n"].sum() for chunk in pd.read_csv(path, chunksize=50_000)).groupby(level=0).sum()`
    """

    id = "read-in-chunks"
    title = "Read the file in chunks, or only the columns you need"
    causes = MEMORY
    applicability: ClassVar[Applicability] = "suggested"

    def detect(self, context: FixContext, code: Notebook) -> WholeRead | None:
        """A whole read in the running code, unless something shows that it is not what took the memory."""
        if not grew_here(context) or any(backward_calls(scope) for scope in code.running):
            return None
        calls = [
            (node, scope)
            for scope in code.running
            for node in scope.walk()
            if isinstance(node, ast.Call) and _reads_whole(node, scope, code) and code.is_at_line(node, scope)
        ]
        calls = [
            (node, scope) for node, scope in calls if not _was_small(segment(code.source(scope.cell), node), context)
        ]
        if not calls:
            return None
        node, scope = calls[0]
        alone = len(code.running) == 1 and len(code.running.scopes[0].body) == 1
        return WholeRead(node, scope, _frame_name(node, scope), len(calls) - 1, alone)

    def size(self, context: FixContext, code: Notebook, found: WholeRead) -> Size:  # noqa: ARG002 - same for all rules
        """All that the cell took; what a chunk takes is not known before one was read."""
        return Size(context.missing_bytes)

    def fix(self, context: FixContext, code: Notebook, found: WholeRead) -> Draft:
        """Rewrite a read that is grouped at once; else write the loop down with the user's own call."""
        edit = grouped_edit(found, code)
        return Draft(
            _why(context, code, found),
            () if edit is None else (CellEdit(found.scope.cell, edit),),
            snippet=None if edit is not None else _snippet(found, code),
        )

    examples = (
        Example(
            cells=("import pandas as pd", "df = pd.read_csv('big.csv', sep=';')"),
            says=("pd.read_csv('big.csv', sep=';', chunksize=50_000)", "usecols=", "dtype=", "1.8 of 1.8 GiB"),
        ),
        Example(
            cells=(
                "from pandas import read_csv as read",
                "frame = read(PATH)\nprint(frame['price'].mean(), frame['city'])",
            ),
            says=("read(PATH, chunksize=50_000)", "'price'", "'city'"),
        ),
        Example(
            cells=(
                "import pandas as pd",
                "%%time\ndaily = pd.read_csv('größe.csv').groupby(['day', 'shop'])['n'].count()\ndaily.plot()",
            ),
            changed={
                2: "%%time\ndaily = pd.concat(chunk.groupby(['day', 'shop'])['n'].count() for chunk in "
                "pd.read_csv('größe.csv', chunksize=50_000)).groupby(level=[0, 1]).sum()\ndaily.plot()",
            },
        ),
        Example(cells=("import pandas as pd\npath = 'a.csv'", "df = pd.read_csv(path, nrows=10)"), fires=False),
        Example(cells=("import polars as pd", "df = pd.read_csv('a.csv')"), fires=False),
        Example(cells=("import pandas as pd", "df = pd.read_csv('a.csv')"), before_mib=1900, fires=False),
        Example(cells=("import pandas as pd", "df = pd.read_csv('a.csv')\nbig = [0] * 10**10"), line=2, fires=False),
        Example(
            cells=(
                "import pandas as pd",
                Ran("df = pd.read_csv('a.csv')", before_mib=100, peak_mib=110),
                "df = pd.read_csv('a.csv'); wide = df.pivot(index='a', columns='b')",
            ),
            fires=False,
        ),
        Example(cells=("import pandas as pd", "df = pd.read_csv('a.csv')"), cause="segfault", fires=False),
    )


def _reads_whole(node: ast.Call, scope: Scope, code: Notebook) -> bool:
    given = {word.arg for word in node.keywords}
    return bool(node.args or given) and not given & {*_PARTIAL, None} and code.qualified(node.func, scope) in _READERS


def _was_small(text: str, context: FixContext) -> bool:
    """Whether a cell with the same call ran to its end before, and all of it took little."""
    missing = context.missing_bytes or 0
    return any(
        cell.finished
        and cell.error is None
        and text in cell.source
        and cell.peak_bytes is not None
        and cell.rss_before_bytes is not None
        and cell.peak_bytes - cell.rss_before_bytes < _SMALL_SHARE * missing
        for cell in context.cells
    )


def _frame_name(call: ast.Call, scope: Scope) -> str | None:
    for node in scope.walk():
        if isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1:
            target = node.targets[0]
            return target.id if isinstance(target, ast.Name) else None
    return None


def _snippet(found: WholeRead, code: Notebook) -> str:
    name = found.name or "df"
    columns = _columns(found)
    chosen = ", ".join(columns) or "'the columns', 'you need'"
    example = columns[-1] if columns else "'a text column'"
    function = found.call.func
    concat = "pd.concat"
    if isinstance(function, ast.Attribute):
        concat = f"{segment(code.source(found.scope.cell), function.value)}.concat"
    given = {word.arg for word in found.call.keywords}
    wanted = {"usecols": f"usecols=[{chosen}]", "dtype": f"dtype={{{example}: 'category'}}"}
    fewer = with_argument(found, code, ", ".join(text for name, text in wanted.items() if name not in given) or "…")
    return (
        "parts = []\n"
        f"for chunk in {with_argument(found, code)}:\n"
        f"    parts.append(chunk[[{chosen}]])  # keep only the rows, columns or sums you need\n"
        f"{name} = {concat}(parts, ignore_index=True)\n"
        "\n"
        "# or leave out columns while reading, and store repeated text once:\n"
        f"# {name} = " + fewer.replace("\n", "\n# ")
    )


def _columns(found: WholeRead) -> list[str]:
    """The columns that the cells take from the frame by name, as far as they ran."""
    names: dict[str, None] = {}
    for node in found.scope.walk():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == found.name:
            parts = node.slice.elts if isinstance(node.slice, ast.List) else [node.slice]
            names |= {
                repr(one.value): None for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
    return list(names)[:_MOST_COLUMNS]


def _why(context: FixContext, code: Notebook, found: WholeRead) -> str:
    missing = context.missing_bytes or 0
    where = cell_name(code.cells[found.scope.cell].execution_count)
    call = quote(segment(code.source(found.scope.cell), found.call))
    unless = "" if found.alone else ", unless other lines took part"
    text = (
        f"Explains {of_words(missing, missing)}{unless}: {call} in {where} reads the file whole, and that took all the "
        "memory that was left. "
    )
    more = f"The cell reads {found.others + 1} files so; the same goes for each. " if found.others else ""
    return (
        f"{text}{more}With chunksize={ROWS:_} (a start: take fewer rows if they are wide) only one piece is in memory "
        "at a time; usecols= and dtype= make what is kept smaller."
    )
