import ast
from pathlib import PurePath

from jupyter_kerneldoctor.recording.events import Frame, Stack

from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.columns import columns_of
from ...frameworks.pandas import TABLE_READERS, read_of_columns
from ...place import guilty_place

_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")
_SALES = "sales = load_all(folder)\nsales.groupby('store')['amount'].sum()"
_IN_PANDAS = frame("pandas/io/parsers/readers.py", "read_csv", library=True)


class ReadLessInAModule(Fix):
    """Read less in the module that the cell calls.

    What it does: Names the function and the line of your module that reads the tables, and the columns that the
    notebook uses of what it gets. With them as an argument the others never get into memory; sums of each file take
    less again.

    When it is offered: Memory ran out while a function of a module that is no installed library read tables with pandas
    or joined them.

    What it costs: A change in the module, for which the kernel has to be restarted, or the module reloaded.
    """

    id, title, causes = "read-less-in-a-module", "Read only the columns that are used, in your module", (Family.MEMORY,)

    FIRES = [
        Case(
            "from src.loading import load_all",
            _SALES,
            stacks=[
                Stack(
                    -0.1,
                    "busy",
                    (thread(_IN_PANDAS, Frame("/srv/src/loading.py", 8, "read_day"), own_frame(_SALES, 1)),),
                )
            ],
            says=("`read_day` (loading.py, line 8)", "usecols=['store', 'amount']", "one file at a time"),
        ),
    ]
    SILENT = [
        Case("from src.loading import load_all", _SALES),
        Case(
            "import pandas as pd",
            _SALES,
            stacks=[Stack(-0.1, "busy", (thread(_IN_PANDAS, own_frame(_SALES, 1)),))],
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        frames = death.last_stack.frames if death.last_stack is not None and death.is_of_this_cell else ()
        own = next((one for one in frames if not any(part in one.file for part in _LIBRARIES)), None)
        inner = frames[: frames.index(own)] if own is not None else ()
        reads = [one.function for one in inner if one.function in TABLE_READERS and "/pandas/" in one.file]
        if own is None or not reads or death.frames.cell_of(own) is not None or own.file.startswith("<"):
            return
        if not own.file.isprintable():
            return  # a line break in it would put code into what is copied
        at, name = guilty_place(death), PurePath(own.file).name
        made = getattr(at.node, "value", None) if at is not None else None
        columns = columns_of(made, at.scope, death.code) if at is not None and isinstance(made, ast.Call) else None
        text = columns.text if columns is not None else "'the columns', 'you need'"
        function = next((one.function for one in frames if one.file == own.file and one.function[0] != "<"), name)
        uses = f" The notebook uses {text} of it." if columns is not None and columns.are_all else ""
        yield Proposal(
            (),
            f"{quote(function)} ({name}, line {own.line}) was in `{reads[-1]}` of pandas when memory ran out; the cell "
            f"took {size(death.memory.missing_bytes or 0)}.{uses}",
            death.memory.missing_bytes,
            title=f"Read only the columns that are used, in {name}",
            snippet=f"# in {name}, where it reads:\npart = {read_of_columns(reads[-1], text)}\n\n"
            "# or sum one file at a time, before they are joined\n"
            "sums = [part.groupby('key')['value'].sum() for part in parts]",
        )
