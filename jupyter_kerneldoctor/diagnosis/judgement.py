"""Puts the parts of the diagnosis together: the causes, the story, the statement, the fixes."""

from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Incident
from jupyter_kerneldoctor.recording.model import Cell, Recording

from .analysis.ending import FROM_OUTSIDE
from .analysis.growth import MOST
from .analysis.guilty_statement import grown_objects
from .analysis.memory_shape import Shape
from .analysis.named_in_code import named_in_code, outer_name
from .analysis.recording_block import recorder_around
from .analysis.statements import statement_at, statement_with
from .causes import examine
from .certainty import Certainty
from .code.notebook import CodeTooLargeError
from .code.own_magics import asks_kerneldoctor
from .death import Death
from .family import Family
from .incidents import first_of_a_shortage, survived
from .postmortem import CauseFinding, Culprit, Ending, FixProposal, Grown, PostMortem, State, Statement, Survived, iso
from .ranking import rank
from .texts.allocation_site import free_first, statement_to_blame
from .texts.memory_story import story
from .texts.reserved import what_the_limit_counts
from .texts.timeline import timeline

MOST_SHOWN = 3
"""So many fixes are shown; the others are for who asks for them."""

_WELL = (Family.ALIVE, Family.ORDINARY_END)
_LIVES = "Survived, still running"
_SLOW_S = 10.0
"""A cell that runs for so long may be one that never ends."""
_WENT_ON_CELLS = 2
"""So many cells after an error was survived, one of which ended well, are work that went on without it."""
_SOON_S = 600.0
"""A runner that gets no answer from a kernel sends it a signal after some seconds, a person after some minutes."""
_LASTS = ("too-many-files", "no-threads", "no-space")
"""Kinds of incidents after which cells end well that need none of what is used up."""


def diagnose(recording: Recording) -> PostMortem:
    """Judge how the kernel ended, why, where, and what to change. Damaged recordings get an honest answer, too."""
    death, ranked = _of_the_likeliest_cell(recording)
    found = [one for one in survived(death) if not _is_no_hang(one[0].incident, death, ranked[0])]
    shortage = first_of_a_shortage(recording, found)
    latest = shortage if found and not _is_past(recording, found[-1][0].incident) else None
    state: State = _state(death, ranked[0])
    before = earlier = None
    if ranked[0].family == Family.ALIVE and latest is not None:
        state, ranked, death = "survived", (latest[0].finding,), latest[1]
    elif latest is not None and (
        state == "ended"
        or latest[0].incident.kind == "stuck"
        or _idle(death, ranked[0])
        or _is_mute(latest[0], death, ranked[0])
    ):
        before = latest[1].judged((latest[0].finding,))
        ranked = (_after(before.causes[0], ranked[0]), *ranked[1:])
    elif ranked[0].family in _WELL and shortage is not None and not _is_mended(recording, shortage[0].incident):
        earlier = shortage[1].judged((shortage[0].finding,))
        ranked = (_went_on(shortage[0].finding, ranked[0]), *ranked[1:])
    judged = death.judged(ranked)
    is_slow = state == "running" and death.cell is not None and (judged.memory.running_s or 0) >= _SLOW_S
    told = before or (judged if earlier is None or is_slow else earlier)
    is_trouble = told is not judged or is_slow or state in ("died", "stuck", "survived")
    fixes, left_out = _fixes(told) if is_trouble else ((), None)
    is_told_by_memory = before is None and state in ("died", "stuck") and _is_about_memory(death, ranked[0])
    shape = judged.memory_shape if is_told_by_memory else None
    return PostMortem(
        recording=recording.id,
        kernel_id=recording.kernel.kernel_id,
        pid=recording.kernel.process.pid or None,
        notebook=recording.kernel.notebook,
        started_by=recording.kernel.started_by,
        loaded_by=recording.kernel.loaded_by,
        started=iso(recording.started_wall_s),
        ended=_ended(death),
        state=state,
        end=replace(death.ending, summary=_LIVES)
        if state == "survived"
        else _end(death, ranked[0], None if before is None else latest),
        causes=ranked,
        timeline=timeline(death),
        story=_story(judged if shape is not None else told, shape),
        memory_shape=None if shape is None else shape.name,
        no_stacks=recording.no_stacks,
        cell=_culprit(told, told.causes[0]),
        other_cells=_other_cells(death, ranked[0]),
        statement=(statement := _statement(told, told.causes[0])),
        grown=_grown(judged, ranked[0], statement) if state != "ended" else (),
        fixes=fixes[:MOST_SHOWN],
        more_fixes=fixes[MOST_SHOWN:],
        fixes_left_out=left_out,
        incidents=tuple(one for one, _ in found),
        free_first=free_first(told) if state == "survived" else None,
    )


