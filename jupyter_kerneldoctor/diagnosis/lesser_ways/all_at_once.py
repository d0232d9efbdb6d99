"""Files that are read whole where a part would do, and tasks that all run at the same time."""

import ast
import re

from ..case import Case
from ..code.calls import given_to, last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death
from .conditions import is_gathered, not_seen, without
from .way import LesserWay

_STYLE = re.compile(r"(?<!plt)(?<!mpl)(?<!matplotlib)\.style\b(?!\.use)")


def _in_memory(call: Call, death: Death) -> bool:
    """Whether a statement goes to a database that is kept in the memory."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    statement = call.node.args[0] if call.node.args else None
    if isinstance(statement, ast.Constant) and str(statement.value).lstrip().lower().startswith(("select", "with")):
        return False  # it reads
    for one, _ in [] if owner is None else all_origins(owner, call.scope, death.code):
        given = given_to(one) if isinstance(one, ast.Call) else []
        if any(isinstance(name, ast.Constant) and name.value == ":memory:" for name in given):
            return True
    return False


def _without_a_file(call: Call, _death: Death) -> bool:
    return call.argument("path_or_buf", 0) is None


def _of_pages(call: Call, death: Death) -> bool:
    """Whether one picture is read that may have pages: a TIFF."""
    given = call.argument("fname", 0) if call.name == "skimage.io.imread" else None
    is_other = isinstance(given, ast.Constant) and not str(given.value).lower().endswith((".tif", ".tiff"))
    many = isinstance(one := next(iter(given_to(call.node)), None), ast.List | ast.ListComp | ast.Call) and (
        not isinstance(one, ast.Call) or last_name(one.func) in ("sorted", "glob", "list")
    )
    return not (is_other or many) and not is_gathered(call, death) and not call.scope.loops_around(call.node)


def _to_objects(call: Call, death: Death) -> bool:
    """Whether all columns become objects, so that missing numbers can be None."""
    given = call.node.args[:1]
    is_object = any(getattr(one, "id", getattr(one, "value", None)) in ("object", "O") for one in given)
    return is_object and isinstance(getattr(call.node.func, "value", None), ast.Name) and death.code.has_text("None")


def _colours(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether the colours of a table of pandas are shown; `plt.style` is another thing."""
    sources = (death.code.source(at) for at in range(len(death.code.cells)))
    return death.code.imports("pandas") and any(_STYLE.search(source) for source in sources)


def _parses_texts(call: Call, death: Death) -> bool:
    """Whether each text of a column is parsed as a list."""
    parsers = ("json.loads", "ast.literal_eval", "builtins.eval", "orjson.loads", "ujson.loads")
    return bool(call.node.args) and death.code.qualified(call.node.args[0], call.scope) in parsers


