import ast

from ...calls import makers
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote

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
            owner = used.scope.segment(getattr(function, "value", function))
            begin, model = (f"model = {owner}\n", "model") if "(" in owner else ("", owner)
            parts = [f"{one}[at : at + 10_000]" for one in given[:2]]
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