def _after(error: CauseFinding, end: CauseFinding) -> CauseFinding:
    """Put what went wrong before into headline and evidence of an end that others asked for: it is what is to tell."""
    evidence = (*error.evidence, *end.evidence)
    if end.family == Family.STUCK:
        headline = f"{error.headline} It has not answered since: showing the error needs memory, too."
        return replace(error, headline=headline, evidence=evidence)
    if end.family == Family.ORDINARY_END:
        return replace(end, headline=error.headline, evidence=evidence)  # `Ending.summary` tells of the end
    told = f"{error.headline} Then it was ended from outside: a restart by hand does that, or what runs the notebook."
    return replace(end, headline=told, evidence=evidence, usual_reasons=(), line=error.line)


def _idle(death: Death, end: CauseFinding) -> bool:
    """Whether others ended it soon after its last cell: a runner, or a person, does that after an error."""
    ended, ran = death.recording.end, [one.ended_mono_s or 0.0 for one in death.recording.cells]
    is_soon = ended is not None and ended.mono_s - max(ran, default=0.0) < _SOON_S
    return death.cell is None and end.family == Family.OUTSIDE and is_soon


def _is_mute(found: Survived, death: Death, cause: CauseFinding) -> bool:
    """Whether the cell that runs was refused memory, and the kernel was stuck or ended before the cell was over."""
    cell, incident = death.cell, found.incident
    is_of_it = cell is not None and incident.kind == "memory-error" and incident.cell_seq == cell.seq
    return is_of_it and cause.family in (Family.STUCK, Family.OUTSIDE)


def _is_no_hang(incident: Incident, death: Death, cause: CauseFinding) -> bool:
    """Whether a cell that did nothing at the end is no hang that somebody put an end to: memory or itself ended it."""
    return incident.kind == "stuck" and death.is_unasked_end and cause.family != Family.OUTSIDE


def _went_on(error: CauseFinding, well: CauseFinding) -> CauseFinding:
    """Say first how the kernel is, or that it was ended as asked, and then what it survived before."""
    headline = well.headline.replace(", and there is nothing to report.", ".")
    return replace(well, headline=f"{headline} Earlier: {error.headline}", evidence=(*well.evidence, *error.evidence))


def _is_past(recording: Recording, incident: Incident) -> bool:
    """Whether the notebook has gone on since: the first cell after it may only look at what went wrong.

    A cell that asks KernelDoctor is no work of the notebook's.
    """
    later = [cell for cell in _cells_after(recording, incident) if not asks_kerneldoctor(cell.source)]
    went_on = len(later) >= _WENT_ON_CELLS and any(cell.error is None for cell in later)
    return went_on and incident.kind not in _LASTS


def _is_mended(recording: Recording, incident: Incident) -> bool:
    """Whether the cell that raised it has run again since, changed or not, and ended well."""
    raised = recording.execution(incident.cell_seq)
    well = [cell for cell in _cells_after(recording, incident) if cell.error is None]
    return raised is not None and any(
        cell.source == raised.source or cell.cell_id == raised.cell_id is not None for cell in well
    )


def _cells_after(recording: Recording, incident: Incident) -> list[Cell]:
    return [cell for cell in recording.cells if cell.started_mono_s > incident.mono_s and cell.finished]


def _of_the_likeliest_cell(recording: Recording) -> tuple[Death, tuple[CauseFinding, ...]]:
    """Return the death and its causes: of the running cell, or of one queued behind it whose code explains the end.

    Between its first statement and the end a kernel may have had no time to tell that the cell before was over.
    """
    death = examine(recording)
    ranked = rank(death)
    is_sure = death.cell is None or death.cell.finished or recording.kernel.loaded_by != "server"
    while recording.queued and death.is_unasked_end and not is_sure and ranked[0].certainty < Certainty.STRONG:
        recording = recording.with_next_cell()
        later = examine(recording)
        found = rank(later)
        if found[0].family == Family.OWN_END and found[0].certainty > ranked[0].certainty:
            return later, (replace(found[0], certainty=min(found[0].certainty, Certainty.STRONG)), *found[1:])
    return death, ranked


