"""Tells how the memory went, as measured: what was held when the cell began, by what, and what the cell added."""

import posixpath
from collections.abc import Iterator, Sequence

from jupyter_kerneldoctor.recording.events import NamedObject, Neighbour
from jupyter_kerneldoctor.recording.model import Cell

from ..analysis.memory_shape import FULL_HOUSE, WORTH_TELLING_BYTES, Left, Shape
from ..code.notebook import Notebook
from ..death import Death
from ..frameworks.hooks import code_of_hooks
from ..frameworks.kept import outliving
from ..units import cell_name, duration, enumeration, plural, quote, sentence, size
from .allocation_site import filled_by_others
from .reserved import what_the_limit_counts

_STALE_S = 1.0
_NAMED = 3  # cells and objects: more than three nobody keeps
_MENTION = 0.2  # of what was held: what the cells before left is mentioned from here on
_MENTION_OTHERS = 0.1  # of what counts towards the limit
_STEADY_S = 2.0
_ABOVE = 1.05  # of the limit: less above it nobody asks about


def story(death: Death, found: Shape) -> str:
    """Tell how the memory went until the kernel died."""
    parts = (
        *_beginning(death, found),
        *_touched(death, found),
        *_held(found),
        *_ran_before(death, found),
        *_pace(death, found),
        *_hook(death),
        *_by_itself(death),
        *_limit(death),
        *_blind_spot(death),
        *_children(found),
        *_others(death, found),
        *_files_in_memory(found),
        *_neighbours(death),
    )
    return " ".join(parts)


def _beginning(death: Death, found: Shape) -> Iterator[str]:
    name = sentence(_cell(death))
    before, growth = size(found.before_bytes), found.growth_bytes
    needed = _needed_bytes(death, found)
    if growth < WORTH_TELLING_BYTES and not needed:
        yield f"{name} began with {before} in use; no growth was measured."
        return
    took = f" in {duration(found.took_s)}" if found.took_s is not None else ""
    left = sum(one.bytes for one in found.left)
    if left > max(WORTH_TELLING_BYTES, _MENTION * found.before_bytes) and (growth or needed):
        yield f"{name} began with {before} in use, {size(left)} of it left by {_cells(found.left)}."
        yield f"It needed at least {size(max(growth, needed))} more."
    elif growth < WORTH_TELLING_BYTES:
        yield f"{name} began with {before} in use and needed at least {size(needed)} more."
    else:
        yield f"{name} began with {before} in use and reached {size(found.peak_bytes)}{took}."


def _needed_bytes(death: Death, found: Shape) -> int:
    """Return what the cell needed at the very least, having been killed at a limit: all that was left below it.

    What other processes held is not counted. Where they filled it, nothing is known of the cell's share, and it is 0.
    """
    group, last = death.memory.pressed, death.memory.last
    if group is None or not group.oom_kills or not group.limit_bytes or filled_by_others(death) is not None:
        return 0
    at_start, others = death.memory.used_before_bytes or 0, 0
    if last is not None and last.cgroup_bytes is not None and last.rss_bytes is not None:
        own = (death.memory.held_bytes or 0) - found.before_bytes
        others = max(0, last.cgroup_bytes - at_start - own)
    left = group.limit_bytes - at_start
    return left - others if others < left / 2 else 0


def _touched(death: Death, found: Shape) -> Iterator[str]:
    for one in found.touched[:1]:
        yield (
            f"{sentence(cell_name(one.execution_count))} made {quote(one.name)} ({size(one.bytes)}). Linux gives such "
            f"memory only when it is first written to, which {_cell(death)} did."
        )


def _held(found: Shape) -> Iterator[str]:
    """Name what held memory, so that the reader knows what to delete."""
    if not found.held or found.name == "touched-later" or found.before_bytes < found.growth_bytes / 4:
        return
    named = [f"{_name(one)} ({described(one)}, {size(one.bytes)})" for one in found.held[:_NAMED]]
    variables = "variable then was" if len(named) == 1 else "variables then were"
    yield f"The largest {variables} {enumeration(named)}."


