"""What keeps the memory that grew, where looks into the cell show only a part of it."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth, held, local
from jupyter_kerneldoctor.diagnosis.examples.stuck import own_frame
from jupyter_kerneldoctor.recording.events import NamedObject, Stack, ThreadStack

FULL = Group(GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=GIB)
RAMP = [number * 25 * MIB for number in range(4, 41)]


def killed(*sources, at, looks=(), first="import torch", memory=RAMP):
    """Judge a kernel whose last cell grew little by little at these frames: innermost first, with 1/nth in each."""
    number = len(sources) + 1
    grown = growth(number, *(grew_in(850 * MIB // len(at), *frames) for frames in at))
    stack = Stack(-0.1, "climbing", (ThreadStack(tuple(at[0]), main=True),))
    more = {"memory": memory, "groups": [FULL], "growths": [grown], "held": looks, "stacks": [stack]}
    return diagnose(recording(first, *sources, signal="SIGKILL", **more))


def place(answer):
    found = answer.statement
    return None if found is None else (found.execution_count, found.line)


def names(answer):
    return [one.name for one in answer.grown]


def test_a_dict_of_lists_that_something_else_calls_is_measured_by_the_last_look():
    listener = "seen = {'price': []}\ndef on_tick(kind, value):\n    seen[kind].append(value)\nfeed.listen(on_tick)"
    run = "for day in days:\n    feed.replay(day)"
    seen = NamedObject("seen", "dict", 220 * MIB, items=1, item_type="list", items_before=1, grew_bytes=220 * MIB)
    look = held(3, seen, before_the_end_s=5)

    assert place(killed(listener, run, at=[[own_frame(run, 2)]], looks=[look])) == (2, 3)


def test_an_average_that_goes_on_is_named_not_the_list_that_it_is_made_of():
    cell = (
        "net, center = torch.nn.Linear(9, 9), torch.zeros(9)\nfor epoch in range(99):\n"
        "    now = torch.stack([net(crop).mean(0) for crop in crops])\n    center = 0.9 * center + 0.1 * now"
    )
    answer = killed(cell, at=[[own_frame(cell, 3)]])

    assert (place(answer), names(answer)) == ((2, 4), ["center"])


@pytest.mark.parametrize(
    ("begin", "first_named"),
    [
        ("with tf.GradientTape(persistent=True) as notes:\n    for x in loader:", "notes"),
        ("for x in loader:\n    with tf.GradientTape(persistent=True) as notes:", "force"),
    ],
)
def test_a_tape_around_the_loop_records_all_rounds_and_one_inside_of_it_only_one(begin, first_named):
    cell = f"{begin}\n        force = field(x)\n        adjust(notes.gradient(force, weights))"
    answer = killed(cell, at=[[own_frame(cell, 3)]], first="import tensorflow as tf")

    assert (place(answer), names(answer)[0]) == ((2, 3), first_named)


def test_a_cached_function_keeps_what_it_returns_not_what_it_makes_on_the_way():
    route = "@lru_cache(maxsize=None)\ndef route(a, b):\n    grid = costs(a, b) ** 2\n    return cheapest(grid)"
    run = "for a, b in trips:\n    total += len(route(a, b))"
    kept = NamedObject("route", "functools._lru_cache_wrapper", 500 * MIB, items=140, item_type="builtins.list")
    answer = killed(route, run, at=[[own_frame(route, 3, "route"), own_frame(run, 2)]], looks=[held(3, kept)])

    assert (place(answer), names(answer)) == ((2, 4), ["route"])


@pytest.mark.parametrize(("memory", "found"), [(RAMP, ["rows"]), ([*RAMP, 100 * MIB, *RAMP[20:]], [])])
def test_what_a_function_has_handed_on_is_still_held_where_memory_has_not_fallen(memory, found):
    load = "def load(year):\n    rows = []\n    for line in lines(year):\n        row = parse(line)\n"
    load += "        rows.append(row)\n    return rows"
    run = "for year in years:\n    tables.add(load(year))"
    rows = local(load, "load", "rows", "builtins.list", 300 * MIB, items=900)
    looks = [held(3, rows, before_the_end_s=9), held(3, before_the_end_s=0.5)]
    frames = [[own_frame(load, line, "load"), own_frame(run, 2)] for line in (3, 4, 5)]

    assert names(killed(load, run, at=frames, looks=looks, memory=memory)) == found


@pytest.mark.parametrize(("optimizer", "found"), [("LBFGS", ((2, 7), ["solver"])), ("Adam", ((2, 4), []))])
def test_lbfgs_remembers_its_steps_which_the_closure_does_not(optimizer, found):
    fit = f"solver = torch.optim.{optimizer}([field])\ndef misfit():\n    loss = residual(field)\n    loss.backward()\n"
    fit += "    return loss\nfor step in range(900):\n    solver.step(misfit)"
    at = [[own_frame(fit, 4, "misfit"), own_frame(fit, 7)], [own_frame(fit, 7)]]
    answer = killed(fit, at=[at[0], at[0], at[1]])

    assert (place(answer), names(answer)) == found


@pytest.mark.parametrize(
    ("grow", "line"),
    [
        ("    if depth:\n        for _ in range(4):\n            node.children.append(Node(depth))", 6),
        ("    child = Node(depth)\n    child.depth = depth\n    node.children.append(child)\n    return child", 6),
        ("    node.left = Node(depth)", 4),
    ],
)
def test_a_tree_grows_where_a_node_is_hung_into_it_not_where_its_root_is_made(grow, line):
    tree = "class Node:\n    def __init__(self, n): self.children, self.table = [], costs(n)\n"
    tree += f"def grow(node, depth):\n{grow}"
    run = "root = Node(0)\nnode = root\nwhile True:\n    grow(node, 9)\n    node = choose(root)"
    nodes = NamedObject("root", "Node", 700 * MIB, items=90_000, item_type="Node")
    at = [[own_frame(tree, 2, "__init__"), own_frame(tree, line, "grow"), own_frame(run, 4)]]
    answer = killed(tree, run, at=at, looks=[held(3, nodes)])

    assert (place(answer), names(answer)) == ((2, line), ["root"])


def test_a_list_of_calls_that_wait_is_filled_by_their_results_as_they_come():
    work = "def slope(tile):\n    heights = read(tile)\n    return gradient(heights)"
    run = "calls = []\nfor tile in tiles:\n    calls.append(pool.submit(slope, tile))\n"
    run += "total = sum(one.result() for one in calls)"
    calls = NamedObject("calls", "list", 2 * GIB, items=3000, item_type="concurrent.Future", items_before=3000)
    answer = killed(work, run, at=[[own_frame(work, 2, "slope")]], looks=[held(3, calls)])

    assert (place(answer), names(answer)) == ((3, 3), ["calls"])
    assert answer.grown[0].bytes < GIB  # no more than the memory grew by, however much a part of it seemed to tell


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_average_that_a_look_saw_with_its_graph_is_not_freed_by_the_backward_pass(is_seen):
    loss = "class Distance:\n    def follow(self, x):\n        self.centre = 0.9 * self.centre + 0.1 * x.mean(0)"
    run = "net, distance = torch.nn.Linear(9, 9), Distance()\nfor x in loader:\n    given = net(x)\n"
    run += "    loss = distance(given)\n    loss.backward()\n    distance.follow(given)"
    centre = NamedObject("distance.centre", "torch.Tensor", 1024, shape=(1, 256), with_graph=True)
    answer = killed(loss, run, at=[[own_frame(run, 3)]], looks=[held(3, *([centre] if is_seen else []))])

    assert (place(answer), names(answer)) == (((2, 3), ["self.centre"]) if is_seen else ((3, 3), ["given"]))


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        ("ticks = pandas.DataFrame(all_days(days))", ((3, 1), ["ticks"])),
        ("ticks = list(all_days(days))", ((3, 1), ["ticks"])),
        ("total = sum(all_days(days))", ((2, 3), [])),
        ("for one in all_days(days):\n    kept.append(one)", ((3, 2), ["kept"])),
    ],
)
def test_what_a_generator_yields_is_kept_by_what_makes_one_thing_of_all(taken, found):
    days = "def ticks_of(day):\n    for second in day:\n        yield parse(second)\n"
    days += "def all_days(days):\n    for day in days:\n        yield from ticks_of(day)"
    frames = [own_frame(days, 3, "ticks_of"), own_frame(days, 6, "all_days"), own_frame(taken, 1)]
    answer = killed(days, taken, at=[frames])

    assert (place(answer), names(answer)) == found


@pytest.mark.parametrize(
    ("keep", "last", "name"),
    [("total = total + loss", "total", "total"), ("losses.append(loss)", "torch.stack(losses).mean()", "losses")],
)
def test_the_losses_of_a_loop_are_kept_for_the_one_backward_pass_behind_it(keep, last, name):
    run = f"total, losses = 0, []\nfor x, y in tasks:\n    loss = criterion(net(x), y)\n    {keep}\nend = {last}\n"
    run += "end.backward()"
    answer = killed("net = torch.nn.Linear(9, 9)", run, at=[[own_frame(run, 3)]])

    assert (place(answer), names(answer)) == ((3, 4), [name])


def test_a_dict_that_each_round_makes_anew_is_not_what_grows():
    step = "def step(net, tasks):\n    total = 0\n    for task in tasks:\n        fast = adapt(net, task)\n"
    step += "        total = total + error(fast)\n    total.backward()"
    run = "step(torch.nn.Linear(9, 9), tasks)"
    fast = local(step, "step", "fast", "dict", 80_000, items=14, item_type="torch.Tensor", with_graph=True)
    looks = [held(3, fast, before_the_end_s=later) for later in (5, 1)]
    answer = killed(step, run, at=[[own_frame(step, 4, "step"), own_frame(run, 1)]], looks=looks)

    assert (place(answer), names(answer)[:1]) == ((2, 5), ["total"])


def test_a_cell_that_stalls_when_its_container_is_full_still_grew_all_the_time_before():
    cell = "with tf.GradientTape() as tape:\n    for x in loader:\n        adjust(field(x))"
    stalled = killed(cell, at=[[own_frame(cell, 3)]], first="import tensorflow as tf", memory=[*RAMP, *[GIB] * 60])

    assert names(stalled) == ["tape"]


@pytest.mark.parametrize(
    ("keep", "kept", "line"),
    [
        (
            "def insert(trie, word):\n    node = trie\n    for one in word:\n        node = node.setdefault(one, {})",
            NamedObject("trie", "dict", 700 * MIB, items=26, item_type="dict"),
            4,
        ),
        (
            "class Waves(dict):\n    def __missing__(self, key):\n        self[key] = wave = cost(key)",
            NamedObject("waves", "Waves", 700 * MIB, items=900, item_type="numpy.ndarray"),
            3,
        ),
    ],
)
def test_what_fills_a_container_is_known_where_that_is_called_otherwise(keep, kept, line):
    run = "waves, trie = Waves(), {}\nfor word in words:\n    insert(trie, word)\n    waves[word]"
    answer = killed(keep, run, at=[[own_frame(run, 3)]], looks=[held(3, kept)])

    assert (place(answer), names(answer)) == ((2, line), [kept.name])
