"""What memory grew in: the statement to blame, the object by its name, and whether a loop leaks."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.peaks import peaks
from jupyter_kerneldoctor.diagnosis.causes import examine
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth, held, local
from jupyter_kerneldoctor.diagnosis.examples.stuck import frame, own_frame
from jupyter_kerneldoctor.recording.events import NamedObject, Namespace, Stack, ThreadStack

FULL = Group(GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=GIB)
RAMP = [number * 25 * MIB for number in range(4, 41)]
JUMP = [100 * MIB] * 300 + [950 * MIB] * 20

TRAINER = """\
class Trainer:
    def step(self, x):
        h = self.net(x)
        self.seen.append(h)
        return h.mean()

    def fit(self, loader):
        for x in loader:
            loss = self.step(x)
            loss.backward()
"""
FIT = "trainer = Trainer(net)\ntrainer.fit(loader)"
BY_FIT = (own_frame(TRAINER, 9, "fit"), own_frame(FIT, 2))
IN_STEP = (own_frame(TRAINER, 3, "step"), *BY_FIT)
LIBRARY = frame("torch/nn/modules/linear.py", "forward", library=True)


def killed(*sources, growths=(), looks=(), at=(), memory=RAMP, **more):
    """Killed at the limit in the last cell, 0.1 s after its stack was `at`, innermost frame first."""
    stacks = [Stack(-0.1, "climbing", (ThreadStack(tuple(at), main=True),))] if at else []
    more = {"memory": memory, "groups": [FULL], "stacks": stacks, "growths": growths, "held": looks} | more
    return recording("import torch", *sources, signal="SIGKILL", **more)


def leak(*, at=()):
    """`self.seen.append(h)` keeps what `h = self.net(x)` made."""
    grown = growth(
        3, grew_in(600 * MIB, LIBRARY, *IN_STEP), grew_in(250 * MIB, own_frame(TRAINER, 10, "fit"), BY_FIT[1])
    )
    seen = local(
        TRAINER, "fit", "self.seen", "builtins.list", 1000 * MIB, items=910, items_before=220, grew_bytes=800 * MIB
    )
    return killed(TRAINER, FIT, growths=[grown], looks=[held(3, seen)], at=at)


def place(answer):
    found = answer.statement
    return None if found is None else (found.execution_count, found.line, found.function)


def test_a_container_that_keeps_what_another_statement_made_is_to_blame():
    for at in ((), (own_frame(TRAINER, 10, "fit"), BY_FIT[1]), (LIBRARY, *IN_STEP)):
        assert place(diagnose(leak(at=at))) == (2, 4, "Trainer.step")


def test_the_headline_names_that_statement_and_the_evidence_the_object():
    answer = diagnose(leak())

    assert "in `Trainer.step` (cell [2], line 4: `self.seen.append(h)`)" in answer.cause.headline
    shown = [fact.text for fact in answer.cause.evidence[:3]]
    assert "Of 850 MiB, 850 MiB" not in shown[1]
    assert shown[1] == "850 MiB came while lines 3 and 10 of cell [2] ran (`h = self.net(x)`, `loss.backward()`)."
    assert shown[2] == "`self.seen` (list) grew from 220 to 910 items, 800 MiB."


def test_what_grew_is_in_the_answer_by_name():
    (grown,) = diagnose(leak()).to_json()["grown"]

    assert (grown["name"], grown["length"], grown["grew_bytes"]) == ("self.seen", 910, 800 * MIB)
    assert grown["where"] == "attribute used in fit, cell [2]"


def test_a_container_that_gets_longer_by_the_step_is_a_leak():
    assert examine(leak()).growth.is_steady
    assert examine(leak()).growth.bytes_per_item == 800 * MIB // 690


@pytest.mark.parametrize(
    ("cell", "whole"),
    [
        (
            "kept = []\nfor step in range(1_000):\n    kept.append(load(step))",
            "; all 1,000 rounds of the loop would need 7.8",
        ),
        (
            "kept = []\nfor at in range(10):\n  for step in range(100):\n    kept.append(load(at, step))",
            "; all 1,000 rounds",
        ),
        ("for at in range(10):\n  kept = []\n  for step in range(100):\n    kept.append(load(at, step))", "."),
        ("kept = []\nfor step in range(1_000):\n    kept.append(load(step))\n    if len(kept) > 200: break", "."),
        ("kept = []\nfor step in steps():\n    kept.append(load(step))", "."),
        ("kept = []\nwhile True:\n    kept.append(load())", "."),
    ],
)
def test_all_rounds_of_a_loop_are_told_where_they_are_known(cell, whole):
    line = cell.split("\n").index(next(one for one in cell.split("\n") if "append" in one)) + 1
    kept = local(cell, "<module>", "kept", "builtins.list", 800 * MIB, items=100)
    made = killed(cell, growths=[growth(2, grew_in(800 * MIB, own_frame(cell, line)))], looks=[held(2, kept)])

    assert f"Each item of `kept` added 8.0 MiB{whole}" in diagnose(made).story


SEARCH = """\
from tensorflow import keras
class Search:
    def run(self):
        for units in range(9):
            model = build(units)
            model.fit(X, y, batch_size=128)
            self.trials.append({"model": model})
