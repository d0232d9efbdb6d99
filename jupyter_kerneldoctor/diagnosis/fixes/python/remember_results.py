from ...analysis.observed_calls import observed_calls
from ...edits import import_as, insert_before
from ...examples.stuck import at_work, own_frame
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_FIB = "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)"
_BAG = (
    "def best(room, sizes, n):\n    if n == 0:\n        return 0\n"
    "    return max(best(room, sizes, n - 1), 1 + best(room - sizes[n - 1], sizes, n - 1))"
)
_TWO = "def f(i, s):\n    if i == n:\n        return s == 0\n    a = f(i + 1, s)\n    return a + f(i + 1, s - x[i])"
_COINS = "def ways(n):\n    if n <= 0:\n        return n == 0\n    return sum(ways(n - coin) for coin in coins)"


def _calls(function: str, use: str, *says: str, line: int = 4, becomes: str = "") -> Case:
    name = function.partition("(")[0].removeprefix("def ")
    stacks = at_work(use, 1, *(own_frame(function, line, name),) * 5)
    return Case(function, use, becomes={1: becomes} if becomes else {}, cause="hang", stacks=stacks, says=says)


class RememberResults(Fix):
    """Remember what was worked out: functools.cache.

    What it does: A function that calls itself twice with a smaller number doubles its calls with every further number:
    `fib(60)` makes a million million. They ask for sixty different results. With `@cache` each is worked out once.

    When it is offered: The cell has been in the calls of such a function for long, and nothing keeps its results.

    What it costs: The results stay in memory. What the function is given has to be hashable: numbers, texts, tuples.
    Where the function reads names from outside and these change, `fib.cache_clear()` has it begin anew.
    """

    id, title, causes = "remember-results", "Remember what was worked out: functools.cache", ("hang",)

    FIRES = [
        _calls(_FIB, "x = fib(60)", "`fib(n - 2)`", becomes=f"from functools import cache\n@cache\n{_FIB}"),
        _calls(_COINS, "ways(90)", becomes=f"from functools import cache\n@cache\n{_COINS}"),
        _calls(_TWO, "f(0, 9)", "`f(i + 1, s - x[i])`", line=5, becomes=f"from functools import cache\n@cache\n{_TWO}"),
        _calls(_BAG, "best(900, sizes, 90)", "only `room` and `n` change", "def ask(room, n):"),
    ]
    SILENT = [
        _calls(f"@cache\n{_FIB}", "x = fib(60)", line=5),
        _calls("def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + 1", "x = f(60)"),
        _calls("def f(a):\n    m = len(a) // 2\n    if m: pass\n    return max(f(a[:m]), f(a[m:]))", "x = f(a)"),
        _calls("def f(n, a):\n    if n:\n        move(a)\n        return f(n - 1, a) + f(n - 2, a)", "x = f(60, a)"),
        _calls(
            "def f(s, n):\n    if n == 0:\n        return s\n    return f(s + 'a', n - 1) + f(s + 'b', n - 1)",
            "f('', 9)",
        ),
        _calls("def f(n):\n    if n % 2:\n        return f(n - 1)\n    return f(n - 2)", "x = f(60)"),
    ]

    def propose(self, death: Death) -> Proposals:
        found = observed_calls(death.look_frames, death.busy_cell, death.find)
        if found is None:
            return
        name, shown = found.scope.function, " and ".join(quote(one) for one in found.calls[-2:])
        why = f"Each call of {quote(name)} makes more of them ({shown}), and many ask for the same: the work doubles "
        why += "again and again, while there are few different results."
        cell = death.code.scopes(found.scope.cell)[0]
        if not found.others:
            cache, imported = import_as(cell, death.code, "functools.cache", "cache")
            yield Proposal(imported + insert_before(cell, found.node, f"@{cache}"), why)
            return
        numbers = ", ".join(found.numbers)
        why += (
            f" In each call only {' and '.join(map(quote, found.numbers))} change. The others stay outside of what is "
        )
        why += "cached: a list is no key."
        snippet = f"from functools import cache\n\ndef {name}({', '.join(one.arg for one in found.node.args.args)}):\n"
        snippet += f"    @cache\n    def ask({numbers}):\n        ...  # as before, with ask({numbers}) for each call\n"
        snippet += f"    return ask({numbers})"
        yield Proposal((), why, snippet=snippet)
