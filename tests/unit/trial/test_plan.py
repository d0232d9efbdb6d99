"""What is run is known before anything runs; what cannot be tried is refused with what to do."""

import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from jupyter_kerneldoctor.commands import trial
from jupyter_kerneldoctor.recording.events import Frame, Rlimit, Stack, Stuck, SystemState, ThreadStack
from jupyter_kerneldoctor.recording.model import Cell, CgroupDelta, End, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.trial import CannotTryError, Wishes, make_plan
from jupyter_kerneldoctor.trial.directory import copy, survey

GIB = 1 << 30
EDIT = {"execution_count": 2, "cell_id": "b", "old_source": "big()", "new_source": "small()", "diff": "..."}
POST_MORTEM = {
    "state": "died",
    "headline": "Linux killed the kernel.",
    "end": {"summary": "Killed by Linux at the memory limit"},
    "incidents": [],
    "cell": {"execution_count": 2},
    "fixes": [{"id": "advice", "edits": []}, {"id": "smaller", "title": "Less", "why": "", "edits": [EDIT]}],
    "more_fixes": [{"id": "other", "title": "Other", "why": "", "edits": [{**EDIT, "new_source": "other()"}]}],
}
RECORDING = Recording(
    "20261122T111311Z-23208-cdc961",
    Kernel(ProcessIdentity(1, 1, None), executable=sys.executable),
    cells=(
        Cell("import x", 1, "a", started_mono_s=10.0, ended_mono_s=20.0),
        Cell("big()", 2, "b", started_mono_s=30.0),
    ),
    limits=(Limit("cgroup", "memory limit", 2 * GIB, ""), Limit("ram", "memory", 8 * GIB, "")),
    samples=(Sample(60.0, rss_bytes=GIB, cgroup_bytes=GIB + 100),),
)


def plan(recording=RECORDING, post_mortem=POST_MORTEM, **wishes):
    return make_plan(recording, post_mortem, Wishes(**wishes))


def with_cells(*cells, **more):
    return replace(RECORDING, cells=cells, **more)


def test_the_first_fix_that_changes_a_cell_is_tried_below_what_the_kernel_could_have():
    made = plan()

    assert [cell.source for cell in made.cells] == ["import x", "small()"]
    assert [cell.is_changed for cell in made.cells] == [False, True]
    assert made.limit_bytes == 2 * GIB - 100
    assert made.patience_s == 3 * (10 + 30)
    assert (made.python, made.copies) == (sys.executable, True)
    assert made.before == "killed by Linux at the memory limit"
    assert (made.failed_in, made.failed_after_s) == (2, 30)


ERROR = {
    "kind": "memory-error",
    "error": "builtins.MemoryError",
    "headline": "Memory was refused.",
    "cell": {"execution_count": 2},
    "time": "1970-01-01T00:16:52+00:00",  # 12 s after the start
}


@pytest.mark.parametrize(
    ("state", "headline"),
    [
        ("survived", "Memory was refused."),
        ("running", "The kernel is running. Earlier: Memory was refused."),
        ("ended", "Memory was refused."),
        ("ended", "The kernel was shut down, as requested. Earlier: Memory was refused."),
    ],
)
def test_an_error_that_was_survived_is_tried_whatever_became_of_the_kernel_and_later_cells_do_not_run(state, headline):
    later = with_cells(*RECORDING.cells, Cell("more()", 3, "c"), started_wall_s=1000.0, started_mono_s=30.0)
    made = plan(later, {**POST_MORTEM, "state": state, "headline": headline, "incidents": [ERROR]})

    assert [cell.source for cell in made.cells] == ["import x", "small()"]
    assert made.before == "MemoryError"
    assert (made.failed_in, made.failed_after_s) == (2, 12)


def test_an_error_that_was_survived_before_a_death_is_not_what_is_tried():
    later = with_cells(*RECORDING.cells, Cell("more()", 3, "c", started_mono_s=50.0))
    made = plan(later, {**POST_MORTEM, "cell": {"execution_count": 3}, "incidents": [ERROR]})

    assert [cell.source for cell in made.cells] == ["import x", "small()", "more()"]
    assert (made.before, made.failed_in) == ("killed by Linux at the memory limit", 3)


def test_a_hang_fails_when_it_is_seen_not_when_somebody_gave_up():
    looks = (Stuck(50.0, 32.0), Stuck(59.0, 32.0))
    made = plan(replace(RECORDING, stuck=looks), {**POST_MORTEM, "state": "stuck"})

    assert (made.before, made.failed_in, made.failed_after_s) == ("stuck", 2, 17)
    assert made.patience_s == 3 * (10 + 17)


