"""A kernel that was stuck when it was asked to end: no death, but no clean run either."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import at_work, child_state, frame, own_frame, stuck_in, thread
from jupyter_kerneldoctor.recording.events import Stuck
from jupyter_kerneldoctor.recording.model import CgroupDelta, End, ExitRequest, ServerView
from jupyter_kerneldoctor.render import markdown, wording
from jupyter_kerneldoctor.render.next_steps import next_steps

LOCKED = "with lock:\n    save()"


def ended(recorded, *later_looks, asked_after_s=170.0):
    """The same kernel, asked to end some time after its cell was last looked at."""
    asked_s = recorded.stuck[-1].mono_s + asked_after_s
    end = End("signal", asked_s + 5, recorded.started_wall_s + asked_s + 5, "SIGKILL")
    looks = tuple(Stuck(asked_s + at_s, recorded.stuck[-1].since_mono_s, over=True) for at_s in later_looks)
    asked = ExitRequest("message", asked_s)
    return replace(recorded, stuck=(*recorded.stuck, *looks), exit_request=asked, end=end, alive=False)


def stuck():
    return stuck_in(LOCKED, 1, waits_in="futex_wait_queue")


def test_a_hang_that_a_runner_put_an_end_to_is_told_as_survived():
    answer = diagnose(ended(stuck()))

    (survived,) = answer.incidents
    assert (answer.cause.id, answer.died, answer.end.kind) == ("ordinary-end", False, "shutdown")
    assert answer.end.summary == "Stuck, then shut down"
    assert survived.finding.id == "hang"
    assert (
        survived.finding.headline
        == "The kernel was stuck in cell [1] on `with lock` for 3 min 20 s: no thread could wake it."
    )
    assert (survived.cell.execution_count, survived.cell.line) == (1, 1)
    assert answer.to_row()["survived"] == survived.finding.headline


IMPORTED = "import threading\nlock = threading.Lock()\n"
NESTED = IMPORTED + "def save():\n    with lock:\n        add()\ndef add():\n    with lock:\n        x = 1\nsave()"


def test_a_deadlock_is_told_with_its_owner_also_after_the_end():
    document = diagnose(ended(nested())).to_json()

    (told,) = document["incidents"]
    assert told["headline"] == (
        "The kernel was stuck in cell [1] on `with lock` for 3 min 20 s: "
        "a deadlock, as `save`, line 4, already held `lock`."
    )
    assert "\nCause: `hang` · " in markdown.render(document)
    change, more = next_steps(document)
    assert change.startswith("Change cell [1] as shown above, then run your cells again: a new kernel has none")
    assert f"`jupyter kerneldoctor try {document['recording']}`" in change
    assert "explain hang" in more


def nested():
    """`add` waits for the lock that its caller holds."""
    return stuck_in(NESTED, 9, own_frame(NESTED, 7, "add"), own_frame(NESTED, 5, "save"), waits_in="futex_do_wait")


def test_the_server_that_was_asked_counts_as_well():
    recorded = stuck()
    asked_wall_s = recorded.wall_s(recorded.stuck[-1].mono_s + 30)
    answer = diagnose(replace(recorded, server=ServerView("restart", "user", asked_wall_s, -9), alive=False))

    assert answer.cause.id == "ordinary-end"
    assert [one.finding.headline for one in answer.incidents] == [
        "The kernel was stuck in cell [1] on `with lock` for 1 min: no thread could wake it."
    ]


def test_the_work_of_ending_and_its_interrupt_do_not_take_the_hang_back():
    recorded = ended(stuck(), 0.4)
    (cell,) = recorded.cells
    interrupted = replace(cell, ended_mono_s=recorded.exit_request.mono_s + 0.5, error="KeyboardInterrupt")

    assert len(diagnose(recorded).incidents) == 1
    assert len(diagnose(replace(recorded, cells=(interrupted,))).incidents) == 1


def interrupted(recorded, at_s, **more):
    """The same kernel, whose cell somebody interrupted."""
    looks = (*recorded.stuck, Stuck(at_s + 0.2, recorded.stuck[-1].since_mono_s, over=True)) if recorded.stuck else ()
    cell = replace(recorded.cells[-1], ended_mono_s=at_s, error="KeyboardInterrupt")
    return replace(recorded, stuck=looks, cells=(*recorded.cells[:-1], cell), **more)


TOLD = "The kernel was stuck in cell [1] on `with lock` for 35 s: no thread could wake it."


def test_a_hang_that_somebody_interrupted_is_told_with_its_fixes_while_the_kernel_lives():
    recorded = stuck()
    answer = diagnose(interrupted(recorded, recorded.stuck[-1].since_mono_s + 35))

    assert (answer.state, answer.end.summary, answer.cause.headline) == ("survived", "Survived, still running", TOLD)
    assert [one.finding.headline for one in answer.incidents] == [TOLD]
    assert (answer.cell.execution_count, answer.cell.line) == (1, 1)
    assert answer.fixes


@pytest.mark.parametrize("summary", ["Stuck, then shut down", "Stuck, then ended from outside (SIGKILL)"])
def test_a_hang_that_somebody_interrupted_is_what_is_told_of_a_kernel_that_was_then_ended(summary):
    recorded = interrupted(ended(stuck()), stuck().stuck[-1].since_mono_s + 35)
    if "outside" in summary:
        recorded = replace(recorded, exit_request=None)
    answer = diagnose(recorded)

    assert answer.cause.headline.startswith(TOLD)
    assert answer.end.summary == summary
    assert [one.finding.headline for one in answer.incidents] == [TOLD]
    assert answer.fixes


def test_to_look_at_the_kernel_is_advised_only_while_the_cell_waits():
    recorded = stuck_in("q.get()", 1, waits_in="futex_wait_queue")
    later_s = recorded.stuck[-1].since_mono_s + 35

    def command(told):
        return next(fix.snippet for fix in diagnose(told).fixes if fix.id == "interrupt-and-inspect")

    assert f"inspect --kernel {recorded.kernel.process.pid}" in command(recorded)
    for over in (ended(recorded), interrupted(recorded, later_s), interrupted(ended(recorded), later_s)):
        assert command(over) == "# in a terminal, when it happens again:\njupyter kerneldoctor inspect"


def test_an_endless_loop_that_somebody_interrupted_is_told_as_well():
    recorded = recording(LOOP, alive=True, memory=(100 * MIB,) * 3, stacks=at_work(LOOP, 3))
    answer = diagnose(interrupted(recorded, recorded.samples[-1].mono_s))

    assert (answer.state, answer.statement.line, answer.fixes[0].id) == ("survived", 2, "end-the-loop")


def test_a_hang_that_was_interrupted_before_the_memory_ran_out_is_not_the_cause_of_the_death():
    group = CgroupDelta("/a", "memory.events", 0, 1, usage_before_bytes=1 << 30, limit_bytes=1 << 30)
    recorded = killed(stuck())
    at_s = recorded.stuck[-1].mono_s + 5
    recorded = interrupted(replace(recorded, end=replace(recorded.end, cgroups=(group,))), at_s)
    last = replace(recorded.cells[-1], seq=2, execution_count=2, started_mono_s=at_s + 1, ended_mono_s=None, error=None)
    answer = diagnose(replace(recorded, cells=(*recorded.cells, last)))

    assert (answer.cause.id, answer.state, answer.cell.execution_count) == ("oom-cgroup", "died", 2)
    assert [one.incident.kind for one in answer.incidents] == ["stuck-interrupted"]


@pytest.mark.parametrize(
    "recorded",
    [
        ended(stuck(), -30),
        ended(stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep")),
        ended(stuck_in("name = input()", 1, waits_in="do_poll")),
        ended(stuck_in("requests.get(url)", 1, frame("socket.py", "readinto"), waits_in="wait_woken")),
        stuck(),
        interrupted(stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep"), 29.0),
        replace(stuck(), cells=(replace(stuck().cells[0], ended_mono_s=19.95, error="ValueError"),)),
    ],
    ids=["went on", "sleep", "input", "download", "still there", "sleep, interrupted", "went on to an error"],
)
def test_no_hang_is_made_of_anything_else(recorded):
    assert diagnose(recorded).incidents == ()


def test_a_line_is_not_said_to_be_in_a_cell_that_does_not_hold_it():
    define = "import threading\nlock = threading.Lock()\n\ndef save():\n    x = 1\n    with lock:\n        pass"
    recorded = stuck_in("save()", 1, own_frame(define, 6, "save"), waits_in="futex_wait_queue")
    (running,) = recorded.cells
    defined = replace(running, source=define, started_mono_s=1.0, ended_mono_s=2.0)
    recorded = replace(recorded, cells=(defined, replace(running, execution_count=2)))

    answer = diagnose(recorded)

    assert answer.cause.headline.startswith(
        "The kernel is stuck in cell [2], in `save` (cell [1], line 6: `with lock`): no thread"
    )
    assert (answer.cell.execution_count, answer.cell.line) == (2, 1)


def test_a_fork_that_waits_for_ever_is_one_as_well():
    join = (frame("multiprocessing/popen_fork.py", "poll"), frame("multiprocessing/process.py", "join"))
    log = (frame("threading.py", "acquire"), frame("logging/__init__.py", "acquire"))
    copy = child_state(9, *log, waits_in="futex_wait_queue")
    other = thread(frame("zmq/poll.py", "poll", library=True), waits_in="do_poll", main=False)

    answer = diagnose(ended(stuck_in("p.join()", 1, *join, waits_in="do_wait", children=[copy], threads=[other])))

    assert [one.finding.id for one in answer.incidents] == ["fork-unsafe"]


def killed(recorded, **more):
    """The same kernel, killed by somebody of whom nothing is known, as by a client that restarts it."""
    at_s = recorded.stuck[-1].mono_s + 30
    end = End("signal", at_s, recorded.started_wall_s + at_s, "SIGKILL")
    return replace(recorded, end=end, alive=False, **more)


def test_a_hang_that_a_restart_put_an_end_to_is_what_is_told():
    answer = diagnose(killed(stuck()))

    (hang,) = answer.incidents
    assert (answer.cause.id, answer.state, hang.finding.id) == ("killed-externally", "died", "hang")
    assert answer.cause.headline == (
        "The kernel was stuck in cell [1] on `with lock` for 1 min: no thread could wake it. "
        "Then it was ended from outside: a restart by hand does that, or what runs the notebook."
    )
    assert answer.end.summary == "Stuck, then ended from outside (SIGKILL)"
    assert answer.cell.line == 1
    assert (answer.cause.usual_reasons, answer.story) == ((), None)
    assert wording.certainty(answer.to_json()) is not None
    assert "find-the-sender" not in [fix.id for fix in (*answer.fixes, *answer.more_fixes)]


LOOP = "i = 0\nwhile i < 9:\n    has = f(i)"


@pytest.mark.parametrize(("source", "is_endless"), [(LOOP, True), (f"{LOOP}\n    i += 1", False)])
def test_an_endless_loop_that_a_restart_put_an_end_to_is_what_is_told(source, is_endless):
    looks = at_work(source, 3)
    recorded = recording(source, alive=False, memory=(100 * MIB,) * 3, stacks=looks, signal="SIGKILL")
    answer = diagnose(recorded)

    assert (answer.cause.id, answer.state) == ("killed-externally", "died")
    assert len(answer.incidents) == is_endless
    if is_endless:
        assert answer.cause.headline == (
            "The kernel was busy: cell [1] had been going round in `while i < 9` (cell [1], line 2) for 8.0 s. "
            "Then it was ended from outside: a restart by hand does that, or what runs the notebook."
        )
        assert (answer.statement.line, answer.fixes[0].id) == (2, "end-the-loop")


def test_a_sleep_that_somebody_killed_is_no_hang():
    answer = diagnose(killed(stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep")))

    assert (answer.incidents, answer.end.summary) == ((), "Ended from outside (SIGKILL)")


def test_memory_that_ended_a_waiting_kernel_is_the_cause_not_its_wait():
    group = CgroupDelta("/a", "memory.events", 0, 1, usage_before_bytes=1 << 30, limit_bytes=1 << 30)
    recorded = killed(stuck())
    answer = diagnose(replace(recorded, end=replace(recorded.end, cgroups=(group,))))

    assert (answer.cause.id, answer.incidents) == ("oom-cgroup", ())
