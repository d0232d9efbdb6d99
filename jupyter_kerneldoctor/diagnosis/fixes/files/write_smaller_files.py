import ast

from ...calls import calls_at
from ...code.origins import all_origins
from ...fix import Advice, Call, Case, Death

_WAYS = {
    "to_csv": "{table}.to_parquet('table.parquet')  # %pip install pyarrow; a quarter of the text, and read faster\n"
    "{table}.to_csv('table.csv.gz', index=False, float_format='%.5g')  # or as text, compressed, with fewer digits",
    "to_json": "{table}.to_json('rows.jsonl.gz', orient='records', lines=True)  # compressed by the file's ending",
    "savetxt": "np.savez_compressed('table.npz', table={table})  # binary and compressed; np.load reads it",
    "save": "np.savez_compressed('table.npz', table={table}.astype('float32'))  # half the digits, and compressed",
}
_WRITERS = (
    *("pandas.DataFrame.to_csv", "pandas.Series.to_csv", "pandas.DataFrame.to_json"),
    *("numpy.savetxt", "numpy.save"),
)


class WriteSmallerFiles(Advice):
    """Write the table compressed, or in a binary form.

    What it does: A number takes up to 20 bytes as text and 8 in a binary file; compressed files of tables take a
    quarter of the text and less. pandas chooses the compression by the ending of the file's name: `.csv.gz`.

    When it is offered: The disk was full on a line that writes a table as text, or an array as it is.

    What it costs: Some time of the processor. Other programs have to know the form.
    """

    id, title, causes = "write-smaller-files", "Write it compressed, or as parquet", ("disk-full",)
    functions = _WRITERS
    why = "{call} needs more room than the disk had. Compressed, or in a binary form, the same table takes less."
    snippet = "{less}"

    FIRES = [
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "df.to_csv('out/big.csv')",
            says=("df.to_parquet(", ".csv.gz", "float_format"),
        ),
        Case("import numpy as np", "np.save('x.npy', x)", says=("table=x.astype(",)),
    ]
    SILENT = [
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.to_csv('a.csv.gz')"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.to_csv('a', compression='xz')"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.to_csv('a.csv', mode='a')"),
        Case("class T:\n    def to_csv(self, path): pass", "T().to_csv('a.csv')"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.to_parquet('a')"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the table that is written."""
        call = next(calls_at(death, *self.functions))
        if "compression" in call.text or any(end in call.text for end in (".gz", ".bz2", ".xz", ".zst", ".zip")):
            return None
        if call.argument("mode") is not None:
            return None  # it adds to a file: the snippet would begin it anew each time
        return {"less": _WAYS[call.name.rpartition(".")[2]].format(table=_table(call, death))}


def _table(call: Call, death: Death) -> str:
    if call.name.startswith("numpy."):
        given = call.argument("arr" if call.name.endswith(".save") else "X", 1)
        return "table" if given is None else call.scope.operand(given)
    name = call.text.rpartition(f".{call.name.rpartition('.')[2]}")[0] if "\n" not in call.text else "table"
    return f"{name}.to_frame()" if _is_column(call, death) else name


def _is_column(call: Call, death: Death) -> bool:
    """Whether it is a Series that is written, which has no `to_parquet`."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else call.node.func
    for one, where in all_origins(owner, call.scope, death.code):
        match one:
            case ast.Subscript(slice=ast.Constant(value=str())):
                return True
            case ast.Call(func=made) if death.code.qualified(made, where) == "pandas.Series":
                return True
    return False
