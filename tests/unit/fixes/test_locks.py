"""Locks that an error left taken."""

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.examples.stuck import IN_JOIN, look, own_frame, thread
from jupyter_kerneldoctor.diagnosis.proposals import propose

_PAY = (
    "class Account:\n    def pay(self, n):\n        self.lock.acquire()\n        if n > self.rest:\n"
    "            raise ValueError(n)\n        self.rest -= n\n        self.lock.release()"
)


def test_a_thread_that_the_cell_waits_for_may_be_the_one_that_wants_it():
    waits = thread(own_frame(_PAY, 3, "pay"), waits_in="futex_wait_queue", main=False)
    stuck = look("t.join()", 1, *IN_JOIN, waits_in="futex_wait_queue", threads=[waits])
    death = Case(_PAY, "t.join()", cause="hang", alive=True, end="not-seen", stuck=[stuck]).death()

    first, *_ = propose(death)

    assert first.id == "hold-the-lock-with"
    assert "with self.lock:\n            if n" in first.edits[0].new_source
