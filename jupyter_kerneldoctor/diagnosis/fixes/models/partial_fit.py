import ast

from ...calls import makers
from ...code.origins import all_origins
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote

_LEARN = tuple(
    f"sklearn.{name}"
    for name in (
        *("linear_model.SGDClassifier", "linear_model.SGDRegressor", "linear_model.Perceptron"),
        *("linear_model.PassiveAggressiveClassifier", "cluster.MiniBatchKMeans", "decomposition.IncrementalPCA"),
        *("naive_bayes.MultinomialNB", "naive_bayes.GaussianNB", "naive_bayes.BernoulliNB"),
        *("neural_network.MLPClassifier", "neural_network.MLPRegressor"),
    )
)
_NEEDS_CLASSES = ("Classifier", "Perceptron", "NB")
_PIPELINE = (
    "from sklearn.neural_network import MLPClassifier\nfrom sklearn.pipeline import make_pipeline\n"
    "from sklearn.preprocessing import StandardScaler"
)


class PartialFit(Fix):
    """Fit the model to one part of the rows after the other.

    What it does: Some models of scikit-learn learn from parts with `partial_fit`, so that the data can stay in a file:
    an array that was loaded with `mmap_mode="r"`, or a CSV read with `chunksize`.

    When it is offered: Memory ran out while `fit` of such a model was running.

    What it costs: The model sees each part once: go through all parts several times, as `fit` does.
    """

    id, title, causes = "partial-fit", "Fit to one part of the rows after the other: partial_fit", (Family.MEMORY,)

    FIRES = [
        Case(
            "from sklearn.linear_model import SGDClassifier\nmodel = SGDClassifier()",
            "model.fit(X_train, y_train)",
            says=("model.partial_fit(X_train[at : at + 10_000], y_train[at : at + 10_000], classes=",),
        ),
        Case(
            "from sklearn.cluster import MiniBatchKMeans", "MiniBatchKMeans(9).fit(X)", says=("MiniBatchKMeans(9)\n",)
        ),
        Case(
            f"{_PIPELINE}\nclf = make_pipeline(StandardScaler(), MLPClassifier())",
            "clf.fit(X, y)",
            says=("before, model = clf[:-1].fit(X), clf[-1]", "model.partial_fit(before.transform(X[at"),
        ),
        Case(
            f"{_PIPELINE}\nHOW = 'lbfgs'\nnet = MLPClassifier(solver=HOW)",
            "net.fit(X, y)",
            says=("solver='adam'", "batch_size=500", "lbfgs"),
        ),
    ]
    SILENT = [
        Case("from sklearn.cluster import MiniBatchKMeans", "MiniBatchKMeans(9).fit(X.toarray())"),
        Case("from sklearn.linear_model import LogisticRegression", "LogisticRegression().fit(X, y)"),
        Case("from sklearn.cluster import MiniBatchKMeans", "MiniBatchKMeans(9).fit(X)\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for made, used in makers(death, *_LEARN):
            function, given = used.node.func, [used.scope.segment(one) for one in used.node.args]
            is_plain = all(isinstance(one, ast.Name | ast.Attribute) for one in used.node.args[:2])
            if used.name != "fit" or not given or not is_plain:
                continue
            if _is_of_all_rows(made, death):
                why = (
                    f"{quote(used.text)} works on all rows at once, as `lbfgs` does. Other solvers take some at a time."
                )
                model = made.name.rpartition(".")[2]
                snippet = f"{model}(solver='adam', batch_size=500)  # with your other arguments\n"
                snippet += "# or with fewer rows, or smaller hidden_layer_sizes, where it has to be lbfgs"
                title = "Learn from some rows at a time: solver='adam'"
                yield Proposal((), why, death.memory.missing_bytes, title, snippet)
                return
            owner = used.scope.segment(getattr(function, "value", function))
            begin, model = (f"model = {owner}\n", "model") if "(" in owner else ("", owner)
            parts = [f"{one}[at : at + 10_000]" for one in given[:2]]
            if _is_in_a_pipeline(made, function, used.scope, death):
                begin, model = f"before, model = {owner}[:-1].fit({given[0]}), {owner}[-1]\n", "model"
                parts[0] = f"before.transform({parts[0]})"
            if made.name.endswith(_NEEDS_CLASSES) and len(given) > 1:
                begin, parts = f"import numpy\n\n{begin}", [*parts, f"classes=numpy.unique({given[1]})"]
            yield Proposal(
                (),
                f"{quote(used.text)} works on all rows at once. {quote(made.text)} can learn from one part after the "
                "other, and the data can stay in a file.",
                (death.memory.missing_bytes or 0) // 2,
                snippet=f"{begin}for at in range(0, len({given[0]}), 10_000):\n"
                f"    {model}.partial_fit({', '.join(parts)})",
            )


def _is_of_all_rows(made: Call, death: Death) -> bool:
    """Whether a network of scikit-learn may have the solver that cannot learn from parts."""
    solver = made.argument("solver")
    origins = [] if solver is None else all_origins(solver, made.scope, death.code)
    return any(isinstance(one, ast.Constant) and one.value == "lbfgs" for one, _ in origins)


def _is_in_a_pipeline(made: Call, function: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether what is fitted is not the model itself, but something that it is a part of."""
    owner = function.value if isinstance(function, ast.Attribute) else function
    return all(one is not made.node for one, _ in all_origins(owner, scope, death.code))
