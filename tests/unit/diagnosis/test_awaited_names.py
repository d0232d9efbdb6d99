"""What a line waits for, and what the function of a thread may change."""

import pytest

from jupyter_kerneldoctor.diagnosis.code.awaited_names import awaited_names, changed_names
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.recording.model import Cell


def asked(function, source, line, **how):
    cell = Cell(source)
    return function(Notebook([cell], cell), cell=cell, line=line, **how)


def test_a_wait_without_an_end():
    assert asked(awaited_names, "row = self.rows.get()", 1, again=False) == {"rows"}
    assert asked(awaited_names, "a.wait()\nb.wait()", 2, again=False) == {"b"}
    assert asked(awaited_names, "with self.lock:\n    save()", 1, again=False) == {"lock"}
    assert asked(awaited_names, "row = next(rows)", 1, again=False) == frozenset()


@pytest.mark.parametrize(
    ("source", "line", "names"),
    [
        ("while not done.is_set():\n    sleep(1)", 2, {"done"}),
        ("while len(self.rows) < 3:\n    time.sleep(1)\n    print('.')", 2, {"rows"}),
        ("while not finished:\n    event.wait(1)", 2, {"finished", "event"}),
        (
            "while True:\n    try:\n        x = q.get(timeout=1)\n    except Empty:\n        continue\n    f(x)",
            3,
            {"q"},
        ),
        ("while True:\n    try:\n        x = q.get(timeout=1)\n    except Empty:\n        break", 3, set()),
        (
            "while True:\n    try:\n        x = q.get(timeout=1)\n    except Empty:\n        n += 1\n        f(n)",
            3,
            set(),
        ),
        ("while not done.is_set():\n    sleep(1)\n    if late: raise TimeoutError", 2, set()),
        ("while not done.is_set():\n    sleep(1)\n    start_again()", 2, set()),
        ("for n in range(9):\n    sleep(1)", 2, set()),
        ("sleep(600)", 1, set()),
    ],
)
def test_a_loop_that_looks_again(source, line, names):
    assert asked(awaited_names, source, line, again=True) == names


def test_what_a_thread_may_change():
    work = "def work(out, n):\n    global count\n    count = n\n    out.put(n)\n    rows[n] = table\n"
    source = f"{work}Thread(target=work, args=(q, 1))"
    assert asked(changed_names, source, 3) >= {"count", "out", "rows", "q"}
    assert not asked(changed_names, source, 3) & {"table", "work", "Thread"}
    assert asked(changed_names, source, 6) == frozenset()


def test_a_module_and_a_variable_of_its_own_are_nothing_that_others_wait_for():
    work = "import time\ndef work():\n    end = time.time()\n    rows = []\n    rows.append(end)\n"
    waits = "while time.time() < end and not rows:\n    time.sleep(1)"

    assert asked(changed_names, work + waits, 3) == frozenset()
    assert asked(awaited_names, work + waits, 7, again=True) == {"end", "rows"}
