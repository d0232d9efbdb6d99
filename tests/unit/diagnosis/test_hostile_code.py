"""Notebooks that nobody would write, or only to harm: every rule answers, soon, and none raises."""

import ast
import re
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.explore import examples

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.changes import EditRefusedError
from jupyter_kerneldoctor.diagnosis.code.cellfiles import CellFiles
from jupyter_kerneldoctor.diagnosis.code.cellsource import parsing_cost, span
from jupyter_kerneldoctor.diagnosis.code.child_processes import run_in_children
from jupyter_kerneldoctor.diagnosis.code.dict_caches import dict_caches
from jupyter_kerneldoctor.diagnosis.code.endless_loops import endless_loop
from jupyter_kerneldoctor.diagnosis.code.notebook import CodeTooLargeError, Notebook
from jupyter_kerneldoctor.diagnosis.code.parsed_cells import MOST_WORK
from jupyter_kerneldoctor.diagnosis.code.shell import shell_kills
from jupyter_kerneldoctor.diagnosis.code.values import Values
from jupyter_kerneldoctor.diagnosis.examples import MIB, recording
from jupyter_kerneldoctor.diagnosis.fixes import all_fixes
from jupyter_kerneldoctor.diagnosis.frameworks.whole_steps import find_whole_step
from jupyter_kerneldoctor.diagnosis.proposals import ask
from jupyter_kerneldoctor.recording.events import Frame, Held, NamedObject, Namespace
from jupyter_kerneldoctor.recording.model import Cell

EXAMPLES = examples(40)
ENOUGH_S = 4.0
"""Of processor time, in the best of three runs: a quiet machine takes half of it at most, a busy one twice its time."""

CASES = [case for fix in all_fixes() for case in fix.FIRES if case.sources]

HUGE = f"0x{'f' * 300}"
NUMBERS = [
    *("0", "-1", "-(10**18)", "10**12", "10**18", "10**10**10", "2**62", HUGE, "1e400", "1e300", "10**-400", "1j"),
    *(
        "float('nan')",
        "float('inf')",
        "(-8) ** 0.5",
        "True",
        "None",
        "'9'",
        "n",
        "len(x)",
        "range(10**12)",
        "[0] * 10**9",
    ),
    *("'x' * 10**12", "[[0] * n] * n", "(10**9,) * 40", "[10**18] * 10**6", "*x", "lambda: x", "x := 9", "...", "b''"),
    *(
        "[0 for a in range(10**9) for b in range(10**9)]",
        "math.factorial(10**9)",
        "x[-1]",
        "f'{x}' * 10**9",
        "()",
        "-x",
    ),
    *("list(itertools.product(range(10**9), repeat=10**6))", "itertools.combinations(range(10**9), 10**8)", "2**n**n"),
    *("[(1, 2), (3,)]", "{}", "{**x}", "x if x else y", "await x", "not x", "1 < 2 < 3", "not_there.x.y().z[0]"),
    *(
        "np.zeros((10**9,) * 9)",
        "np.zeros(-5)",
        "np.zeros(())",
        "np.arange(0, 1, 0)",
        "np.arange(1e308, -1e308, 1e-9)",
    ),
    *("np.linspace(0, 1, 1e300)", "np.zeros(5).reshape(-1, 0)", "np.tile(x, (10**9,) * 50)", "x.reshape([2] * 99)"),
    *("range(-2**62, 2**62, 3)", "range(1, 2, 0)", "bytes(-1)", "x.T.T @ x.T", "np.kron(x, x)", "np.outer(x, x).T"),
]
"""What is put in the place of a number."""

NAMES = ["x", "x.y", "x[0]", "x()", "x[x]", "self", "_", "é" * 90, "x" * 20_000, "x.a.b.c.d.e.f", "ﬁ"]