"""


def test_no_smaller_batch_where_a_search_keeps_its_models():
    grown = growth(3, grew_in(800 * MIB, own_frame(SEARCH, 5, "run"), own_frame("Search().run()", 1)))
    answer = diagnose(killed(SEARCH, "Search().run()", growths=[grown]))

    assert place(answer) == (2, 7, "Search.run")
    assert "reduce-batch-size" not in [fix.id for fix in answer.fixes]


def test_a_list_of_one_step_is_no_leak():
    """What a network's own `forward` collects is given back at its end."""
    net = "class Net:\n    def forward(self, x):\n        skips = []\n        skips.append(self.down(x))"
    run = "Net()(x)"
    grown = growth(3, grew_in(800 * MIB, own_frame(net, 4, "forward"), own_frame(run, 1)))
    skips = local(net, "forward", "skips", "builtins.list", 700 * MIB, items=12)
    death = examine(killed(net, run, growths=[grown], looks=[held(3, skips)]))

    assert not death.growth.is_steady


def test_the_statement_that_took_most_is_blamed_where_the_last_one_took_little():
    cell = "for step in range(9000):\n    rows += load(step)\n    time.sleep(0.1)\nreport()"
    grown = growth(2, grew_in(800 * MIB, own_frame(cell, 2)))

    assert place(diagnose(killed(cell, growths=[grown], at=[own_frame(cell, 3)]))) == (2, 2, None)
    assert place(diagnose(killed(cell, growths=[grown], at=[own_frame(cell, 4)]))) == (2, 2, None)


def test_the_last_statement_stands_where_the_kill_cut_its_growth_off():
    """Of the 924 MiB that were left, 250 were seen to be taken: the merge took the rest between two measurements."""
    cell = "df = read()\nout = df.merge(df)"
    grown = growth(2, grew_in(250 * MIB, own_frame(cell, 1)))
    memory = [100 * MIB] * 300 + [350 * MIB] * 99

    assert place(diagnose(killed(cell, growths=[grown], at=[own_frame(cell, 2)], memory=memory))) == (2, 2, None)


def test_growth_of_the_same_statement_by_different_calls_is_added_up():
    grown = growth(
        3,
        grew_in(300 * MIB, own_frame(TRAINER, 10, "fit"), BY_FIT[1]),
        grew_in(200 * MIB, *IN_STEP),
        grew_in(250 * MIB, LIBRARY, *IN_STEP),
    )
    first, second = examine(killed(TRAINER, FIT, growths=[grown])).growth.charged

    assert (first.statement.line, first.bytes) == (3, 450 * MIB)
    assert (second.statement.line, second.bytes) == (10, 300 * MIB)


def test_growth_in_libraries_alone_is_not_known():
    answer = diagnose(killed("fit()", growths=[growth(2, grew_in(900 * MIB, LIBRARY))]))

    assert "Which line took the 900 MiB that memory grew by is not known." in [f.text for f in answer.cause.evidence]


def test_growth_of_another_cell_does_not_count():
    assert diagnose(killed("fit()", growths=[growth(1, grew_in(900 * MIB, own_frame("fit()", 1)))])).statement.line == 1
    assert examine(killed("fit()", growths=[growth(1, grew_in(900 * MIB, own_frame("fit()", 1)))])).growth.charged == ()