def test_a_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    gone = replace(RECORDING, kernel=replace(RECORDING.kernel, notebook=str(tmp_path / "gone" / "a.ipynb")))

    made = plan(gone)
    assert (made.directory, made.gone) == (tmp_path, str(tmp_path / "gone"))
    assert plan(replace(gone, kernel=replace(gone.kernel, directory=str(tmp_path)))).gone is None

    assert trial._may_run(Namespace(json=False, yes=True, fit=False), made, "with one change", [])
    assert f"(the notebook's own, {tmp_path / 'gone'}, is gone)" in " ".join(capsys.readouterr().out.split())


def test_a_limit_that_was_gone_with_the_kernel_counts_as_well():
    group = CgroupDelta("/a", "", limit_bytes=GIB, limit_hits_before=3)
    ended = replace(RECORDING, limits=RECORDING.limits[1:], end=End("signal", 61.0, 0.0, "SIGKILL", cgroups=(group,)))

    assert plan(ended).limit_bytes == GIB - 100


def test_a_limit_of_the_process_itself_counts_as_well():
    limited = replace(RECORDING, system_states=(SystemState(5.0, "start", rlimits={"DATA": Rlimit(GIB // 2)}),))

    assert plan(limited).limit_bytes == plan(limited).rlimits["DATA"] == GIB // 2


def test_a_trial_is_promised_no_more_than_this_machine_has():
    """What the plan says is what is in force: nothing lowers it later."""
    roomy = replace(RECORDING, limits=tuple(replace(one, bytes=1 << 50) for one in RECORDING.limits))

    assert plan(roomy).limit_bytes < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_another_fix_may_be_named():
    assert plan(fix="other").cells[1].source == "other()"


def test_each_run_of_the_changed_cell_is_changed():
    again = with_cells(*RECORDING.cells, Cell("big()", 3, "b"), Cell("big()", 4, "another"))

    assert [cell.source for cell in plan(again).cells] == ["import x", "small()", "small()", "big()"]


NO_EDITS = {**POST_MORTEM, "fixes": POST_MORTEM["fixes"][:1], "more_fixes": []}


@pytest.mark.parametrize(
    ("recording", "post_mortem", "wishes", "says", "helps"),
    [
        (with_cells(Cell("big()", 4, "b")), POST_MORTEM, {}, "lacks cells from [1] on", "enable"),
        (with_cells(Cell("a", 1), Cell("big()", 3)), POST_MORTEM, {}, "lacks cell [2]", "enable"),
        (with_cells(Cell("big()", 1, truncated=True)), POST_MORTEM, {}, "so long", ""),
        (with_cells(), POST_MORTEM, {}, "no cells", "first cell"),
        (replace(RECORDING, switched_off=True), POST_MORTEM, {}, "stopped before", "first cell"),
        (replace(RECORDING, kernel=Kernel(ProcessIdentity(1, 1, None), language="R")), POST_MORTEM, {}, "are R", ""),
        (RECORDING, NO_EDITS, {}, "No fix changes a cell", "`jupyter kerneldoctor report`"),
        (RECORDING, {**NO_EDITS, "fixes": []}, {}, "No fix changes a cell", "has run well since"),
        (RECORDING, POST_MORTEM, {"fix": "advice"}, "advice is advice", "smaller and other"),
        (RECORDING, POST_MORTEM, {"fix": "typo"}, "no fix 'typo'", "smaller and other"),
        (RECORDING, POST_MORTEM, {"python": "/no/such/python"}, "is no program", "--python"),
    ],
)
def test_what_cannot_be_tried_is_refused(recording, post_mortem, wishes, says, helps):
    with pytest.raises(CannotTryError) as refused:
        plan(recording, post_mortem, **wishes)

    assert says in str(refused.value)
    assert helps in refused.value.help


def test_an_interpreter_that_is_gone_is_said_to_be():
    gone = replace(RECORDING, kernel=Kernel(ProcessIdentity(1, 1, None), executable="/gone/bin/python"))

    with pytest.raises(CannotTryError, match="/gone/bin/python is gone"):
        plan(gone)
    assert plan(gone, python=sys.executable).python == sys.executable


def test_cells_of_another_user_are_not_run_as_this_one():
    of = {uid: replace(RECORDING, kernel=replace(RECORDING.kernel, uid=uid)) for uid in (os.geteuid(), 4711)}

    assert plan(of[os.geteuid()]).python == sys.executable
    with pytest.raises(CannotTryError, match="as another user") as refused:
        plan(of[4711], python=sys.executable)
    assert "4711" in refused.value.help


@pytest.mark.parametrize("changeable", ["lib/../bin/python3.14t", "bin", "."])
def test_an_interpreter_that_others_may_change_is_not_taken_from_a_recording(tmp_path: Path, changeable: str):
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "bin").mkdir()
    interpreter = tmp_path / "env" / "bin" / "python3.14t"
    interpreter.write_text("#!/bin/sh\n")
    interpreter.chmod(0o755)
    frame = Frame(f"{tmp_path}/env/lib/python3.14t/site-packages/numpy/core.py", 1, "f")
    seen = replace(
        RECORDING,
        kernel=replace(RECORDING.kernel, executable=None),
        stacks=(Stack(1.0, "busy", (ThreadStack((frame,)),)),),
    )

    assert plan(seen).python == str(interpreter)
    (tmp_path / "env" / changeable).chmod(0o777)
    with pytest.raises(CannotTryError, match="can be changed by other users") as refused:
        plan(seen)
    assert "--python" in refused.value.help


def test_a_copy_leaves_out_what_no_cell_reads(tmp_path: Path):
    nb = tmp_path / "nb"
    for name in (".git", "venv", "data"):
        (nb / name).mkdir(parents=True)
        (nb / name / "file").write_text("x" * 100)
    (nb / "venv" / "pyvenv.cfg").touch()
    (nb / "link").symlink_to("data/file")

    made = copy(nb, tmp_path / "copy")

    assert {path.name for path in made.iterdir()} == {"data", "link"}
    assert (made / "link").read_text() == "x" * 100
    assert survey(nb).bytes == 100


def test_a_cell_writes_through_no_link_into_the_original(tmp_path: Path):
    nb, other = tmp_path / "nb", tmp_path / "other"
    for place in (nb / "data", other):
        place.mkdir(parents=True)
        (place / "file").write_text("as it was")
    (nb / "absolute").symlink_to(nb / "data" / "file")
    (nb / "data" / "up").symlink_to("..")
    (nb / "outside").symlink_to(other)
    (nb / "to come").symlink_to(tmp_path / "made by a cell")

    made = copy(nb, tmp_path / "copy")
    (made / "absolute").write_text("changed")
    (made / "data" / "up" / "new").write_text("new")

    assert (nb / "data" / "file").read_text() == "as it was"
    assert {path.name for path in nb.iterdir()} == {"data", "absolute", "outside", "to come"}
    assert {path.name for path in made.iterdir()} == {"data", "absolute", "new"}
    assert survey(nb).outside == ["outside"]


def test_directories_are_bounded_as_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "nb").joinpath(*["d"] * 99).mkdir(parents=True)
    assert copy(tmp_path / "nb", tmp_path / "copy")
    (tmp_path / "nb").joinpath(*["d"] * 101).mkdir(parents=True)
    with pytest.raises(CannotTryError, match="too large"):
        copy(tmp_path / "nb", tmp_path / "deep")
    monkeypatch.setattr("jupyter_kerneldoctor.trial.directory._MOST_FILES", 10)
    for number in range(11):
        (tmp_path / "wide" / f"{number}").mkdir(parents=True)
    with pytest.raises(CannotTryError, match="too large"):
        copy(tmp_path / "wide", tmp_path / "copy")


def test_what_cannot_be_read_is_said_and_what_is_gone_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "nb" / "closed").mkdir(parents=True)
    (tmp_path / "nb" / "gone").mkdir()
    scandir, errors = os.scandir, {"gone": FileNotFoundError(2, "No such file", "gone")}
    monkeypatch.setattr(os, "scandir", lambda path: _raised(errors.get(Path(path).name)) or scandir(path))

    assert survey(tmp_path / "nb").files == 2
    errors["closed"] = PermissionError(13, "Permission denied", "closed")
    with pytest.raises(CannotTryError, match="closed could not be copied: Permission denied"):
        survey(tmp_path / "nb")


def _raised(error: OSError | None) -> None:
    if error is not None:
        raise error


def test_a_large_directory_is_not_copied(tmp_path: Path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2 * GIB)

    with pytest.raises(CannotTryError, match="too large") as refused:
        copy(tmp_path, tmp_path / "copy")
    assert "--here" in refused.value.help
