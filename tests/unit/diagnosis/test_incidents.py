"""What the kernel survived, judged: the cause, the place, and what a report of a kernel that lives is about."""

import json
from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, cell_file, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import frame, stuck_in
from jupyter_kerneldoctor.recording.events import Child, FileSystem, Frame, Incident, Output, Rlimit, SystemState
from jupyter_kerneldoctor.recording.model import Cell
from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.render.wording import row_headline

CELL = "def f(n):\n    return np.ones(n)\n\ny = f(10**9)"
RAISED = (
    Frame("/site-packages/numpy/_core/numeric.py", 232, "ones"),
    Frame(cell_file(CELL), 2, "f"),
    Frame(cell_file(CELL), 4, "<module>"),
)


def refused(**more):
    return Incident("memory-error", -5.0, "MemoryError", 1, RAISED, asked_bytes=8 * 10**9, rss_bytes=70 * MIB, **more)


def incident(kind, signature=None, error="RuntimeError", **numbers):
    return Incident(kind, -5.0, error, 1, signature=signature, numbers=numbers)


def with_seq(recorded):
    """As the reader gives them: with the numbers by which other events name a cell."""
    return replace(recorded, cells=tuple(replace(cell, seq=n) for n, cell in enumerate(recorded.cells, 1)))


def alive(*incidents, **death):
    return diagnose(with_seq(recording(CELL, "x = 1", alive=True, idle=True, incidents=incidents, **death)))


def test_the_report_of_a_living_kernel_is_about_its_latest_incident():
    answer = alive(incident("recursion", error="RecursionError"), refused())

    assert [one.finding.id for one in answer.incidents] == ["stack-overflow", "allocation-refused"]
    assert answer.cause.id == "allocation-refused"
    assert answer.end.kind == "running"
    assert not answer.died


def went_on(*later, **death):
    """The answer about a kernel that was refused memory in its first cell, and then ran these cells."""
    gone_on = with_seq(recording(CELL, *later, idle=True, **death))
    last = gone_on.cells[0].ended_mono_s
    return diagnose(replace(gone_on, incidents=(replace(refused(), mono_s=last),)))


SHUT_DOWN = {"exit_code": 0, "request": "message"}


@pytest.mark.parametrize(
    ("death", "first_said", "cause", "state"),
    [
        ({"alive": True}, "The kernel is running. Earlier: ", "no-death", "running"),
        (SHUT_DOWN, "The kernel was shut down, as requested. Earlier: ", "ordinary-end", "ended"),
    ],
)
def test_a_notebook_that_went_on_is_well_and_the_incident_keeps_its_place_and_its_fixes(
    death, first_said, cause, state
):
    at_once, later = went_on(**death), went_on("del x", "y = 1", "z = 2", **death)

    assert (later.cause.id, later.state) == (cause, state)
    assert later.cause.headline.startswith(f"{first_said}A request for 7.5 GiB of memory was refused")
    assert [one.finding.id for one in later.incidents] == ["allocation-refused"]
    assert (later.cell, later.statement) == (at_once.cell, at_once.statement)
    assert [fix.id for fix in later.fixes] == [fix.id for fix in at_once.fixes] != []


@pytest.mark.parametrize("death", [{"alive": True}, SHUT_DOWN])
def test_what_the_notebook_got_over_is_only_listed(death):
    """The cell that failed has run again since, and ended well."""
    answer = went_on("del x", CELL, "z = 2", **death)

    assert "Earlier" not in answer.cause.headline
    assert (answer.cell, answer.fixes, len(answer.incidents)) == (None, (), 1)


def test_a_cell_that_only_asks_kerneldoctor_is_no_work_that_went_on():
    asked = ["%postmortem", "%postmortem --details", "# why?\n%kerneldoctor status", "!jupyter kerneldoctor report"]

    assert went_on(*asked, "x = 1", alive=True).state == "survived"
    assert went_on(*asked, "x = 1", "%postmortem\ny = 2", alive=True).state == "running"


