import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_kerneldoctor.diagnosis.code.cellsource import header_magics, mask, parse, sole_statement

KEPT = [
    ("x = 1", "x = 1"),
    ("%matplotlib inline\nx = 1", "0#################\nx = 1"),
    ("!ls 'unclosed\nx = 1", "0############\nx = 1"),
    ("files = !ls\nlen(files)", "files = 0##\nlen(files)"),
    ("a, b = %magic (", "a, b = 0#######"),
    ("df.head?", "0#######"),
    ("?df", "0##"),
    ("%%time\nx = 1", "######\nx = 1"),
    ("\n%%capture out\nx = 1\n!ls", "\n#############\nx = 1\n0##"),
    ("%%time\n%%capture\nx = 1", "######\n#########\nx = 1"),
    ("if x:\n    %time df = f()\n    y()", "if x:\n    0    ;df = f()\n    y()"),
    ("%time for i in x: f(i)", "0#####################"),
    ("!ls \\\n  it's\nx = 1", "0####\n######\nx = 1"),
    ("f(a,\n  b\n  % c)\n!ls", "f(a,\n  b\n  % c)\n0##"),
    ("s = '''\n%not a magic\n'''\n%magic (", "s = '''\n%not a magic\n'''\n0#######"),
    ("x = 'it''s' # ( [\n!ls", "x = 'it''s' # ( [\n0##"),
    ("%time x = 1\r\ny = 2\r\n", "0    ;x = 1\r\ny = 2\r\n"),
    ("await f()", "await f()"),
]


@pytest.mark.parametrize(("source", "expected"), KEPT)
def test_masks_ipython_and_keeps_everything_else(source, expected):
    assert mask(source).text == expected


@pytest.mark.parametrize(
    "source", ["%%bash\nls", "%%html\n<b>", "%%unheard_of\nx", "def", "x = (", "a\x00b", "'\ud800"]
)
def test_other_languages_and_what_does_not_parse_give_nothing(source):
    assert mask(source) is None
    assert parse(source) is None


def test_spans_are_where_the_text_was_changed():
    source = "x = 1\n%magic a\n!ls \\\n  -l\ny = 2"
    masked = mask(source)
    assert [source[start:end] for start, end in masked.spans] == ["%magic a", "!ls \\", "  -l"]


@given(st.text(alphabet="x=%!?'\"\\()[]{}\n\r #0:;a", max_size=40))
def test_text_and_line_ends_stay_in_place_whatever_the_source(source):
    masked = mask(source)
    if masked is not None:
        assert len(masked.text) == len(source)
        assert [n for n, char in enumerate(masked.text) if char == "\n"] == [
            n for n, char in enumerate(source) if char == "\n"
        ]
        outside = set(range(len(source))) - {n for start, end in masked.spans for n in range(start, end)}
        assert all(masked.text[n] == source[n] for n in outside)


@given(st.text(max_size=60))
def test_never_raises(source):
    mask(source)
    sole_statement(source)
    header_magics(source)


def test_deep_nesting_is_no_error():
    mask("(" * 5000)
    mask("x" + ".a" * 20_000)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("df = f()", "df = f()"),
        ("# why\n\ndf = f(\n  1)", "df = f(1)"),
        ("%%time\ndf = f()", "df = f()"),
        ("%time df = f()", "df = f()"),
        ("!ls", "0"),
        ("x = 1\ny = 2", None),
        ("!ls\nx = f()", None),
        ("x = 1; y = 2", None),
        ("%%bash\nls", None),
    ],
)
def test_sole_statement(source, expected):
    statement = sole_statement(source)
    assert (statement and ast.unparse(statement)) == expected


def test_header_magics_are_counted_in_lines_from_one():
    assert header_magics("\n%%time\n  %%capture out\nx\n%%late") == {2: "time", 3: "capture"}
    assert header_magics("x = 1\n%%time") == {}
