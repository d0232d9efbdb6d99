"""How a kernel ended, when the sidecar, the server and the kernel itself each know a part."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, recording
from jupyter_kerneldoctor.recording.model import ExitRequest, ServerView


def end(recorded):
    found = diagnose(recorded).end
    return found.kind, found.signal, found.exit_code


def test_the_sidecar_saw_a_signal_or_an_exit_code():
    assert end(recording("f()", signal="SIGSEGV")) == ("signal", "SIGSEGV", None)
    assert end(recording("f()", exit_code=3)) == ("exit", None, 3)


def test_the_server_knows_what_the_sidecar_missed():
    missed = recording("f()", end="not-seen")
    assert end(replace(missed, server=ServerView(returncode=-9))) == ("signal", "SIGKILL", None)
    assert end(replace(missed, server=ServerView(returncode=3))) == ("exit", None, 3)
    unreadable = recording("f()", end="status-unknown")
    assert end(replace(unreadable, server=ServerView(returncode=-40))) == ("signal", "signal 40", None)


def test_nobody_has_the_exit_status():
    assert end(recording("f()", end="status-unknown")) == ("unknown", None, None)
    assert end(recording("f()", end="not-seen")) == ("unknown", None, None)


@pytest.mark.parametrize("asked", ["restart", "shutdown"])
def test_what_was_asked_for_is_what_it_is_called(asked):
    assert end(recording("f()", signal="SIGKILL", server=asked)) == (asked, "SIGKILL", None)


def test_a_message_the_kernel_saw_is_a_request():
    asked = recording("f()", signal="SIGTERM", request="message")
    assert end(asked) == ("shutdown", "SIGTERM", None)
    again = replace(asked, exit_request=ExitRequest("message", asked.exit_request.mono_s, restart=True))
    assert end(again) == ("restart", "SIGTERM", None)


def test_a_request_after_the_death_is_about_the_next_kernel():
    died = recording("f()", signal="SIGSEGV", server="restart")
    late = replace(died, server=replace(died.server, requested_wall_s=died.end.wall_s + 30))
    assert end(late) == ("signal", "SIGSEGV", None)
    assert diagnose(late).died


def asked_half_a_second_late(died):
    return replace(died, server=replace(died.server, requested_wall_s=died.end.wall_s + 0.5))


def test_two_clocks_may_differ_but_nobody_asks_for_a_crash():
    full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)
    for_memory = recording("f()", signal="SIGKILL", memory=(450 * MIB,), groups=[full], server="restart")
    assert diagnose(asked_half_a_second_late(for_memory)).cause.id == "oom-cgroup"
    assert end(asked_half_a_second_late(recording("f()", signal="SIGSEGV", server="restart")))[0] == "signal"
    assert end(asked_half_a_second_late(recording("f()", exit_code=3, server="restart")))[0] == "exit"
    assert end(asked_half_a_second_late(recording("f()", signal="SIGKILL", server="restart")))[0] == "restart"
    assert end(recording("f()", signal="SIGSEGV", server="restart"))[0] == "restart"


def test_a_script_that_runs_the_kernel_passes_its_signal_on():
    missed = recording("f()", end="not-seen")
    assert end(replace(missed, server=ServerView(returncode=137))) == ("signal", "SIGKILL", None)
    assert end(replace(missed, server=ServerView(returncode=139))) == ("signal", "SIGSEGV", None)
    assert end(replace(missed, server=ServerView(returncode=200))) == ("exit", None, 200)
    by_server = recording("f()", exit_code=143)
    by_server = replace(by_server, kernel=replace(by_server.kernel, loaded_by="server"))
    assert end(by_server) == ("signal", "SIGTERM", None)


def test_an_exit_code_of_the_kernels_own_is_what_it_is():
    assert end(recording("import os\nos._exit(137)", exit_code=137)) == ("exit", None, 137)
    texts = [evidence.text for evidence in diagnose(recording("serve()", exit_code=143)).cause.evidence]
    assert any("SIGTERM" in text and "128" in text for text in texts)


def test_exit_in_a_cell_stays_an_exit():
    assert end(recording("exit()", exit_code=0, request="cell")) == ("exit", None, 0)
    assert end(recording("exit()", end="not-seen", request="cell")) == ("exit", None, None)
    asked_too = recording("exit()", exit_code=0, request="cell", server="shutdown")
    assert end(asked_too) == ("exit", None, 0)


def test_exit_that_kept_the_kernel_alive_is_forgotten():
    long_ago = ExitRequest("cell", 0.0)
    recorded = replace(recording(*["x"] * 9, exit_code=0, idle=True, server="shutdown"), exit_request=long_ago)
    assert end(recorded) == ("shutdown", None, 0)


def test_alive_is_running():
    answer = diagnose(recording("f()", alive=True))
    assert (answer.end.kind, answer.cause.id, answer.died, answer.cell) == ("running", "no-death", False, None)


def test_gone_is_never_running():
    answer = diagnose(recording("f()", alive=False, end="not-seen"))
    assert (answer.end.kind, answer.cause.id, answer.died) == ("unknown", "unknown", True)
    assert answer.ended is not None


def test_what_cannot_be_seen_from_here_is_said_so():
    answer = diagnose(recording("f()", alive=None, end="not-seen"))
    assert (answer.end.kind, answer.cause.id, answer.died, answer.ended) == ("unknown", "unknown", False, None)
    assert "cannot be told from here" in answer.cause.headline


@pytest.mark.parametrize("end", ["seen", "not-seen"])
def test_switched_off_claims_no_crash_and_no_time_of_death(end):
    off = recording("%kerneldoctor off", signal="SIGSEGV", end=end, server="watched", switched_off=True)
    answer = diagnose(off)
    assert (answer.end.kind, answer.end.signal, answer.end.summary) == ("unknown", None, "Recording switched off")
    assert (answer.cause.id, answer.died, answer.ended, answer.timeline.death_s) == ("unknown", False, None, None)
    assert (answer.cell, answer.cause.ruled_out) == (None, ())


def test_the_recorder_was_gone_before_the_end():
    answer = diagnose(recording("fit()", end="not-seen", lost=True))
    assert (answer.end.kind, answer.cause.id, answer.died, answer.cell) == ("unknown", "unknown", False, None)
    assert (answer.ended, answer.timeline.death_s, answer.cause.certainty.word) == (None, None, "weak")
    assert answer.cause.headline == (
        "Recording stopped during cell [1], because the recorder was gone. "
        "What happened to the kernel after that is not known."
    )
    assert diagnose(recording("x", end="not-seen", lost=True, idle=True)).cause.headline.startswith(
        "Recording stopped after cell [1]"
    )


def test_the_recorder_is_gone_and_the_kernel_lives():
    answer = diagnose(recording("fit()", alive=True, lost=True))
    assert (answer.end.kind, answer.cause.id, answer.died) == ("running", "no-death", False)
    assert "no longer recorded" in answer.cause.headline


def test_the_recorder_was_gone_but_the_server_saw_the_death():
    answer = diagnose(recording("fit()", signal="SIGKILL", end="not-seen", lost=True, server="watched"))
    assert (answer.end.signal, answer.died, answer.cell) == ("SIGKILL", True, None)
    assert "after its recording had stopped" in answer.cause.headline
    assert (answer.ended, answer.timeline.death_s) == (None, None)


def test_switched_off_and_gone_is_no_death_to_report():
    answer = diagnose(recording("f()", end="not-seen", switched_off=True))
    assert (answer.end.kind, answer.cause.id, answer.died, answer.cell) == ("unknown", "unknown", False, None)
    assert "switched off" in answer.cause.headline


def test_an_interrupt_after_one_that_ended_a_cell_may_have_ended_the_kernel():
    left = recording("f()", exit_code=0, idle=True)
    ended_mono_s = left.end.mono_s - 0.5
    interrupted = replace(left.cells[-1], error="KeyboardInterrupt", ended_mono_s=ended_mono_s)

    def told(cell):
        return " ".join(one.text for one in diagnose(replace(left, cells=(cell,))).cause.evidence)

    assert "Cell [1] was interrupted 0.5 s before. An interrupt that comes between two cells can end" in told(
        interrupted
    )
    assert "interrupt" not in told(replace(interrupted, error="ValueError"))
    assert "interrupt" not in told(replace(interrupted, ended_mono_s=ended_mono_s - 60))