def test_a_kernel_that_is_mute_after_its_memory_was_refused_is_told_as_that():
    source = "while True:\n    rows.append([0] * 100)"
    waits = stuck_in(source, 2, frame("threading.py", "wait"), waits_in="futex_wait_queue")
    mute = replace(with_seq(waits), incidents=(refused(),))
    gone = replace(with_seq(recording(source, signal="SIGTERM", server="watched")), incidents=mute.incidents)

    answer, after = diagnose(mute), diagnose(gone)

    assert (answer.cause.id, answer.state) == ("allocation-refused", "stuck")
    assert answer.cause.headline.endswith("It has not answered since: showing the error needs memory, too.")
    assert answer.end.summary == "MemoryError, then no answer"
    assert after.cause.headline.startswith(answer.cause.headline.partition(" It has not")[0])


@pytest.mark.parametrize("now", [{"alive": True}, {"server": "restart"}])
def test_a_limit_that_counts_what_is_reserved_is_explained_where_the_kernel_held_less(now):
    def story(reserved):
        state = SystemState(-5.0, "incident", {"AS": Rlimit(4 * GIB)}, address_space_bytes=reserved)
        more = {"incidents": [refused()], "system_states": [state], "memory": (2 * GIB,) * 3, **now}
        return diagnose(with_seq(recording(CELL, idle=True, **more))).story

    assert story(4 * GIB) == "That limit counts what is reserved, used or not: 4.0 GiB at the last measurement."
    assert story(2 * GIB) is None


def test_an_incident_is_placed_where_the_users_code_was():
    survived = alive(refused()).incidents[0]

    assert (survived.cell.execution_count, survived.cell.line) == (1, 2)
    assert survived.cell.line_source == "    return np.ones(n)"
    assert any("`ones` (_core/numeric.py, line 232)" in evidence.text for evidence in survived.finding.evidence)


def test_its_public_form_is_that_of_a_cause_with_cell_and_time():
    document = json.loads(json.dumps(alive(refused()).to_json(), allow_nan=False))

    (survived,) = document["incidents"]
    assert survived["id"] == document["cause"] == "allocation-refused"
    assert {"title", "confidence", "evidence", "docs"} <= set(survived)
    assert survived["cell"]["line"] == document["cell"]["line"] == 2
    assert survived["time"].startswith("2027-01-15T08:00:25")
    assert survived["headline"] == document["headline"]


def ended_as_asked(*incidents):
    return diagnose(with_seq(recording(CELL, exit_code=0, idle=True, request="message", incidents=incidents)))


def test_after_an_orderly_end_it_stays_listed():
    answer = ended_as_asked(refused())

    assert answer.cause.id == "ordinary-end"
    assert [one.finding.id for one in answer.incidents] == ["allocation-refused"]
    survived = answer.incidents[0].finding.headline
    assert answer.to_row()["survived"] == survived
    assert (answer.to_row()["headline"], answer.end.summary) == (survived, "MemoryError, then shut down")
    assert row_headline(answer.to_row()) == answer.to_row()["headline"]


def test_what_to_change_is_said_after_the_end_too():
    """A runner such as papermill ends the kernel when a cell fails: the report is asked for after that."""
    lives, ended = alive(refused()), ended_as_asked(refused())

    assert (ended.cell, ended.statement) == (lives.cell, lives.statement)
    assert [fix.id for fix in ended.fixes] == [fix.id for fix in lives.fixes] != []


def test_it_leads_where_a_runner_ended_the_kernel_that_did_not_answer_and_the_first_of_a_shortage_does():
    """Without a file left a kernel cannot take the message that it is to end, and what looks afterwards fails, too."""
    opened, looked = "files = []\nwhile True:\n    files.append(open(path))", "import a_module"
    full = SystemState(-9, "incident", rlimits={"NOFILE": Rlimit(200, 200)}, open_files=198)
    first, second = (Incident("too-many-files", at, "OSError", seq) for at, seq in ((-9.5, 1), (-5.0, 2)))
    recorded = recording(opened, looked, signal="SIGTERM", idle=True, incidents=[first, second], system_states=[full])
    answer = diagnose(with_seq(recorded))

    assert (answer.end.summary, answer.cell.execution_count) == ("OSError, then ended from outside (SIGTERM)", 1)
    assert answer.cause.headline.startswith("Too many files were open in cell [1]")
    assert answer.fixes[0].id == "close-files"

    hours_later = replace(recorded, end=replace(recorded.end, mono_s=recorded.end.mono_s + 3600))
    assert diagnose(with_seq(hours_later)).end.summary == "Ended from outside (SIGTERM)"


