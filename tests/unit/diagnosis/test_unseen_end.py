"""Kernel and recorder out of step: what the recording cannot know is not said."""

from dataclasses import replace

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import recording
from jupyter_kerneldoctor.recording.events import FileSystem, SystemState
from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.render import event_log, wording

GONE = [4711, 1, "another-boot"]


def texts(answer):
    return " ".join(evidence.text for evidence in answer.cause.evidence)


def journal(*events):
    """A recording of a kernel that is gone; the events are (seconds since the start, name, fields)."""
    start = (0.0, "start", {"process": GONE, "sidecar": GONE, "loaded_by": "magic"})
    return [
        {"event": name, "mono_s": 100.0 + at_s, "wall_s": 1000.0 + at_s, **fields}
        for at_s, name, fields in (start, *events)
    ]


def test_the_newest_sample_is_the_last_that_is_known_of_a_kernel():
    events = journal((2.0, "cell_start", {"seq": 1, "execution_count": 1, "source": "f()"}))
    samples = (Sample(101.5, 1 << 20), Sample(103.25, 2 << 20))

    without, with_samples = (replace(assemble("r", events, samples=s), alive=False) for s in ((), samples))

    assert (without.last_wall_s, with_samples.last_wall_s) == (1002.0, 1003.25)
    assert "in the cell" not in wording.time_of_end(diagnose(without).to_json())
    assert wording.time_of_end(diagnose(with_samples).to_json()).endswith("after at least 1.2 s in the cell")


def test_who_cannot_know_what_ran_last_does_not_say_that_nothing_ran():
    answer = diagnose(recording("f()", end="not-seen", idle=True))

    assert "no cell was running" not in answer.cause.headline
    assert "what ran last, and why it ended, is not known" in answer.cause.headline
    assert "No cell was running when the kernel was last seen. What ran after that is not known." in texts(answer)


def test_a_recorder_that_was_stopped_is_not_called_gone_and_its_last_cell_is_not_blamed():
    stopped = replace(recording("f()", end="not-seen", rebooted=False), recorder_alive=True)

    answer = diagnose(stopped)

    assert "it is alive but does not answer" in texts(answer)
    assert "ended, too" not in texts(answer)
    assert answer.cell is None
    assert "Cell [1] was running when the kernel was last seen" in texts(answer)
    gone = diagnose(replace(stopped, recorder_alive=False))
    assert "ended, too" in texts(gone)
    assert gone.cell.source == "f()"


def test_events_that_were_lost_are_told_by_report_and_show():
    whole = recording("f()", end="status-unknown")
    lossy = replace(whole, end=replace(whole.end, lost=3))

    assert "3 lines of the recording could not be written" in texts(diagnose(lossy))
    assert "3 lines of the recording could not be written" in event_log.render(lossy)
    assert "could not be written" not in texts(diagnose(whole)) + event_log.render(whole)


def test_one_report_gives_one_figure_for_how_long_the_cell_ran():
    events = journal(
        (1.0106, "cell_start", {"seq": 1, "execution_count": 1, "source": "f()"}),
        (1.0209, "end", {"kind": "signal", "signal": "SIGUSR1"}),
    )

    answer = diagnose(assemble("r", events))

    assert "had been running for 10 ms" in texts(answer)
    assert wording.time_of_end(answer.to_json()).endswith("after 10 ms in the cell")


def test_a_recording_that_breaks_off_may_have_met_a_full_disk():
    answer = diagnose(recording("f()", end="not-seen", rebooted=False))

    assert "cell [1] was running when the kernel was last seen" in answer.cause.headline
    assert "it was ended, too, or the disk that holds the recording was full." in texts(answer)
    full = SystemState(-0.5, "changed", filesystems=(FileSystem("/home", "ext4", 1 << 40, 0, ("cwd",)),))
    seen = diagnose(recording("f()", end="not-seen", system_states=[full]))
    assert "was full; `/home` had 0 bytes left at the last measurement." in texts(seen)
    assert "the machine was restarted, or the disk" in texts(seen)


def test_what_was_switched_off_before_is_not_said_to_be_gone():
    answer = diagnose(recording("f()", end="not-seen", switched_off=True))

    assert answer.cause.headline == "Recording was switched off before the kernel ended, so its end is not known."


def test_of_a_kernel_that_is_only_watched_a_cell_that_ends_it_at_once_may_not_have_been_heard():
    crashed = recording("x = 1", idle=True, signal="SIGSEGV", server="watched")
    watched = replace(crashed, kernel=replace(crashed.kernel, loaded_by="server"))

    assert "while no cell was running" in diagnose(crashed).cause.headline
    assert "while no cell was seen to run" in diagnose(watched).cause.headline
    assert "a cell that ends it at once can be missed" in texts(diagnose(watched))
