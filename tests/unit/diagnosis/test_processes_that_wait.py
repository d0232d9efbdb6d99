"""A kernel that waits for processes of its own: when that is for ever, how sure it is, and how it is told."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples.stuck import child_state, frame, own_frame, stuck_in

CELL = "def run(n):\n    start.wait()\nfor p in ps:\n    p.join()"
JOIN = (frame("multiprocessing/popen_fork.py", "poll"), frame("multiprocessing/process.py", "join"))
BARRIER = (frame("multiprocessing/synchronize.py", "wait"), own_frame(CELL, 2, "run"))
FEEDS = (frame("threading.py", "join"), frame("multiprocessing/queues.py", "_finalize_join"))


def joining(*children):
    return diagnose(stuck_in(CELL, 4, *JOIN, waits_in="do_wait", children=children))


def test_processes_that_all_wait_for_each_other_do_so_for_ever():
    answer = joining(*(child_state(900 + n, *BARRIER, waits_in="futex_do_wait") for n in range(3)))

    assert (answer.cause.id, answer.cause.certainty.word, answer.cell.line) == ("hang", "strong", 4)


def test_one_whose_stack_nobody_saw_leaves_a_doubt():
    unseen = child_state(901, frame("multiprocessing/synchronize.py", "wait"), waits_in="futex_do_wait")
    answer = joining(child_state(900, *BARRIER, waits_in="futex_do_wait"), unseen)

    assert (answer.cause.id, answer.cause.certainty.word) == ("hang", "likely")


def test_a_queue_that_is_read_only_after_the_join_is_told():
    answer = joining(child_state(900, *FEEDS, waits_in="futex_do_wait"))

    assert (answer.cause.id, answer.cause.certainty.word) == ("hang", "strong")
    assert "nobody reads the queue of the processes it waits for" in answer.cause.headline


@pytest.mark.parametrize(
    ("waits", "waits_in"),
    [
        ((frame("threading.py", "wait"), frame("multiprocessing/pool.py", "get")), "futex_do_wait"),
        ((frame("joblib/parallel.py", "_retrieve", library=True),), "hrtimer_nanosleep"),
        (
            (
                frame("selectors.py", "select"),
                frame("multiprocessing/queues.py", "get"),
                frame("torch/utils/data/dataloader.py", "_try_get_data", library=True),
            ),
            "do_poll",
        ),
    ],
)
def test_patience_with_workers_is_told_as_that(waits, waits_in):
    busy = child_state(900, own_frame("def f(x): time.sleep(99)", 1, "f"), waits_in="hrtimer_nanosleep")
    answer = diagnose(stuck_in("rows = work()", 1, *waits, waits_in=waits_in, children=[busy]))

    assert answer.cause.id == "no-death"
    assert "cell [1] waits for its workers on `rows = work()`" in answer.cause.headline


COMMUNICATES = (frame("selectors.py", "select"), frame("subprocess.py", "_communicate"), frame("subprocess.py", "run"))
SHELL = child_state(900, forked=False, name="sh")
RUN = "subprocess.run('server &', shell=True, capture_output=True)"


def reading(*children, source=RUN, inner=COMMUNICATES, waits_in="poll_schedule_timeout"):
    return diagnose(stuck_in(source, 1, *inner, waits_in=waits_in, children=children))


def test_the_output_of_a_program_that_has_ended_is_awaited_for_ever_where_another_has_its_pipe():
    answer = reading(replace(SHELL, state="Z"))

    assert (answer.cause.id, answer.cause.certainty.word, answer.cell.line) == ("hang", "strong", 1)
    assert answer.fixes[0].id == "detach-the-program"


@pytest.mark.parametrize(
    ("children", "more"),
    [
        ([SHELL], {}),  # it is at work
        ([replace(SHELL, state="Z"), child_state(901, forked=False, name="gzip")], {}),
        ([replace(SHELL, state="Z")], {"source": RUN.replace("True)", "True, timeout=60)")}),
        ([replace(SHELL, state="Z")], {"source": "page = urlopen(address)", "inner": ()}),
    ],
)
def test_a_program_at_work_or_a_time_limit_ends_the_wait_for_its_output(children, more):
    assert reading(*children, **more).cause.id == "no-death"


FLAG = "running = True\ndef work():\n    while running:\n        step()\np.start()\nrunning = False\np.join()"


def test_a_flag_that_a_child_process_has_a_copy_of_never_changes_there():
    child = child_state(900, own_frame(FLAG, 4, "work"), waits_in="hrtimer_nanosleep")
    answer = diagnose(stuck_in(FLAG, 7, *JOIN, waits_in="do_wait", children=[child]))

    assert (answer.cause.id, answer.cause.certainty.word, answer.cell.line) == ("hang", "strong", 7)
    assert answer.fixes[0].id == "share-between-processes"


@pytest.mark.parametrize(
    "source",
    [
        FLAG.replace("running = False", "pass"),
        FLAG.replace("step()", "sys.exit(0) if late() else step()"),
        FLAG.replace("p.start()", "p = Process(target=work, args=(Value('b', 1),))"),
        FLAG.replace("p.join()", "p.join(timeout=900)"),
        FLAG.replace("while running:", "for one in rows:"),
    ],
)
def test_a_child_process_whose_loop_may_end_is_at_work(source):
    child = child_state(900, own_frame(source, 4, "work"), waits_in="hrtimer_nanosleep")
    answer = diagnose(stuck_in(source, 7, *JOIN, waits_in="do_wait", children=[child]))

    assert answer.cause.id == "no-death"