def test_a_death_is_not_explained_by_what_was_survived_before():
    answer = diagnose(with_seq(recording(CELL, "g()", signal="SIGSEGV", incidents=[refused()])))

    assert answer.cause.id == "segfault"
    assert answer.cell.execution_count == 2
    assert len(answer.incidents) == 1


def test_without_an_incident_nothing_is_survived():
    answer = alive()

    assert answer.cause.id == "no-death"
    assert answer.incidents == ()
    assert answer.to_row()["survived"] is None


def killed(oom_kills):
    return Child(7, -6.0, kind="signal", signal="SIGKILL", oom_kills=oom_kills)


LIMIT = {"groups": [Group(1 * GIB)]}


@pytest.mark.parametrize(
    ("lost", "child", "death", "cause", "at_least"),
    [
        (incident("worker-killed", pid=7), killed(oom_kills=1), LIMIT, "oom-cgroup", 0.9),
        (incident("worker-killed", pid=7), killed(oom_kills=1), {}, "oom-host", 0.9),
        (incident("broken-pool"), killed(oom_kills=0), LIMIT, "killed-externally", 0.6),
        (incident("broken-pool"), Child(7, -6.0, kind="signal", signal="SIGSEGV"), {}, "segfault", 0.7),
        (incident("broken-pool", "…: SIGABRT", exit_code=-6), None, {}, "abort", 0.7),
        (incident("worker-killed", "DataLoader worker is killed by signal: Bus error"), None, {}, "shm-exhausted", 0.6),
        (incident("worker-killed", "DataLoader worker is killed by signal: Killed"), None, LIMIT, "oom-cgroup", 0.5),
        (incident("broken-pool"), None, LIMIT, "unknown", 0.2),
        # That child ended long before; nothing is known of the worker that was lost now.
        (incident("broken-pool"), Child(7, -60.0, kind="signal", signal="SIGSEGV"), {}, "unknown", 0.2),
    ],
)
def test_a_lost_worker_is_explained_by_how_it_ended(lost, child, death, cause, at_least):
    answer = alive(lost, children=[] if child is None else [child], **death)

    assert answer.cause.id == cause
    assert answer.cause.confidence >= at_least
    assert answer.cause.confidence < 0.9 or child is not None


def test_a_pool_that_ends_the_workers_left_is_not_taken_for_the_cause():
    crashed = Child(7, -6.0, kind="signal", signal="SIGSEGV", oom_kills=0)
    ended = [Child(8, -5.9, kind="signal", signal="SIGKILL", oom_kills=0), crashed]

    assert alive(incident("broken-pool"), children=[crashed, *ended[:1]]).cause.id == "segfault"
    said = incident("broken-pool", "A worker process managed by the executor …: SIGSEGV", exit_code=-11)
    assert alive(said, children=ended).cause.id == "segfault"


@pytest.mark.parametrize(("by_the_pool", "mono_s"), [("SIGTERM", -5.1), ("SIGKILL", -5.1), ("SIGKILL", -9.5)])
def test_a_worker_that_left_comes_before_those_that_the_pool_ended(by_the_pool, mono_s):
    ended = Child(8, mono_s, kind="signal", signal=by_the_pool, oom_kills=0)
    left = Child(7, mono_s, kind="exit", exit_code=7)

    answer = alive(incident("broken-pool"), children=[ended, left])

    assert answer.cause.id == "exit-call"
    assert "ended by itself with exit code 7" in answer.cause.headline
    assert alive(incident("broken-pool"), children=[ended]).cause.id == "killed-externally"


def test_the_exit_of_a_worker_is_told_as_one():
    made = recording(
        "import os\ndef f(n): os._exit(7)\npool.map(f, range(3))",
        alive=True,
        idle=True,
        incidents=[incident("broken-pool")],
        children=[Child(7, -5.1, kind="exit", exit_code=7)],
    )

    answer = diagnose(with_seq(made))

    assert (answer.cause.id, [fix.id for fix in answer.fixes]) == ("exit-call", ["return-not-exit"])


