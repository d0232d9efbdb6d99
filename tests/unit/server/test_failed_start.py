"""Which kernel counts as one that never became ready."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from jupyter_kerneldoctor.server.kernels import KernelProcess


@pytest.mark.parametrize(
    ("state", "after_s", "failed"),
    [("starting", 0.01, True), ("starting", 2, True), ("idle", 2, False), ("idle", -2, True)],
    ids=["it died at once", "the server was busy meanwhile", "it was heard", "the process before it was heard"],
)
def test_what_the_server_says_itself_is_no_word_of_the_kernel(state, after_s, failed):
    manager = SimpleNamespace(kernel_id="k", execution_state=state)
    process = KernelProcess(manager, SimpleNamespace(), [], SimpleNamespace(send=print))
    manager.last_activity = datetime.now(timezone.utc) + timedelta(seconds=after_s)

    assert process.failed_to_start() is failed
