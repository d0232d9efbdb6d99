"""The story of the memory: its six shapes, the cells that left something behind, and what held it, by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.memory_shape import left_behind
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.recording.events import (
    FileSystem,
    Held,
    NamedObject,
    Namespace,
    Neighbour,
    Rlimit,
    SystemState,
)
from jupyter_kerneldoctor.recording.model import Cell
from jupyter_kerneldoctor.recording.samples import Sample

FULL = Group(8 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=8 * GIB)


def killed(*sources, memory, cells=(), group=FULL, **more):
    """A kernel that was killed at its limit in the last cell; `cells` are (before, after) of the earlier ones."""
    made = recording(*sources, signal="SIGKILL", memory=memory, groups=[group], **more)
    *earlier, last = made.cells
    measured = [
        replace(cell, rss_before_bytes=before, rss_after_bytes=after)
        for cell, (before, after) in zip(earlier, cells, strict=True)
    ]
    return replace(made, cells=(*measured, last))


def told(recorded):
    answer = diagnose(recorded)
    return answer.memory_shape, answer.story


@pytest.mark.parametrize(("reserved", "is_said"), [(990 * MIB, True), (515 * MIB, False)])
def test_a_limit_that_counts_what_is_reserved_is_explained_where_less_was_used(reserved, is_said):
    limit = reserved + 10 * MIB
    state = SystemState(-0.1, "end", rlimits={"DATA": Rlimit(limit)}, data_bytes=reserved)
    growing = tuple(number * 10 * MIB for number in range(5, 52))
    _, story = told(recording("pd.read_csv(path)", signal="SIGSEGV", system_states=[state], memory=growing))

    assert ("counts what is reserved, used or not: 990 MiB at the last measurement." in story) is is_said


def test_what_was_needed_what_was_held_and_who_had_left_it():
    objects = (
        NamedObject("df", "pandas.core.frame.DataFrame", 2100 * MIB, (1_000_000, 40)),
        NamedObject("losses", "builtins.list", 1200 * MIB, items=400, item_type="torch.Tensor"),
        NamedObject("Out[5]", "numpy.ndarray", 600 * MIB, (80_000_000,), hidden=True),
        NamedObject("small", "numpy.ndarray", 3 * MIB),
        NamedObject("reserved", "numpy.ndarray", 900_000 * MIB),  # of zeros: the kernel does not hold that much
    )
    shape, story = told(
        killed(
            *["import pandas", "df = read()", "x = 1", "y = 2", "fit()", "z = 3", "df.merge(df)"],
            memory=(4700 * MIB, 6000 * MIB, 7800 * MIB),
            cells=[
                (100 * MIB, 160 * MIB),
                (160 * MIB, 2260 * MIB),
                *[(2260 * MIB, 2260 * MIB)] * 2,
                (2260 * MIB, 4700 * MIB),
                (4700 * MIB, 4700 * MIB),
            ],
            namespaces=[Namespace(-12.0, 6, objects)],
        )
    )
    assert "Cell [7] began with 4.6 GiB in use, " in story
    assert "4.5 GiB of it left by cells [1], [2] and [5]. It needed at least 3.4 GiB more." in story
    assert (
        "The largest variables then were `df` (DataFrame of 1000000 x 40, 2.1 GiB), "
        "`losses` (list of 400 Tensor, 1.2 GiB) and `Out[5]` (ndarray of 80000000, 600 MiB)." in story
    )
    assert shape == "staircase"


def test_one_jump():
    assert told(killed("f()", memory=[500 * MIB] * 30 + [7900 * MIB] * 2))[0] == "jump"


def test_a_ramp_has_a_speed():
    shape, story = told(killed("f()", memory=[number * 200 * MIB for number in range(1, 40)]))
    assert shape == "ramp"
    assert "Memory grew steadily, by 7" in story


def test_two_measurements_are_no_steady_growth():
    assert "steadily" not in told(killed("f()", memory=(100 * MIB, 7000 * MIB)))[1]


def test_a_full_house():
    shape, story = told(killed("x = load()", "f()", memory=(7 * GIB, 7900 * MIB), cells=[(100 * MIB, 7 * GIB)]))
    assert shape == "full-house"
    assert "6.9 GiB of it left by cell [1]." in story


def test_zeros_that_a_later_cell_fills():
    memory = [number * 200 * MIB for number in range(1, 40)]
    cells = [(100 * MIB, 130 * MIB), (130 * MIB, 131 * MIB)]
    sources = "import numpy as np", "a = np.zeros((40_000, 40_000))"
    shape, story = told(killed(*sources, "a[:] = 1", memory=memory, cells=cells))
    assert shape == "touched-later"
    assert "Cell [2] made `a` (11.9 GiB). Linux gives such memory only when it is first written to" in story
    grown = diagnose(killed(*sources, "a[:] = 1", memory=memory, cells=cells)).grown
    assert [(one.name, one.where) for one in grown] == [("a", "made in cell [2]")]

    assert told(killed(*sources, "b = f()", memory=memory, cells=cells))[0] == "ramp"
    filled = [(100 * MIB, 130 * MIB), (130 * MIB, 8000 * MIB)]
    assert told(killed(*sources, "a[:] = 1", memory=memory, cells=filled))[0] == "ramp"


@pytest.mark.parametrize(
    ("between", "after_bytes"),
    [("a[:] = 1", 7000 * MIB), ("a = load()", 7000 * MIB), ("a = None", 131 * MIB), ("fill(a)", None)],
)
def test_an_array_that_another_cell_has_filled_or_replaced_is_not_filled_by_the_last_one(between, after_bytes):
    cells = [(100 * MIB, 130 * MIB), (130 * MIB, 131 * MIB), (131 * MIB, after_bytes)]
    sources = "import numpy as np", "a = np.zeros((40_000, 40_000))", between, "b = a * 2"

    assert told(killed(*sources, memory=(500 * MIB, 7900 * MIB), cells=cells))[0] != "touched-later"


@pytest.mark.parametrize(
    "array", ["np.zeros(10**10, dtype=kind)", "np.zeros(10**10)\na = load()", "torch.zeros(10**10)"]
)
def test_an_array_whose_size_is_not_certain_is_no_part_of_the_story(array):
    cells = [(100 * MIB, 130 * MIB), (130 * MIB, 131 * MIB)]
    story = told(killed("import numpy as np", f"a = {array}", "a[:] = 1", memory=(131 * MIB, 7900 * MIB), cells=cells))

    assert "first written to" not in story[1]


def test_an_array_that_is_changed_in_place_is_filled_by_that():
    cells = [(100 * MIB, 130 * MIB), (130 * MIB, 131 * MIB)]
    sources = "import numpy as np", "a = np.zeros(10**9)", "a += 1"

    assert told(killed(*sources, memory=(131 * MIB, 7900 * MIB), cells=cells))[0] == "touched-later"


def test_children_hold_it():
    made = killed("Parallel(4)(jobs)", memory=(200 * MIB,) * 4)
    trees = tuple(sample._replace(tree_bytes=7 * GIB, children=4) for sample in made.samples)
    shape, story = told(replace(made, samples=trees))
    assert shape == "children"
    assert "The kernel itself held 200 MiB at most; its 4 child processes held 6.8 GiB together." in story


def test_children_that_had_ended_before_held_nothing_in_the_end():
    made = killed("with Pool(4) as pool: pool.map(f, x)\nm = a.merge(b)", memory=[n * 100 * MIB for n in range(2, 80)])
    first, last = made.samples[0], made.samples[-1]
    early = tuple(
        one._replace(tree_bytes=one.rss_bytes + 5 * GIB, children=4)
        for one in made.samples
        if one.mono_s < first.mono_s + 2
    )
    gone = made.samples[len(early) :]
    answer = diagnose(replace(made, samples=(*early, *gone)))

    assert last.mono_s - early[-1].mono_s > 5
    assert answer.memory_shape == "ramp"
    assert "child processes" not in answer.story
    assert not [one for one in answer.cause.evidence if one.text.startswith("The kernel's child processes")]


def test_what_others_under_the_same_limit_took_is_not_what_the_cell_needed():
    made = killed("time.sleep(99)", memory=[200 * MIB] * 20)
    filled = tuple(one._replace(cgroup_bytes=(n + 1) * 400 * MIB) for n, one in enumerate(made.samples))
    story = told(replace(made, samples=filled))[1]

    assert "Cell [1] began with 200 MiB in use; no growth was measured." in story
    assert "needed" not in story
    assert "The rest of the 8.0 GiB in use belonged to other processes" in story


def test_what_else_counted_towards_the_limit_is_said_where_the_kernel_stayed_below_it():
    made = killed("sales = pd.read_csv(name)", memory=[n * 200 * MIB for n in range(2, 33)])
    beside = tuple(one._replace(cgroup_bytes=one.rss_bytes + 1600 * MIB) for one in made.samples)
    more = "Other processes, or files that are kept in memory, used another 1.6 GiB"

    assert more in told(replace(made, samples=beside))[1]
    assert "Another" not in told(made)[1]


def test_a_small_kernel_that_did_nothing_is_not_said_to_have_needed_what_others_filled():
    story = told(killed("time.sleep(99)", memory=[80 * MIB] * 30))[1]

    assert "no growth was measured." in story
    assert "needed" not in story


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(1, 100, 2100), (2, 2100, 4100)], [(1, 2000), (2, 2000)]),
        ([(1, 100, 2100), (2, 2100, 3100), (3, 3100, 1100)], [(2, 1000)]),  # `del df` gives back what cell 1 had left
        ([(1, 100, 2100), (2, 2100, 3100), (3, 3100, 2600)], [(1, 2000), (2, 500)]),
        ([(1, 100, 105)], []),
        ([(1, None, 3000), (2, 3000, None)], []),
    ],
)
def test_what_was_given_back_is_nobodys_fault(changes, expected):
    cells = [
        Cell("x", number, rss_before_bytes=before and before * MIB, rss_after_bytes=after and after * MIB)
        for number, before, after in changes
    ]
    left = left_behind(cells, 5000 * MIB)
    assert sorted((one.execution_count, one.bytes // MIB) for one in left) == expected


def test_cells_cannot_have_left_more_than_there_is():
    cells = [Cell("x", 1, rss_before_bytes=0, rss_after_bytes=900 * MIB)]
    assert sum(one.bytes for one in left_behind(cells, 200 * MIB)) == 200 * MIB


def test_a_jump_at_the_start_of_the_cell_is_no_steady_growth():
    flat = [600 * MIB + number * 4096 for number in range(30)]
    made = killed("x = load()", memory=flat)
    made = replace(made, cells=(replace(made.cells[0], rss_before_bytes=100 * MIB),))
    shape, story = told(made)
    assert shape == "jump"
    assert "began with 100 MiB in use and reached 600 MiB in 0." in story
    assert "steadily" not in story


def test_what_was_not_seen_to_grow_has_no_speed():
    calm = Group(8 * GIB, oom_kills=(0, 0), usage_bytes=GIB)
    crawl = [100 * MIB + number * 21 * 1024 for number in range(30)]
    story = told(killed("time.sleep(60)", memory=crawl, group=calm))[1]
    assert "no growth was measured." in story
    assert "steadily" not in story


def test_growth_that_soon_ended_is_not_called_steady():
    soon = [number * 200 * MIB for number in range(1, 10)] + [1900 * MIB] * 30
    story = told(killed("f()", memory=soon))[1]
    assert "reached 1.9 GiB in 2.3 s." in story
    assert "steadily" not in story


def test_what_came_once_between_two_cells_does_not_go_on_in_the_background():
    cells = [(100 * MIB, 100 * MIB)] * 2
    made = killed("import pandas", "x = 1", "a.merge(b)", memory=(200 * MIB, 7900 * MIB), cells=cells)
    first, second, last = made.cells
    second, tab_s = replace(second, ended_mono_s=last.started_mono_s - 6), last.started_mono_s - 3
    idle_s = [last.started_mono_s - 5 + step / 4 for step in range(20)]
    idle = [Sample(mono_s, (150 if mono_s < tab_s else 200) * MIB) for mono_s in idle_s]
    busy = [Sample(last.started_mono_s + step, (200 + step * 120) * MIB) for step in range(60)]
    answer = diagnose(replace(made, cells=(first, second, last), samples=(*idle, *busy)))

    assert "background" not in answer.story + answer.cause.headline
    assert answer.cell.line == 1


@pytest.mark.parametrize(("speed", "by_itself"), [(1000, True), (200, False)])
def test_what_grows_while_no_cell_runs_is_no_line_of_the_cell(speed, by_itself):
    made = killed(
        "worker.start()", "x = 1", "fit()", memory=(3000 * MIB, 7900 * MIB), cells=[(100 * MIB, 100 * MIB)] * 2
    )
    first, second, last = made.cells
    second = replace(second, ended_mono_s=last.started_mono_s - 3)
    idle = [
        Sample(second.ended_mono_s + 0.3 + step / 10, (200 + step * speed // 10) * MIB)
        for step in range(26)  # up to the last cell, at so many MiB a second
    ]
    busy = [Sample(last.started_mono_s + 0.1 + step, (3000 + step * 1000) * MIB) for step in range(5)]
    answer = diagnose(replace(made, cells=(first, second, last), samples=(*idle, *busy)))

    assert ("while no cell was running" in answer.story) == by_itself
    assert ("background work ran" in answer.cause.headline) == by_itself
    assert (answer.cell.line is None) == by_itself


def test_a_thread_that_was_started_only_just_now_goes_on_in_short_pauses_as_well():
    sources = "import threading", "x = 1", "worker.start()", "y = 2", "fit()"
    made = killed(*sources, memory=(1900 * MIB, 7900 * MIB), cells=[(100 * MIB, 100 * MIB)] * 4)
    last = made.cells[-1]
    pauses = [(cell.ended_mono_s + 0.3, number) for number, cell in enumerate(made.cells[:-1], 1)]
    idle = [
        Sample(start_s + step / 10, (100 if number < 3 else 100 + (number - 2) * 900 + step * 70) * MIB)
        for start_s, number in pauses
        for step in range(7)
    ]
    busy = [Sample(last.started_mono_s + 0.1 + step, (1900 + step * 700) * MIB) for step in range(9)]
    answer = diagnose(replace(made, samples=(*idle, *busy)))

    assert "Before that, memory grew by 840 MiB while no cell was running" in answer.story
    assert answer.cell.line is None


@pytest.mark.parametrize(
    ("path", "role", "shape", "said"),
    [
        ("/dev/shm", "shm", "shared-memory", "Shared memory, the files in `/dev/shm`, grew by 3.0 GiB; it stays until"),
        ("/run/user", "cwd", "page-cache", "The files in `/run/user`, which are kept in memory, grew by 3.0 GiB."),
    ],
)
@pytest.mark.parametrize("peak", [150 * MIB, 3200 * MIB], ids=["written", "mapped"])
def test_files_that_live_in_memory_are_named(path, role, shape, said, peak):
    def around(when, mono_s, free):
        return SystemState(mono_s, when, filesystems=(FileSystem(path, "tmpfs", 8 * GIB, free, (role,)),))

    looks = [around("start", -30.0, 8 * GIB), around("end", -0.1, 5 * GIB)]
    name, story = told(killed("export()", memory=(100 * MIB, peak), system_states=looks))

    assert name == shape
    assert said in story
    name, story = told(killed("export()", memory=(100 * MIB, peak), system_states=looks[:1]))
    assert name not in ("shared-memory", "page-cache")
    assert path not in story


def test_files_on_a_disk_are_no_memory():
    def around(when, mono_s, free):
        return SystemState(mono_s, when, filesystems=(FileSystem("/tmp", "ext4", 80 * GIB, free, ("tmp",)),))

    looks = [around("start", -30.0, 8 * GIB), around("end", -0.1, 5 * GIB)]
    assert "/tmp" not in told(killed("export()", memory=(100 * MIB, 150 * MIB), system_states=looks))[1]


def test_what_a_traceback_and_an_optimiser_keep_is_said_in_words():
    objects = (
        NamedObject("the last traceback", "traceback", 2100 * MIB, items=3, hidden=True),
        NamedObject("opt", "torch.Adam", 1200 * MIB),
        NamedObject("open figures", "matplotlib.Figure", 600 * MIB, items=80, hidden=True),
    )
    made = killed("fit()", "fit()", memory=(4700 * MIB, 7800 * MIB), cells=[(100, 4700 * MIB)])
    _, story = told(replace(made, namespaces=(Namespace(-12.0, 1, objects),)))

    assert (
        "The largest variables then were the last traceback (the variables of 3 functions, 2.1 GiB), "
        "`opt` (the state of Adam, 1.2 GiB) and open figures (80 of matplotlib, 600 MiB)." in story
    )


def test_a_hook_that_fills_a_list_is_named():
    sources = (
        "seen = []\ndef keep(module, given, out):\n    seen.append(out)",
        "net.layer.register_forward_hook(keep)",
        "for x in loader:\n    net(x)",
    )
    held = NamedObject(
        "seen", "builtins.list", 7000 * MIB, items=900, items_before=0, item_type="torch.Tensor", grew_bytes=6900 * MIB
    )
    made = killed(*sources, memory=(300 * MIB, 7800 * MIB), cells=[(100, 300 * MIB)] * 2)
    told_of = told(replace(made, held=(Held(-1.0, made.cells[-1].seq, (held,)),)))[1]

    assert "The hook `keep` on a module fills `seen` in each forward pass" in told_of
    assert "hook" not in told(made)[1]


def test_who_else_held_memory_below_the_same_limit_is_named():
    others = (
        Neighbour(77, "python", 3 * GIB, "/home/ada/train.ipynb"),
        Neighbour(78, "chrome", 2 * GIB),
        Neighbour(79, "sh", 60 * MIB),
    )
    state = SystemState(-0.1, "end", neighbours=others)
    made = killed("f()", memory=(500 * MIB, 2800 * MIB), system_states=[state])
    _, story = told(made)

    assert "the kernel of `train.ipynb` holds 3.0 GiB of 8.0 GiB" in diagnose(made).cause.headline
    assert story.endswith(
        "Also below the same limit: the kernel of `train.ipynb` with 3.0 GiB and `chrome` with 2.0 GiB."
    )


def test_a_cell_that_runs_again_while_its_earlier_result_is_held():
    df = NamedObject("df", "pandas.DataFrame", 3000 * MIB, (10, 10))
    made = killed(
        "df = read()",
        "df = read()",
        memory=(3500 * MIB, 7800 * MIB),
        cells=[(100 * MIB, 3500 * MIB)],
        namespaces=[Namespace(-11.0, 1, (df,))],
    )
    again = replace(made, cells=tuple(replace(cell, cell_id="one") for cell in made.cells))

    assert "The cell ran before as [1]: `df` of that run (2.9 GiB) is held until the new one is made." in told(again)[1]
    headline = diagnose(again).cause.headline
    assert "it is cell [1] run again, and the first `df` (2.9 GiB) was still there" in headline
    assert "ran before" not in told(made)[1]


def test_a_headline_tells_of_the_cells_that_filled_the_memory():
    kept = NamedObject("history", "list", 3000 * MIB, items=16, item_type="numpy.ndarray")
    steps = [(100 * MIB + n * 900 * MIB, 1000 * MIB + n * 900 * MIB) for n in range(8)]
    sources = [f"history.append(load({n}))" for n in range(9)]
    made = killed(*sources, memory=(7300 * MIB, 8000 * MIB), cells=steps, namespaces=[Namespace(-12.0, 8, (kept,))])

    assert ": `history` and more already held " in diagnose(made).cause.headline


def test_a_headline_tells_how_much_each_step_leaves():
    curve = [500 * MIB]
    for _ in range(9):
        curve += [curve[-1] + 2500 * MIB, curve[-1] + 500 * MIB]
    headline = diagnose(killed("train()", memory=[*curve, 8100 * MIB])).cause.headline

    assert "it grows by 500 MiB each step" in headline
