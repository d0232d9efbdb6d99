"""Loops whose end depends on values: told by their form and by how often they have gone round, never by one of both."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import at_work, frame, own_frame

FULL = "while len(used) < n:\n    code = rng.integers(9)\n    if code not in used:\n        used.add(code)"
TAKEN = "while board[i][j] != ' ':\n    i = random.randrange(3)\n    j = random.randrange(3)"
FREE = "while True:\n    seat = random.choice(seats)\n    if seat not in sold:\n        break"
NEWTON = "while abs(f(x)) > 1e-9:\n    y = f(x)\n    x = x - y / df(x)"
SETTLES = "while not np.array_equal(old, centres):\n    old = centres.copy()\n    centres = mean_of(nearest(centres))"
STILL = "while True:\n    new = step(grid)\n    if (new == grid).all():\n        break\n    grid = new"

DEBT = "while debt > 0:\n    debt = debt * (1 + rate) - payment\n    months += 1"


def told(source, rounds=((2,), (3,)), *inner, before=(), line=3):
    looks = at_work(source, line, *inner, rounds=rounds)
    return diagnose(recording(*before, source, alive=True, memory=(100 * MIB,) * 3, stacks=looks))


@pytest.mark.parametrize("source", [FULL, TAKEN, FREE, NEWTON, SETTLES, STILL, DEBT])
def test_what_thousands_of_rounds_do_not_end_is_told(source):
    found = told(source)
    assert (found.state, found.causes[0].id, found.statement.line) == ("stuck", "hang", 1)
    assert found.fixes[0].id == "end-the-loop"


@pytest.mark.parametrize("source", [FREE, NEWTON, SETTLES, STILL])
@pytest.mark.parametrize("rounds", [(), ((2,),), ((2,), *((3,),) * 999), ((2,), (3,), (9,))])
def test_few_rounds_or_another_place_tell_nothing(source, rounds):
    assert told(source, rounds).state == "running"


@pytest.mark.parametrize(
    "source",
    [
        "while len(hits) < n:\n    x = random.random()\n    if rare(x): hits.append(x)",
        "while len(primes) < n:\n    if is_prime(k): primes.append(k)\n    k += 2",
        "while not is_prime(p):\n    q = random.randrange(n)\n    p = 2 * q + 1",
        "while not digest(n).startswith('0000'):\n    n = random.randint(0, most)\n    m = n",
        "while abs(x - y) > 1e-9:\n    y = x\n    x = x - rate * slope(x)",
        "while abs(g(x)) > 1e-9:\n    s = g(x)\n    x = x - s / np.linalg.norm(g(x))",
        "while error > 1e-6:\n    new = relax(grid)\n    error = abs(new - grid).max(); grid = new",
        "while t < end:\n    y = y - f(y) / g(y)\n    t += dt",
        "while old == new:\n    old = new\n    new = read()",
        "while i < 99 and a != b:\n    a = b\n    b = f(b); i += 1",
        "while True:\n    a = b\n    b = f(b)\n    if a == b or late(): break",
        "while i in used and left > 0:\n    i = random.randrange(9)\n    left -= 1",
        "while debt > 0:\n    debt = debt * 1.02 - next(payments)\n    months += 1",
        "while x < end:\n    y = y * 1.02\n    x += step",
        f"{FREE}\n    tries += 1\n    if tries > 99: break",
    ],
)
def test_a_healthy_loop_with_as_many_rounds(source):
    assert told(source).state == "running"


def test_a_loop_that_is_gone_through_again_and_again_may_have_ended_each_time():
    for loop, state in ((SETTLES, "running"), (NEWTON, "running"), (TAKEN, "stuck")):
        body = "\n".join(f"    {line}" for line in f"pass\n{loop}".split("\n"))
        inside = f"for start in starts:\n{body}"
        assert told(inside, ((3,), (4,)), line=4).state == state


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("solve(1)", "stuck"),
        ("for start in [1, 2]: solve(start)", "stuck"),
        ("found = [solve(start) for start in range(3)]", "stuck"),
        ("for start in starts: solve(start)", "running"),
        ("found = [solve(start) for start in starts]", "running"),
        ("while go_on(): solve(1)", "running"),
    ],
)
def test_what_calls_the_function_of_the_loop_may_repeat_it(call, state):
    body = "\n".join(f"    {line}" for line in NEWTON.split("\n"))
    define = f"def solve(x):\n{body}"
    found = told(call, ((1, 3), (1, 4)), own_frame(define, 3, "solve"), before=(define,), line=1)
    assert found.state == state


def test_a_library_may_call_the_function_of_the_loop_again_and_again():
    body = "\n".join(f"    {line}" for line in NEWTON.split("\n"))
    define = f"def solve(x):\n{body}"
    inner = (own_frame(define, 3, "solve"), frame("pandas/core/apply.py", "apply", library=True))
    found = told("df.a.apply(solve)", ((1, 3), (1, 4)), *inner, before=(define,), line=1)
    assert found.state == "running"


def test_what_still_grows_is_on_its_way():
    looks = at_work(FULL, 3, rounds=((2,), (3,)))
    memory = (100 * MIB, 110 * MIB, 120 * MIB)
    assert diagnose(recording(FULL, alive=True, memory=memory, stacks=looks)).state == "running"


def test_of_draws_alone_the_time_tells_that_there_were_many_rounds():
    cheap = "while len(used) < n:\n    used.add(random.randint(1, 9))"
    assert told(cheap, (), line=2).state == "stuck"
    assert told(cheap.replace("random.randint(1, 9)", "draw(9)"), (), line=2).state == "running"
    assert told(f"for day in days:\n    {cheap}".replace("\n    used", "\n        used"), (), line=3).state == "running"


def test_of_a_healthy_loop_the_rounds_are_told():
    source = "while error > 1e-6:\n    new = relax(grid)\n    error = size(new - grid)"
    evidence = [one.text for one in told(source).causes[0].evidence]
    assert any("It has gone round at least" in one for one in evidence)


WALK = "while node is not None:\n    n += 1\n    node = node.next"


@pytest.mark.parametrize(("has_mib", "state"), [(100, "stuck"), (4000, "running")])
def test_a_list_that_no_memory_could_hold_is_a_circle(has_mib, state):
    looks = at_work(WALK, 3)
    assert diagnose(recording(WALK, alive=True, memory=(has_mib * MIB,) * 3, stacks=looks)).state == state


def test_a_walk_that_calls_something_may_be_slow():
    assert told(WALK.replace("n += 1", "show(node)"), ()).state == "running"


def test_the_next_one_may_be_worked_out():
    page = "class Page:\n    @property\n    def next(self):\n        return load(self.number + 1)"
    source = WALK.replace("node", "page")
    found = told(source, (), own_frame(page, 4, "next"), before=(page,), line=3)
    assert found.state == "running"


def test_a_loop_in_a_function_that_is_called_a_few_times_for_each_item_written_out():
    months = "def months(debt, payment):\n    while debt > 0:\n        debt = debt * 1.02 - payment"
    for items, state in (("(200, 60)", "stuck"), ("payments", "running")):
        source = f"print(*(months(900, p) for p in {items}))"
        inner = (own_frame(months, 3, "months"), own_frame(source, 1, "<genexpr>"))
        assert told(source, (), *inner, before=[months], line=1).state == state
