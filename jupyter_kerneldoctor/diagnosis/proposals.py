"""Asks the fixes what to change, checks what they answer, and puts what explains most of the missing memory first.

At an equal share an edit comes before advice, and what is special to this death before what always helps.

A fix that fails is left out, and an edit that does not pass all checks is not offered: it must parse, leave IPython's
own syntax alone, and cure what it was proposed for. One that may not save enough for the cell to live is only told.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import dedent

from .changes import Change, EditRefusedError, apply_all, edit_of
from .code.cellsource import parsing_cost
from .code.notebook import CodeTooLargeError
from .death import Death
from .fix import Fix, Proposal
from .fixes import all_fixes
from .postmortem import FixProposal

_SMALLEST_SHARE = 0.1  # of the missing memory: what explains less is no fix
_LINES_COMPARED = 5000
"""So many in a microsecond, for the diff: those that are the same are all tried at each place that was changed."""
_ENOUGH = 0.4  # of it: what always helps adds nothing to a special fix that explains so much
_MOST = 0.65  # of what a killed kernel had taken: how much more it wanted is not known, so an edit has to save as much
_BESIDE = 1.1  # what is worked out beside what an edit leaves


def propose(death: Death) -> tuple[FixProposal, ...]:
    """Return the fixes for a death that was judged, the most useful first; people are shown the first three.

    Raises CodeTooLargeError when more code would have to be read than there is time for.
    """
    asked = [fix for fix in all_fixes() if _is_for(fix, death)]
    found = [(fix, one) for fix in asked if (one := _offered(fix, death)) is not None]
    shares = {one.id: round(_share(one.explained_bytes, death), 1) for _, one in found}
    found = [
        (fix, one)
        for fix, one in found
        if not any(
            shares.get(better, -1) >= (_ENOUGH if fix.general else shares[one.id]) for better in fix.unless_offered
        )
    ]
    if any(not fix.general and shares[one.id] >= _ENOUGH for fix, one in found):
        found = [(fix, one) for fix, one in found if not fix.last_resort]
    found.sort(key=lambda pair: (pair[0].general, -shares[pair[1].id], not pair[1].edits, pair[0].broad))
    titles = [one.title for _, one in found]
    return tuple(one for at, (_, one) in enumerate(found) if one.title not in titles[:at])


def _as_advice(one: FixProposal) -> FixProposal:
    """Return a proposal without its edits, but with the lines that they write."""
    if not one.edits:
        return one
    lines = [line for edit in one.edits for line in edit.diff.split("\n")[2:]]
    blocks = [list(block) for is_new, block in groupby(lines, lambda line: line.startswith("+")) if is_new]
    added = "\n".join(dedent("\n".join(line[1:] for line in block)) for block in blocks)
    return replace(one, edits=(), applicability="advice", snippet=one.snippet or added)


def _is_for(fix: Fix, death: Death) -> bool:
    return not death.likely_causes.isdisjoint(fix.causes)


def _offered(fix: Fix, death: Death) -> FixProposal | None:
    try:
        with death.code.counted():
            return ask(fix, death)[0]
    except CodeTooLargeError:
        raise
    except Exception:
        return None


def ask(fix: Fix, death: Death) -> tuple[FixProposal | None, str]:
    """Return what a fix proposes, and what was wrong with that: why there is no proposal, or one without its edits.

    Raises whatever the fix raises.
    """
    if not _is_for(fix, death):
        return None, f"It is for {', '.join(fix.causes)}, not for {', '.join(sorted(death.likely_causes))}."
    parts = list(fix.propose(death))
    if not parts:
        return None, "It proposes nothing."
    explained = max((part.explains for part in parts if part.explains is not None), default=None)
    if (share := _share(explained, death)) < _SMALLEST_SHARE:
        return None, f"It explains {share:.0%} of what was missing; {_SMALLEST_SHARE:.0%} is the least."
    changed, wrong = _changed(fix, [one for part in parts for one in part.edits], death)
    first = parts[0]
    snippet = first.snippet if changed else first.snippet or first.instead
    if wrong and snippet is None:
        return None, wrong
    proposal = FixProposal(
        id=fix.id,
        title=first.title or fix.title,
        why=first.why,
        applicability=first.applicability if changed else "advice",
        edits=tuple(edit_of(death.code.cells[at], new) for at, new in sorted(changed.items())),
        snippet=snippet,
        explained_bytes=explained,
        expected_peak_bytes=first.peak,
    )
    return proposal if _suffices(parts, death) else _as_advice(proposal), wrong


def _suffices(parts: Sequence[Proposal], death: Death) -> bool:
    """Whether what the edits save covers what was missing, so that the cell would live, and not die a little later."""
    missing, headroom = death.memory.missing_bytes, death.safe_headroom_bytes
    if not death.is_about_memory or not missing:
        return True
    known = [part.leaves for part in parts if part.leaves is not None]
    if not known or headroom is None:
        return sum(part.explains or 0 for part in parts) >= _MOST * missing
    copies = 2 if any(map(death.code.imports, ("keras", "tensorflow"))) else 1  # of arrays, when they are trained on
    return _BESIDE * copies * max(known) <= headroom


def _share(explained_bytes: int | None, death: Death) -> float:
    missing = death.memory.missing_bytes
    if not death.is_about_memory or explained_bytes is None or not missing:
        return 1.0
    return min(1.0, explained_bytes / missing)


def _changed(fix: Fix, changes: Sequence[Change], death: Death) -> tuple[Mapping[int, str], str]:
    """Return the new text of each cell, by index, and "". Where one fails its checks, none, as half a fix is none."""
    if any(death.code.cells[one.cell].truncated for one in changes):
        return {}, "Edit refused: the recording has only the beginning of the cell."
    try:
        for at, places in Counter(change.cell for change in changes).items():
            lines = 1 + death.code.source(at).count("\n")
            death.code.spend(2 * parsing_cost(death.code.source(at)) + places * lines * lines / _LINES_COMPARED)
        changed = apply_all(death.code, changes)
    except EditRefusedError as error:
        return {}, f"Edit refused: {error}."
    if changed and not fix.is_cured(death, death.edited(changed)):
        return {}, "Not cured: it still has something to say about\n" + "\n\n".join(changed.values())
    return changed, ""