def _steps(death: Death) -> Iterator[str]:
    """Say what each step of a loop left behind, or took for a while."""
    growth, peaks = death.growth, death.growth.peaks
    if growth.container is not None and growth.is_steady and growth.bytes_per_item:
        whole = death.loop_total
        until = "" if whole is None else f"; all {whole.rounds:,} rounds of the loop would need {size(whole.bytes)}"
        yield f"Each item of {quote(growth.container.name)} added {size(growth.bytes_per_item)}{until}."
    elif peaks.keeps_rising:
        yield "It went up and down, and did not come down to where it had been: each step left something behind."
    elif peaks.peaks_rise:
        yield "It went up and down, and each time higher; between the peaks it was given back."
    elif peaks.goes_up_and_down:
        yield f"It went up and down {len(peaks.high)} times, by about {size(peaks.swing_bytes)}."


def _ran_before(death: Death, found: Shape) -> Iterator[str]:
    """Say that the cell is run again while what its earlier run made is still held."""
    if (before := run_before(death, found)) is not None:
        run, kept = before
        yield (
            f"The cell ran before as [{run.execution_count}]: {quote(kept.name)} of that run "
            f"({size(kept.bytes)}) is held until the new one is made."
        )


def run_before(death: Death, found: Shape) -> tuple[Cell, NamedObject] | None:
    """Return the last run of the same cell, and the largest of what it made that is still held."""
    cell = death.cell
    if cell is None or cell.cell_id is None:
        return None
    runs = [one for one in death.recording.cells if one.cell_id == cell.cell_id and one.finished]
    scope = death.find(lambda code: code.module(code.index(cell)))
    kept = [one for one in found.held if scope is not None and one.name in scope.bindings]
    return (runs[-1], kept[0]) if runs and kept else None


def _pace(death: Death, found: Shape) -> Iterator[str]:
    if found.took_s is None:
        return
    if found.jump_s is not None and duration(found.jump_s) != duration(found.took_s):  # else that was told
        yield f"Most of the growth came within {duration(found.jump_s)}."
    elif found.steady_bytes_per_s is not None and found.took_s >= _STEADY_S:
        yield f"Memory grew steadily, by {size(found.steady_bytes_per_s)} a second."
    yield from _steps(death)


def _hook(death: Death) -> Iterator[str]:
    """Say that a hook of a network's module fills what grew, in whichever cell it was registered."""
    kept = death.growth.container
    names = {} if kept is None else death.find(_kept_by_hooks) or {}
    hook = names.get(kept.name.rpartition(".")[2]) if kept is not None else None
    if kept is not None and hook is not None:
        yield (
            f"{sentence(hook)} on a module fills {quote(kept.name)} in each forward pass, in every cell, until "
            "`remove()` is called on what registering it returned."
        )


def _kept_by_hooks(code: Notebook) -> dict[str, str]:
    """Return the names that hooks keep something under, each with its hook for a sentence."""
    hooks = dict.fromkeys(code_of_hooks(code))
    named = ((hook, one) for hook in hooks for _, one in outliving(hook))
    return {
        name.rpartition(".")[2]: f"the hook {quote(hook.function)}" if hook.function else "a hook"
        for hook, name in named
    }


def _by_itself(death: Death) -> Iterator[str]:
    if death.memory.grows_by_itself:
        yield (
            f"Before that, memory grew by {size(death.memory.while_idle.bytes)} while no cell was running. "
            "Something in the background was taking memory, such as a thread that an earlier cell started."
        )


def _limit(death: Death) -> Iterator[str]:
    memory = death.memory
    if not memory.limit_bytes:
        return
    full = memory.before_bytes is not None and memory.before_bytes >= FULL_HOUSE * memory.limit_bytes
    above = memory.has_group_limit and (memory.peak_bytes or 0) > _ABOVE * memory.limit_bytes
    if not death.causes or memory.limit_clause not in death.causes[0].headline:
        most = ", and most of that was in use before the cell began" if full else ""
        yield sentence(f"{memory.limit_clause}{most}.")
    elif full:
        yield "Most of the memory allowed was in use before the cell began."
    yield from what_the_limit_counts(death)
    if above:
        yield "A process can hold more than the limit: library files that it shares with other programs hardly count."


def _blind_spot(death: Death) -> Iterator[str]:
    """Say how long before the end the last measurement was, where that is long."""
    end, last = death.recording.end, death.memory.last
    if end is not None and last is not None and end.mono_s - last.mono_s > _STALE_S:
        yield f"Nothing was measured in the last {duration(end.mono_s - last.mono_s)}."


def _children(found: Shape) -> Iterator[str]:
    below = found.children
    if below is None:
        return
    who = plural(below.count, "child process") if below.count else "child processes"
    held = f"child process held {size(below.bytes)}" if below.count == 1 else f"{who} held {size(below.bytes)} together"
    yield f"The kernel itself held {size(found.peak_bytes)} at most; its {held}."


