import ast
from collections.abc import Iterator
from typing import cast

from ...code.notebook import Notebook
from ...code.trees import dump, walk
from ...edits import Changes, EditRefusedError, import_as, replace
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_NAME = "sliding_window_view"
_STRIDED = "from numpy.lib.stride_tricks import as_strided\nimport numpy as np\nx = np.arange(1000.0)"


class SlidingWindowView(Fix):
    """Let NumPy make the windows, with as many as there are.

    What it does: `as_strided` believes any shape that it is given, also one that reaches beyond the end of the array.
    What stands there belongs to something else, or to nobody: reading it ends the process. `sliding_window_view(x,
    width)` makes the same windows without a copy, and just as many as fit.

    When it is offered: Native code crashed, and the code that ran calls `as_strided`. Where it moves one item at a time
    the call is rewritten.

    What it costs: The result has `len(x) - width + 1` rows, however many rows were asked for, and may only be read.
    """

    id, title = "sliding-window-view", "Make only windows that lie within the array: sliding_window_view"
    causes = ("segfault", "heap-corruption")

    FIRES = [
        Case(
            _STRIDED,
            "w = as_strided(x, shape=(10_000_000, 50), strides=(8, 8))  # é\nw.sum()",
            becomes="from numpy.lib.stride_tricks import sliding_window_view\n"
            "w = sliding_window_view(x, 50)  # é\nw.sum()",
        ),
        Case(
            "import numpy as np\ndef cut(s, n):\n    b = s.strides[0]\n"
            "    return np.lib.stride_tricks.as_strided(s, (s.size, n), (b, b))",
            "cut(audio, 512).mean()",
            becomes={"as_strided(s, (s.size, n), (b, b))": "sliding_window_view(s, n)"},
        ),
        Case(
            _STRIDED,
            "as_strided(x, (n, 4), (16, 8)).sum()",
            says=("believes the shape", "sliding_window_view(x, 4)[::16 // 8]"),
        ),
        Case(  # shape and strides do not say the same
            _STRIDED,
            "n = 9\nw = as_strided(x, (len(x) - n + 1, n), (x.strides[0] * n, x.strides[0]))\nw.sum()",
            says=("sliding_window_view(x, n)  # every window, as the shape has it; [::n] as the strides",),
        ),
    ]
    SILENT = [
        Case(_STRIDED, "w = as_strided(x, (3, 4), (8, 8))", "crash()"),
        Case("def as_strided(x, shape): return x", "as_strided(x, (3, 4))"),
        Case(_STRIDED, "as_strided(x, (3, 4), (8, 8))", cause="oom-cgroup"),
        Case(_STRIDED, "as_strided(x, (3, 4), (8, 8))\ncrash()", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in _strided(death):
            edits = _rewritten(call, death.code)
            yield Proposal(
                edits,
                f"{quote(call.text)} believes the shape that it is given, also where it goes beyond the array. "
                f"`{_NAME}` makes only the windows that lie within it.",
                instead=f"from numpy.lib.stride_tricks import {_NAME}\nwindows = {_windows(call)}",
            )


def _windows(call: Call) -> str:
    """Return the call that makes the windows, with the width and the step that were asked for."""
    array, segment = call.argument("x", 0), call.scope.segment
    name = segment(array) if array is not None else "x"
    match call.argument("shape", 1), call.argument("strides", 2):
        case ast.Tuple(elts=[rows, width]), ast.Tuple(elts=[one, other]):
            step = f"{segment(one)} // {segment(other)}"
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) and dump(one.left) == dump(other):
                step = segment(one.right)
            if f"- {segment(width)} + 1" in segment(rows):  # that many there are where each begins at the next item
                return (
                    f"{_NAME}({name}, {segment(width)})  # every window, as the shape has it; [::{step}] as the strides"
                )
            return f"{_NAME}({name}, {segment(width)})[::{step}]"
    return f"{_NAME}({name}, 3)  # 3: the length of a window; [::2] behind it takes every second one"


def _strided(death: Death) -> Iterator[Call]:
    """Yield the calls whose windows may have been in use: at the line, or under a name that stands there."""
    code = death.code
    used = {
        node.id
        for scope in code.running
        for node in scope.names
        if isinstance(node, ast.Name) and code.is_at_line(node, scope)
    }
    for call in code.calls("numpy.lib.stride_tricks.as_strided"):
        named = {
            one.id
            for target in getattr(call.statement, "targets", ())
            for one in walk(target)
            if isinstance(one, ast.Name)
        }
        if (call.scope in code.running.scopes and code.is_at_line(call.node, call.scope)) or named & used:
            yield call


def _rewritten(call: Call, code: Notebook) -> Changes:
    shape, strides = call.argument("shape", 1), call.argument("strides", 2)
    array = call.argument("x", 0)
    match shape, strides, array:
        case ast.Tuple(elts=[_, width]), ast.Tuple(elts=[one, other]), ast.expr():
            if len(call.node.args) + len(call.node.keywords) != 3 or dump(one) != dump(other):
                return ()
            segment = call.scope.segment
            module, _, _ = segment(call.node.func).rpartition(".")
            new, imported = f"{module}.{_NAME}", cast("Changes", ())
            if not module:
                try:
                    new, imported = import_as(call.scope, code, f"numpy.lib.stride_tricks.{_NAME}", _NAME)
                except EditRefusedError:
                    return ()
            return imported + replace(call.scope, call.node, f"{new}({segment(array)}, {segment(width)})")
    return ()
