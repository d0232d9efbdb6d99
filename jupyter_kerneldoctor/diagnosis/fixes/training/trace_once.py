import ast

from jupyter_kerneldoctor.recording.events import Stack

from ...code.calls import given_to, last_name
from ...code.origins import Origins
from ...code.trees import walk
from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_TRACES = ("trace_function", "_create_concrete_function", "func_graph_from_py_func", "_maybe_define_function")
_NUMBERS = ("int", "float", "len", "round", "item")
_NUMBER = "{call}  # a tensor: one graph for all values; tf.cast gives it the type it is used with\n\n"
_SHAPES = (
    "step = tf.function(step, reduce_retracing=True)  # your function: one graph for arguments of all lengths\n"
    "# or say what differs by None: @tf.function(input_signature=[tf.TensorSpec((None, None), tf.float32), ...])\n"
    "# or pad to a few lengths: padded_batch, or the next of 64, 128, 256"
)
_STEP = "@tf.function\ndef step(x, n):\n    return net(x) / n\n"
_TF = "import tensorflow as tf\nnet = tf.keras.Sequential()\n" + _STEP
_LOOP = "for x in data:\n    step(x, 2)"
_TRACED = Stack(-0.1, "near_limit", (thread(frame("func_graph.py", _TRACES[0], library=True), own_frame(_LOOP, 2)),))


class TraceOnce(Fix):
    """Give a compiled function tensors of one shape, so that it is traced once.

    What it does: `@tf.function` makes a graph for each new shape and for each new Python number that it is given, and
    keeps all of them. A tensor in place of the number needs one graph for all values, and a signature with None one for
    all lengths.

    When it is offered: Memory grew little by little in a loop that calls such a function with a Python number that
    changes, or while TensorFlow was seen to make new graphs late in the loop.

    What it costs: Nothing; each step is faster. Python code in the function that looks at the number runs only once.
    """

    id, title = "trace-once", "Give the compiled function tensors, not Python numbers: tf.constant"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(_TF, "for i in range(900):\n    step(x, i)", says=("step(x, tf.constant(i))", "TensorSpec", "`i`")),
        Case(
            _TF,
            "rate = 1.0\nfor x in data:\n    step(x, n=rate)\n    rate = rate * 0.99",
            says=("step(x, n=tf.constant(rate))",),
        ),
        Case(_TF, _LOOP, stacks=[_TRACED], says=("Let the compiled function take all shapes",)),
    ]
    SILENT = [
        Case(_TF, "for x in data:\n    step(x, 2)"),
        Case(_TF.replace("@tf.function\n", ""), "for i in range(900):\n    step(x, i)"),
        Case(_TF, "for i in range(900):\n    step(x, tf.constant(i))"),
        Case(_TF, "for i in range(900):\n    step(x, i)", growth="jump"),
        Case(_TF, "for i in range(900):\n    step(x, i)\nbig = [0] * 10**10", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        growth = death.growth
        if not (death.memory.grew_here and growth.goes_on) or growth.container is not None:
            return
        for function in death.code.running.functions if death.code.imports("tensorflow") else ():
            if not any(_compiles(one, function, death) for one in function.decorators):
                continue
            for call, scope in Origins(death.code).calls_of(function):
                loops = scope.loops_around(call)
                if not loops or not death.was_running(call, scope) or grew_in(death, loops[0], scope) is False:
                    continue
                number = next((one for one in given_to(call) if _changes(one, call, scope)), None)
                if number is None and not _is_traced_late(death):
                    continue
                text = scope.segment(call)
                why = f"{quote(text)} runs a function that TensorFlow compiles: it makes a graph for each new "
                title, snippet = None, _SHAPES
                if number is None:
                    why += (
                        "shape or Python value that it is given, and keeps all of them. New ones were made to the end."
                    )
                    title = "Let the compiled function take all shapes: reduce_retracing, input_signature"
                else:
                    at = scope.segment(number)
                    head, tail = text[: _place(number, call, scope)], text[_place(number, call, scope) + len(at) :]
                    why += f"Python number, and {quote(at)} is another in each round. All graphs are kept."
                    snippet = _NUMBER.format(call=f"{head}tf.constant({at}){tail}") + _SHAPES
                yield Proposal((), why, death.memory.ramp_bytes, title, snippet)
                return


def _compiles(decorator: ast.expr, function: Scope, death: Death) -> bool:
    """Whether a decorator is `@tf.function`."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return function.parent is not None and death.code.qualified(node, function.parent) == "tensorflow.function"


def _place(node: ast.expr, call: ast.Call, scope: Scope) -> int:
    """Return where an argument begins in the text of its call."""
    whole, rest = scope.segment(call), call
    before = [one for one in given_to(rest) if (one.lineno, one.col_offset) < (node.lineno, node.col_offset)]
    start = whole.index("(") + 1
    for one in before:
        start = whole.index(scope.segment(one), start) + len(scope.segment(one))
    return whole.index(scope.segment(node), start)


def _changes(node: ast.expr, call: ast.Call, scope: Scope) -> bool:
    """Whether an argument is a Python number that a loop around the call changes."""
    match node:
        case ast.Call() if last_name(node.func) in _NUMBERS:
            return True
        case ast.BinOp(left=left, right=right):
            return _changes(left, call, scope) or _changes(right, call, scope)
        case ast.Name(id=name):
            return any(_counts(name, loop, scope) for loop in scope.loops_around(call))
    return False


def _counts(name: str, loop: ast.AST, scope: Scope) -> bool:
    """Whether a loop counts by a name, or works a number out anew for it in each round."""
    match loop:
        case ast.For(target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"))):
            found = counter == name
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=counter), _]), iter=ast.Call(func=ast.Name(id="enumerate"))):
            found = counter == name
        case _:
            found = False
    for one in [] if found else scope.inside(loop):
        match one:
            case ast.AugAssign(target=ast.Name(id=other), value=ast.Constant(int() | float())):
                found |= other == name
            case ast.Assign(targets=[ast.Name(id=other)], value=value) if other == name:
                parts = [part for part in walk(value) if isinstance(part, ast.Constant)]
                found |= isinstance(value, ast.BinOp | ast.Call) and any(
                    isinstance(p.value, float | int) for p in parts
                )
    return found


def _is_traced_late(death: Death) -> bool:
    """Whether TensorFlow was seen to make graphs again and again, or at the very end."""
    seq_s = death.cell.started_mono_s if death.cell is not None else 0.0
    looks = [one for one in death.recording.stacks if one.mono_s >= seq_s and one.threads]
    making = [any(frame.function in _TRACES for frame in one.threads[0].frames) for one in looks]
    return making[-1:] == [True] or sum(making[len(making) // 2 :]) > 1