WAYS = (
    LesserWay(
        ("pickle.load", "pickle.loads", "dill.load", "cloudpickle.load"),
        "Write one record after the other, so that they can be read so; arrays with np.save",
        "makes all objects of the file at once.",
        "with open('rows.pkl', 'wb') as file:  # once, where there is room: one record after the other\n"
        "    for row in rows:\n        pickle.dump(row, file)\n\nwith open('rows.pkl', 'rb') as file:\n"
        "    while file.peek(1):\n        row = pickle.load(file)  # one at a time\n\n"
        "x = np.load('x.npy', mmap_mode='r')  # an array, saved by np.save: nothing is read yet",
    ),
    LesserWay(
        ("joblib.load",),
        "Leave the arrays in their file: mmap_mode='r'",
        "reads all arrays of the file.",
        "{to} = joblib.load({a0}, mmap_mode='r')  # arrays are read as they are used; the file must not be compressed",
        fits=not_seen("mmap_mode", 1),
    ),
    LesserWay(
        ("imageio.mimread", "imageio.v2.mimread", "imageio.volread", "skvideo.io.vread", "torchvision.io.read_video"),
        "Take one picture of the film after the other",
        "keeps all pictures of the film as numbers: a hundred times the size of the file.",
        "import imageio.v3 as iio\n\nfor i, frame in enumerate(iio.imiter({a0})):\n    if i % 10 == 0:  # every tenth\n"
        "        ...  # keep frame[::4, ::4], or what is measured in it",
    ),
    LesserWay(
        ("tifffile.imread", "skimage.io.imread", "tifffile.TiffFile"),
        "Leave the picture in its file, or take one page: tifffile.memmap, key=",
        "unpacks all pages of the picture.",
        "import tifffile\n\n{to} = tifffile.memmap({a0}, mode='r')  # not compressed: nothing is read yet\n"
        "page = tifffile.imread({a0}, key=0)  # or one page at a time",
        Case("import tifffile", "x = tifffile.imread('a.tif')"),
        _of_pages,
    ),
    LesserWay(
        tuple(f"pydub.AudioSegment.from_{kind}" for kind in ("file", "mp3", "wav", "ogg", "flv")),
        "Take a minute at a time: start_second, duration",
        "unpacks the whole recording, and each change of it makes a copy.",
        "part = AudioSegment.from_file({a0}, start_second=0, duration=60)  # a minute; next start_second=60\n"
        "# or without Python: !ffmpeg -i in.mp3 -ar 16000 -ac 1 out.wav\n\n"
        "import soundfile\n\nrate = soundfile.info('out.wav').samplerate\n"
        "for part in soundfile.blocks('out.wav', blocksize=60 * rate, dtype='int16'):  # pydub reads all of it\n"
        "    ...",
        Case("from pydub import AudioSegment", "a = AudioSegment.from_file('a.mp3')"),
        without("start_second", "duration"),
        silent=("a = AudioSegment.from_file('a.mp3', duration=9)",),
    ),
    LesserWay(
        (".execute", ".executemany", ".executescript"),
        "Keep the database in a file, not in the memory",
        "puts its rows into a database that is kept in the memory.",
        "con = sqlite3.connect('scratch.db')  # in place of ':memory:'\n"
        "con.execute('pragma journal_mode = off')  # as fast as it gets: the file is for this run only\n"
        "con.execute('pragma synchronous = off')",
        Case(
            "import sqlite3\ncon = sqlite3.connect(':memory:')",
            "for row in rows:\n    con.execute('insert into t values (?)', row)",
        ),
        _in_memory,
    ),
    LesserWay(
        ("asyncio.gather", "asyncio.wait", "asyncio.as_completed"),
        "Let a few run at the same time: a semaphore, and results that are written as they come",
        "starts all tasks at once, and keeps what each of them gives.",
        "few = asyncio.Semaphore(20)\n\nasync def one(item):\n    async with few:  # twenty at a time\n"
        "        result = await fetch(item)  # with your function\n        ...  # write it to a file\n\n"
        "await asyncio.gather(*(one(item) for item in items))",
        Case("import asyncio", "p = await asyncio.gather(*[get(u) for u in us])"),
        lambda call, _death: (
            call.name != "asyncio.gather" or any(isinstance(one, ast.Starred) for one in call.node.args)
        ),
    ),
    LesserWay(
        ("gensim.models.Word2Vec", "gensim.models.FastText"),
        "Give it the file, one line after the other: corpus_file, LineSentence",
        "keeps all sentences that it is given as lists, and a vector for each word.",
        "from gensim.models.word2vec import LineSentence\n\n"
        "{to} = {function}(LineSentence('sentences.txt'), min_count=5)  # a sentence in each line; rare words left out",
    ),
    LesserWay(
        ("pandas.DataFrame.to_csv", "pandas.DataFrame.to_json"),
        "Write it straight into a file",
        "makes one text of all rows.",
        "{owner}.to_csv('table.csv', index=False)  # straight into a file; .to_parquet is smaller\n"
        "{owner}.to_json('table.json', orient='records', lines=True)  # a row in each line",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "text = df.to_csv()"),
        _without_a_file,
    ),
    LesserWay(
        ("pandas.DataFrame.astype",),
        "Write some rows at a time; pandas writes a missing number as NULL by itself: to_sql",
        "makes a Python object of each value, many times the size of the table.",
        "for at in range(0, len({table}), 10_000):  # some rows at a time; chunksize makes objects of all at first\n"
        "    part = {table}.iloc[at : at + 10_000]\n"
        "    part.to_sql('name', con, index=False, if_exists='append')  # NaN becomes NULL\n\n"
        "    part = part.astype(object).where(part.notna(), None)  # or by hand, in the same loop\n"
        "    con.executemany(sql, part.itertuples(index=False, name=None))",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df = df.astype(object).where(pd.notnull(df), None)"),
        _to_objects,
    ),
    LesserWay(
        ("pandas.Series.apply", "pandas.Series.map"),
        "Make of each text only what is used: an array of its numbers, or single fields",
        "makes Python objects of each text, which take many times as much.",
        "few = {owner}.map(lambda text: json.loads(text)['a'])  # of dicts only the fields you need\n\n"
        "# of lists of numbers an array\nmatrix = np.stack([np.fromstring(text.strip('[]'), sep=',', dtype='float32')"
        " for text in {owner}])\n"
        "np.save('matrix.npy', matrix)  # next time: np.load('matrix.npy', mmap_mode='r')",
        Case("import pandas as pd, json\ndf = pd.read_csv('a.csv')", "df['e'] = df['e'].apply(json.loads)"),
        _parses_texts,
    ),
    LesserWay(
        ("IPython.display.display", ".background_gradient", ".applymap", ".highlight_max", ".highlight_min"),
        "Colour the first rows, or draw the table as a picture: head(100), imshow",
        "writes a style and a cell of a page for each value.",
        "df.head(100).style.background_gradient()  # with your table: the rows that one can look at\n\n"
        "import matplotlib.pyplot as plt\n\nplt.imshow(df.select_dtypes('number'), aspect='auto', cmap='coolwarm')",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)\nview = df.style.background_gradient()",
            "from IPython.display import display\ndisplay(view)",
            line=2,
        ),
        _colours,
    ),
)
