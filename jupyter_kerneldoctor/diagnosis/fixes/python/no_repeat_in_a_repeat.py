import ast
import re
from collections.abc import Iterator

from ...edits import replace
from ...examples.stuck import at_work
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote

_ONE_IN_ANOTHER = re.compile(
    r"\((?P<kind>\?:)?(?P<what>\[[^\]\\]{1,99}\]|\\\\?[wds]|\w)(?P<inner>[+*])\)(?P<outer>[+*])"
)
_HOST = 'import re\nhost = re.compile(r"^((?:[a-z]+)+\\.)+com$")'
_LONG = 'host.match("a" * 60)'


class NoRepeatInARepeat(Fix):
    """Repeat a part of a regular expression once, not within another repeat.

    What it does: In `([a-z]+)+` a text can be cut into repeats in as many ways as it has places to cut, and where the
    rest does not fit, all of them are tried: each further character doubles the time. `([a-z]+)` fits the same texts in
    one way.

    When it is offered: One regular expression has been matched for long, and it has a repeat in a repeated group.

    What it costs: Nothing where the repeat is all that is in the group. Possessive repeats need Python 3.11.
    """

    id, title, causes = "no-repeat-in-a-repeat", "Repeat once: no repeat in a repeated group of the pattern", ("hang",)
    edits_cure = True  # other repeats may be right

    FIRES = [
        Case(_HOST, _LONG, stacks=at_work(_LONG, 1), becomes={"+\\.": "\\."}),
        Case(
            'import re\nlog = re.compile("^(a|b|ab)*c")',
            'log.match("ab" * 60)',
            stacks=at_work('log.match("ab" * 60)', 1),
            says=("possessive",),
        ),
    ]
    SILENT = [Case(_HOST, "q.get()")]

    def propose(self, death: Death) -> Proposals:
        busy = death.busy_cell
        if busy is None or busy.backtracks_s is None:
            return
        why = f"{quote(busy.pattern)} fits a text in more and more ways, the longer it is, and all of them are tried."
        snippet = (
            "re.compile(r'(?:[a-z0-9-]++\\.)+com')  # possessive: ++ gives nothing back (Python 3.11)\n"
            "if len(text) > 200: ...  # and no long text to it: a regular expression has no timeout"
        )
        for scope, node in _written(busy.pattern, death):
            old = scope.segment(node)
            if (new := _ONE_IN_ANOTHER.sub(_once, old)) != old:
                yield Proposal(replace(scope, node, new), why, snippet=snippet)
                return
        yield Proposal((), why, snippet=snippet)


def _written(pattern: str, death: Death) -> Iterator[tuple[Scope, ast.Constant]]:
    for at in death.code.with_text(pattern[:10]):
        for scope in death.code.scopes(at):
            for node in scope.nodes:
                if isinstance(node, ast.Constant) and node.value == pattern:
                    yield scope, node


def _once(found: re.Match[str]) -> str:
    """`(x+)+` fits what `(x+)` fits; with a `*` in either place, nothing as well: `(x*)`."""
    repeat = "*" if "*" in (found["inner"], found["outer"]) else "+"
    return f"({found['kind'] or ''}{found['what']}{repeat})"