def test_without_a_look_the_code_tells_what_keeps_what_was_made():
    """A kernel that loaded nothing: memory goes up and down, and up with each step."""
    cell = "kept = []\nfor x in loader:\n    y = net(x)\n    kept.append(y)\n    log.append(y.mean().item())"
    grown = growth(2, grew_in(700 * MIB, LIBRARY, own_frame(cell, 3)))
    steps = [100 * MIB + number * 20 * MIB + (150 * MIB if number % 2 else 0) for number in range(38)]

    assert place(diagnose(killed(cell, growths=[grown], memory=steps))) == (2, 4, None)
    assert place(diagnose(killed(cell, growths=[grown], memory=[100 * MIB] * 30 + [900 * MIB]))) == (2, 3, None)


@pytest.mark.parametrize(
    ("store", "name"),
    [
        ("seen[key] = y", "seen"),
        ("seen.setdefault(key, []).append(y)", "seen"),
        ("self.cache[key].append(y)", "trainer.cache"),
        ("frame = pd.concat([frame, y])", "frame"),
        ("parts += [y]", "parts"),
        ("queue.put(y)", "queue"),
    ],
)
def test_ways_to_put_something_into_a_container(store, name):
    cell = f"def fit(self):\n    for key in keys:\n        y = make(key)\n        {store}\nfit(trainer)"
    at = (own_frame(cell, 3, "fit"), own_frame(cell, 5))
    look = held(2, NamedObject(name, "builtins.dict", 800 * MIB, items=90, grew_bytes=800 * MIB))
    answer = diagnose(killed(cell, growths=[growth(2, grew_in(850 * MIB, *at))], looks=[look], at=at))

    assert place(answer) == (2, 4, "fit")
    assert answer.grown[0].where == "variable of the notebook"


def test_the_newest_look_at_each_object_counts():
    early = local(TRAINER, "fit", "kept", "builtins.list", 100 * MIB, items=10)
    late = local(TRAINER, "fit", "kept", "builtins.list", 700 * MIB, items=70)
    answer = diagnose(killed(TRAINER, FIT, looks=[held(3, early, before_the_end_s=4), held(3, late)]))

    assert [(one.name, one.length, one.where) for one in answer.grown] == [("kept", 70, "local of fit, cell [2]")]


def test_what_is_on_a_card_or_in_a_file_is_not_what_grew():
    on_card = NamedObject("net", "torch.Tensor", 900 * MIB, grew_bytes=900 * MIB, device="cuda:0")
    mapped = NamedObject("data", "numpy.memmap", 900 * MIB, grew_bytes=900 * MIB)

    assert diagnose(killed("fit()", looks=[held(2, on_card, mapped)])).grown == ()


def test_peaks_that_come_back_to_where_they_began():
    found = peaks([value * MIB for value in (100, 500, 100, 510, 110, 505)])

    assert found.goes_up_and_down
    assert not found.keeps_rising
    assert found.swing_bytes == 400 * MIB


def test_peaks_that_rise_while_all_is_given_back():
    found = peaks([value * MIB for value in (100, 300, 100, 500, 100, 700, 100, 900)])

    assert found.peaks_rise
    assert not found.keeps_rising


def test_one_climb_has_no_peaks():
    assert not peaks([number * MIB for number in range(1000)]).goes_up_and_down
    assert not peaks([]).goes_up_and_down


def test_an_object_of_the_cell_grew_from_nothing_and_an_older_one_from_what_it_was():
    """A look tells only how much was added since the look before it in this cell."""
    was = NamedObject("rows", "builtins.list", 300 * MIB, items=30)
    data = NamedObject("df", "pandas.DataFrame", 200 * MIB, (5, 5))
    looks = [
        held(
            2,
            NamedObject("rows", "builtins.list", 700 * MIB, items=70, items_before=50, grew_bytes=200 * MIB),
            local("fit()", "fit", "parts", "builtins.list", 100 * MIB, items=9, grew_bytes=20 * MIB, items_before=7),
            local("fit()", "fit", "table", "pandas.DataFrame", 200 * MIB, shape=(5, 5), grew_bytes=0),
        )
    ]
    answer = diagnose(killed("fit()", looks=looks, namespaces=[Namespace(-15.0, 1, (was, data))]))

    assert [(one.name, one.grew_bytes // MIB, one.length_before) for one in answer.grown] == [
        ("rows", 400, 30),
        ("parts", 100, 0),
    ]


def test_what_keeps_graphs_is_named_first_although_it_is_small_itself():
    cell = "for x in loader:\n    loss = net(x).mean()\n    losses.append(loss)"
    losses = NamedObject("losses", "builtins.list", 3000, items=400, item_type="torch.Tensor", with_graph=True)
    other = NamedObject("data", "torch.Tensor", 200 * MIB, (9, 9), grew_bytes=90 * MIB)
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 2)))
    answer = diagnose(killed(cell, growths=[grown], looks=[held(2, other, losses)]))

    assert place(answer) == (2, 3, None)
    assert answer.grown[0].name == "losses"
    assert "`losses` (list of Tensor) grew to 400 items, with their graphs." in [f.text for f in answer.cause.evidence]


