import ast

from ...case import Ran
from ...code.calls import plain_names
from ...code.notebook import Notebook
from ...edits import Changes, replace, set_argument, text_of
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.columns import columns_read
from ...frameworks.gradients import goes_backward
from ...frameworks.pandas import CHUNKED, COMBINED_BY, PARTIAL, READERS, frame_name, grouped

_ROWS = "50_000"  # what a row takes cannot be told from here; this is some MB of text
_MOST_COLUMNS = 8


class ReadInChunks(Fix):
    """Read a large file piece by piece, or only the columns that are needed.

    What it does: `pd.read_csv(path)` holds the whole file in memory, text columns at several times their size on disk.
    With `chunksize=` it gives one piece after the other, and only what you keep of each stays. A read that goes
    straight into a `groupby` with sum, count, size, min or max is rewritten; for all else there is a snippet with the
    call as you wrote it. Often `usecols=` and `dtype=` are enough.

    When it is offered: Memory ran out in a cell that reads a file whole with pandas, and it was this cell that took the
    memory: not when the kernel was full before, and not when the same read came to its end earlier.

    What it costs: The data are no longer there as one frame. In the rewritten form sums may differ in their last
    digits, and the name of the frame disappears.
    """

    id, title, causes = "read-in-chunks", "Read the file in chunks, or only the columns you need", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd",
            "%%time\ndaily = pd.read_csv('größe.csv').groupby(['day', 'shop'])['n'].count()\ndaily.plot()",
            becomes="%%time\ndaily = pd.concat(chunk.groupby(['day', 'shop'])['n'].count() for chunk in "
            "pd.read_csv('größe.csv', chunksize=50_000)).groupby(level=[0, 1]).sum()\ndaily.plot()",
        ),
        Case(
            "import pandas as pd",
            "df = pd.read_csv('big.csv', sep=';')",
            says=("pd.read_csv('big.csv', sep=';', chunksize=50_000)", "usecols=", "dtype=", "all 1.8 GiB"),
        ),
        Case(  # a column that the cell makes is none of the file
            "from pandas import read_csv as read",
            "frame = read(PATH)\nframe['sum'] = frame['price'] + 1\nprint(frame['sum'], frame['city'])",
            says=("read(PATH, chunksize=50_000)", "usecols=['price', 'city']"),
        ),
        Case(
            "import pandas as pd",
            "df = pd.concat([pd.read_csv(one) for one in paths])",
            says=("for one in paths:\n    for chunk in pd.read_csv(one, chunksize=50_000):\n        parts.append(",),
        ),
        Case(
            "import pandas as pd",
            "df = pd.read_sql('select * from t', con)",
            says=("pd.read_sql('select * from t', con, chunksize=50_000)",),
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "df = pd.read_json('a.json')"),
        Case("import pandas as pd\npath = 'a.csv'", "df = pd.read_csv(path, nrows=10)"),
        Case("import polars as pd", "df = pd.read_csv('a.csv')"),
        Case("import pandas as pd", "df = pd.read_csv('a.csv')", before_mib=1900),
        Case("import pandas as pd", "df = pd.read_csv('a.csv')\nbig = [0] * 10**10", line=2),
        # it ran before: it is not the file alone that is too large
        Case("import pandas as pd", Ran("df = pd.read_csv('a.csv')", 200, 1100), "df = pd.read_csv('a.csv')"),
        Case("import pandas as pd", "df = pd.read_csv('a.csv')", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if not death.is_of_this_cell or goes_backward(code):
            return
        reads = [one for one in code.running.calls(*CHUNKED) if _is_whole(one) and code.is_at_line(one.node, one.scope)]
        reads = [one for one in reads if not death.worked_before(one)]
        if reads:
            edits, missing = _grouped(reads[0]), death.memory.missing_bytes
            snippet = None if edits else _snippet(reads[0], code)
            yield Proposal(edits, _why(reads[0], len(reads), death), missing, snippet=snippet)


def _is_whole(call: Call) -> bool:
    given = {word.arg for word in call.node.keywords}
    if call.name == "pandas.read_json" and getattr(call.argument("lines"), "value", None) is not True:
        return False
    return bool(call.node.args or given) and not given & {*PARTIAL, None}


def _grouped(call: Call) -> Changes:
    """Return the edit of `read(…).groupby(keys)[columns].sum()`, if that is what the call stands in."""
    found = grouped(call)
    if (
        found is None or not isinstance(call.node.func, ast.Attribute) or "category" in call.text
    ):  # others in each chunk
        return ()
    scope, combined = call.scope, COMBINED_BY[found.reduction]
    rest = scope.segment(found.node).removeprefix(call.text)
    head = f"{scope.segment(call.node.func.value)}.concat(chunk{rest} for chunk in {_in_chunks(call)})"
    return replace(scope, found.node, f"{head}.groupby(level={found.levels}).{combined}()")


def _in_chunks(call: Call) -> str:
    return text_of(call, set_argument(call, "chunksize", _ROWS))


def _snippet(call: Call, code: Notebook) -> str:
    name, chosen = frame_name(call) or "df", columns_read(call, code).text
    function, fewer = call.node.func, call.text
    module = call.scope.segment(function.value) if isinstance(function, ast.Attribute) else "pd"
    if call.argument("usecols") is None:
        fewer = text_of(call, set_argument(call, "usecols", f"[{chosen}]"))
    around = _loop_around(call)
    indent = "    " if around else ""
    read = (
        f"parts = []\n{around}{indent}for chunk in {_in_chunks(call)}:\n"
        f"{indent}    parts.append(chunk[[{chosen}]])  # keep only the rows, columns or sums you need\n"
        f"{name} = {module}.concat(parts, ignore_index=True)"
    )
    if call.name not in READERS:
        return read
    return (
        f"{read}\n\n# or leave out columns while reading, and store repeated text once with "
        "dtype={'a text column': 'category'}:\n"
        f"# {name} = " + fewer.replace("\n", "\n# ")
    )


def _loop_around(call: Call) -> str:
    """Return the head of the loop that gives the name of the file, as written; "" where there is none."""
    given, segment = plain_names(call.node), call.scope.segment
    for node in call.scope.inside(call.statement) if call.statement is not None else ():
        match node:
            case ast.comprehension(target=ast.Name(id=name), iter=items) if name in given:
                return f"for {name} in {segment(items)}:\n"
    for node in call.scope.loops_around(call.node):
        match node:
            case ast.For(target=ast.Name(id=name), iter=items) if name in given:
                return f"for {name} in {segment(items)}:\n"
    return ""


def _why(call: Call, reads: int, death: Death) -> str:
    missing, code = death.memory.missing_bytes or 0, death.code
    is_alone = len(code.running) == 1 and len(code.running.scopes[0].body) == 1
    where = code.cell_name(call.cell)
    more = "" if reads == 1 else f"The cell reads {reads} files in this way; the same goes for each. "
    what = "all rows" if "sql" in call.name else "the whole file"
    part = f" This accounts for {'all' if is_alone else 'up to'} {size(missing)} that the cell took." if missing else ""
    return (
        f"{quote(call.text)} in {where} reads {what}.{part} {more}With `chunksize={_ROWS}` only one piece "
        "is in memory at a time: take fewer rows if they are wide. `usecols=` and `dtype=` make what is kept smaller."
    )