def test_a_program_that_fails_is_no_worker_that_left():
    killed_for_memory = Child(7, -5.1, kind="signal", signal="SIGKILL", oom_kills=1)
    earlier = Child(8, -9.0, kind="exit", exit_code=1)

    assert alive(incident("broken-pool"), children=[earlier]).cause.id == "unknown"
    both = [replace(earlier, mono_s=-5.2), killed_for_memory]
    assert alive(incident("broken-pool"), children=both, **LIMIT).cause.id == "oom-cgroup"


def test_the_worker_that_the_error_names_is_the_one():
    other = Child(8, -5.5, kind="signal", signal="SIGTERM")
    named = Child(7, -6.0, kind="signal", signal="SIGSEGV")

    assert alive(incident("worker-killed", pid=7), children=[named, other]).cause.id == "segfault"


@pytest.mark.parametrize(
    ("survived", "cause"),
    [
        (incident("torch-out-of-memory", "CUDA out of memory", gpu=0), "gpu-oom"),
        (incident("jax-out-of-memory", "RESOURCE_EXHAUSTED: Out of memory"), "gpu-oom"),
        (incident("cuda-error", "CUDNN_STATUS_ALLOC_FAILED"), "gpu-oom"),
        (incident("cuda-error", "device-side assert triggered"), "gpu-illegal-access"),
        (incident("cuda-error", "an illegal memory access was encountered"), "gpu-illegal-access"),
        (incident("cuda-error", "CUDA driver version is insufficient for CUDA runtime version"), "driver-mismatch"),
        (incident("cuda-error", "libcudnn.so: cannot open shared object file", "ImportError"), "driver-mismatch"),
        (incident("cuda-error", "uncorrectable ECC error encountered"), "gpu-hardware"),
        (incident("cuda-error", "Cannot re-initialize CUDA in forked subprocess"), "fork-unsafe"),
        (incident("no-space", "No space left on device", "OSError"), "disk-full"),
        (incident("no-space", "No space left on device (/dev/shm)", "OSError"), "shm-exhausted"),
        (incident("too-many-files", "Too many open files", "OSError"), "fd-limit"),
        (incident("no-threads", "can't start new thread"), "thread-limit"),
        (incident("no-memory-for-process", "Cannot allocate memory", "OSError"), "allocation-refused"),
        (incident("binary-mismatch", "_ARRAY_API not found", "AttributeError"), "binary-incompatibility"),
        (incident("recursion", "maximum recursion depth exceeded", "RecursionError"), "stack-overflow"),
        (incident("something-new"), "unknown"),
    ],
)
def test_each_kind_has_its_cause_and_a_plain_headline(survived, cause):
    answer = alive(survived)

    assert answer.cause.id == cause
    assert answer.cause.headline.endswith(".")
    assert answer.cause.evidence


OPENBLAS = "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 8: Resource temporarily unavailable\n"


def test_an_interrupt_that_openblas_raised_is_found_by_its_words():
    events = [
        {"event": "start", "mono_s": 1.0, "wall_s": 1e9},
        {"event": "cell_start", "seq": 1, "mono_s": 2.0, "source": "import numpy", "execution_count": 1},
        {"event": "cell_end", "seq": 1, "mono_s": 3.0, "error": "KeyboardInterrupt"},
    ]

    pressed = assemble("r", events)
    assert diagnose(pressed).incidents == ()

    interrupted = assemble("r", events, output=[{"mono_s": 2.5, "fd": 2, "text": OPENBLAS}])
    (survived,) = diagnose(interrupted).incidents
    assert survived.finding.id == "thread-limit"
    assert survived.cell.execution_count == 1


