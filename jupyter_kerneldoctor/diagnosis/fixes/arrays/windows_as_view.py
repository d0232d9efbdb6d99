import ast
from itertools import repeat

from ...code.arrays import Value
from ...edits import Changes, remove, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.numpy import is_array
from ...frameworks.windows import Appended, Windows, appended_windows, is_only_filled, put_into, windows
from ...place import grew_in

_MAKERS = ("numpy.empty", "numpy.zeros")
_STACKERS = (
    *("numpy.array", "numpy.asarray", "numpy.stack", "numpy.vstack"),
    *("torch.stack", "torch.tensor", "torch.Tensor", "torch.FloatTensor"),
)
_BY_BATCH = {
    "torch": (
        "class Windows(torch.utils.data.Dataset):  # or each window when a DataLoader asks for it\n"
        "    def __len__(self):\n        return len({series}) - {width}\n\n"
        "    def __getitem__(self, i):\n"
        "        return torch.as_tensor({series}[i : i + {width}]), torch.as_tensor({series}[i + {width}])"
    ),
    **dict.fromkeys(
        ("keras", "tensorflow"),
        "import keras\n\n"
        "ds = keras.utils.timeseries_dataset_from_array(  # or batch by batch, with the value behind each window\n"
        "    {series}[:-1], {series}[{width}:], sequence_length={width}, batch_size=64)",
    ),
}
"""Windows that are made when the training asks for them, by the package that trains."""
_FILL = (
    "import numpy as np\ndef cut(s, w, h):\n    n = len(s) - w - h\n    X = np.empty((n, w))\n    y = np.empty(n)\n"
    "    for i in range(n):\n        X[i] = s[i:i + w]\n        y[i] = s[i + w + h]\n    return X, y"
)
_MORE_AXES = "# of more columns: np.lib.stride_tricks.sliding_window_view(table, width, axis=0).swapaxes(1, 2)"
_LIST = (
    "import numpy as np\ndef cut(data, n):\n    X, y = [], []\n    for i in range(n, len(data)):\n"
    "        X.append(data[i - n:i, 0])\n        y.append(data[i, 0])\n    return np.array(X), np.array(y)"
)