def _is_about_memory(death: Death, cause: CauseFinding) -> bool:
    """Return whether the story of the memory belongs to the answer: memory was the cause, or could be taken for it."""
    if cause.family == Family.OUTSIDE:
        return death.signal in FROM_OUTSIDE
    return cause.family in (Family.MEMORY, Family.UNKNOWN)


def _story(death: Death, shape: Shape | None) -> str | None:
    """Tell how the memory went; of an error that was survived, only why the kernel held less than its limit."""
    if shape is not None:
        return story(death, shape)
    return " ".join(what_the_limit_counts(death)) or None if death.is_about_memory else None


def _state(death: Death, cause: CauseFinding) -> State:
    if death.is_unasked_end:
        return "died"
    if death.ending.kind in ("shutdown", "restart"):
        return "ended"
    if death.ended is not False:
        return "unknown"
    return "running" if cause.family in (Family.ALIVE, Family.UNKNOWN) else "stuck"


def _culprit(death: Death, cause: CauseFinding) -> Culprit | None:
    """Name the cell, and the line the cause points at; None between cells, and where a cell merely runs."""
    cell = death.cell
    if cell is None or cause.family == Family.ALIVE:
        return None
    return Culprit.at(cell, cause.line)


def _other_cells(death: Death, cause: CauseFinding) -> tuple[Culprit, ...]:
    by_its_code = cause.family == Family.OWN_END and not cause.general
    return () if death.next_cell is None or by_its_code else (Culprit.at(death.next_cell, None),)


def _statement(death: Death, cause: CauseFinding) -> Statement | None:
    """Return the statement to blame: of a memory that ran out the one that it grew in, else the last that was seen."""
    if cause.family == Family.OWN_END and (ends := death.statement_that_ends(cause.line)) is not None:
        return ends
    if (behind := death.statement_behind(cause)) is not None:
        return behind
    if cause.family == Family.STUCK and (again := death.lock_taken_again) is not None:
        return statement_at(death.code, death.code.cells[again.cell], again.line)
    if cause.family == Family.STUCK and (loop := death.endless_loop) is not None:
        return statement_with(death.code, loop.node, loop.scope)
    has_failed = cause.family == Family.STUCK and death.busy_cell is not None and death.busy_cell.formats_traceback_s
    line = death.sole_line if has_failed else cause.line
    last = None if cause.family == Family.ALIVE else death.statement_at(line)
    return statement_to_blame(death, last) if cause.family == Family.MEMORY else last


def _grown(death: Death, cause: CauseFinding, statement: Statement | None) -> tuple[Grown, ...]:
    """Return the objects that memory grew in: those that were seen, else what the statement to blame fills or makes."""
    if not _is_about_memory(death, cause):
        return ()
    growth = death.growth
    found = tuple(outer_name(death.code, one) for one in grown_objects(growth))
    if growth.is_held(MOST) or cause.family != Family.MEMORY:
        return found
    made = recorder_around(growth, statement) or named_in_code(growth, statement)
    return found if made is None or made.name in (one.name for one in found) else (made, *found)


def _end(death: Death, cause: CauseFinding, latest: tuple[Survived, Death] | None) -> Ending:
    if latest is not None:
        incident = latest[0].incident
        what = "Stuck" if incident.kind.startswith("stuck") else incident.error.rpartition(".")[2] or "An error"
        ended = {"shutdown": "shut down", "restart": "restarted", "running": "no answer"}.get(death.ending.kind)
        return replace(death.ending, summary=f"{what}, then {ended or f'ended from outside ({death.signal})'}")
    return replace(death.ending, summary=cause.summary) if cause.summary else death.ending


def _ended(death: Death) -> str | None:
    """When it ended; without an end that was recorded, the last that is known of it."""
    if not death.ended or death.stopped_early:
        return None
    end = death.recording.end
    return iso(end.wall_s if end is not None else death.recording.last_wall_s)


def _fixes(death: Death) -> tuple[tuple[FixProposal, ...], str | None]:
    """Return the fixes, and a sentence on why there are none where they could not be looked for."""
    from .proposals import propose  # noqa: PLC0415 - what went well needs no fixes

    try:
        return propose(death), None
    except CodeTooLargeError:
        return (), "The code is too long to look for fixes."
    except Exception:
        return (), None
