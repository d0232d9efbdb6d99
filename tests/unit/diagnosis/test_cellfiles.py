"""Files in a traceback and the cells they are, checked against ipykernel itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipykernel.compiler import get_tmp_hash_seed, murmur2_x86

from jupyter_kerneldoctor.diagnosis.code import cellfiles
from jupyter_kerneldoctor.diagnosis.code.cellfiles import CellFiles, murmur2, user_line
from jupyter_kerneldoctor.diagnosis.examples import cell_file
from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.model import Cell

BODY = "def f():\n    crash()\nf()"


@given(st.text(max_size=50))
def test_the_hash_is_ipykernels(text):
    assert murmur2(text) == murmur2_x86(text, get_tmp_hash_seed())


@pytest.mark.parametrize(
    ("source", "file", "line", "expected"),
    [
        (BODY, cell_file(BODY), 2, 2),
        (BODY, cell_file("something else"), 2, None),
        (BODY, "/home/u/crash.py", 2, None),
        ("%%time\n" + BODY, "<timed exec>", 2, 3),
        (BODY, "<timed exec>", 2, None),
        ("%%capture\n" + BODY, cell_file(BODY + "\n"), 2, 3),
        ("%%capture\n%%time\n" + BODY, "<timed exec>", 2, 4),
        ("%%time\n" + BODY, cell_file("%%time\n" + BODY), 1, None),
        ("%%memwatch\n" + BODY, cell_file("%%memwatch\n" + BODY), 3, 3),
        (BODY, "<ipython-input-7-0123abcd>", 2, 2),
        (BODY, "<ipython-input-8-0123abcd>", 2, None),
        (BODY, cell_file(BODY), 99, None),
    ],
)
def test_line_as_the_user_sees_it(source, file, line, expected):
    assert user_line(Cell(source, execution_count=7), Frame(file, line, "f")) == expected


def test_each_cell_is_hashed_once_however_often_one_asks(monkeypatch):
    cells = [Cell(f"def step_{number}(): pass", execution_count=number) for number in range(1000)]
    hashed = []
    monkeypatch.setattr(cellfiles, "murmur2", lambda text: hashed.append(text) or murmur2(text))
    files = CellFiles(cells)
    frames = [Frame(cell_file(cells[number].source), 1, "f") for number in (0, 500, 999)]
    unknown = Frame(cell_file("something else"), 1, "f")

    for _ in range(50):
        assert [files.cell_of(frame) for frame in frames] == [cells[0], cells[500], cells[999]]
        assert files.cell_of(unknown) is None
    assert len(hashed) <= 1.1 * len(cells)


def test_a_truncated_cell_has_no_lines():
    assert user_line(Cell(BODY, truncated=True), Frame(cell_file(BODY), 2, "f")) is None


def test_the_newest_cell_with_that_code_is_meant():
    first, second = Cell(BODY, execution_count=1), Cell(BODY, execution_count=2)
    assert CellFiles([first, second, Cell("x")]).cell_of(Frame(cell_file(BODY), 1, "f")) is second
    assert CellFiles([first]).cell_of(Frame("/usr/lib/python3.11/os.py", 1, "f")) is None


def test_the_newest_cell_is_meant_in_a_terminal_and_below_time_as_well():
    cells = [Cell(f"%%time\n{BODY}", execution_count=3), Cell(f"%%time\n{BODY}", execution_count=4), Cell(BODY)]
    files = CellFiles(cells)

    assert files.cell_of(Frame("<timed exec>", 1, "f")) is cells[1]
    assert files.cell_of(Frame("<ipython-input-3-0123abcd>", 2, "f")) is cells[0]
    assert files.cell_of(Frame("<ipython-input-7-0123abcd>", 2, "f")) is None
