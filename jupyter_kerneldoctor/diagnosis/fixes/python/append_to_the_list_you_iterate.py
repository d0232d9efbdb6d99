import ast

from ...calls import nodes_at
from ...code.same_ways import always_called
from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote

_ADDS = ("append", "extend", "insert")
_ONCE = "Append only what was not seen before: a set of what is in the list"
_SEEN = (
    "seen = {{*{0}}}  # before the loop\n\nif new not in seen:  # in it: `new` is what is to be appended\n"
    "    seen.add(new)\n    {0}.append(new)"
)


class AppendToTheListYouIterate(Fix):
    """Go through a copy of the list that the loop appends to.

    What it does: `for x in xs: xs.append(...)` never ends: each round makes one round more. `for x in list(xs):` goes
    through what was there at the beginning.

    When it is offered: Memory ran out little by little in such a loop that nothing leaves.

    What it costs: What is appended is not gone through. Where a round appends several things, or none, as in a search
    through links, that was meant: there the fix is advice, a set of what was seen.
    """

    id, title = "append-to-the-list-you-iterate", "Go through a copy of the list: this loop never ends"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            "xs = [1]\nfor x in xs:\n    xs.append(x + 1)  # more",
            becomes="xs = [1]\nfor x in list(xs):\n    xs.append(x + 1)  # more",
            says=("never ends", "set"),
        ),
        Case(
            "class Crawler:\n    def run(self):\n        for page in self.todo:\n            for n in links(page):\n"
            "                self.todo.append(n)",
            "Crawler().run()",
            says=("if new not in seen:",),
        ),
        Case("for node in order:\n    order.extend(node.children)", says=("seen = {*order}",)),  # a tree has an end
        Case(
            "for w in ws:\n    if w[-1] == 's':\n        ws.append(w + 'es')\n    else:\n        ws.append(w + 's')",
            becomes={"ws:": "list(ws):"},
        ),
    ]
    SILENT = [
        Case("for x in xs:\n    if x > 0:\n        xs.append(x - 1)\n    else:\n        print(x)"),
        Case("for x in xs:\n    if x not in seen:\n        xs.append(x + 1)"),
        Case("for x in xs:\n    xs.append(x + 1)\n    if len(xs) > 9: break"),
        Case("for x in list(xs):\n    xs.append(x)"),
        Case("for x in xs:\n    ys.append(x)"),
        Case("for x in xs:\n    xs.append(1)\nbig = [0] * 10**10", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        for loop, scope in nodes_at(death, ast.For):
            if call := _adds(loop, scope):
                why = f"{quote(scope.segment(call))} makes the list longer that the loop goes through. "
                if getattr(call.func, "attr", "") == "extend" or next(iter(scope.loops_around(call)), loop) is not loop:
                    why += "In a graph with circles it never ends: append only what was not seen before."
                    yield Proposal((), why, death.memory.ramp_bytes, _ONCE, _SEEN.format(scope.segment(loop.iter)))
                    continue
                why += "It never ends. With `list(…)` it goes through what was there before. To follow what is new, "
                why += "too, append only what is not in a set of those already seen."
                edits = replace(scope, loop.iter, f"list({scope.segment(loop.iter)})")
                yield Proposal(edits, why, death.memory.ramp_bytes)


def _adds(loop: ast.For, scope: Scope) -> ast.Call | None:
    """Return the call that adds to what a loop goes through in each round, where nothing ends that."""
    leaves = any(isinstance(one, ast.Break | ast.Return | ast.Raise) for one in scope.inside(loop))
    is_named = isinstance(loop.iter, ast.Name | ast.Attribute)
    return always_called(loop.body, scope.segment(loop.iter), _ADDS, scope) if is_named and not leaves else None
