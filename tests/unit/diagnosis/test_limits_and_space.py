"""What limits, file systems and timers tell of a death or an incident."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.environment import at_the_end
from jupyter_kerneldoctor.diagnosis.causes import examine
from jupyter_kerneldoctor.diagnosis.causes.allocation_refused import AllocationRefused
from jupyter_kerneldoctor.diagnosis.causes.disk_full import DiskFull
from jupyter_kerneldoctor.diagnosis.causes.fd_limit import FdLimit
from jupyter_kerneldoctor.diagnosis.causes.shm_exhausted import ShmExhausted
from jupyter_kerneldoctor.diagnosis.causes.thread_limit import ThreadLimit
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, recording
from jupyter_kerneldoctor.recording.events import FileSystem, Incident, Rlimit, SystemState

SHM = "/dev/shm"


def incident(kind, surroundings=None, **more):
    return Incident(kind, -1.0, "OSError", surroundings=surroundings, **more)


def explained(cause, what, **death):
    recorded = recording("f()", alive=True, incidents=[what], **death)
    return cause().explain(examine(recorded).at(recorded.incidents[0]), recorded.incidents[0])


def bus_error(*filesystems):
    return diagnose(recording("f()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=filesystems)]))


# Space


def test_one_look_need_not_have_seen_everything():
    first = SystemState(-9, "start", rlimits={"AS": Rlimit(GIB)}, threads=3)
    last = SystemState(-1, "end", threads=5)
    state = at_the_end(recording("f()", signal="SIGABRT", system_states=[first, last]))
    assert (state.soft_limit("AS"), state.soft_limit("DATA"), state.known.threads) == (GIB, None, 5)


def test_what_a_death_freed_counts_as_it_was_before():
    full = FileSystem(SHM, "tmpfs", 64 * MIB, 0, ("shm", "mapped"))
    freed = FileSystem(SHM, "tmpfs", 64 * MIB, 64 * MIB, ("shm",))
    before, after = SystemState(-2, "changed", filesystems=(full,)), SystemState(0, "end", filesystems=(freed,))
    answer = diagnose(recording("f()", signal="SIGBUS", system_states=[before, after]))
    assert (answer.cause.id, answer.cause.certainty.word) == ("shm-exhausted", "proven")


def test_what_was_full_a_minute_ago_and_is_not_now_does_not_count():
    full = FileSystem("/data", "ext4", 9 * GIB, 0, ("mapped",))
    room = FileSystem("/data", "ext4", 9 * GIB, GIB, ("mapped",))
    around = [
        SystemState(-19, "changed", filesystems=(full,)),
        SystemState(-15, "changed", filesystems=(room,)),
        SystemState(0, "end", filesystems=(room,)),
    ]
    assert diagnose(recording("f()", "g()", signal="SIGBUS", system_states=around)).cause.id == "unknown"


def test_shared_memory_and_disk_are_told_apart_by_which_is_full():
    shm_full = FileSystem(SHM, "tmpfs", 64 * MIB, 0, ("shm",))
    shm_free = FileSystem(SHM, "tmpfs", 8 * GIB, 8 * GIB, ("shm",))
    disk_full, disk_free = (FileSystem("/d", "ext4", GIB, free, ("mapped", "cwd")) for free in (0, MIB * 500))
    assert bus_error(shm_full, disk_free).cause.id == "shm-exhausted"
    assert bus_error(shm_free, disk_full).cause.id == "disk-full"
    assert bus_error(shm_free, disk_free).cause.id == "unknown"


def test_full_shared_memory_is_less_sure_the_likelier_another_file_is():
    ours, others = (FileSystem(SHM, "tmpfs", 64 * MIB, 0, roles) for roles in (("shm", "mapped"), ("shm",)))
    remote = FileSystem("/data", "nfs", None, None, ("mapped",))
    short = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))

    found = [bus_error(*each).cause for each in ((ours, remote), (others,), (others, remote), (others, short))]

    assert [(cause.id, cause.certainty.word) for cause in found] == [
        ("shm-exhausted", "proven"),
        ("shm-exhausted", "strong"),
        ("shm-exhausted", "likely"),
        ("file-truncated", "proven"),
    ]


def test_of_two_full_disks_the_one_with_a_mapped_file_is_named():
    boot = FileSystem("/boot", "vfat", 100 * MIB, 0, ())
    data = FileSystem("/scratch", "xfs", 9 * GIB, 0, ("mapped",))
    assert "/scratch" in bus_error(boot, data).cause.headline


def test_a_bus_error_that_nothing_explains_says_what_was_looked_at():
    answer = bus_error(
        FileSystem(SHM, "tmpfs", 8 * GIB, 8 * GIB, ("shm",)), FileSystem("/", "ext4", GIB, GIB, ("cwd",))
    )
    assert answer.cause.id == "unknown"
    assert any("Not a full disk" in sentence for sentence in answer.cause.ruled_out)


def test_an_error_about_space_is_about_shared_memory_or_the_disk():
    shm = SystemState(-1, "incident", filesystems=(FileSystem(SHM, "tmpfs", 64 * MIB, 0, ("shm",)),))
    disk = SystemState(-1, "incident", filesystems=(FileSystem("/d", "ext4", GIB, 0, ("cwd",)),))
    found = explained(ShmExhausted, incident("no-space", shm, signature="unable to allocate shared memory(shm)"))
    assert found is not None
    assert "64 MiB" in found.headline
    assert explained(ShmExhausted, incident("no-space", disk)) is None
    assert "`/d`" in explained(DiskFull, incident("no-space", disk)).headline


def test_a_workers_bus_error_is_explained_by_what_it_said():
    said = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
    )
    assert explained(ShmExhausted, incident("worker-killed"), output=said).id == "shm-exhausted"
    assert explained(ShmExhausted, incident("worker-killed")) is None


# Memory that was refused


@pytest.mark.parametrize(
    ("around", "asked", "words"),
    [
        ({"rlimits": {"AS": Rlimit(4 * GIB)}, "address_space_bytes": 2 * GIB}, 3 * GIB, "limit is 4.0 GiB"),
        ({"rlimits": {"DATA": Rlimit(4 * GIB)}, "data_bytes": 2 * GIB}, 3 * GIB, "limit is 4.0 GiB"),
        ({"overcommit_mode": 2, "commit_limit_bytes": 8 * GIB, "committed_bytes": 6 * GIB}, 3 * GIB, "8.0 GiB"),
        ({"overcommit_mode": 0, "swap_total_bytes": 4 * GIB}, 30 * GIB, "this machine has 20.0 GiB"),
        ({}, 30 * GIB, "this machine has 16.0 GiB"),
    ],
)
def test_a_request_names_the_limit_it_does_not_fit_into(around, asked, words):
    what = incident("memory-error", SystemState(-1, "incident", **around), asked_bytes=asked)
    finding = explained(AllocationRefused, what)
    assert words in finding.headline
    assert f"{asked // GIB}.0 GiB" in finding.headline
    assert finding.certainty.word == "proven"


@pytest.mark.parametrize(
    "around",
    [
        {"rlimits": {"AS": Rlimit(64 * GIB)}, "address_space_bytes": 2 * GIB},
        {"overcommit_mode": 1, "swap_total_bytes": 0},
        {"overcommit_mode": 2, "commit_limit_bytes": 80 * GIB, "committed_bytes": 6 * GIB},
    ],
)
def test_a_limit_with_room_for_the_request_is_not_named(around):
    what = incident("memory-error", SystemState(-1, "incident", **around), asked_bytes=3 * GIB)
    assert explained(AllocationRefused, what).headline == (
        "A request for 3.0 GiB of memory was refused in this kernel."
    )


def test_a_crash_at_the_end_of_the_address_space_is_likely_a_refusal_but_no_proof():
    full = SystemState(-0.4, "changed", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)
    answer = diagnose(recording("f()", signal="SIGSEGV", system_states=[full]))
    assert [(cause.id, cause.certainty.word) for cause in answer.causes] == [
        ("allocation-refused", "likely"),
        ("segfault", "weak"),
    ]


def test_a_tiny_request_tells_nothing_by_its_size():
    full = SystemState(-1, "end", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)
    said = "memory allocation of 1824 bytes failed\n"
    answer = diagnose(recording("f()", signal="SIGABRT", output=said, system_states=[full]))
    assert answer.cause.headline == (
        "Memory was refused in cell [1] on `f()`: this process's limit of 4.0 GiB was used up."
    )


@pytest.mark.parametrize(("used", "start"), [(690, "Memory was refused"), (300, "A request for 4.0 MiB")])
def test_the_last_of_many_small_requests_is_not_what_filled_the_memory(used, start):
    around = SystemState(-1, "incident", rlimits={"DATA": Rlimit(700 * MIB)}, data_bytes=used * MIB)
    found = explained(AllocationRefused, incident("memory-error", around, asked_bytes=4 * MIB))
    assert found.headline.startswith(start)
    assert ("had filled this process's limit of 700 MiB" in found.headline) == (used == 690)


def test_reserved_address_space_is_told_from_resident_memory():
    around = SystemState(-1, "incident", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)
    what = incident("memory-error", around)

    def told(resident_bytes):
        finding = explained(AllocationRefused, what, memory=[resident_bytes] * 3)
        return any("counts all reserved address space" in one.text for one in finding.evidence)

    assert told(300 * MIB)
    assert not told(3800 * MIB)


# Threads, files, processor time


def test_the_limit_of_threads_is_that_of_the_group_or_of_the_user():
    group = SystemState(-1, "incident", pids_current=59, pids_limit=60, threads=55)
    user = SystemState(-1, "incident", rlimits={"NPROC": Rlimit(64)}, threads=64)
    assert "only 60 may exist here" in explained(ThreadLimit, incident("no-threads", group)).headline
    assert "this user may have only 64" in explained(ThreadLimit, incident("no-threads", user)).headline
    assert explained(ThreadLimit, incident("no-memory-for-process")) is None


@pytest.mark.parametrize(
    ("name", "used", "option"), [("AS", "address_space_bytes", "-v"), ("DATA", "data_bytes", "-d")]
)
def test_threads_may_lack_memory_for_their_stacks(name, used, option):
    def answers(used_bytes, **counts):
        limits = {"NPROC": Rlimit(96551), name: Rlimit(700 * MIB)}
        full = SystemState(-1, "incident", rlimits=limits, threads=13, **{used: used_bytes}, **counts)
        return [explained(cause, incident("no-threads", full)) for cause in (AllocationRefused, ThreadLimit)]

    refused, no_number = answers(660 * MIB)
    assert no_number is None
    assert refused.headline == (
        "No memory was left for another thread in this kernel: this process's limit of 700 MiB was used up."
    )
    assert f"ulimit {option}, RLIMIT_{name}); 660 MiB of it was reserved" in refused.evidence[1].text

    around = SystemState(-1, "incident", rlimits={name: Rlimit(700 * MIB)}, **{used: 660 * MIB})
    pool = "from concurrent.futures import ThreadPoolExecutor as Pool\nwith Pool(32) as pool: pool.map(get, urls)"
    answer = diagnose(recording(pool, alive=True, incidents=[incident("no-threads", around)]))
    assert answer.cause.id == "allocation-refused"
    assert "threading.stack_size" in answer.fixes[0].title

    refused, number = answers(660 * MIB, pids_current=60, pids_limit=60)
    assert number.certainty > refused.certainty

    refused, number = answers(200 * MIB)
    assert refused is None
    assert "address space" not in number.headline


def test_the_interrupt_of_openblas_is_explained():
    texts = [evidence.text for evidence in explained(ThreadLimit, incident("interrupted-by-openblas")).evidence]
    assert any("nobody pressed a key" in text for text in texts)


def test_too_many_files_come_with_their_number():
    around = SystemState(-1, "incident", rlimits={"NOFILE": Rlimit(1024)}, open_files=1024)
    assert "the kernel may have 1024 at once" in explained(FdLimit, incident("too-many-files", around)).headline


@pytest.mark.parametrize(
    ("limit", "used", "cause"),
    [
        (Rlimit(10, 10), 9.8, "cpu-time-limit"),
        (Rlimit(3, 10), 9.8, "cpu-time-limit"),
        (Rlimit(10, 10), 5.0, "killed-externally"),
        (Rlimit(10, None), 9.8, "killed-externally"),
    ],
)
def test_a_kill_at_the_hard_limit_of_processor_time(limit, used, cause):
    around = SystemState(-0.2, "changed", rlimits={"CPU": limit}, cpu_s=used)
    assert diagnose(recording("while True: pass", signal="SIGKILL", system_states=[around])).cause.id == cause


# Timers


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        (["import signal\nx = 1\nsignal.alarm(5)\nwork()"], 3),
        (["from signal import alarm as wake\nwake(5)\nwork()"], 2),
        (["import signal", "signal.setitimer(signal.ITIMER_REAL, 1)\nwork()"], 1),
        (["import signal\nsignal.alarm(5)", "work()"], 1),
        (["import signal\nsignal.alarm(5)\nwork()\nsignal.alarm(0)"], 2),
        (["import signal\nsignal.setitimer(signal.ITIMER_PROF, 1)\nwork()\nmore()"], None),
    ],
)
def test_the_line_of_the_timer(cells, line):
    answer = diagnose(recording(*cells, signal="SIGALRM"))
    assert (answer.cause.id, answer.cell.line) == ("unhandled-signal", line)


def test_a_timer_of_an_earlier_cell_is_named_with_its_cell():
    texts = [
        e.text for e in diagnose(recording("import signal\nsignal.alarm(5)", "work()", signal="SIGALRM")).cause.evidence
    ]
    assert "Line 2 of cell [1] starts this timer: `signal.alarm(5)`." in texts


def test_the_look_that_was_taken_because_of_an_incident_comes_a_moment_later():
    before = SystemState(-5, "start", pids_current=16, pids_limit=64)
    because = SystemState(-0.8, "incident", pids_current=64, pids_limit=64)
    finding = explained(ThreadLimit, incident("no-threads"), system_states=[before, because])
    assert any(evidence.text.startswith("64 processes and threads existed") for evidence in finding.evidence)


NEARLY_FULL = SystemState(-0.4, "changed", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)


def test_a_crash_that_may_have_been_a_refusal_does_not_say_beside_its_headline_that_it_was_one():
    answer = diagnose(recording("lib.fill(n)", signal="SIGSEGV", system_states=[NEARLY_FULL]))

    assert answer.cause.headline.startswith("Native code crashed")
    assert "refused" not in answer.end.summary


@pytest.mark.parametrize(
    ("asked_bytes", "title"),
    [
        (GIB, "Raise `ulimit -v`, the memory limit of the process"),
        (64 * GIB, "Run it on a machine with more memory: 64.0 GiB at least"),
    ],
)
def test_a_limit_of_the_process_is_to_be_raised_where_the_machine_has_what_was_asked_for(asked_bytes, title):
    said = f"memory allocation of {asked_bytes} bytes failed\n"
    answer = diagnose(recording("df.join(other)", signal="SIGABRT", output=said, system_states=[NEARLY_FULL]))

    assert [fix.title for fix in (*answer.fixes, *answer.more_fixes) if fix.id == "raise-memory-limit"] == [title]