def test_a_container_that_holds_what_the_last_statement_made_is_to_blame_without_a_loop_in_common():
    """The closure that keeps the states is called by a name that the code does not follow."""
    logger = "def make():\n    states = []\n    def log(grid):\n        states.append(grid.copy())\n    return log"
    run = "log = make()\nfor step in range(9000):\n    grid = diffuse(grid)\n    hooks['log'](grid)\nlog"
    states = local(logger, "log", "states", "builtins.list", 600 * MIB, items=80)
    at = [own_frame("def diffuse(grid):\n    return grid * 2", 2, "diffuse")]
    cells = (logger, "def diffuse(grid):\n    return grid * 2", run)
    grown = growth(4, grew_in(800 * MIB, *at))

    assert place(diagnose(killed(*cells, growths=[grown], looks=[held(4, states)], at=at))) == (2, 4, "log")


def test_a_comprehension_that_collects_what_a_function_returns():
    one = "def activations(batch):\n    return batch @ weights"
    every = "def collect(count):\n    return [activations(batch) for batch in batches(count)]"
    run = "everything = collect(5000)"
    at = (own_frame(one, 2, "activations"), own_frame(every, 2, "<listcomp>"), own_frame(every, 2, "collect"))
    grown = growth(4, grew_in(800 * MIB, *at, own_frame(run, 1)))
    steady, jump = ({"at": (*at, own_frame(run, 1)), "growths": [grown], "memory": one} for one in (RAMP, JUMP))

    assert place(diagnose(killed(one, every, run, **steady))) == (3, 2, "collect")
    assert place(diagnose(killed(one, every, run, **jump))) == (2, 2, "activations")


def test_an_object_that_grew_inside_is_traced_to_the_method_that_stores():
    """A look sees that the loader grew, and not that it was the cache of its data set."""
    scans = "class Scans:\n    def __getitem__(self, index):\n        self.cache[index] = scan(index)\n        return 1"
    run = "for batch in loader:\n    pass"
    inner = (own_frame(scans, 3, "__getitem__"), LIBRARY, own_frame(run, 1))
    grown = growth(4, grew_in(400 * MIB, *inner), grew_in(450 * MIB, LIBRARY, own_frame(run, 1)))
    loader = NamedObject("loader", "torch.utils.data.DataLoader", 600 * MIB)
    cells = (scans, "loader = DataLoader(Scans())", run)

    answer = diagnose(killed(*cells, growths=[grown], looks=[held(4, loader)], at=[own_frame(run, 1)]))

    assert place(answer) == (2, 3, "Scans.__getitem__")


def test_a_store_is_found_in_a_class_that_the_cell_reaches_only_through_a_library():
    scans = "class Scans:\n    def __getitem__(self, index):\n        self.cache[index] = scan(index)\n        return 1"
    run = "for batch in loader:\n    pass"
    cache = local(scans, "__getitem__", "self.cache", "builtins.dict", 600 * MIB, items=818)
    grown = growth(4, grew_in(850 * MIB, LIBRARY, own_frame(run, 1)))
    cells = (scans, "loader = DataLoader(Scans())", run)

    answer = diagnose(killed(*cells, growths=[grown], looks=[held(4, cache)], at=[own_frame(run, 1)]))

    assert place(answer) == (2, 3, "Scans.__getitem__")


def test_growth_in_two_cells_is_told_of_both():
    grown = growth(3, grew_in(500 * MIB, *IN_STEP), grew_in(300 * MIB, own_frame(FIT, 1)), unknown_bytes=100 * MIB)

    assert [fact.text for fact in diagnose(killed(TRAINER, FIT, growths=[grown])).cause.evidence][1] == (
        "Of 900 MiB, 500 MiB came while line 3 of cell [2] ran (`h = self.net(x)`), "
        "and 300 MiB while line 1 of cell [3] ran (`trainer = Trainer(net)`)."
    )


