"""What to change: the fix rules, and the engine that asks them and checks what they answer.

One rule a file. `propose` never raises on what a recording holds: a rule that fails is left out, and an edit that does
not pass all checks is not offered.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.diagnosis.code.cellsource import is_same, mask, parsing_cost
from jupyter_kerneldoctor.diagnosis.code.notebook import CodeTooLargeError, Notebook
from jupyter_kerneldoctor.diagnosis.postmortem import Edit, FixProposal
from jupyter_kerneldoctor.diagnosis.registry import rules as find_rules
from jupyter_kerneldoctor.diagnosis.units import cell_name

from ._edits import EditRefusedError, apply, touches, unified_diff
from ._numbers import is_memory_death
from ._rule import FixRule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.context import FixContext

    from ._rule import CellEdit, Draft

MOST_SHOWN = 3
_SMALLEST_SHARE = 0.1


@dataclass(frozen=True)
class _Ranked:
    proposal: FixProposal
    share: float


@cache
def fixes() -> tuple[FixRule[Any], ...]:
    """One of each fix there is, sorted by id."""
    return tuple(rule() for rule in find_rules(sys.modules[__name__], FixRule))


def propose(context: FixContext) -> tuple[FixProposal, ...]:
    """The fixes for this death, the one that explains most of the missing memory first; three at most.

    Raises CodeTooLargeError.
    """
    asked = [rule for rule in fixes() if context.cause_ids & set(rule.causes)]
    if not asked:
        return ()
    line = context.culprit.line if context.culprit is not None else None
    code = Notebook(context.cells, context.cell, line)
    ranked = [found for rule in asked if (found := _ask(rule, context, code)) is not None]
    ranked.sort(key=lambda one: (-round(one.share, 1), not one.proposal.edits))
    return tuple(one.proposal for one in ranked[:MOST_SHOWN])


def _ask(rule: FixRule[Any], context: FixContext, code: Notebook) -> _Ranked | None:
    try:
        found = rule.detect(context, code)
        if found is None:
            return None
        size = rule.size(context, code, found)
        share = _share(size.explained_bytes, context)
        if share < _SMALLEST_SHARE:
            return None
        draft = rule.fix(context, code, found)
        edits = _checked(rule, found, draft.edits, context, code)
    except CodeTooLargeError:
        raise
    except Exception:
        return None
    if not edits and not _is_advice(draft):
        return None
    proposal = FixProposal(
        id=rule.id,
        title=draft.title or rule.title,
        why=draft.why,
        applicability=rule.applicability if edits else "advice",
        edits=edits,
        snippet=draft.snippet if edits else draft.snippet or draft.instead,
        explained_bytes=size.explained_bytes,
        expected_peak_bytes=size.expected_peak,
    )
    return _Ranked(proposal, share)


def _is_advice(draft: Draft) -> bool:
    """Whether it can be offered without edits: it never had any, or there is code to copy in their place."""
    return not draft.edits or (draft.snippet or draft.instead) is not None


def _share(explained_bytes: int | None, context: FixContext) -> float:
    missing = context.missing_bytes
    if not is_memory_death(context) or explained_bytes is None or not missing:
        return 1.0
    return min(1.0, explained_bytes / missing)


def _checked(
    rule: FixRule[Any], found: Any, drafts: tuple[CellEdit, ...], context: FixContext, code: Notebook
) -> tuple[Edit, ...]:
    """The edits made; none at all when one of them fails, as half a fix is none."""
    changed: dict[int, str] = {}
    for draft in drafts:
        new = _changed(draft, code)
        if new is None:
            return ()
        changed[draft.cell] = new
    if not changed or not _is_cured(rule, found, changed, context, code):
        return ()
    return tuple(_edit(context, place, new) for place, new in sorted(changed.items()))


def _changed(draft: CellEdit, code: Notebook) -> str | None:
    cell = code.cells[draft.cell]
    masked = mask(cell.source)
    if cell.truncated or masked is None or touches(draft.replacements, masked.spans):
        return None
    try:
        new = apply(cell.source, draft.replacements)
    except EditRefusedError:
        return None
    code.spend(2 * parsing_cost(new))
    parsed = mask(new)
    if parsed is None or len(parsed.spans) != len(masked.spans):
        return None
    return None if is_same(parsed.tree, masked.tree) else new


def _is_cured(rule: FixRule[Any], found: Any, changed: dict[int, str], context: FixContext, code: Notebook) -> bool:
    """Whether the rule has nothing more to say about its own output, were that what had run."""
    new = code.edited(changed)
    dying, culprit = new.cells[new.last] if new.last >= 0 else None, context.culprit
    if culprit is not None and dying is not None:
        culprit = replace(culprit, source=dying.source, line=new.line)
    recording = replace(context.recording, cells=new.cells)
    edited = replace(context, recording=recording, cell=dying, culprit=culprit)
    return rule.is_cured(found, rule.detect(edited, new))


def _edit(context: FixContext, place: int, new: str) -> Edit:
    cell = context.cells[place]
    diff = unified_diff(cell.source, new, cell_name(cell.execution_count))
    return Edit(cell.execution_count, cell.cell_id, cell.source, new, diff)
