import ast

from ...code.calls import plain_names
from ...examples.stuck import at_work
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SOURCE = "while n != 1:\n    n = 3 * n - 1 if n % 2 else n // 2"
_WAITS = frozenset({"polled", "file", "read", "mistyped", "retried"})


class LimitTheRounds(Fix):
    """Limit the rounds of a loop, and see with which values it does not end.

    What it does: A `for` loop over a `range` has an end in any case. Where it gets there, the error says what the
    values were: most often one of them is no longer what the condition expects.

    When it is offered: The cell has been going round in a `while` loop that does not end. It comes after fixes that
    know why.

    What it costs: A limit that is too low ends a loop that would have come to its end.
    """

    id, title, general = "limit-the-rounds", "Limit the rounds (max_iter), and see the values it has then", True
    causes = ("hang",)

    FIRES = [Case(_SOURCE, cause="hang", line=2, stacks=at_work(_SOURCE, 2), says=("range(100_000)", "{n=}"))]
    SILENT = [Case("while n < 9:\n    n += 1", cause="hang", line=2, stacks=at_work("while n < 9:\n    n += 1", 2))]

    def propose(self, death: Death) -> Proposals:
        loop = death.endless_loop
        if loop is None or not isinstance(loop.node, ast.While) or loop.kind in _WAITS:
            return
        test = loop.node.test
        names = sorted(plain_names(test) - {"len", "abs"}) or [loop.why.split("`")[1]] * (loop.why.count("`") > 1)
        told = ", ".join(f"{{{one}=}}" for one in names[:3])
        asks = "" if isinstance(test, ast.Constant) else f"    if not ({loop.scope.segment(test)}):\n        break\n"
        snippet = (
            f"for attempt in range(100_000):  # max_iter, in place of {loop.head}:\n{asks}    ...  # a round\n"
            f"else:\n    raise RuntimeError(f'no end: {told}')"
        )
        yield Proposal((), f"{quote(loop.head)} has no limit, and says nothing of its values.", snippet=snippet)
