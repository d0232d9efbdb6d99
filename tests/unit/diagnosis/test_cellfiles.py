"""Files in a traceback and the cells they are, checked against ipykernel itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipykernel.compiler import get_tmp_hash_seed, murmur2_x86

from jupyter_kerneldoctor.diagnosis.code.cellfiles import cell_of, is_cell_file, murmur2, user_line
from jupyter_kerneldoctor.diagnosis.examples import cell_file
from jupyter_kerneldoctor.diagnosis.signs.traceback import Frame
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


def test_a_truncated_cell_has_no_lines():
    assert user_line(Cell(BODY, truncated=True), Frame(cell_file(BODY), 2, "f")) is None


def test_the_newest_cell_with_that_code_is_meant():
    first, second = Cell(BODY, execution_count=1), Cell(BODY, execution_count=2)
    assert cell_of([first, second, Cell("x")], Frame(cell_file(BODY), 1, "f")) is second
    assert cell_of([first], Frame("/usr/lib/python3.11/os.py", 1, "f")) is None


def test_names_of_cell_files():
    assert is_cell_file("/tmp/ipykernel_1/2.py")
    assert is_cell_file("<timed exec>")
    assert not is_cell_file("/home/u/ipykernel_notes.py")