class WindowsAsView(Fix):
    """Take the windows of a series as a view, not as copies.

    What it does: Windows that begin one step after the other repeat each value as often as a window is long: a week of
    hours takes 168 times the series. `sliding_window_view` shows the same windows, and nothing is copied.

    When it is offered: Memory ran out where `x[i:i + width]` was taken for each `i`, into an array or a list of which
    one is made. It is an edit where the array has two axes, so that the series has one.

    What it costs: The windows may only be read, and have the type of the series. What shuffles or splits them makes
    copies of those it takes.
    """

    id, title = "windows-as-view", "Take the windows as a view, no copies: sliding_window_view"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _FILL,
            "X, y = cut(load(), 168, 24)",
            becomes={
                "empty((n, w))": "lib.stride_tricks.sliding_window_view(s, w)[:n]",
                "        X[i] = s[i:i + w]\n": "",
            },
        ),
        Case(
            "import numpy as np\nload = np.ones(9_000_000)",
            "W = np.array([load[i : i + 60] for i in range(len(load) - 60)])",
            becomes="W = np.lib.stride_tricks.sliding_window_view(load, 60)[:len(load) - 60]",
        ),
        Case(
            "import tensorflow as tf\nimport numpy as np\nload = np.ones(9_000_000)",
            "W = np.array([load[i : i + 60] for i in range(len(load) - 60)])",
            says=("sliding_window_view(load, 60)",),
        ),
        Case(
            _LIST,
            "X, y = cut(data, 60)",
            says=("sliding_window_view(data[:, 0], n, axis=0)", "X = windows[:-1]"),
        ),
        Case(
            "import tensorflow as tf\n"
            + _LIST.replace("X.append(data[i - n:i, 0])", "part = data[i - n:i, 0]\n        X.append(part)"),
            "X, y = cut(data, 60)",
            says=(
                "sliding_window_view(data[:, 0], n, axis=0)",
                "import keras\n\nds = keras.utils.timeseries_dataset_from_array",
            ),
        ),
        Case(
            "import torch\nimport numpy as np",
            "for i in range(len(t) - 60):\n    X.append(t[i:i + 60])\nX = torch.tensor(X)",
            line=2,
            says=("torch.as_tensor(t[i : i + 60])",),
        ),
        Case(
            "import torch",
            "W = torch.stack([torch.tensor(t[i : i + 60]) for i in range(len(t) - 60)])",
            says=("torch.as_tensor(t).unfold(0, 60, 1)[:len(t) - 60]", "torch.as_tensor(t[i : i + 60])"),
        ),
        Case(
            "import numpy as np",
            "W = np.stack([t[i + 1 : i + 1 + 60] for i in range(n)])",
            says=("sliding_window_view(t[1:], 60)[:n]", "axis=0"),
        ),
    ]
    SILENT = [
        Case("import numpy as np", "W = np.array([x[i : i + 60] for i in range(0, n, 60)])"),
        Case(_LIST.replace("data[i - n:i, 0]", "data[i]"), "X, y = cut(data, 60)"),
        Case(_LIST.replace("np.array(X)", "len(X)"), "X, y = cut(data, 60)"),
        Case("import numpy as np", "W = np.array([x[i : 2 * i] for i in range(n)])"),
        Case(_FILL.replace("return", "X -= 1\n    return"), "X, y = cut(load(), 168, 24)"),
        Case(
            "import numpy as np\nx = np.ones(9)", "W = np.array([x[i : i + 3] for i in range(n)])\nb = [0] * n", line=2
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        for scope in death.code.running if death.is_of_this_cell else ():
            for node in (one for one in scope.nodes if isinstance(one, ast.For | ast.Call)):
                if (found := windows(node, scope)) and death.was_running(node, scope):
                    yield from _as_views(node, found, scope, death)
                for one in appended_windows(node):
                    stacked = [call for call in scope.calls if _stacks(call, one.name, scope, death)]
                    took = any(map(_took_memory, [node, *stacked], repeat(scope), repeat(death)))
                    if took and (stacked or grew_in(death, node, scope)):
                        yield _of_a_list(one, scope, death)


def _took_memory(node: ast.For | ast.Call, scope: Scope, death: Death) -> bool:
    return death.was_running(node, scope) and grew_in(death, node, scope) is not False


def _stacks(call: ast.Call, name: str, scope: Scope, death: Death) -> bool:
    """Whether a call makes an array of a list."""
    match call.args[:1]:
        case [ast.Name(id=given)] if given == name:
            return death.code.qualified(call.func, scope) in _STACKERS
    return False


def _of_a_list(found: Appended, scope: Scope, death: Death) -> Proposal:
    """Say how windows that are put into a list are taken as a view."""
    series, width = scope.segment(found.part.value), scope.segment(found.width)
    series = f"{series[:-5]}.to_numpy()" if series.endswith(".iloc") else series
    match found.part.slice:
        case ast.Tuple(elts=[_, column]) if not isinstance(column, ast.Slice):
            series += f"[:, {scope.segment(column)}]"
    why = f"{quote(scope.segment(found.part))} is kept for each step: in the array each value is there as often as a "
    why += "window is long. A view of the windows takes no memory; it may only be read."
    snippet = (
        f"windows = np.lib.stride_tricks.sliding_window_view({series}, {width}, axis=0)  # a view: no copy\n"
        f"{found.name} = windows[:-1]  # of more columns: windows[:-1].swapaxes(1, 2)\n"
        "print({0}.shape)  # compare it with the one that you had in mind".replace("{0}", found.name)
    )
    more = next((text for package, text in _BY_BATCH.items() if death.code.imports(package)), "")
    snippet += f"\n\n{more.format(series=series, width=width)}" if more else ""
    return Proposal((), why, death.memory.missing_bytes, snippet=snippet)


def _as_views(node: ast.For | ast.Call, found: list[Windows], scope: Scope, death: Death) -> Proposals:
    """Propose a view for each of the arrays that are filled or made with windows."""
    gone = []
    for one in found:
        store, made = put_into(node, one, scope, death.code)
        if made is None or made.name not in _MAKERS + _STACKERS:
            continue
        if made.name.startswith("torch."):
            yield _of_tensors(one, scope, death)
            continue
        module = scope.segment(made.node.func).rpartition(".")[0]
        view = f"{module or 'np'}.lib.stride_tricks.{one.text(scope)}"
        edits: Changes = ()
        if module and store is None and _has_one_axis(death.values.of(one.part.value, scope)):
            edits = replace(scope, made.node, view)
        elif module and store is not None and isinstance(node, ast.For) and is_only_filled(store, made, node):
            edits = replace(scope, made.node, view)
            gone.append(store)
            edits += remove(scope, store) if len(found) < len(node.body) else ()
        why = f"{quote(scope.segment(one.part))} is copied for each `{one.at}`: each value is there as often "
        why += "as a window is long. A view of the windows takes no memory; it may only be read."
        snippet = f"windows = {view}  # a view: no copy\n{_MORE_AXES}"
        is_copied = any(map(death.code.imports, ("keras", "tensorflow")))  # all windows become a tensor
        missing = death.memory.missing_bytes
        yield Proposal(edits, why, missing, snippet=snippet, leaves=missing if is_copied else None)
    if isinstance(node, ast.For) and len(gone) == len(node.body):
        yield Proposal(remove(scope, node))


def _of_tensors(found: Windows, scope: Scope, death: Death) -> Proposal:
    """Say how windows that are stacked to a tensor are taken as a view, or when a loader asks for them."""
    series, width = scope.segment(found.part.value), " + ".join(map(scope.segment, found.width))
    why = f"{quote(scope.segment(found.part))} is copied for each step: each value is there as often as a window is "
    why += "long. A view of the windows takes no memory; it may only be read."
    view = f"windows = {found.of_tensor(scope)}  # a view: no copy; of more columns: .transpose(1, 2)"
    snippet = f"{view}\n\n{_BY_BATCH['torch'].format(series=series, width=width)}"
    title = "Take the windows as a view, no copies: unfold"
    return Proposal((), why, death.memory.missing_bytes, title, snippet)


def _has_one_axis(series: Value | None) -> bool:
    return is_array(series) and series is not None and len(series.shape) == 1