def _others(death: Death, found: Shape) -> Iterator[str]:
    """The limit counts more than the kernel: say so where that is a good part."""
    group, peak = death.memory.group_peak_bytes, death.memory.peak_bytes
    if found.children is not None or group is None or peak is None or not death.memory.has_group_limit:
        return
    if peak < group / 2:
        yield (
            f"The kernel itself held {size(peak)} at most. The rest of the {size(group)} in use belonged to other "
            "processes, such as its children, or to files that are kept in memory."
        )
    elif (others := _in_use_by_others(death)) > max(WORTH_TELLING_BYTES, _MENTION_OTHERS * group):
        yield f"Other processes, or files that are kept in memory, used another {size(others)} of the limit."


def _neighbours(death: Death) -> Iterator[str]:
    """Name who else held memory below the same limit, from a tenth of it on."""
    shares_it = death.memory.refusal is None  # a limit of the process is its own
    states, limit = death.recording.system_states[-1:] if shares_it else (), death.memory.limit_bytes or 0
    found = [one for state in states for one in state.neighbours if (one.rss_bytes or 0) >= _MENTION_OTHERS * limit > 0]
    named = [f"{neighbour(one)} with {size(one.rss_bytes or 0)}" for one in found[:_NAMED]]
    if named:
        where = "below the same limit" if death.memory.has_group_limit else "on the machine"
        yield f"Also {where}: {enumeration(named)}."


def neighbour(one: Neighbour) -> str:
    if one.notebook:
        return f"the kernel of {quote(posixpath.basename(one.notebook))}"
    return quote(one.name) if one.name else f"process {one.pid}"


def _in_use_by_others(death: Death) -> int:
    """Return what in the group was not the kernel's at the last measurement; 0 where that is not known."""
    last = death.memory.last
    if last is None or last.cgroup_bytes is None or last.rss_bytes is None:
        return 0
    return last.cgroup_bytes - (death.memory.held_bytes or 0)


def _files_in_memory(found: Shape) -> Iterator[str]:
    """Say by how much files that are kept in memory grew: only deleting them frees memory."""
    for path, grew, is_shared in found.files:
        if grew >= WORTH_TELLING_BYTES and is_shared:
            yield f"Shared memory, the files in {quote(path)}, grew by {size(grew)}; it stays until it is unlinked."
        elif grew >= WORTH_TELLING_BYTES:
            yield f"The files in {quote(path)}, which are kept in memory, grew by {size(grew)}."


def _cell(death: Death) -> str:
    return cell_name(death.cell.execution_count if death.cell is not None else None)


def _cells(left: Sequence[Left]) -> str:
    """Return "cells [2] and [5]", in the order in which they ran; "cells [2], [5], [6] and 12 more"."""
    numbers = [one.execution_count for one in left if one.execution_count is not None]
    shown = sorted(numbers[:_NAMED])
    if not shown:
        return plural(len(left), "cell") + " before it"
    more = len(left) - len(shown)
    names = [f"[{number}]" for number in shown] + ([f"{more} more"] if more else [])
    return f"{'cell' if len(names) == 1 else 'cells'} {enumeration(names)}"


_OPTIMISERS = {
    *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "RAdam"),
    *("RMSprop", "Rprop", "SGD", "SparseAdam"),
}
_HIDDEN = {"_": "the last result (`_`)"}


def _name(one: NamedObject) -> str:
    if one.hidden and not one.name.startswith(("Out[", "_")):
        return one.name
    return _HIDDEN.get(one.name, quote(one.name))


def described(one: NamedObject) -> str:
    """Return "list of 400 Tensor", "DataFrame of 1000 x 20"."""
    kind = one.type.rpartition(".")[2]
    if kind == "traceback":
        return f"the variables of {plural(one.items or 1, 'function')}"
    if kind == "Figure" and one.hidden:
        return f"{one.items} of matplotlib"
    if one.type.startswith("torch.") and kind in _OPTIMISERS:
        return f"the state of {kind}"
    if one.items is not None and one.item_type:
        return f"{kind} of {one.items} {one.item_type.rpartition('.')[2]}"
    if one.shape:
        return f"{kind} of {' x '.join(map(str, one.shape))}"
    return f"{kind} of {one.items}" if one.items is not None else kind
