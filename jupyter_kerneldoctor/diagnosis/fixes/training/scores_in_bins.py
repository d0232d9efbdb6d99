from ...code.calls import last_name
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, quote
from ...lesser_ways.conditions import made, without

_CURVES = ("AUROC", "ROC", "AveragePrecision", "PrecisionRecallCurve")
_METRICS = tuple(f"{kind}{curve}" for kind in ("", "Binary", "Multiclass", "Multilabel") for curve in _CURVES)
_OWN = "from torchmetrics.classification import MultilabelAveragePrecision\nlabels = MultilabelAveragePrecision(40{})"
_UPDATE = "for sound, tags in clips:\n    labels.update(net(sound), tags)"


class ScoresInBins(Fix):
    """Let a metric count scores in bins, not keep them all: thresholds=200.

    What it does: For an exact curve `torchmetrics` keeps each score and each label until `compute()`. With
    `thresholds=200` it keeps counts for 200 thresholds, however many scores come.

    When it is offered: Memory ran out little by little while a loop fed such a metric without `thresholds`, or in its
    `compute()`.

    What it costs: The area is that of a curve through 200 points, which is very near the exact one.
    """

    id, title, causes = "scores-in-bins", "Count the scores in bins: thresholds=200", OUT_OF_MEMORY

    FIRES = [
        Case(_OWN.format(""), _UPDATE, says=("MultilabelAveragePrecision(", "thresholds=200", "reset()")),
        Case(
            _OWN.format(""),
            "for sound, tags in clips:\n    labels(net(sound), tags)\nlabels.compute()",
            growth="jump",
            line=3,
            says=("thresholds=200",),
        ),
    ]
    SILENT = [
        Case(_OWN.format(", thresholds=100"), _UPDATE),
        Case(_OWN.format(""), _UPDATE, growth="jump"),
        Case(_OWN.format(""), "labels.update(scores, tags)"),
        Case("from torchmetrics import Accuracy\nlabels = Accuracy()", _UPDATE),
    ]

    def propose(self, death: Death) -> Proposals:
        is_fed = made("torchmetrics", *_METRICS, told=without("thresholds"))
        for scope in death.code.running if death.memory.grew_here else ():
            for node in scope.calls:
                word = last_name(node.func)
                call = Call(node, scope, f".{word}" if word in ("update", "compute") else ".()")
                is_asked = word == "compute" and death.was_running(node, scope)
                if not (is_asked or (death.growth.goes_on and scope.loops_around(node))) or not is_fed(call, death):
                    continue
                owner = scope.segment(node.func).removesuffix(call.name)
                yield Proposal(
                    (),
                    f"{quote(call.text)} keeps each score and each label until `compute()`: it needs their order.",
                    death.memory.missing_bytes,
                    snippet=f"{owner} = {_made_by(call, death)}(..., thresholds=200)  # with your other arguments\n"
                    f"{owner}.reset()  # after each epoch, when `compute()` was called",
                )
                return


def _made_by(call: Call, death: Death) -> str:
    """Return the name of the metric's class."""
    names = (one for one in _METRICS if made("torchmetrics", one)(call, death) is not False)
    return next(names)
