"""Files, databases, downloads and other programs."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from ..frameworks.torch import Kind, Tensors
from ..workers import workers_bytes
from .conditions import is_gathered, is_made_by, is_method_of
from .way import LesserWay, Test, called_object, names, owner_of


def _keeps_results_of(*makers: str) -> Test:
    """Return a test whether it is the kernel that holds the memory, not the workers of a pool."""
    is_made = is_made_by(*makers)
    return lambda call, death: workers_bytes(death) is None and is_made(call, death)


def _one_by_one(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the call that hands over one result after the other; an executor's `map` does so by itself."""
    if not _keeps_results_of("Pool", "ProcessPoolExecutor", "ThreadPoolExecutor")(call, death):
        return False
    told, is_pool = names(call), _keeps_results_of("Pool")(call, death)
    if call.name == ".starmap":
        loop = f"for at in range(0, len({told['a1']}), 1000):\n    results = "
        return {"loop": f"{loop}{told['owner']}.starmap({told['a0']}, {told['of1']}[at : at + 1000])"}
    lazily = f"{told['owner']}.{'imap' if is_pool else 'map'}({told['a0']}, {told['a1']}, chunksize=10)"
    return {"loop": f"for result in {lazily}:"}


def _hands_over_a_list(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the call that hands over one result after the other, where `Parallel(…)` stands right there."""
    if not _keeps_results_of("joblib.Parallel")(call, death):
        return False
    match call.node.func:
        case ast.Call(keywords=words) as made if all(word.arg != "return_as" for word in words):
            text = call.scope.segment(made)
            begin = text[:-1].rstrip().rstrip(",")
            comma = ", " if made.args or words else ""
            return {"lazily": call.text.replace(text, f"{begin}{comma}return_as='generator')", 1)}
    return True


def _by_thousands(call: Call) -> str:
    """Return how SQLAlchemy gives some rows at a time, in place of `.all()` or `.scalars(query)`."""
    if call.name == ".scalars":
        given = f"{names(call)['of0']}.execution_options(yield_per=1000)" if call.node.args else ""
        return f"scalars({given})" if given else "yield_per(1000).scalars()"
    return "yield_per(1000)"


def _captures(call: Call, death: Death) -> bool:
    output = call.argument("stdout")
    takes = call.argument("capture_output") is not None or "check_output" in call.name
    return takes or (output is not None and death.code.qualified(output, call.scope) == "subprocess.PIPE")


_FEW = ("glob", "iglob", "rglob", "iterdir", "listdir", "scandir", "items", "keys", "values")
"""Methods that give paths, or views of what is there anyway."""
_OF_OTHERS = ("builtins.range", "builtins.sorted", "builtins.list", "builtins.set")


def _is_of_many(call: Call, death: Death) -> bool:
    """Whether what is put into a list comes one by one: from a generator, or a call that is no view of another."""
    match call.node.args:
        case [ast.GeneratorExp()]:
            return True
        case [ast.Call(func=function)]:
            name = death.code.qualified(function, call.scope) or ""
            return getattr(function, "attr", "") not in _FEW and name not in _OF_OTHERS
    return False


def _fetched(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the cursor that can be gone through itself: one that is neither closed nor used again afterwards."""
    owner = getattr(call.node.func, "value", None)
    later = (one for one in call.scope.names if isinstance(one, ast.Name) and one.lineno > call.node.lineno)
    is_used = isinstance(owner, ast.Name) and any(one.id == owner.id for one in later)
    closes = any(isinstance(one.func, ast.Attribute) and one.func.attr == "close" for one in call.scope.calls)
    return True if is_used or closes or death.code.imports("duckdb") else {"cursor": owner_of(call)}


def _is_network(call: Call, death: Death) -> bool:
    return any(Tensors(death.code).kind(one, call.scope) is Kind.MODULE for one in call.node.args[:1])


WAYS = (
    LesserWay(
        ("pandas.DataFrame.to_excel",),
        "Write a CSV or Parquet file, or the sheet row by row",
        "makes an object of each cell.",
        "{table}.to_parquet('table.parquet')  # or to_csv\n\nfrom openpyxl import Workbook\n\n"
        "book = Workbook(write_only=True)\nsheet = book.create_sheet()\n"
        "sheet.append(list({table}.columns))\n"
        "for row in {table}.itertuples(index=False):\n    sheet.append(row)\nbook.save('table.xlsx')",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.to_excel('a.xlsx')"),
    ),
    LesserWay(
        ("pandas.read_json",),
        "Read a record from each line, some at a time",
        "makes objects of all records before there is a table.",
        "for part in pd.read_json({a0}, lines=True, chunksize=100_000):  # a record in each line\n"
        "    ...  # keep only the columns you need",
        Case("import pandas as pd", "df = pd.read_json('a.json')"),
        lambda call, _death: call.argument("chunksize") is None and call.argument("lines") is None,
    ),
    LesserWay(
        ("json.loads",),
        "Keep of each record only the fields you need",
        "makes a dict of each record, with a text for each value, and all of them are kept.",
        "rows = [(one['id'], one['price']) for one in map(json.loads, file)]  # or one record at a time, in a loop",
        Case("import json", "docs = [json.loads(line) for line in f]"),
        is_gathered,
    ),
    LesserWay(
        ("pandas.read_pickle", "pandas.read_feather", "pandas.read_hdf", "pandas.read_stata", "pandas.read_sas"),
        "Keep it as Parquet, and read only the columns you need",
        "reads every column.",
        "{to}.to_parquet('table.parquet')  # once, where there is room for it\n"
        "{to} = pd.read_parquet('table.parquet', columns=['the columns', 'you need'])",
    ),
    LesserWay(
        ("json.dumps", "json.dump", "yaml.dump", "yaml.safe_dump"),
        "Write one record at a time, a line for each",
        "makes one text of everything.",
        "with open('out.jsonl', 'w') as file:\n    for one in {a0}:  # of a dict: {of0}.items()\n"
        "        file.write(json.dumps(one) + '\\n')",
    ),
    LesserWay(
        ("pandas.read_excel", "openpyxl.load_workbook"),
        "Read the sheet row by row: read_only=True",
        "makes an object of each cell of the workbook.",
        "from openpyxl import load_workbook\n"
        "for sheet in load_workbook({a0}, read_only=True):\n"
        "    for row in sheet.iter_rows(values_only=True):\n        ...",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "sheet = pd.read_excel('a.xlsx')"),
    ),
    LesserWay(
        ("xml.etree.ElementTree.parse", "lxml.etree.parse"),
        "Take one element at a time: iterparse",
        "makes an object of each element, ten times the size of the file.",
        "from xml.etree import ElementTree\n\n"
        "for event, element in ElementTree.iterparse({a0}):\n    ...\n    element.clear()",
    ),
    LesserWay(
        ("numpy.genfromtxt", "numpy.loadtxt"),
        "Read the numbers with pandas, as float32",
        "takes many times the size of the file while it reads.",
        "{to} = pd.read_csv({a0}, header=None, dtype='float32').to_numpy()  # sep=r'\\s+' for columns by blanks",
    ),
    LesserWay(
        (".fetchall",),
        "Take one row after the other from the cursor",
        "makes a list of all rows.",
        "for row in {owner}:\n    ...  # a sum, a count; or let the database do it: SELECT key, SUM(x) … GROUP BY key",
        Case(
            "import sqlite3",
            "rows = cursor.fetchall()\nfor row in rows:\n    total += row[0]",
            becomes="rows = cursor\nfor row in rows:\n    total += row[0]",
        ),
        _fetched,
        one_by_one="{cursor}",
    ),
    LesserWay(
        (".read",),
        "Unpack piece by piece",
        "unpacks everything at once.",
        "import shutil, zipfile\n\nwith zipfile.ZipFile(path).open(name) as packed, open('data', 'wb') as file:\n"
        "    shutil.copyfileobj(packed, file)  # or: for line in packed",
        Case("import zipfile\nz = zipfile.ZipFile('a')", "raw = z.read('b')"),
        is_made_by("zipfile.ZipFile", "tarfile.open"),
    ),
    LesserWay(
        ("pickle.dumps", "cloudpickle.dumps", "copy.deepcopy", "copy.copy"),
        "Copy or write only the part that changes",
        "makes another of each object inside.",
        "changed = {{**{a0}, 'key': new}}  # the rest is shared\n\n"
        "with open('state.pickle', 'wb') as file:\n    pickle.dump({a0}, file, protocol=5)  # straight into a file",
        Case("import copy", "new = copy.deepcopy(state)"),
        lambda call, death: "state_dict(" not in call.text and not _is_network(call, death),
    ),
    LesserWay(
        ("pickle.dump", "dill.dump", "cloudpickle.dump"),
        "Write one item after the other: Pickler, clear_memo; arrays with np.save, tables as Parquet",
        "notes each object that it has written until the end, some hundred bytes for each.",
        "with open('items.pickle', 'wb') as file:\n    pickler = pickle.Pickler(file, protocol=5)\n"
        "    for item in {a0}:  # to be read one after the other: pickle.load(file)\n"
        "        pickler.dump(item)\n        pickler.clear_memo()  # forgets what it has written",
        Case("import pickle", "pickle.dump(rows, open('rows.pickle', 'wb'))"),
        lambda call, death: bool(call.node.args) and "state_dict(" not in call.text and not _is_network(call, death),
    ),
    LesserWay(
        ("csv.reader", "csv.DictReader"),
        "Take one row after the other, not a list of all",
        "gives a list or a dict of texts for each row, and all of them are kept.",
        "for row in csv.reader(file):\n    total += float(row[2])  # only what you need of it\n\n"
        "df = pd.read_csv(path, usecols=['a', 'b'], dtype='float32')  # or as numbers",
        Case("import csv", "rows = list(csv.DictReader(f))"),
        is_gathered,
    ),
    LesserWay(
        ("subprocess.run", "subprocess.check_output"),
        "Read the program's output line by line: Popen",
        "keeps all that the program writes.",
        "with subprocess.Popen({a0}, stdout=subprocess.PIPE, text=True) as process:\n"
        "    for line in process.stdout:\n        ...",
        Case("import subprocess", "out = subprocess.run(c, capture_output=True).stdout"),
        _captures,
    ),
    LesserWay(
        (".read",),
        "Read a window of the picture, or a coarser one",
        "reads all bands in full.",
        "from rasterio.windows import Window\n\npart = {owner}.read(1, window=Window(0, 0, 4096, 4096))\n"
        "small = {owner}.read(1, out_shape=({owner}.height // 8, {owner}.width // 8))  # every eighth",
        Case("import rasterio\nsrc = rasterio.open('a')", "a = src.read()"),
        is_made_by("rasterio.open"),
    ),
    LesserWay(
        (".map", ".starmap", ".imap", ".imap_unordered", ".map_async"),
        "Take each result as it comes, and keep less of it",
        "keeps the results of all; processes hand each over as a copy.",
        "{loop}\n    ...  # a number, or a file; better still that `{a0}` returns no more than that",
        Case(
            "import multiprocessing\npool = multiprocessing.Pool(2)", "r = pool.map(f, xs)", says=("pool.imap(f, xs,",)
        ),
        _one_by_one,
    ),
    LesserWay(
        (".()",),
        "Take each result as it comes: return_as='generator'",
        "keeps the results of all; processes hand each over as a copy.",
        "for result in Parallel(n_jobs=2, return_as='generator')(delayed(f)(x) for x in items):\n"
        "    ...  # keep a number of it, or let `f` write a file",
        Case(
            "from joblib import Parallel, delayed",
            "r = Parallel(n_jobs=2)(delayed(f)(x) for x in xs)\nbest = max(r)",
            becomes="r = Parallel(n_jobs=2, return_as='generator')(delayed(f)(x) for x in xs)\nbest = max(r)",
        ),
        _hands_over_a_list,
        one_by_one="{lazily}",
    ),
    LesserWay(
        (".all", ".scalars"),
        "Take some rows at a time: yield_per",
        "makes an object of each row.",
        "for row in {some}:\n    ...",
        Case(
            "import sqlalchemy\ns = sqlalchemy.Session()", "r = s.query(A).all()", says=("s.query(A).yield_per(1000)",)
        ),
        lambda call, death: (
            {"some": f"{call.scope.segment(called_object(call))}.{_by_thousands(call)}"}
            if is_method_of("sqlalchemy")(call, death)
            else False
        ),
    ),
    LesserWay(
        (".submit",),
        "Take each result as it comes, and forget its future",
        "gives a future for each item, and each keeps its result.",
        "from concurrent.futures import as_completed\n\nwaiting = {{executor.submit(f, x) for x in items}}\n"
        "for done in as_completed(waiting):\n    waiting.discard(done)\n    ...  # keep a number of done.result()",
        Case("futures = [ex.submit(f, x) for x in xs]"),
        is_gathered,
    ),
)

GENERAL = (
    LesserWay(
        ("builtins.list", "builtins.tuple", "builtins.sorted", "builtins.set"),
        "Take one after the other, not all at once",
        "holds all that it is given at the same time.",
        "for one in {a0}:\n    ...  # a sum, a count, the best so far; heapq.nlargest holds the ten best",
        Case("everything = list(read(path))"),
        _is_of_many,
    ),
    LesserWay(
        ("builtins.dict",),
        "Keep numbers in an array, or a table in place of a dict",
        "makes an object of each key and each value, a hundred bytes and more for a pair.",
        "table = pd.Series(values, index=keys)  # of numbers: eight bytes each; table[key] as before",
        Case("d = dict(zip(keys, values))"),
        lambda call, _death: len(call.node.args) == 1,
    ),
)
