"""The collector rests while several diagnose, and works again once the last of them is done."""

import gc
import sys
from threading import Thread

from jupyter_kerneldoctor.reports.garbage_collection import no_garbage_collection


def test_the_collector_works_again_whoever_is_done_last():
    def rests():
        for _ in range(2000):
            with no_garbage_collection():
                assert not gc.isenabled()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [Thread(target=rests) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    sys.setswitchinterval(before)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with no_garbage_collection():
        pass
    was_on = gc.isenabled()
    gc.enable()
    assert not was_on
