"""How many events of a kind are recorded."""

import itertools

from jupyter_kerneldoctor.recording.token_bucket import TokenBucket


def test_what_never_ends_is_recorded_at_a_bounded_rate():
    bucket = TokenBucket(burst=20, refill_s=60.0)
    day = [second for second in range(24 * 3600) if bucket.take(1000.0 + second)]

    assert day[:20] == list(range(20))
    assert len(day) == 20 + 24 * 60 - 1
    assert max(after - before for before, after in itertools.pairwise(day)) <= 61


def test_after_a_quiet_time_all_is_recorded_again():
    bucket = TokenBucket(burst=3, refill_s=60.0)
    assert [bucket.take(1000.0) for _ in range(5)] == [True, True, True, False, False]

    assert [bucket.take(1000.0 + 3600.0) for _ in range(5)] == [True, True, True, False, False]
