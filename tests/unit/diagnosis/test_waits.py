"""A cell that waits: what for, who could wake it, and when nobody could."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import child_state, frame, own_frame, stuck_in, thread
from jupyter_kerneldoctor.recording.events import Output, Stack, Stuck

LOOP = (frame("selectors.py", "select"), frame("asyncio/base_events.py", "_run_once"))
GET = "jobs = asyncio.Queue()\njob = await jobs.get()"


def in_loop(source, *, has_limit=False, wakers=(), threads=(), children=()):
    main = replace(thread(*LOOP, waits_in="do_epoll_wait"), has_limit=has_limit, wakers=wakers)
    return diagnose(recording(source, alive=True, stuck=[Stuck(-0.1, -30.1, tuple(children), (main, *threads))]))


def evidence(answer):
    return " ".join(one.text for one in answer.cause.evidence)


def test_a_loop_that_nothing_can_wake_is_stuck_where_it_awaits():
    answer = in_loop(GET)

    assert (answer.cause.id, answer.cell.line) == ("hang", 2)
    assert "on `job = await jobs.get()`: it awaits what no timer" in answer.cause.headline


TWICE = """\
class Cache:
    def __init__(self): self.lock = asyncio.Lock()
    async def get(self):
        async with self.lock:
            return 1
    async def refresh(self):
        async with self.lock:
            self.old = await self.get()
await Cache().refresh()"""


def test_an_asyncio_lock_that_is_taken_again_is_named_where_that_is():
    answer, other = in_loop(TWICE), in_loop(TWICE.replace("lock:\n            return", "gate:\n            return"))

    assert (answer.statement.function, answer.statement.line) == ("Cache.get", 4)
    assert "as `refresh` (cell [1], line 7) already holds `self.lock`" in answer.cause.headline
    assert "awaits what no timer" in other.cause.headline


@pytest.mark.parametrize(
    "facts", [{"has_limit": True}, {"wakers": ("10.0.0.1:443",)}, {"has_limit": None, "wakers": None}]
)
def test_a_loop_with_a_timer_or_a_connection_is_patient(facts):
    assert in_loop(GET, **facts).cause.id == "no-death"


def test_a_thread_at_work_may_wake_the_loop():
    fetches = thread(own_frame(GET, 1, "fetch"), waits_in="hrtimer_nanosleep", main=False)
    answer = in_loop(GET, threads=[fetches])

    assert answer.cause.id == "no-death"
    assert "Another thread or process" in evidence(answer)


def test_a_click_may_wake_the_loop():
    assert in_loop("import ipywidgets\nawait clicked.wait()").cause.id == "no-death"


def test_who_can_wake_is_told():
    main = replace(thread(frame("socket.py", "readinto"), waits_in="wait_woken"), wakers=("10.0.0.1:443",))
    answer = diagnose(recording("urlopen(url)", alive=True, stuck=[Stuck(-0.1, -30.1, (), (main,))]))

    assert answer.cause.id == "no-death"
    assert "It goes on when something comes from 10.0.0.1:443." in evidence(answer)


def test_a_program_that_asks_cannot_be_answered():
    runs = frame("IPython/utils/_process_posix.py", "system", library=True)
    asks = replace(child_state(900, forked=False, name="conda", waits_in="wait_woken"), reads_terminal=True)
    works = replace(asks, reads_terminal=False)

    assert diagnose(stuck_in("!conda install x", 1, runs, waits_in="do_poll", children=[asks])).cause.id == "hang"
    assert diagnose(stuck_in("!conda install x", 1, runs, waits_in="do_poll", children=[works])).cause.id == "no-death"


def test_the_programs_that_end_a_wait_are_listed():
    runs = frame("IPython/utils/_process_posix.py", "system", library=True)
    works = [child_state(pid, forked=False, name="make", waits_in="wait_woken") for pid in (900, 901)]
    answer = diagnose(stuck_in("!make all", 1, runs, waits_in="do_poll", children=works))

    assert "It goes on when `make` (process 900) and `make` (process 901) end." in evidence(answer)


def test_a_group_of_one_is_stuck_unless_others_were_started():
    joins = frame("torch/distributed/rendezvous.py", "_create_c10d_store", library=True)
    other = child_state(900, frame("torch/distributed/rendezvous.py", "f", library=True), waits_in="hrtimer_nanosleep")

    assert diagnose(stuck_in("init()", 1, joins, waits_in="hrtimer_nanosleep")).cause.id == "hang"
    assert diagnose(stuck_in("run()", 1, joins, waits_in="hrtimer_nanosleep", children=[other])).cause.id == "no-death"


def test_a_lock_file_is_told_as_one():
    polls = frame("torch/utils/file_baton.py", "wait", library=True)
    answer = diagnose(stuck_in("load()", 1, polls, waits_in="hrtimer_nanosleep"))

    assert answer.cause.id == "hang"
    assert "delete the lock's file" in evidence(answer)


def test_a_lock_file_that_came_later_is_not_the_one_it_waits_for():
    polls = frame("torch/utils/file_baton.py", "wait", library=True)
    waits = stuck_in("load()", 1, polls, waits_in="hrtimer_nanosleep")
    now = replace(waits.stuck[0], lock_files=("/var/cache/other.lock",))
    before = replace(now, mono_s=now.mono_s - 20, lock_files=())

    assert diagnose(replace(waits, stuck=(now,))).cause.id == "no-death"
    assert diagnose(replace(waits, stuck=(before, now))).cause.id == "hang"


CLASS = """class Account:
    def add(self, n):
        with self.lock:
            self.total += n
            self.show()
    def show(self):
        with self.lock:
            print(self.total)