SHELLS = [
    "<0>",
    "for q in x:\n    for w in q:\n<8>",
    "def f(x):\n<4>\n    return f(f)\nf(f)",
    "class A(A):\n    def f(self, *a, **k):\n<8>\n        return self.f(self)\nA().f()",
    "@f\ndef f(x=f):\n<4>\nf()",
    "x = y\ny = x\nx = x\n<0>",
    "match x:\n    case [x, *_] if x:\n<8>\n    case {**x}: x",
    "with x as x, y as y:\n<4>",
    "while (x := x):\n<4>\nelse:\n    del x",
    "try:\n<4>\nexcept* x as x:\n    raise\nfinally:\n    x",
    "x = [(lambda x=x: x)(x) for x in x for x in x]\n<0>",
    "import x as x, x.x\nfrom x import *\nglobal x\n<0>",
    "%%time\n<0>\n!x {x}\n%x",
    "async def f():\n    async for x in x:\n<8>\nawait f()",
    "\r\n<0>\r",
    "\ufeff<0>\x00",
    "'''\ud800\n<0>",
    "<0>\n" + "x" + ".x" * 300,
    "<0>\n" + "f(" * 90 + ")" * 90,
    "<0>\nx = " + " + ".join(["x"] * 350),
    "<0>\n" + "[" * 90 + "0" + "]" * 90 + " * 9" * 300,
    "x = f'" + "{x!r:>{x}}" * 90 + "'\n<0>",
]
SHAPES = [(), (0,), (-1, -1), (5,), (10, 10), ((1 << 62),) * 3, (2,) * 5000, (1 << 62, 0), (3, -1, 1 << 62)]
TYPES = [
    *("numpy.ndarray", "pandas.DataFrame", "torch.Tensor", "list", "str", "dict", "tuple", "range", "bytes", "A", ""),
    *("scipy.sparse._csr.csr_matrix", "pandas.core.frame.DataFrame", "keras.src.Model", "int"),
]
DTYPES = [None, "float64", "int64", "object", "x", "complex128", ""]

objects = st.builds(
    NamedObject,
    name=st.sampled_from(["x", "X", "df", "y", "self.x", "data", "n", "model", "_", "Out[1]", "x" * 9000]),
    type=st.sampled_from(TYPES),
    bytes=st.sampled_from([0, 1, 800 * MIB, 1 << 62]),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(DTYPES),
    items=st.sampled_from([None, -1, 0, 5, 1 << 62]),
    item_type=st.sampled_from([None, *TYPES]),
    grew_bytes=st.sampled_from([None, -(1 << 62), 500 * MIB]),
    items_before=st.sampled_from([None, -1, 1 << 62]),
    function=st.sampled_from([None, "f", "A.f"]),
)


_NUMBER = re.compile(r"(?<![\w.'\"])\d[\d_.]*(?![\w'\"])")
_NAME = re.compile(r"(?<![\w.])[a-z]{1,2}(?!\w|[(='\"])")


@st.composite
def cells(draw):
    """The cells of a rule's example, with other numbers and names, in an odd shell, often again and again."""
    case = draw(st.sampled_from(CASES))
    numbers, names = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3)), draw(st.sampled_from(NAMES))
    chance = draw(st.sampled_from([0, 1, 3]))
    shell, times = draw(st.sampled_from(SHELLS)), draw(st.sampled_from([1, 1, 2, 40]))
    sources = [_NUMBER.sub(lambda found: numbers[found.start() % len(numbers)], one) for one in case.sources]
    if chance:
        sources = [_NAME.sub(lambda found: found[0] if found.start() % chance else names, one) for one in sources]
    lines = "\n".join([sources[-1]] * times).split("\n")
    for margin in ("0", "4", "8"):
        shell = shell.replace(f"<{margin}>", "\n".join(" " * int(margin) + one for one in lines))
    return case, (*sources[:-1], shell)


def used_s(work):
    """Return the processor time of the quickest of three runs; of one if that is quick enough."""
    took_s = []
    while len(took_s) < 3 and min(took_s, default=ENOUGH_S) >= ENOUGH_S:
        began_s = time.thread_time()
        work()
        took_s.append(time.thread_time() - began_s)
    return min(took_s)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cells(), st.lists(objects, max_size=4), st.booleans())
def test_every_rule_answers_soon(case_and_cells, recorded, is_known):
    case, sources = case_and_cells
    seen = {"namespaces": [Namespace(-15, None, tuple(recorded))], "held": [Held(-1, len(sources), tuple(recorded))]}
    odd = Case(*sources, cause=case.cause, line=1 if is_known else None, **(seen | case._recorded))

    assert used_s(lambda: propose(odd.death(), all_fixes())) < ENOUGH_S, sources