def test_without_a_look_a_store_may_stand_in_a_method_that_a_loop_calls():
    crawler = (
        "class Crawler:\n    def visit(self, url):\n        page = self.fetch(url)\n        parts = []\n"
        "        parts.append(page)\n        self.seen[url] = page\n    def run(self):\n        while True:\n"
        "            self.visit(self.queue.pop())\n    def fetch(self, url):\n        return url * 9"
    )
    run = "crawler = Crawler()\ncrawler.run()"
    at = (
        own_frame(crawler, 11, "fetch"),
        own_frame(crawler, 3, "visit"),
        own_frame(crawler, 9, "run"),
        own_frame(run, 2),
    )
    answer = diagnose(killed(crawler, run, growths=[growth(3, grew_in(850 * MIB, *at))], at=at))

    assert place(answer) == (2, 6, "Crawler.visit")
    assert [(one.name, one.bytes, one.where) for one in answer.grown] == [
        ("self.seen", None, "attribute used in visit, cell [2]")
    ]


def test_a_dict_of_lists_grows_although_it_gets_no_more_keys():
    cell = "for x in loader:\n    hidden = net(x)\n    log['hidden'].append(hidden)"
    log = NamedObject("log", "dict", 700 * MIB, items=4, item_type="list", items_before=4, grew_bytes=300 * MIB)
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 2)))
    answer = diagnose(killed(cell, growths=[grown], looks=[held(2, log)]))

    assert place(answer) == (2, 3, None)
    assert "`log` (dict of list) grew by 700 MiB." in [fact.text for fact in answer.cause.evidence]


TAPES = """\
for step in range(1000):
    with tf.GradientTape(persistent=True) as tape:
        loss = compute(model, images)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    history.append((loss, tape))
    losses.append(float(loss))
"""


def kept_tapes(*more):
    """A list whose own memory is small gained items while memory grew in a library, in several lines of the loop."""
    history = NamedObject("history", "list", 8_000, items=48, items_before=12, item_type="tuple", unmeasured=True)
    loop = growth(2, *(grew_in(200 * MIB, LIBRARY, own_frame(TAPES, line)) for line in (3, 4, 5)))
    return diagnose(killed(TAPES, growths=[loop], looks=[held(2, history, *more)], at=[LIBRARY, own_frame(TAPES, 4)]))


def test_a_container_of_what_cannot_be_measured_is_named_where_nothing_else_holds_the_growth():
    answer = kept_tapes()

    assert place(answer) == (2, 6, None)
    assert answer.grown[0].name == "history"
    (told,) = [one.text for one in answer.cause.evidence if "history" in one.text]
    assert told == (
        "`history` (list of tuple) grew from 12 to 48 items, whose memory is a library's own and cannot be measured."
    )


@pytest.mark.parametrize(
    "other",
    [
        NamedObject("batches", "list", 800 * MIB, items=48, items_before=12, grew_bytes=700 * MIB),
        NamedObject("handles", "list", 8_000, items=96, items_before=24, item_type="Handle", unmeasured=True),
    ],
    ids=["one that holds the growth", "a second one"],
)
def test_it_is_not_blamed_beside(other):
    assert place(kept_tapes(other)) != (2, 6, None)


def test_open_figures_are_blamed_on_the_statement_that_makes_them():
    plot = """\
import matplotlib.pyplot as plt
def report(names):
    for name in names:
        fig, ax = plt.subplots()
        fig.savefig(name)
"""
    saves = (own_frame(plot, 5, "report"), own_frame(call := "report(stations)", 1))
    figures = NamedObject("open figures", "builtins.list", 700 * MIB, items=140, items_before=2, grew_bytes=690 * MIB)
    looks = [held(3, figures)]
    answer = diagnose(killed(plot, call, growths=[growth(3, grew_in(800 * MIB, *saves))], looks=looks, at=saves))

    assert [one.name for one in answer.grown] == ["open figures"]
    assert place(answer) == (2, 4, "report")