account.add(3)"""


@pytest.mark.parametrize(
    ("source", "frames", "told"),
    [
        (CLASS, [(7, "show"), (5, "add"), (9, "<module>")], "`add`, line 3, already holds `self.lock`"),
        ("lock.acquire()\nf()\nlock.acquire()", [(3, "<module>")], "cell [1], line 1, already holds `lock`"),
        ("with lock:\n    with lock:\n        f()", [(2, "<module>")], "cell [1], line 1, already holds `lock`"),
    ],
)
def test_a_lock_taken_twice_is_a_deadlock_with_itself(source, frames, told):
    (line, function), *outer = frames
    inner = [own_frame(source, line, function)]
    answer = diagnose(
        stuck_in(
            source,
            outer[-1][0] if outer else line,
            *inner[: len(outer)],
            *(own_frame(source, *at) for at in outer[:-1]),
            waits_in="futex_do_wait",
        )
    )

    assert answer.cause.id == "hang"
    assert told in answer.cause.headline


@pytest.mark.parametrize(
    "source",
    [
        "a.acquire()\na.release()\na.acquire()",
        "with a:\n    f()\nwith a:\n    g()",
        "with b:\n    with a:\n        f()",
    ],
)
def test_a_lock_that_another_holds_is_none(source):
    line = next(n for n in (3, 2) if "a" in source.split("\n")[n - 1] and "f()" not in source.split("\n")[n - 1])
    assert "holds" not in diagnose(stuck_in(source, line, waits_in="futex_do_wait")).cause.headline


def busy(source, *frames, children=(), output=""):
    made = recording(source, alive=True, memory=(1 << 20, 1 << 20))
    now, cell = made.samples[-1].mono_s, made.cells[-1]
    thread_at_work = replace(thread(*frames), state="R")
    looks = tuple(Stack(now - ago, "busy", (thread_at_work,), tuple(children)) for ago in (26, 12, 2))
    cells, said = (replace(cell, started_mono_s=now - 30),), (Output(now - 20, 2, output),)
    return diagnose(replace(made, stacks=looks, cells=cells, output=said))


RAY = (
    frame("ray/_private/worker.py", "get_objects", library=True),
    frame("ray/_private/worker.py", "get", library=True),
)
ASKS = "@ray.remote(num_gpus=1)\ndef train(lr): return lr\nlosses = ray.get([train.remote(0.1)])"
IDLE = [child_state(7, forked=False, name=name) for name in ("raylet", "ray::IDLE", "ray::DashboardA", "gcs_server")]
SPARK = (frame("py4j/clientserver.py", "send_command", library=True),)
NO_RESOURCES = "WARN TaskSchedulerImpl: Initial job has not accepted any resources; check your cluster UI\n"


@pytest.mark.parametrize(
    ("source", "frames", "children", "output", "cause"),
    [
        (ASKS, RAY, IDLE, "", "hang"),
        (ASKS, RAY, [*IDLE, child_state(8, forked=False, name="ray::train")], "", "no-death"),
        (ASKS, RAY, [], "", "no-death"),  # a cluster of other machines
        (ASKS.replace("num_gpus=1", ""), RAY, IDLE, "", "no-death"),
        ("rows = frame.collect()", SPARK, [], NO_RESOURCES, "hang"),
        ("rows = frame.collect()", SPARK, [], "", "no-death"),
    ],
)
def test_tasks_that_no_node_of_the_cluster_can_run(source, frames, children, output, cause):
    last = source.count("\n") + 1
    answer = busy(source, *frames, own_frame(source, last), children=children, output=output)

    assert answer.cause.id == cause
    assert (answer.cause.line == last) == (cause == "hang")
    assert (
        cause != "hang" or "waiting for tasks of its cluster, and no process runs one for 24 s" in answer.cause.headline
    )


def test_formatting_a_traceback_for_long_is_told():
    formats = (frame("inspect.py", "getmodule"), frame("IPython/core/ultratb.py", "get_records"))
    answer = busy("sys.setrecursionlimit(10**5); down(0)", *formats)

    assert busy("down(0)", *formats).cause.id == "no-death"  # of the calls that Python allows by itself
    assert answer.cause.id == "hang"
    assert (
        answer.cause.headline
        == "The kernel is busy: cell [1] has ended with an error, and IPython has been formatting a traceback for 24 s."
    )
    assert busy("down(0, sys.setrecursionlimit(10**5))", *formats).statement.line == 1


def test_a_regular_expression_that_goes_back_is_told():
    answer = busy(source := "email = re.compile(r'^([a-z]+)*@')\nemail.match(text)", own_frame(source, 2))

    assert answer.cause.id == "hang"
    assert "matching the regular expression `^([a-z]+)*@` for 24 s" in answer.cause.headline


@pytest.mark.parametrize(
    "source", ["rows = re.findall(r'(\\d+)-(\\d+)', text)", "x = '([a-z]+)*'\nfor n in range(10 ** 9): total += n"]
)
def test_work_is_no_hang(source):
    assert busy(source, own_frame(source, source.count("\n") + 1)).cause.id == "no-death"


def waits_for(*, waits_in, wakers, children=()):
    source = "answer = mine.recv(16)"
    main = replace(thread(own_frame(source, 1), waits_in=waits_in), has_limit=False, wakers=wakers)
    return diagnose(recording(source, alive=True, stuck=[Stuck(-0.1, -30.1, tuple(children), (main,))]))


def test_a_connection_with_both_ends_in_the_kernel_is_stuck():
    assert "whose other end is its own" in waits_for(waits_in="unix_stream_read_generic", wakers=()).cause.headline


@pytest.mark.parametrize("facts", [{"wakers": None}, {"wakers": ("a pipe",)}, {"children": [child_state(900)]}])
def test_a_connection_to_somebody_else_is_patient(facts):
    assert waits_for(waits_in="wait_woken", **{"wakers": (), **facts}).cause.id == "no-death"


def test_a_files_lock_is_a_deadlock_only_where_the_kernel_holds_it_itself():
    own, other = (waits_for(waits_in="flock_lock_inode_wait", wakers=wakers) for wakers in ((), ("process 17",)))

    assert (own.cause.id, own.cause.certainty.word) == ("hang", "strong")
    assert other.cause.id == "no-death"
    assert "It goes on when something comes from process 17." not in evidence(other)
    assert "It goes on when process 17 gives the lock back." in evidence(other)
