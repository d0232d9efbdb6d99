"""When the next sample is taken: soon where a limit may be reached soon, seldom where nothing can happen."""

import os

from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.sidecar.sampler import BUSY_S, FASTEST_S, LONG_IDLE_S, Sampler

GIB = 1 << 30


def waits(samples, **more):
    """The pauses between samples from the start of a cell on."""
    sampler = Sampler(os.getpid())
    sampler.hurry()
    return [sampler.wait_s(sample, **more) for sample in samples]


GROWING = [Sample(number / 10, number * GIB // 10) for number in range(20)]


def test_near_a_limit_memory_that_moves_is_sampled_as_often_as_it_can_be_recorded():
    assert set(waits(GROWING, busy=True, headroom_bytes=GIB)[1:]) == {FASTEST_S}


def test_far_from_any_limit_the_first_second_of_a_cell_is_dense_and_the_rest_is_not():
    taken = waits(GROWING, busy=True, headroom_bytes=40 * GIB)

    assert taken[0] < 0.1
    assert sum(taken[:5]) < 1
    assert taken[-1] == BUSY_S


def test_an_idle_kernel_whose_memory_rests_is_left_alone():
    assert waits([Sample(number, GIB) for number in range(80)], busy=False)[-1] == LONG_IDLE_S


def test_a_kill_that_is_counted_before_the_signal_is_sent_is_the_kernels():
    """As it happens on a busy machine: Linux counts, another process runs, then the signal comes."""
    sampler, looks = Sampler(os.getpid()), iter([False, False, True])
    counts = iter([[{"oom_kills": 0}], [{"oom_kills": 1}]])
    sampler.cgroup.snapshot = lambda: next(counts)
    sampler.cgroup.nearest_in_use_bytes = lambda groups: None
    sampler._process.is_being_killed = lambda: next(looks)

    assert sampler.sample(1.0) is not None
    assert sampler.sample(1.1) is None
    assert sampler.groups == [{"oom_kills": 0}], "what stood before the kill is what the end is compared with"
