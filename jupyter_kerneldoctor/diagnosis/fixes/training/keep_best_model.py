import ast

from ...code.stores import stores
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.keras import is_used, known_as
from ...frameworks.search_loops import models_kept, without_model
from ...place import grew_in

_SNIPPET = (
    "if best is None or score > best_score:  # in the loop; before it: best = None\n"
    "    best, best_score = {model}, score  # the only one that is kept\n{clear}"
)
_GRID = "import keras\nruns = []\ndef build(n): return keras.Sequential([keras.layers.Dense(n)])\n"
_LOOP = "for n in sizes:\n{clear}    net = build(n)\n    h = net.fit(x, y)\n    runs.append({{'n': n, 'h': h{kept}}})"


class KeepBestModel(Fix):
    """Keep the scores of a search, and the best model only.

    What it does: A list of all models of a search holds their weights, and what their optimizers keep: with Adam three
    numbers for each weight. The edit leaves the model out of what is kept of a round. For Keras it is advice, as
    TensorFlow keeps a part of each model in any case.

    When it is offered: Memory grew round by round in a loop that trains a model in each round and puts it into a list
    or dict. An edit is made where it is an entry of a dict that no cell reads.

    What it costs: The other models are gone. Save a model to a file where it is wanted later: `model.save(path)`.
    """

    id, title, causes = "keep-best-model", "Keep the scores of each round, and the best model only", OUT_OF_MEMORY

    FIRES = [
        Case(
            _GRID,
            _LOOP.format(clear="", kept=", 'net': net"),
            says=("`net`", "`runs`", "a process of its own", "keras.backend.clear_session()"),
        ),
        Case(_GRID, "for n in sizes:\n    m = build(n)\n    m.fit(x, y)\n    runs.append(m)", says=("best_score = m",)),
        Case(
            "runs = []\ndef build(n): return Forest(n)",
            "for n in sizes:\n    net = build(n)\n    net.fit(x, y)\n    runs.append({'n': n, 'net': net})",
            becomes="for n in sizes:\n    net = build(n)\n    net.fit(x, y)\n    runs.append({'n': n})",
        ),
        Case(
            "from sklearn.base import clone\nruns = []",
            "for a, b in folds:\n    m = clone(forest).fit(X[a], y[a])\n    runs.append(m)",
            says=("best_score = m",),
        ),
    ]
    SILENT = [
        Case(_GRID, _LOOP.format(clear="", kept="")),
        Case(_GRID, _LOOP.format(clear="", kept=", 'net': net"), growth="jump"),
        Case(_GRID, "net = build(9)\nfor n in range(9):\n    net.fit(x, y)\n    runs.append(net)"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes or 0
        for store in stores(code.running) if death.growth.goes_on else ():
            loop = next(iter(store.scope.loops_around(store.statement)), None)
            if not isinstance(loop, ast.For) or grew_in(death, loop, store.scope) is False:
                continue
            for model in models_kept(store, loop, code):
                of_keras = is_used(code)
                clear = f"{known_as(code) or 'keras'}.backend.clear_session()" if of_keras else ""
                why = (
                    f"{quote(store.container)} keeps {quote(model.id)} of each round, with its weights and what its "
                    f"optimizer keeps for them; memory grew by {size(missing)}."
                )
                new = () if of_keras else without_model(model, store, code)
                if of_keras:
                    why += " TensorFlow may keep a part of each model even then: train each in a process of its own."
                snippet = _SNIPPET.format(model=model.id, clear=f"{clear}  # first in each round" if clear else "")
                yield Proposal(new, why, death.memory.ramp_bytes, snippet=snippet)
                return