def readable(source):
    """Return the syntax tree of a cell that is nothing but Python; None for others."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def bound(node):
    """Return the names that a statement binds."""
    inner = list(ast.walk(node))
    functions = {one.name for one in inner if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    return functions | {one.id for one in inner if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def repeated(source, statement, count, *, is_numbered):
    """Return a cell in which a statement stands again and again; with `is_numbered` it binds other names each time."""
    lines = source.split("\n")
    part = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
    names = re.compile(rf"\b(?:{'|'.join(bound(statement))})\b" if is_numbered and bound(statement) else "(?!)")
    parts = [names.sub(rf"\g<0>{number or ''}", part) for number in range(count)]
    return "\n".join([*lines[: statement.lineno - 1], *parts, *lines[statement.end_lineno :]])


def lengthened(source, part, count):
    """Return a cell in which an element or an argument stands again and again."""
    start, end = span(source, part)
    return f"{source[:start]}{', '.join([source[start:end]] * count)}{source[end:]}"


def nested(source, part, inner, count):
    """Return a cell in which a part holds itself in the place of something in it, and so on."""
    (start, end), (first, last) = span(source, part), span(source, inner)
    return f"{source[:start]}{source[start:first] * count}{source[first:last]}{source[last:end] * count}{source[end:]}"


def held(node):
    """Return the elements of a list, or the arguments of a call."""
    return node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])


@st.composite
def large_cells(draw):
    """The cells of a rule's example, with much of one kind."""
    case = draw(st.sampled_from([one for one in CASES if any(map(readable, one.sources))]))
    at = draw(st.sampled_from([at for at, source in enumerate(case.sources) if readable(source)][-2:]))
    source = case.sources[at]
    nodes = list(ast.walk(ast.parse(source)))
    statements = [one for one in nodes if isinstance(one, ast.stmt)]
    holders = {one: node for node in nodes for one in held(node)}
    how = draw(st.sampled_from(["statement", "numbered", "element", "nested"] if holders else ["statement"]))
    if how == "nested":
        inner, holder = draw(st.sampled_from(list(holders.items())))
        text = nested(source, holder, inner, draw(st.sampled_from([20, 60, 90])))
    else:
        node = draw(st.sampled_from(list(holders) if how == "element" else statements))
        share = draw(st.sampled_from([0.1, 0.3, 0.5, 0.9]))
        count = int(share * MOST_WORK / 2 / (parsing_cost(ast.unparse(node)) + 1))
        text = (
            lengthened(source, node, count)
            if how == "element"
            else repeated(source, node, count, is_numbered=how == "numbered")
        )
    return case, (*case.sources[:at], text, *case.sources[at + 1 :])


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(large_cells())
def test_every_rule_takes_time_in_proportion_to_the_code(case_and_cells):
    case, sources = case_and_cells
    own = next(fix for fix in all_fixes() if case in fix.FIRES)
    # All of the time that there is for one rule, first: with the others it may be used up before that is asked.
    assert used_s(lambda: propose(case.with_sources(*sources).death(), [own])) < ENOUGH_S, sources
    assert used_s(lambda: propose(case.with_sources(*sources).death(), all_fixes())) < ENOUGH_S, sources


def propose(death, fixes):
    for fix in fixes:
        try:
            with death.code.counted():
                ask(fix, death)
        except CodeTooLargeError:
            return
        except EditRefusedError:
            continue  # the fix is left out


def test_a_quote_that_is_never_closed_is_not_read_again_and_again():
    assert used_s(lambda: list(shell_kills("kill '" + ("b" * 2500 + "\n") * 60))) < ENOUGH_S


@pytest.mark.parametrize(
    "pattern", ["(.*)*(.*)*(.*)*(.*)*x!", "(a|p|.)+" * 9 + "!", ".*" * 40 + "!", "a{99999999999}", "("]
)
def test_a_pattern_of_pkill_that_never_ends_is_not_tried(pattern):
    assert used_s(lambda: list(shell_kills(f"pkill -f '{pattern}'"))) < ENOUGH_S


def test_a_shells_variable_that_doubles_takes_no_memory():
    script = "a=xxxxxxxxxxxxxxxx\n" + "a=$a$a\n" * 60 + "b=$PPID\nkill -9 $b"
    assert [one.signal for one in shell_kills(script)] == ["SIGKILL"]


