import ast
from collections.abc import Iterator

from ...fix import Call, Case, Death, Family, SetArgument
from ...frameworks.text_items import is_of_texts

_BYTES_OF_ALL = ("view", "tofile", "tobytes", "itemsize")
_NEED_FIXED = ("numpy.char.*", "numpy.strings.*", "numpy.savetxt", "numpy.memmap")


class TextsAsObjects(SetArgument):
    """Let each text take its own length: an array of objects.

    What it does: `np.array(texts)` gives each text as much room as the longest needs, four bytes for each character:
    one message of 50,000 characters makes 10,000 short ones 2 GB. With `dtype=object` the array points to the texts
    that are there.

    When it is offered: Memory ran out on a line that makes an array of texts.

    What it costs: `np.char` and compiled code know no objects; masks, indices, sorting and comparing work as before.
    `np.load` of such a file needs `allow_pickle=True`.
    """

    id, title, causes = "texts-as-objects", "Let each text take its own length: dtype=object", (Family.MEMORY,)
    functions, argument, position, value = ("numpy.array", "numpy.asarray"), "dtype", 1, "object"
    why = "gives each text as much room as the longest one needs, four bytes for each character."

    FIRES = [
        Case(
            "import numpy as np",
            "words = [w.lower() for w in texts]\nX = np.array(words)",
            line=2,
            becomes="words = [w.lower() for w in texts]\nX = np.array(words, dtype=object)",
        ),
        Case(
            "import numpy as np\nimport pandas as pd\ndf = pd.read_csv('a')",
            "X = np.array(df['text'].astype(str).tolist())",
            becomes="X = np.array(df['text'].astype(str).tolist(), dtype=object)",
        ),
        Case(
            "import numpy as np\nnames = []",
            "for line in file:\n    names.append(line.strip())\nX = np.asarray(names)",
            line=3,
            becomes={"(names)": "(names, dtype=object)"},
        ),
    ]
    SILENT = [
        Case("import numpy as np", "X = np.array([f(x) for x in rows])"),
        Case("import numpy as np", "X = np.array([len(w.lower()) for w in texts])"),
        Case("import numpy as np", "X = np.array([w.lower() for w in texts], dtype='U9')"),
        Case("import numpy as np", "X = np.array([w.lower() for w in texts])\nn = np.char.count(X, 'a')", line=1),
        Case("import numpy as np", "X = np.array([w.lower() for w in texts])\nX.tofile('texts')", line=1),
        Case("import numpy as np", "X = np.array([w.lower() for w in texts])\nbig = [0] * 10**10", line=2),
    ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the calls that are given texts, where nothing needs texts of one length."""
        if not any(death.code.calls(*_NEED_FIXED)):
            found = (one for one in super().calls(death) if is_of_texts(one.argument(0), one.scope, death.code))
            yield from (one for one in found if not _is_read_as_bytes(one))


def _is_read_as_bytes(call: Call) -> bool:
    """Whether the array has a name of which something asks for the bytes of the texts, which objects do not have."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            asked = (one for one in call.scope.names if isinstance(one, ast.Attribute) and one.attr in _BYTES_OF_ALL)
            return any(getattr(one.value, "id", "") == name for one in asked)
    return False
