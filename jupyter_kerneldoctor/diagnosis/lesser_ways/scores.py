"""Metrics that keep all that they are given, to the end."""

from ..case import Case
from .conditions import given, made, without
from .way import LesserWay

_CALLED = (".update", ".()", ".compute", ".forward")
_OF_PICTURES = (
    *("ErrorRelativeGlobalDimensionlessSynthesis", "SpectralDistortionIndex", "RelativeAverageSpectralError"),
)

WAYS = (
    LesserWay(
        _CALLED,
        "Score each batch, and keep the mean of the scores only: MeanMetric",
        "keeps all pictures of all batches until `compute`.",
        "from torchmetrics import MeanMetric\nfrom torchmetrics.functional.image import (  # or that of your metric\n"
        "    spectral_distortion_index,\n)\n\nmean = MeanMetric()\n"
        "mean.update(spectral_distortion_index(preds, target))  # for each batch\nprint(mean.compute())",
        Case(
            "from torchmetrics.image import SpectralDistortionIndex\nm = SpectralDistortionIndex()",
            "for x, y in loader:\n    m.update(net(x), y)",
        ),
        made("torchmetrics", *_OF_PICTURES),
    ),
    LesserWay(
        _CALLED,
        "Score each batch, and keep the mean of the scores only: MeanMetric",
        "keeps all vectors of all batches until `compute`.",
        "from torchmetrics import MeanMetric\nfrom torchmetrics.functional import cosine_similarity\n\n"
        "mean = MeanMetric()\n"
        "mean.update(cosine_similarity(preds, target, reduction='mean'), len(preds))  # for each batch\n"
        "print(mean.compute())",
        Case(
            "import torchmetrics\nm = torchmetrics.CosineSimilarity()", "for x, y in loader:\n    m.update(net(x), y)"
        ),
        made("torchmetrics", "CosineSimilarity"),
    ),
    LesserWay(
        _CALLED,
        "Give it every tenth batch, and forget all after each epoch: reset()",
        "keeps all numbers of all batches: it needs them for their order.",
        "if number % 10 == 0:  # of `for number, (x, y) in enumerate(loader)`: a sample is nearly as exact\n"
        "    metric.update(preds.detach().cpu(), target.cpu())\nmetric.reset()  # after each epoch",
        Case(
            "import torchmetrics\nm = torchmetrics.SpearmanCorrCoef()", "for x, y in loader:\n    m.update(net(x), y)"
        ),
        made("torchmetrics", "SpearmanCorrCoef", "KendallRankCorrCoef"),
    ),
    LesserWay(
        _CALLED,
        "Keep fewer numbers of each picture: feature=192",
        "keeps the features of all pictures until `compute`.",
        "from torchmetrics.image.kid import KernelInceptionDistance\n\n"
        "metric = KernelInceptionDistance(feature=192, subset_size=50)  # 192 numbers a picture in place of 2,048\n"
        "# comparable among themselves only; FrechetInceptionDistance keeps sums, however many pictures come",
        Case(
            "from torchmetrics.image.kid import KernelInceptionDistance\nm = KernelInceptionDistance()",
            "for x in loader:\n    m.update(x, real=True)",
        ),
        made("torchmetrics", "KernelInceptionDistance", told=without("feature", 0)),
    ),
    LesserWay(
        ("sklearn.metrics.confusion_matrix",),
        "Count only the pairs of classes that occur: value_counts",
        "makes a number for each pair of classes.",
        "import pandas as pd\n\npairs = pd.DataFrame({{'true': np.asarray({a0}), 'found': np.asarray({a1})}})\n"
        "{to} = pairs.value_counts()  # only what occurs; numbers that are no classes: round or bin them before",
        Case("from sklearn.metrics import confusion_matrix", "m = confusion_matrix(y, p)"),
        lambda call, _death: len(call.node.args) == 2,
    ),
    LesserWay(
        ("sklearn.model_selection.cross_validate",),
        "Keep the scores, not the models: return_estimator=False",
        "keeps a whole model of each part with `return_estimator=True`.",
        "{to} = {function}({a0}, {a1}, y, return_estimator=False)  # with your other arguments: scores only",
        Case(
            "from sklearn.model_selection import cross_validate",
            "r = cross_validate(model, X, y, return_estimator=True)",
        ),
        given(True, "return_estimator"),
        silent=("r = cross_validate(model, X, y)",),
    ),
    LesserWay(
        (
            "sklearn.inspection.partial_dependence",
            "sklearn.inspection.PartialDependenceDisplay.from_estimator",
        ),
        "Ask a sample of the rows, at fewer points: grid_resolution=20",
        "predicts all rows once for each point of the grid: 100 points, for two columns 10,000.",
        "from sklearn.utils import shuffle\n\nsample = shuffle({a1}, n_samples=1000, random_state=0)  # 1,000 rows\n"
        "{function}({a0}, sample, features, grid_resolution=20)  # with your features",
    ),
)
