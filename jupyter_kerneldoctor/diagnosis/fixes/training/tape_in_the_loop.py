import ast

from ...code.calls import plain_names
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.keras import TapeScope, tapes
from ...place import grew_in

_TF = "import tensorflow as tf\nnet = tf.keras.Sequential()\n"
_AROUND = (
    "with tf.GradientTape(persistent=True) as tape:\n    for x, y in data:\n        loss = error(y, net(x))\n"
    "        slopes = tape.gradient(loss, net.trainable_variables)\n        opt.apply_gradients(zip(slopes, ws))"
)
_INSIDE = (
    "for x, y in data:\n    with tf.GradientTape() as tape:\n        loss = error(y, net(x))\n"
    "    slopes = tape.gradient(loss, net.trainable_variables)"
)
_ADDED_UP = (
    "The tape is open around the loop, and keeps what it recorded of all rounds for one gradient of their sum. The sum "
    "of the rounds' gradients is the same, and needs one round at a time."
)


class TapeInTheLoop(Fix):
    """Open a tape for each step, not one around all steps.

    What it does: A `tf.GradientTape` keeps what it recorded until its `with` block is left. Around a loop it keeps that
    of all rounds, though each gradient needs one round. Inside of the loop each round has its own, without
    `persistent=True`.

    When it is offered: Memory ran out in a loop inside of a tape's `with` block, in which gradients are taken, or which
    adds losses up for one gradient behind it.

    What it costs: Nothing, as long as each round's loss comes from that round alone.
    """

    id, title, causes = "tape-in-the-loop", "Open the tape inside of the loop, one for each step", (Family.MEMORY,)

    FIRES = [
        Case(  # of all rounds together
            _TF,
            "with tf.GradientTape() as tape:\n    total = 0.0\n    for x, y in ds:\n        total += error(y, net(x))\n"
            "slopes = tape.gradient(total, net.trainable_variables)",
            says=(
                "    with tf.GradientTape() as tape:",
                "        total = error(y, net(x))",
                "sums = grads if sums is None",
            ),
        ),
        Case(
            _TF,
            _AROUND,
            says=(
                "for x, y in data:",
                "    with tf.GradientTape() as tape:",
                "tape.gradient(loss, net.trainable_variables)",
            ),
        ),
    ]
    SILENT = [
        Case(_TF, _INSIDE),
        Case(_TF, _AROUND.replace("loss = error(y, net(x))", "loss, state = net(x, state)")),
        Case(
            _TF,
            "with tf.GradientTape() as tape:\n    for x, y in ds:\n        z, h = cell(x, h)\n"
            "        total += error(y, z)\ntape.gradient(total, ws)",
        ),
        Case(_TF, _AROUND + "\nbig = [0] * 10**10", line=6),
        Case(_TF, _AROUND, cause="segfault"),
        Case(
            _TF, "with tf.GradientTape() as tape:\n    for x in data:\n        loss = net(x)\ntape.gradient(loss, ws)"
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        for scope in death.code.running if death.memory.grew_here and death.code.imports("tensorflow") else ():
            for tape in tapes(scope, death.code):
                loop = next((one for one in tape.statement.body if isinstance(one, ast.For | ast.While)), None)
                gradient = None if loop is None else _gradient(tape, loop)
                if loop is None or grew_in(death, loop, scope) is False:
                    continue
                if gradient is None:
                    if (added := _added(tape, loop, scope)) is not None:
                        yield Proposal(
                            (), _ADDED_UP, death.memory.ramp_bytes, snippet=_sum_of_gradients(tape, loop, scope, *added)
                        )
                        return
                    continue
                segment, opened = scope.segment, tape.statement.items[0].context_expr
                function = segment(opened.func) if isinstance(opened, ast.Call) else "tf.GradientTape"
                head = f"while {segment(loop.test)}:" if isinstance(loop, ast.While) else _head(loop, scope)
                snippet = (
                    f"{head}\n    with {function}() as {tape.name}:  # a tape for each step; persistent is not needed\n"
                    f"        {segment(gradient.args[0])} = ...  # what is worked out of this step's rows\n"
                    f"    grads = {segment(gradient)}  # behind the tape, in the loop"
                )
                why = (
                    f"{quote(scope.segment(opened))} is open around the loop, and keeps what it recorded of all "
                    "rounds. Each gradient needs one round only."
                )
                yield Proposal((), why, death.memory.ramp_bytes, snippet=snippet)
                return


def _head(loop: ast.For, scope: Scope) -> str:
    return f"for {scope.segment(loop.target)} in {scope.segment(loop.iter)}:"


def _gradient(tape: TapeScope, loop: ast.For | ast.While) -> ast.Call | None:
    """Return where the loop takes the gradient of something that it makes anew in each round."""
    inside = list(walk(loop))
    made = [one for one in inside if isinstance(one, ast.Assign)]
    if any(plain_names(*one.targets) & plain_names(one.value) for one in made):
        return None  # a round goes on with what the one before it worked out
    added = {getattr(one.target, "id", "") for one in inside if isinstance(one, ast.AugAssign)}
    for node in inside:
        match node:
            case ast.Call(func=ast.Attribute(attr="gradient", value=ast.Name(id=name)), args=[ast.Name(id=loss), *_]):
                is_new = any(getattr(one.targets[0], "id", "") == loss for one in made)
                if name == tape.name and is_new and loss not in added:
                    return node
    return None


def _added(tape: TapeScope, loop: ast.For | ast.While, scope: Scope) -> tuple[ast.AugAssign, ast.Call] | None:
    """Return where the loop adds a loss up, and where the gradient of the sum is taken, behind it.

    None where a state goes on from round to round: then a round's gradient reaches back to those before.
    """
    made = [one for one in walk(loop) if isinstance(one, ast.Assign)]
    if any(plain_names(*one.targets) & plain_names(one.value) for one in made):
        return None
    for call in scope.calls:
        match call:
            case ast.Call(func=ast.Attribute(attr="gradient", value=ast.Name(id=name)), args=[ast.Name(id=total), _]):
                sums = [one for one in walk(loop) if isinstance(one, ast.AugAssign)]
                found = [one for one in sums if getattr(one.target, "id", "") == total]
                if name == tape.name and call.lineno > (loop.end_lineno or 0) and len(found) == 1:
                    return found[0], call
    return None


def _sum_of_gradients(
    tape: TapeScope, loop: ast.For | ast.While, scope: Scope, added: ast.AugAssign, gradient: ast.Call
) -> str:
    head = f"while {scope.segment(loop.test)}:" if isinstance(loop, ast.While) else _head(loop, scope)
    total, value = scope.segment(added.target), " ".join(scope.segment(added.value).split())
    opened = tape.statement.items[0].context_expr
    function = scope.segment(opened.func) if isinstance(opened, ast.Call) else "tf.GradientTape"
    return (
        f"sums = None\n{head}\n    with {function}() as {tape.name}:  # a tape for each step\n"
        f"        {total} = {value}  # of this step alone\n    grads = {scope.segment(gradient)}\n"
        "    sums = grads if sums is None else [old + new for old, new in zip(sums, grads)]\n\n"
        "# behind the loop: apply_gradients with sums, the gradient of the sum of all losses"
    )
