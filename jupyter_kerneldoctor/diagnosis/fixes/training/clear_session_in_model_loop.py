import ast
from collections.abc import Iterator

from ...code.scopes import Scope
from ...edits import insert_before
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal
from ...frameworks.keras import is_used, known_as
from ...units import quote

_BUILT = ("Sequential", "Model", "Functional")
_BUILD = "from tensorflow import keras\ndef build(n):\n    return keras.Sequential([keras.layers.Dense(n)])\n"
_LOOP = "for n in sizes:\n    m = build(n)\n    m.compile('adam', 'mse')\n    m.fit(x, y)"


class ClearSessionInModelLoop(Fix):
    """Let Keras forget the model of the round before.

    What it does: Keras keeps a state for all models of the process, and TensorFlow the graphs of their training steps.
    A search that builds a model in each round piles them up. `keras.backend.clear_session()` at the start of a round
    forgets them.

    When it is offered: Memory ran out little by little in a loop that builds a Keras model in each round.

    What it costs: Models of earlier rounds should not be trained on. A loop over the epochs of one model needs no such
    call.
    """

    id, title = "clear-session-in-model-loop", "Let Keras forget the model of the round before: clear_session"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            _BUILD,
            _LOOP,
            becomes=_LOOP.replace("    m = build", "    keras.backend.clear_session()\n    m = build"),
            says=("`m = build(n)`",),
        ),
    ]
    SILENT = [
        Case(_BUILD, "m = build(9)\nfor epoch in range(9):\n    m.fit(x, y)"),
        Case(_BUILD, _LOOP.replace("    m = build", "    keras.backend.clear_session()\n    m = build")),
        Case(_BUILD, _LOOP, growth="jump"),
        Case(_BUILD, _LOOP.replace("m.fit(x, y)", "m.fit(x, y)\n    models.append(m)")),  # they are kept on purpose
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Begin each round that builds a model by forgetting the one before."""
        code, name = death.code, known_as(death.code) if is_used(death.code) else None
        if name is None or not death.memory.grew_here or any("clear_session" in one.source for one in code.cells):
            return
        for scope in code.running:
            for statement in scope.nodes:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=model)], value=ast.Call() as built):
                        loops = scope.loops_around(statement)
                        kept = any(_keeps(one, model) for one in scope.calls)
                        if loops and not kept and _builds(built, scope, death) and hasattr(loops[0], "body"):
                            why = (
                                f"Each round builds a model with {quote(scope.segment(statement))}, and Keras keeps "
                                "what belongs to those of all rounds."
                            )
                            edits = insert_before(scope, loops[0].body[0], f"{name}.backend.clear_session()")
                            yield Proposal(edits, why, death.memory.ramp_bytes)
                            return


def _keeps(call: ast.Call, model: str) -> bool:
    """Whether a call puts the model itself into a list."""
    return getattr(call.func, "attr", "") == "append" and any(
        isinstance(one, ast.Name) and one.id == model for given in call.args for one in ast.walk(given)
    )


def _builds(call: ast.Call, scope: Scope, death: Death) -> bool:
    """Whether a call, or the user's function that it calls, builds a Keras model."""
    code = death.code
    made = code.definition(call.func, scope)
    own = made.definition if made is not None else None
    home = code.function_scope(own, made.cell) if made is not None and isinstance(own, ast.FunctionDef) else scope
    for one in [call] if home is scope else home.calls:
        name = code.qualified(one.func, home) or ""
        if name.rpartition(".")[2] in _BUILT and name.startswith(("keras.", "tensorflow.", "tf_keras.")):
            return True
    return False