def test_growth_in_several_functions_is_of_the_statement_that_calls_them_all():
    steps = "def clean(d): return d\ndef scale(d): return d\ndef clip(d): return d\ndef rank(d): return d"
    run = "def run(table):\n    for step in (clean, scale, clip, rank):\n        table = step(table)"
    outer = (own_frame(run, 3, "run"), own_frame("run(table)", 1))
    parts = [
        grew_in(200 * MIB, own_frame(steps, n, name), *outer) for n, name in enumerate(("clean", "scale", "clip"), 1)
    ]
    last = (own_frame(steps, 4, "rank"), *outer)
    answer = diagnose(killed(steps, run, "run(table)", growths=[growth(4, *parts, grew_in(150 * MIB, *last))], at=last))

    assert place(answer) == (3, 3, "run")


def test_a_comprehension_beside_a_call_collects_nothing_of_it():
    write = "def write(self):\n    return draw()"
    call = "Report([n for n in range(9)]).write()"
    frames = (own_frame(write, 2, "write"), own_frame(call, 1))
    answer = diagnose(killed(write, call, growths=[growth(3, grew_in(800 * MIB, *frames))], at=frames))

    assert place(answer) == (2, 2, "write")


def test_without_a_stack_growth_spread_over_a_function_is_of_its_largest_statement():
    net = "def forward(x):\n    a = d1(x)\n    b = d2(a)\n    return u1(b)"
    call = "x = 1\nforward(x)\ny = 2"
    shares = [(own_frame(net, line, "forward"), 100 * n * MIB) for line, n in ((2, 3), (3, 2), (4, 2))]
    parts = [grew_in(size, inner, own_frame(call, 2)) for inner, size in shares]
    answer = diagnose(killed(net, call, growths=[growth(3, *parts, grew_in(200 * MIB, own_frame(call, 1)))]))

    assert place(answer) == (2, 2, "forward")


def test_a_dict_whose_lists_keep_graphs_is_named_though_it_has_no_more_entries():
    cell = (
        "import torch\nnet, log = torch.nn.Linear(9, 9), {'train': [], 'val': []}\nfor x in loader:\n"
        "    loss = net(x).mean()\n    loss.backward()\n    log['train'].append(loss.item())\n"
        "    log['val'].append(net(x))"
    )
    log = NamedObject(
        *("log", "dict", 9000), items=2, items_before=2, item_type="list", with_graph=True, grew_bytes=7000
    )
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 5)))
    answer = diagnose(killed(cell, growths=[grown], looks=[held(2, log)]))

    assert place(answer) == (2, 7, None)
    assert answer.grown[0].name == "log"


def test_a_list_is_measured_by_what_had_grown_when_it_was_last_looked_at():
    cell = "for day in days:\n    for event in read(day):\n        events.append(event)"
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 2)))
    events = local(cell, "<module>", "events", "builtins.list", 130 * MIB, items=130_000)
    early = killed(cell, growths=[grown], looks=[held(2, events, before_the_end_s=6.5)])

    assert place(diagnose(early)) == (2, 3, None)


def test_a_score_that_is_printed_as_a_number_keeps_no_memory():
    cell = "for k in ks:\n    score = silhouette(X, k)\n    result[k] = score, k\n    print(f'{k}: {score:.3f}')"
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 2)))

    assert place(diagnose(killed(cell, growths=[grown]))) == (2, 2, None)


def test_an_array_made_before_a_loop_is_not_what_the_loop_keeps():
    cell = "C = plane(9000)\nZ = C * 0\nfor i in range(60):\n    Z[inside(Z)] = Z[inside(Z)] ** 2 + C[inside(Z)]"
    grown = growth(2, grew_in(850 * MIB, own_frame(cell, 1)))

    assert place(diagnose(killed(cell, growths=[grown]))) == (2, 1, None)


def test_what_fills_an_item_in_a_loop_is_to_blame_where_it_grew_there():
    observe = (
        "def observe(survey):\n    night = Night()\n    survey.nights.append(night)\n    for i in range(12):\n"
        "        raw = expose(i)\n        night.pictures.append(raw)"
    )
    run = "for day in range(60):\n    observe(survey)"
    grown = growth(3, grew_in(850 * MIB, own_frame(observe, 5, "observe"), own_frame(run, 2)))
    nights = local(observe, "observe", "survey.nights", "builtins.list", 800 * MIB, items=20)
    inside, outside = (
        killed(observe, run, growths=[one], looks=[held(3, nights)])
        for one in (grown, growth(3, grew_in(850 * MIB, own_frame(observe, 2, "observe"), own_frame(run, 2))))
    )

    assert place(diagnose(inside)) == (2, 6, "observe")
    assert place(diagnose(outside)) == (2, 3, "observe")
