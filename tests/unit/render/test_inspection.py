"""What a kernel is doing, in words: only what is known."""

from __future__ import annotations

from dataclasses import replace

from jupyter_kerneldoctor.diagnosis.examples import MIB, cell_file, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import at_work, stuck_in
from jupyter_kerneldoctor.recording.events import ChildState, Frame, Stack, ThreadStack
from jupyter_kerneldoctor.render.inspection import render
from jupyter_kerneldoctor.reports.inspection import describe

SOURCE = "def wait():\n    with lock:\n        pass\nwait()"
INSIDE = (Frame(cell_file(SOURCE), 2, "wait"), Frame(cell_file(SOURCE), 4, "<module>"))
MAIN = ThreadStack(INSIDE, main=True, state="S", waits_in="futex_do_wait")


def render_stack(*children, main=MAIN, idle=False):
    made = recording(SOURCE, alive=True, idle=idle)
    return render(describe(made, Stack(30.0, "asked", (main,), children)))


def test_the_cell_its_line_and_what_its_thread_waits_for():
    assert render_stack().splitlines() == [
        "Kernel 4242 has been running cell [1] for 20 s. It is in line 2:",
        "    with lock:",
        "",
        "The thread that runs the cells waits for a lock or for another thread (futex_do_wait in Linux).",
        "    wait (cell [1], line 2): `with lock:`",
        "    <module> (cell [1], line 4): `wait()`",
    ]


def test_a_stuck_kernel_is_told_with_its_reason_first_and_where_its_fixes_are():
    source = "lock = threading.Lock()\nwith lock:\n    lock.acquire()"
    made = stuck_in("import threading\n" + source, 4, waits_in="futex_do_wait")
    shown = render(describe(made, Stack(30.0, "asked", made.stuck[-1].threads, ()))).splitlines()

    assert shown[0].startswith("The kernel is stuck in cell [1] on `lock.acquire()`: a deadlock, as cell [1], line 3,")
    assert shown[-1] == f"What to change: `jupyter kerneldoctor report {made.id}`."


def test_the_line_that_runs_comes_first_though_another_cell_holds_it():
    made = recording(SOURCE, "wait()\nprint(1)", alive=True)
    frames = (INSIDE[0], Frame(cell_file("wait()\nprint(1)"), 1, "<module>"))
    shown = render(describe(made, Stack(30.0, "asked", (replace(MAIN, frames=frames),), ()))).splitlines()

    assert shown[:2] == ["Kernel 4242 has been running cell [2] for 10 s. It is in cell [1], line 2:", "    with lock:"]


def test_a_loop_that_never_ends_is_told_with_its_reason_and_where_its_fixes_are():
    source = "n = 27\nwhile n != 1:\n    n + 1"
    made = recording(source, alive=True, memory=[100 * MIB] * 9, stacks=at_work(source, 3, rounds=[[3], [2]]))
    shown = render(describe(made, Stack(30.0, "asked", made.stacks[-1].threads, ()))).splitlines()

    assert shown[0].startswith("The kernel is busy: cell [1] has been going round in `while n != 1`")
    assert shown[-1] == f"What to change: `jupyter kerneldoctor report {made.id}`."


def test_of_an_idle_kernel_no_frames_of_its_event_loop_are_shown():
    loop = (Frame("/usr/lib/python3.11/selectors.py", 468, "select"),)
    shown = render_stack(main=replace(MAIN, frames=loop, waits_in="do_epoll_wait"), idle=True)

    assert shown.splitlines()[-1] == "The thread that runs the cells waits for the next cell (do_epoll_wait in Linux)."


def test_an_idle_kernel_waits_for_the_next_cell():
    shown = render_stack(main=replace(MAIN, frames=(), waits_in="do_epoll_wait"), idle=True)

    assert "Kernel 4242 is not running a cell." in shown
    assert "The thread that runs the cells waits for the next cell (do_epoll_wait in Linux)." in shown


def test_of_a_child_no_more_is_said_than_is_known():
    assert render_stack(ChildState(9)).endswith("\nChild process 9 waits.")
    known = ChildState(9, "python", "S", rss_bytes=40 * MIB, cpu_s=0.5, forked=True)
    assert render_stack(known).endswith(
        "\nChild process 9 (python), a fork of the kernel, waits. So far: 40 MiB, 0.5 s of processor time."
    )
    assert "Child process 9 has ended; its parent has not read the exit status yet." in render_stack(
        ChildState(9, state="Z")
    )
