"""What Linux logs of a crash tells a stack that is used up from memory that is not there."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import PID, cell_file, crash_report, recording


def answer(cell, address, stack="7ffd5a1ff000", *, before="x = 1", thread=PID):
    line = f"python[{thread}]: segfault at {address} ip 00007f428c288b04 sp {stack} error 6 in libc.so.6[7f42+156000]"
    crash = crash_report("Segmentation fault", (cell_file(cell), 1, "<module>"))
    return diagnose(recording(before, cell, signal="SIGSEGV", crash=crash, kernel_log=[line]))


@pytest.mark.parametrize("address", ["7ffd5a1feff8", "7ffd5a1ff010", "7ffd5a1f8000"])
def test_memory_missing_at_the_stack_pointer_is_a_recursion_in_native_code(address):
    found = answer("total = sum(rows)", address)

    assert (found.cause.id, found.cause.certainty.word) == ("stack-overflow", "proven")
    assert "native code called in cell [2], line 1, called itself" in found.cause.headline


@pytest.mark.parametrize("address", ["18", "7f42a0000000", "7ffd5b000000"])
def test_memory_missing_elsewhere_is_none_even_where_the_limit_was_raised(address):
    found = answer("text = json.dumps(tree)", address, before="import sys\nsys.setrecursionlimit(10**7)")

    assert (found.cause.id, found.cause.certainty.word) == ("segfault", "likely")
    assert any("far from the stack" in sentence for sentence in found.cause.ruled_out)


def test_without_a_crash_report_the_log_alone_tells():
    line = f"python[{PID}]: segfault at 7ffd5a1feff8 ip 00007f428c288b04 sp 00007ffd5a1ff000 error 6 in libc.so.6"
    found = diagnose(recording("x = 1", "total = sum(rows)", signal="SIGSEGV", kernel_log=[line]))

    assert found.cause.headline == ("While cell [2] ran, a recursion went on until the stack was full.")


def test_the_crash_of_another_thread_or_child_proves_nothing():
    found = answer("total = sum(rows)", "7ffd5a1feff8", thread=PID + 1)

    assert found.cause.id == "segfault"
    assert not any("a stack overflow" in sentence for sentence in found.cause.ruled_out)


def test_a_call_beside_print_may_have_crashed_by_itself():
    raised = "import sys\nsys.setrecursionlimit(10**7)\ndef made(n): return n"
    report = {
        cell: crash_report("Segmentation fault", (cell_file(cell), 1, "<module>"))
        for cell in ("print(lib.solve(8))", "print(made(8))")
    }
    causes = [
        diagnose(recording(raised, cell, signal="SIGSEGV", crash=crash)).cause.id for cell, crash in report.items()
    ]

    assert causes == ["segfault", "stack-overflow"]
