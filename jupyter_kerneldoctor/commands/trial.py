"""`try`: runs the recorded cells again with a fix, in a kernel of its own, and tells whether it lives."""

import signal
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, enumeration, size
from jupyter_kerneldoctor.render.printable import one_line, visible
from jupyter_kerneldoctor.reports.post_mortems import PostMortems
from jupyter_kerneldoctor.trial import CannotTryError, Plan, Told, Wishes, make_plan, run
from jupyter_kerneldoctor.trial.directory import survey
from jupyter_kerneldoctor.trial.fit import Fit, fit
from jupyter_kerneldoctor.trial.plan import cells_text
from jupyter_kerneldoctor.trial.run import KINDS

from . import output
from .confirm import agrees
from .errors import CannotTryFixError, NotConfirmedTrialError
from .recordings import reading, usable_store
from .reports import choose

_SHOWN = 3  # links that are left out


def try_(options: Namespace) -> int:
    """Run the cells, and print what came of it. Returns 0 where the kernel lived, else 1."""
    store = usable_store()
    post_mortem = choose(PostMortems(store), Namespace(recording=options.recording, kernel=None, notebook=None)).doc
    with reading(post_mortem["recording"]):
        recording = store.open(post_mortem["recording"])
    wishes = Wishes(options.fix, options.python, options.here, options.seconds)
    try:
        with _interruptible() as stop:
            if options.fit:
                return _fit(Fit(recording, post_mortem, wishes), options, stop)
            return _try(make_plan(recording, post_mortem, wishes), options, stop)
    except CannotTryError as error:
        raise CannotTryFixError(str(error), error.help) from None
    except KeyboardInterrupt:
        if not options.json:
            output.say("\nStopped. The trial's kernel and its files are gone.")
        raise


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set: whatever ends this command ends the kernel, too.

    They raise KeyboardInterrupt as well, which a library may swallow; so it is raised again at the end. A second one
    does not disturb what the first one began. SIGINT stays ignored where it is, as in the background of a script.
    """
    stop = threading.Event()

    def interrupt(*_: object) -> None:
        if not stop.is_set():
            stop.set()
            raise KeyboardInterrupt

    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, known_handler in known.items():
        if known_handler != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield stop
        if stop.is_set():
            raise KeyboardInterrupt
    finally:
        for number, known_handler in known.items():
            signal.signal(number, known_handler)


def _try(plan: Plan, options: Namespace, stop: threading.Event) -> int:
    if not _may_run(options, plan, f"with the fix {plan.fix['id']}: {plan.fix['title']}", _diffs(plan.fix)):
        return 1
    outcome = run(plan, None if options.json else _progress, stop, _kinds(options))
    if options.json:
        output.say_json(outcome.to_json())
    else:
        output.say(visible(outcome.text))
    return 0 if outcome.lived else 1


def _fit(search: Fit, options: Namespace, stop: threading.Event) -> int:
    few, more = search.sizes
    what = f"twice, with {search.batch.label} {few} and {more} in place of {search.batch.value}"
    if not _may_run(options, search.plan(few), what, []):
        return 1
    found = fit(search, None if options.json else _progress, stop, _kinds(options))
    if options.json:
        output.say_json(found.to_json())
    else:
        output.say(visible("\n".join([found.text, *(edit.diff for edit in found.edits)])))
    return 0 if found.largest is not None else 1


def _may_run(options: Namespace, plan: Plan, what: str, diffs: Sequence[str]) -> bool:
    """Say what will be run, and ask. Raises NotConfirmedTrialError, CannotTryError."""
    copied = survey(plan.directory) if plan.copies else None
    if options.json:
        if not options.yes:
            raise NotConfirmedTrialError
        return True
    where = f"{'' if plan.gone is None else 'the present one, '}{one_line(plan.directory)}"
    if copied is not None:
        where = f"a copy of {where} ({size(copied.bytes)})"
    if plan.gone is not None:
        where += f"\n               (the notebook's own, {one_line(plan.gone)}, is gone)"
    if copied is not None and copied.outside:
        links = enumeration([one_line(link) for link in copied.outside[:_SHOWN]])
        more = f" and {len(copied.outside) - _SHOWN} more" if len(copied.outside) > _SHOWN else ""
        where += f"\n  left out:    links to other places: {links}{more} (`--here` follows them)"
    limit = "" if plan.limit_bytes is None else f"\n  memory:      {size(plan.limit_bytes)} at most"
    lines = [
        f"A new kernel will run {cells_text(plan)} of {plan.recording} {one_line(what)}.",
        *(diff.rstrip("\n") for diff in diffs),
        f"  interpreter: {one_line(plan.python)}",
        f"  directory:   {where}{limit}",
        f"  time:        {duration(plan.patience_s)} at most{' each' if options.fit else ''}",
        "The cells do again what they did: write files, use the network. Your own kernel is not touched.",
    ]
    output.say(visible("\n".join(lines)))
    if options.yes or agrees("Run them? [y/N] ", NotConfirmedTrialError()):
        return True
    output.say("Nothing was run.")
    return False


def _diffs(fix: Any) -> list[str]:
    return [edit["diff"] for edit in fix["edits"]]


def _kinds(options: Namespace) -> tuple[str, ...]:
    return KINDS if options.limit_by is None else (options.limit_by,)


def _progress(told: Told) -> None:
    """Print a line for each cell."""
    if told.what == "started":
        output.say(f"Memory is limited by {told.limited_by}.")
    elif told.what == "cell over" and told.cell is not None and told.run is not None:
        how = {"error": told.run.error, "died": "the kernel died", "cut off": "ended here"}.get(told.run.how, "done")
        held = "" if told.memory_bytes is None else f", {size(told.memory_bytes)} held"
        changed = " (changed)" if told.cell.is_changed else ""
        output.say(visible(f"  {cell_name(told.cell.execution_count)}{changed}: {how}, {duration(told.took_s)}{held}"))
