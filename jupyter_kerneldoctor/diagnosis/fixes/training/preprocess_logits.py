import ast

from jupyter_kerneldoctor.recording.events import Stack

from ...calls import ran_in_function
from ...code.trees import walk
from ...edits import Changes, replace, set_argument
from ...examples.stuck import frame, own_frame, thread
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.trainers import EVALUATIONS

_TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer")
_RUNS = ("evaluate", "predict")
_CLASSES = "lambda logits, labels: (logits[0] if isinstance(logits, tuple) else logits).argmax(-1)"
_METRICS = "import numpy as np\ndef score(p):\n    logits, labels = p\n    return {{'acc': ({} == labels).mean()}}"
_EVALUATES = frame("transformers/trainer.py", "evaluation_loop", library=True)
_TRAINER = "from transformers import Trainer\ntrainer = Trainer(model, args, eval_dataset=ds, compute_metrics=score{})"


class PreprocessLogits(Fix):
    """Keep of each batch of an evaluation the classes, not the logits.

    What it does: A `Trainer` with `compute_metrics` keeps the logits of all rows: for a language model a number for
    each word of the vocabulary and each token. Where the metrics only take the class of the highest, the edit does
    that for each batch, by `preprocess_logits_for_metrics`.

    When it is offered: Memory ran out in `evaluate`, `predict` or the evaluation within `train`, and all that
    `compute_metrics` does with the logits is `argmax` over the last axis.

    What it costs: Nothing. Where two logits are equal, PyTorch may take the other class than NumPy.
    """

    id, title = "preprocess-logits", "Keep the classes of each batch, not its logits"
    causes = (Family.MEMORY, "gpu-oom")

    FIRES = [
        Case(
            _METRICS.format("np.argmax(logits[:, :-1], axis=-1)"),
            _TRAINER.format(""),
            "trainer.evaluate()",
            becomes={
                1: _METRICS.format("logits[:, :-1]"),
                2: _TRAINER.format(f", preprocess_logits_for_metrics={_CLASSES}"),
            },
            says=("compute_metrics",),
        ),
        Case(  # after each epoch
            _METRICS.format("np.argmax(logits, axis=-1)"),
            _TRAINER.format(""),
            "trainer.train()",
            stacks=[Stack(-0.1, "busy", (thread(_EVALUATES, own_frame("trainer.train()", 1)),))],
            becomes={
                1: _METRICS.format("logits"),
                2: _TRAINER.format(f", preprocess_logits_for_metrics={_CLASSES}"),
            },
        ),
    ]
    SILENT = [
        Case(_METRICS.format("np.argmax(logits, axis=-1)"), _TRAINER.format(""), "trainer.train()"),
        Case(_METRICS.format("softmax(logits)"), _TRAINER.format(""), "trainer.evaluate()"),
        Case(_METRICS.format("np.argmax(logits, axis=-1)"), _TRAINER.format(""), "trainer.save_model()"),
        Case(
            _METRICS.format("np.argmax(logits, axis=-1)"),
            _TRAINER.format(", preprocess_logits_for_metrics=f"),
            "trainer.evaluate()",
        ),
        Case(
            _METRICS.format("np.argmax(logits, axis=-1)") + "\ndef more(logits): return logits.std()",
            _TRAINER.format("").replace("score", "more"),
            "trainer.evaluate()",
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        of_train = ("train",) if ran_in_function(death, *EVALUATIONS) else ()
        called = {getattr(one.func, "attr", "") for scope in death.code.running for one in scope.calls}
        runs = called & {*_RUNS, *of_train}
        for trainer in death.code.calls(*_TRAINERS) if runs and death.memory.grew_here else ():
            metrics = trainer.argument("compute_metrics")
            made = None if metrics is None else death.code.definition(metrics, trainer.scope)
            if made is None or trainer.argument("preprocess_logits_for_metrics") is not None:
                return
            for scope in death.code.scopes(made.cell):
                if scope.node is made.definition and (edits := _without_argmax(scope, death)):
                    why = (
                        f"{quote(trainer.text)} keeps the logits of all batches for `compute_metrics`, which only "
                        f"takes the class of the highest; the cell took {size(death.memory.missing_bytes or 0)}."
                    )
                    edits += set_argument(trainer, "preprocess_logits_for_metrics", _CLASSES)
                    yield Proposal(edits, why, death.memory.missing_bytes)
            return


def _without_argmax(scope: Scope, death: Death) -> Changes:
    """Return the edit that takes `argmax` away from the logits; none where they are used in another way, too."""
    found = [
        (node, Call(node, scope, "argmax"))
        for node in scope.calls
        if getattr(node.func, "attr", "") == "argmax"
        and death.code.qualified(node.func, scope) == "numpy.argmax"
        and node.args
    ]
    if len(found) != 1:
        return ()
    node, call = found[0]
    axis, given = call.argument("axis", 1), node.args[0]
    names = [one for one in walk(given) if isinstance(one, ast.Name)]
    if axis is None or scope.segment(axis) != "-1" or len(names) != 1:
        return ()
    reads = [one for one in scope.names if isinstance(one, ast.Name) and one.id == names[0].id]
    reads = [one for one in reads if isinstance(one.ctx, ast.Load)]
    return replace(scope, node, scope.segment(given)) if len(reads) == 1 else ()
