import ast

from ...code.calls import last_name
from ...code.notebook import Notebook
from ...code.origins import Origins
from ...code.trees import walk
from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.kept import Kept, kept_values
from ...frameworks.keras import is_gradient_of_a_tape, is_loss, is_output_of_a_tape, tapes
from ...units import share_of

_TF = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nhistory = []"
_STEP = "    with tf.GradientTape() as tape:\n        out = model(x)\n        loss = error(out, y)\n"
_GRADIENT = "    tape.gradient(loss, model.trainable_variables)\n"


class DropKeptTape(Fix):
    """Keep the number of each step, not its tape or its tensors.

    What it does: A `tf.GradientTape` holds every intermediate result of the step it recorded, and what the network
    gives for a batch is as large as the batch. In a list of all steps they add up. The edit keeps the loss as a plain
    number.

    When it is offered: Memory grew little by little in a loop that appends a tape, or a network's output under one, to
    something that outlives the loop's rounds.

    What it costs: The tapes are gone; of outputs the edit keeps one number of each step, their mean.
    """

    id, title, causes = "drop-kept-tape", "Keep a number of each step, not its tape or tensors", (Family.MEMORY,)

    FIRES = [
        Case(
            _TF,
            "for x, y in data:\n" + _STEP + _GRADIENT + "    history.append((loss, tape))",
            becomes={"(loss, tape)": "float(loss)"},
            says=("tape",),
        ),
        Case(  # other code takes each entry apart
            _TF + "\ndef losses(): return [one.numpy() for one, _ in history]",
            "for x, y in data:\n" + _STEP + _GRADIENT + "    history.append((loss, tape))",
            says=("history.append(float(loss))",),
        ),
        Case(
            _TF
            + "\nclass Trainer:\n    def step(self, x, y):\n    "
            + _STEP.replace("\n    ", "\n        ").rstrip(" ")
            + "        tape.gradient(loss, v)\n        self.outputs.append(out)",
            "t = Trainer()\nfor x in data:\n    t.step(x, x)",
            becomes={"(out)": "(float(tf.reduce_mean(out)))"},
        ),
    ]
    SILENT = [
        Case(_TF, "for x, y in data:\n" + _STEP + "    g = tape.gradient(loss, weights[0])\n    history.append(g)"),
        Case(_TF, "for x, y in data:\n" + _STEP + _GRADIENT + "    history.append(loss)"),
        Case(_TF, "for x, y in data:\n" + _STEP + _GRADIENT + "    history.append((loss, tape))", growth="jump"),
        Case("history = []", "for tape in tapes:\n    history.append((1, tape))"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory = death.code, death.memory
        if not memory.grew_here or not code.imports("tensorflow"):
            return
        for kept in kept_values(code.running, Origins(code)):
            scope, node = kept.scope, kept.value
            named = {tape.name for tape in tapes(scope, code)}
            if isinstance(node, ast.Name) and node.id in named:
                whole = _whole(node, scope)
                text = _without(whole, node, scope)
            elif kept.is_added_to and is_output_of_a_tape(kept, code):
                whole, text = node, f"float(tf.reduce_mean({scope.segment(node)}))"
            elif kept.is_added_to and is_gradient_of_a_tape(kept, code):
                whole, text = node, f"float(tf.linalg.global_norm({scope.segment(node)}))"
            else:
                continue
            text = text if code.lookup("tf", scope) is not None and not _is_read(kept, code) else ""
            why = (
                f"Each step keeps {quote(scope.segment(node))} in {quote(kept.container)}. That accounts for "
                f"{share_of(memory.ramp_bytes, memory.missing_bytes or 0)} that the cell took."
            )
            edits = replace(scope, whole, text) if text else ()
            snippet = None if edits else f"{kept.container}.append(float(loss))"
            yield Proposal(edits, why, memory.ramp_bytes, snippet=snippet)


def _is_read(kept: Kept, code: Notebook) -> bool:
    """Whether other code reads what is kept: it may take a tuple apart, or want tensors."""
    word, own = kept.container.rpartition(".")[2], set(walk(kept.scope.tree.statements[kept.value]))
    for scope in code.scopes_mentioning(word):
        uses = (one for one in scope.names if last_name(one) == word and isinstance(one.ctx, ast.Load))
        if any(one not in own for one in uses):
            return True
    return False


def _whole(node: ast.expr, scope: Scope) -> ast.expr:
    """Return the tuple or list that a tape is kept in, or the tape."""
    around = [
        one
        for one in scope.inside(scope.tree.statements[node])
        if isinstance(one, ast.Tuple | ast.List) and node in one.elts
    ]
    return around[0] if around else node


def _without(whole: ast.expr, tape: ast.expr, scope: Scope) -> str:
    """Return what is kept in its place; "" where nothing would be left."""
    rest = [one for one in whole.elts if one is not tape] if isinstance(whole, ast.Tuple | ast.List) else []
    texts = [f"float({scope.segment(one)})" if is_loss(one, scope) else scope.segment(one) for one in rest]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else ""