@pytest.mark.parametrize("text", [number for number in NUMBERS if "await" not in number and ":=" not in number])
def test_any_expression_has_a_value_or_none(text):
    head = "import itertools, math\nimport numpy as np\nn = 10**9\nx = np.zeros((9, 9))\ny = range(9)\n"
    code = Notebook([Cell(f"{head}z = f({text})")])
    values, (scope, *_) = Values(code), code.scopes(0)
    for node in scope.nodes:
        if isinstance(node, ast.expr):
            value = values.of(node, scope)
            assert value is None or -1 < (value.bytes or 0) < 1 << 63
            assert value is None or all(-1 < length < 1 << 63 for length in value.shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_recorded_shape_that_cannot_be_is_none(shape):
    code = Notebook([Cell("y = x.reshape(-1, 2) @ x.T * x[0]\nz = [0] * len(x) * 3 + x.ravel()")])
    values = Values(code, [Namespace(-1.0, None, (NamedObject("x", "numpy.ndarray", 8, shape, "float64"),))])
    scope = code.scopes(0)[0]
    assert used_s(lambda: [values.of(one, scope) for one in scope.nodes if isinstance(one, ast.expr)]) < ENOUGH_S


def test_the_products_of_polynomials_are_not_counted_without_end():
    data = "import numpy as np\nfrom sklearn.preprocessing import PolynomialFeatures\nX = np.random.rand(5_000, 10**6)"
    death = Case(data, "PolynomialFeatures(10**9).fit_transform(X)").death()
    fix = next(one for one in all_fixes() if one.id == "polynomial-degree")
    assert used_s(lambda: ask(fix, death)) < ENOUGH_S


_STEPS = "  with tf.GradientTape() as tape:\n    loss = model(x)\n  g = tape.gradient(loss, w)\n"
_TRAINS = "import tensorflow as tf\nimport numpy as np\nx = np.zeros((9000, 9))\nfor i in range(9):\n"
_FILLS = "def load(k):\n" + "".join(f"  if k in c{i}: 1\n  c{i}[k] = f(k).b(1).c(2)\n" for i in range(900))
_CONDITION = " < ".join(f"a{i}" for i in range(2000))
_CHILDREN = "".join(f"def f{i}(): f{i + 1}()\n" for i in range(1900))


@pytest.mark.parametrize(
    ("ask_code", "cells"),
    [
        (lambda death: find_whole_step(death.code, death.values), [_TRAINS + _STEPS * 400]),
        (lambda death: list(dict_caches(death.code)), [_FILLS, "load(1)"]),
        (lambda death: endless_loop(death.code, death.code.cells[0], 2), [f"while {_CONDITION}:\n  f()"]),
        (lambda death: run_in_children(death.code), [f"{_CHILDREN}import os\nos.fork()\nf0()"]),
        (lambda death: list(map(death.code.scopes(0)[0].segment, death.code.scopes(0)[0].names)), ["é.é(é), " * 9000]),
    ],
)
def test_much_code_of_one_kind_takes_time_in_proportion(ask_code, cells):
    def ask_once():
        death = Case(*cells).death()
        with suppress(CodeTooLargeError), death.code.counted():
            ask_code(death)

    assert used_s(ask_once) < ENOUGH_S


@pytest.mark.parametrize("sources", [["%%time\n" * 10_000], [f"{number}#" + "x" * 199_000 for number in range(200)]])
def test_the_files_of_cells_that_take_long_to_hash_are_not_looked_for(sources):
    files = CellFiles([Cell(source) for source in sources])
    assert used_s(lambda: files.cell_of(Frame("/tmp/ipykernel_1/123.py", 1, "f"))) < ENOUGH_S


def test_a_line_is_looked_up_in_a_long_cell_again_and_again():
    grown = NamedObject("kept", "list", 1600 * MIB, items=160, grew_bytes=1600 * MIB, items_before=0)
    source = "for x in y:\n" + " kept.append(x)\n" * 2000 + "#\n" * 300_000
    ended = Case("kept = []", source, held=[Held(-0.5, 2, (grown,))])
    assert used_s(lambda: diagnose(ended.death().recording)) < ENOUGH_S


def test_lines_that_only_python_takes_for_lines_hide_no_exit():
    ended = recording("x = 1\rimport os\ros._exit(3)", exit_code=3, server="watched")
    assert diagnose(ended).cause.id == "exit-call"


def test_marks_cost_as_words_do():
    assert parsing_cost("[];" * 20_000) > 100_000


def test_what_is_nested_too_deeply_is_too_large():
    code = Notebook([Cell("x = " + " + ".join(["x"] * 900))])
    with pytest.raises(CodeTooLargeError):
        code.module(0)


def test_a_number_that_python_cannot_write_down_takes_no_cause_its_say():
    number = "0x" + "f" * 5000
    death = Case("import os", f"os.kill({number}, {number})", cause="oom-cgroup").death()
    assert death.code.module(1) is None
    assert diagnose(recording(f"os.kill({number}, {number})", signal="SIGSEGV")).cause.id == "segfault"


def test_an_object_that_is_what_its_own_method_gives_has_no_class():
    death = Case("def f(x):\n    while x:\n        x = x.next()\n        kept.append(x)\nf(f)").death()
    for fix in all_fixes():
        ask(fix, death)