def test_an_interrupt_long_after_the_words_of_openblas_was_somebodys():
    events = [
        {"event": "start", "mono_s": 1.0, "wall_s": 1e9},
        {"event": "cell_start", "seq": 1, "mono_s": 2.0, "source": "import numpy\ntrain()", "execution_count": 1},
        {"event": "cell_end", "seq": 1, "mono_s": 602.0, "error": "KeyboardInterrupt"},
    ]

    assert diagnose(assemble("r", events, output=[{"mono_s": 2.5, "fd": 2, "text": OPENBLAS}])).incidents == ()


def test_a_copy_that_used_the_card_is_told_with_the_cell_that_made_it():
    forked = Incident(
        "cuda-error", -5.0, "RuntimeError", 1, RAISED, signature="Cannot re-initialize CUDA in forked subprocess"
    )
    survived = alive(forked).incidents[0]

    assert survived.finding.id == "fork-unsafe"
    assert "in `f` (cell [1], line 2: `return np.ones(n)`)" in survived.finding.headline
    assert survived.cell.line == survived.finding.line == 2


def test_the_full_file_system_is_named():
    full = SystemState(-5.0, "incident", filesystems=(FileSystem("/data", "ext4", GIB, 0, ("open",)),))
    answer = alive(incident("no-space", "No space left on device", "OSError"), system_states=[full])

    assert "`/data`" in answer.cause.headline


def test_what_was_written_is_no_incident_by_itself():
    answer = alive(output=[Output(-5.0, 2, "OpenBLAS blas_thread_init: pthread_create failed\n")])

    assert answer.incidents == ()


def test_only_the_latest_of_very_many_are_told():
    answer = alive(*[refused()] * 500)

    assert len(answer.incidents) == 50


def test_a_memory_error_of_which_only_the_name_could_be_noted_is_told_all_the_same():
    recorded = with_seq(recording(CELL, "x = 1", alive=True, idle=True))
    failed = replace(recorded.cells[0], error="MemoryError", rss_after_bytes=2 * GIB)
    answer = diagnose(replace(recorded, cells=(failed, *recorded.cells[1:])))

    assert (answer.cause.id, answer.incidents[0].cell.execution_count) == ("allocation-refused", 1)


def test_that_numpy_wrote_a_part_only_means_a_full_disk_where_one_is_full():
    part = incident("no-space", "requested and written", "OSError")
    full = SystemState(-5.0, "incident", filesystems=(FileSystem("/data", "ext4", 9 * GIB, 0, ("open",)),))

    assert alive(part).cause.confidence < 0.7
    assert alive(part, system_states=[full]).cause.confidence > 0.9


def test_a_worker_killed_at_the_limit_is_told_with_the_limit_once():
    lost = Child(900, -5.5, kind="signal", signal="SIGKILL", oom_kills=1)
    answer = alive(incident("broken-pool"), groups=[Group(500 * MIB)], children=[lost])

    assert "killed a worker process for memory in cell [1]: the container allows 500 MiB" in answer.cause.headline


def test_the_last_file_or_thread_is_told_also_where_the_code_caught_the_error():
    files = SystemState(-1, "changed", rlimits={"NOFILE": Rlimit(256, 256)}, open_files=255)
    answer = alive(system_states=[files])
    assert (answer.state, answer.cause.id, answer.fixes[0].id) == ("survived", "fd-limit", "close-files")
    assert "No error was reported" in answer.cause.evidence[0].text
    threads = alive(system_states=[SystemState(-1, "changed", pids_current=34, pids_limit=34)])
    assert (threads.cause.id, threads.fixes[0].id) == ("thread-limit", "limit-threads")
    some = SystemState(
        -1, "changed", rlimits={"NOFILE": Rlimit(256, 256)}, open_files=250, pids_current=30, pids_limit=34
    )
    assert alive(system_states=[some]).state == "running"


