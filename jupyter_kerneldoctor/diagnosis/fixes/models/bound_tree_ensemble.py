import re

from jupyter_kerneldoctor.recording.events import Stack

from ...argument_dicts import entries, give_argument, hidden_arguments
from ...calls import is_in_library, makers
from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size

_FORESTS = tuple(
    f"sklearn.ensemble.{kind}{what}" for kind in ("RandomForest", "ExtraTrees") for what in ("Classifier", "Regressor")
)
_BOUNDS = ("max_depth", "max_leaf_nodes", "min_samples_leaf", "max_samples")
_DEPTH = 14
_NODE_BYTES = 72  # of sklearn.tree's Node, and one value of the target
_OTHERS = re.compile(r"sklearn/(?:svm|neighbors|linear_model|preprocessing|decomposition|impute|cluster)/")
_RUN = "RandomForestClassifier(500).fit(X, y)"
_IN_SVM = Stack(-0.1, "busy", (thread(frame("sklearn/svm/_base.py", "fit", library=True), own_frame(_RUN, 1)),))
_FOREST = "from sklearn.ensemble import RandomForestClassifier\n"


class BoundTreeEnsemble(Fix):
    """Bound the depth of the trees.

    What it does: Without a bound the trees of a forest grow until each leaf is pure: nearly two nodes for each row in
    each tree. With 500 trees and a million rows that is some 70 GB. `max_depth=14` allows 32,767 nodes a tree.

    When it is offered: Memory ran out while a forest was fitted that has no bound.

    What it costs: Another model, often as good. Compare it on data that were held back.
    """

    id, title, causes = "bound-tree-ensemble", "Bound the depth of the trees: max_depth", (Family.MEMORY,)

    FIRES = [
        Case(_FOREST + "m = RandomForestClassifier(500)", "m.fit(X, y)", becomes={"500": "500, max_depth=14"}),
        Case(
            _FOREST + "params = {'n_estimators': 500, 'n_jobs': 2}",
            "forest = RandomForestClassifier(**params).fit(X, y)",
            becomes={": 2}": ': 2, "max_depth": 14}'},
            says=("500 trees",),
        ),
        Case(
            _FOREST
            + "P = {'n_estimators': 400}\nclass M:\n    def __init__(self, p=None): self.p = {**P, **(p or {})}\n"
            "    def train(self, X, y):\n        self.m = RandomForestClassifier(**self.p)\n        self.m.fit(X, y)",
            "M().train(X, y)",
            becomes={"(p or {})": '(p or {}), "max_depth": 14'},
            says=("400 trees",),
        ),
        Case(  # in another call there were 3
            _FOREST + "P = {'n_estimators': 400}\ndef train(X, y, p=None):\n    q = {**P, **(p or {})}\n"
            "    return RandomForestClassifier(**q).fit(X, y)",
            "train(X[:9], y[:9], {'n_estimators': 3})\ntrain(X, y)",
            becomes={"(p or {})": '(p or {}), "max_depth": 14'},
            says=("grows its trees",),
        ),
        Case(
            _FOREST + "from sklearn.model_selection import cross_val_score\ndef score(trees):\n"
            "    forest = RandomForestClassifier(n_estimators=trees)\n    return cross_val_score(forest, X, y, cv=5)",
            "score(500)",
            becomes={"n_estimators=trees": "n_estimators=trees, max_depth=14"},
        ),
        Case(  # 14 would hardly bind it
            "import numpy as np\n" + _FOREST + "X = np.ones((16_000, 9))",
            "RandomForestClassifier(900).fit(X, y)",
            becomes="RandomForestClassifier(900, max_depth=11).fit(X, y)",
        ),
    ]
    SILENT = [
        Case(_FOREST + "P = {'max_depth': 5}", "q = {**P, 'n_jobs': 2}\nRandomForestClassifier(**q).fit(X, y)"),
        Case(_FOREST, "RandomForestClassifier(max_depth=9).fit(X, y)"),
        Case(_FOREST, _RUN, stacks=[_IN_SVM]),  # beside it in an ensemble
        Case(_FOREST + "params = {'max_samples': 0.1}", "RandomForestClassifier(**params).fit(X, y)"),
        Case(_FOREST, "RandomForestClassifier().fit(X, y)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\n" + _FOREST + "X = np.ones((900, 3))", "RandomForestClassifier().fit(X, y)\nload()"),
    ]

    def propose(self, death: Death) -> Proposals:
        if death.code.has_text("return_estimator=True"):  # all of them are kept
            return
        if is_in_library(death, _OTHERS):  # another model of the same ensemble or pipeline
            return
        for made, used in makers(death, *_FORESTS):
            words = entries(hidden_arguments(made, death.code), death.code)
            if not used.name.startswith("fit") or any(made.argument(word) or word in words for word in _BOUNDS):
                continue
            data, missing = used.argument("X", 0), death.memory.missing_bytes or 0
            value = death.values.of(data, used.scope)
            given = made.argument("n_estimators", 0) or words.get("n_estimators")
            trees = 100 if given is None else death.values.number(given, made.scope)
            known = value is not None and value.shape and trees
            takes = 2 * value.shape[0] * trees * _NODE_BYTES if known and value and trees else missing
            depth = _depth(value.shape[0]) if value is not None and value.shape else _DEPTH
            grows = f"its {trees} trees" if trees else "its trees"
            yield Proposal(
                give_argument(made, death.code, "max_depth", str(depth)),
                f"{quote(made.text)} grows {grows} until each leaf is pure, with up to two nodes for each "
                f"row: {size(takes)}. With a depth of {depth} a tree has {2 ** (depth + 1) - 1:,} nodes at most.",
                takes,
            )


def _depth(rows: int) -> int:
    """Return a depth that allows a quarter of the nodes that the trees grow to without a bound."""
    return max(4, min(_DEPTH, (rows // 4).bit_length() - 1))
