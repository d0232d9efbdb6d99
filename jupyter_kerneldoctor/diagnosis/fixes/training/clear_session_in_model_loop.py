import ast

from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.keras import is_used, known_as
from ...frameworks.search_loops import kept_names

_BUILT, _PACKAGES = ("Sequential", "Model", "Functional"), ("keras.", "tensorflow.", "tf_keras.")
_BUILD = "from tensorflow import keras\ndef build(n):\n    return keras.Sequential([keras.layers.Dense(n)])\n"
_SNIPPET = (
    "# rounds.py: def one_round(setting): build the model, fit it, return history.history\n"
    "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\nfrom rounds import one_round\n\n"
    "spawn = multiprocessing.get_context('spawn')\n"
    "with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:\n"
    "    results = list(pool.map(one_round, settings))\n\n"
    "# simpler, and enough with some versions: {keras}.backend.clear_session() at the start of each round"
)
_LOOP = "for n in sizes:\n    m = build(n)\n    m.compile('adam', 'mse')\n    m.fit(x, y)"


class ClearSessionInModelLoop(Fix):
    """Run each round that trains a Keras model in a process of its own.

    What it does: Keras keeps a state for all models of the process, and TensorFlow the graphs of their training steps.
    A search that builds a model in each round piles them up. `keras.backend.clear_session()` at the start of a round
    forgets a part of it; with Keras 3 on TensorFlow each trained model was seen to leave its memory behind all the
    same. A process gives back everything when it ends.

    When it is offered: Memory ran out little by little in a loop that builds a Keras model in each round.

    What it costs: Some seconds for each process to import Keras, and the round has to be a function in a file. A loop
    over the epochs of one model needs none of this.
    """

    id, title = "clear-session-in-model-loop", "Run each round in a process of its own, and keep only its numbers"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(_BUILD, _LOOP, says=("`m = build(n)`", "one_round", "history.history", "keras.backend.clear_session()")),
        Case(_BUILD, _LOOP + "\n    scores.append(evaluated(m, x))", says=("one_round",)),
    ]
    SILENT = [
        Case(_BUILD, "m = build(9)\nfor epoch in range(9):\n    m.fit(x, y)"),
        Case(_BUILD, _LOOP.replace("    m = build", "    keras.backend.clear_session()\n    m = build")),
        Case(_BUILD, _LOOP, growth="jump"),
        Case(_BUILD, _LOOP.replace("m.fit(x, y)", "m.fit(x, y)\n    models.append(m)")),  # they are kept on purpose
    ]

    def propose(self, death: Death) -> Proposals:
        code, name = death.code, known_as(death.code) if is_used(death.code) else None
        if name is None or not death.memory.grew_here or any("clear_session" in one.source for one in code.cells):
            return
        for statement, scope in code.running.nodes(ast.Assign):
            match statement:
                case ast.Assign(targets=[ast.Name(id=model)], value=ast.Call() as built):
                    loops = scope.loops_around(statement)
                    kept = any(_keeps(one, model) for one in scope.calls)
                    if loops and not kept and _builds(built, scope, death) and hasattr(loops[0], "body"):
                        why = (
                            f"Each round builds a model with {quote(scope.segment(statement))}, and Keras and "
                            "TensorFlow keep memory of each that was trained, whatever the cell keeps. A history "
                            "refers to its model, too: `history.history` has its numbers."
                        )
                        yield Proposal((), why, death.memory.ramp_bytes, snippet=_SNIPPET.format(keras=name))
                        return


def _keeps(call: ast.Call, model: str) -> bool:
    """Whether a call puts the model itself into a list."""
    return getattr(call.func, "attr", "") == "append" and any(
        one.id == model for given in call.args for one in kept_names(given)
    )


def _builds(call: ast.Call, scope: Scope, death: Death) -> bool:
    """Whether a call, or the user's function that it calls, builds a Keras model."""
    code, made = death.code, death.code.definition(call.func, scope)
    own = made.definition if made is not None else None
    home = code.function_scope(own, made.cell) if made is not None and isinstance(own, ast.FunctionDef) else scope
    names = [code.qualified(one.func, home) or "" for one in ([call] if home is scope else home.calls)]
    return any(one.rpartition(".")[2] in _BUILT and one.startswith(_PACKAGES) for one in names)