@pytest.mark.parametrize(
    ("name", "error", "headline"),
    [
        (
            "java",
            "ConnectionRefusedError",
            "Linux killed the JVM (`java`) of this kernel for memory in cell",
        ),
        ("sort", "CalledProcessError", "Linux killed `sort`, a process of this kernel, for memory in cell [1]"),
        ("java", "KeyboardInterrupt", None),
        ("java", None, None),
    ],
)
def test_an_error_right_after_linux_killed_a_process_of_the_cell_for_memory(name, error, headline):
    child = Child(700, 0.0, name, kind="signal", signal="SIGKILL", oom_kills=1)
    made = with_seq(recording(CELL, "x = 1", alive=True, idle=True, groups=[Group(2 * GIB, oom_kills=(0, 1))]))
    first, *others = made.cells
    told = []
    for killed_s in (first.ended_mono_s - 6, first.ended_mono_s - 100):
        cells = (replace(first, started_mono_s=first.ended_mono_s - 50, error=error), *others)
        answer = diagnose(replace(made, cells=cells, children=(replace(child, mono_s=killed_s),)))
        told.append([(one.finding.id, one.finding.headline) for one in answer.incidents])

    assert told[1] == []
    assert [one[0] for one in told[0]] == (["oom-cgroup"] if headline else [])
    assert headline is None or headline in told[0][0][1]


@pytest.mark.parametrize(
    ("signature", "said", "cause"),
    [
        ("killed due to the node running low on memory", "", "oom-userspace"),
        (
            "KilledWorker",
            "distributed.worker.memory - WARNING - Worker is at 80% memory usage. Pausing worker.\n",
            "oom-userspace",
        ),
        ("KilledWorker", "", "killed-externally"),
    ],
)
def test_a_worker_that_its_own_scheduler_ended(signature, said, cause):
    ended = Child(7, -6.0, kind="signal", signal="SIGTERM", oom_kills=0)
    answer = alive(incident("worker-killed", signature), children=[ended], output=[Output(-8.0, 2, said)])
    assert answer.cause.id == cause


def test_a_limit_of_duckdbs_own():
    answer = alive(incident("memory-error", "DuckDB: Out of Memory Error", "_duckdb.OutOfMemoryException"))
    assert answer.cause.id == "allocation-refused"
    assert answer.cause.headline.startswith("DuckDB used up the memory that its own `memory_limit` allows in cell [1]")


def used_up(*sources, running=True, **death):
    """A kernel whose limit on its data was used up in the last cell."""
    state = SystemState(-1, "changed", rlimits={"DATA": Rlimit(GIB)}, data_bytes=GIB - 4096)
    memory = tuple(number * 100 * MIB for number in range(1, 9))
    recorded = recording(*sources, idle=not running, memory=memory, system_states=[state], **death)
    return diagnose(with_seq(recorded))


def test_a_cell_that_used_up_the_memory_of_the_process_is_told_without_an_error():
    answer = used_up("rows = load(n)", alive=True)

    assert (answer.cause.id, answer.state) == ("allocation-refused", "survived")
    assert "limit of 1.0 GiB was used up" in answer.cause.headline
    assert "a-tenth-first" in {fix.id for fix in answer.fixes}


def test_a_request_to_end_that_meets_a_full_process_hides_nothing():
    left = used_up("rows = load(n)", exit_code=0, request="message")
    assert (left.cause.id, left.state) == ("ordinary-end", "ended")
    assert left.cause.headline.startswith("Memory was refused in cell [1]")

    aborted = used_up("rows = load(n)", signal="SIGABRT", request="message")
    assert (aborted.cause.id, aborted.state) == ("allocation-refused", "died")


def test_what_is_refused_while_memory_is_still_full_leaves_the_first_refusal_in_the_headline():
    cells = [
        Cell(source, n, started_mono_s=10.0 * n, ended_mono_s=10.0 * n + 5, seq=n)
        for n, source in enumerate(("rows = load()", "%postmortem"), 1)
    ]
    filled = replace(cells[0], rss_before_bytes=100 * MIB, peak_bytes=900 * MIB)
    looked = replace(cells[1], rss_before_bytes=890 * MIB, peak_bytes=891 * MIB)
    refusals = [Incident("memory-error", 10.0 * n + 4, "MemoryError", n) for n in (1, 2)]
    full = replace(recording(alive=True), cells=(filled, looked), incidents=tuple(refusals))
    assert "cell [1]" in diagnose(full).cause.headline

    freed = replace(full, cells=(filled, replace(looked, rss_before_bytes=100 * MIB, peak_bytes=800 * MIB)))
    assert "cell [2]" in diagnose(freed).cause.headline
