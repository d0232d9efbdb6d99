"""The kernel lives on after what `return-not-exit` writes."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.proposals import propose

jupyter_client = pytest.importorskip("jupyter_client.manager")


@pytest.fixture(scope="module")
def kernel():
    manager, client = jupyter_client.start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    ("cells", "status"),
    [
        (("x = 1", "if x: exit()\nx = 2"), "error"),
        (("x = 1\nimport os", "os._exit(3)"), "error"),
        (("x = 1", "quit"), "error"),
        (("x = 1\ndef main():\n    if x:\n        exit()\n    raise ValueError", "main()"), "ok"),
        (("x = 1\ndef check():\n    quit(0)\n    raise ValueError", "check()\nx = 2"), "error"),
    ],
)
def test_cell_stops_and_kernel_lives(kernel, cells, status):
    manager, client = kernel
    proposal, *_ = propose(Case(*cells, cause="exit-call").death())
    sources = list(cells)
    for edit in proposal.edits:
        sources[edit.execution_count - 1] = edit.new_source
    replies = [client.execute_interactive(source, timeout=30, output_hook=lambda _: None) for source in sources]
    assert [reply["content"]["status"] for reply in replies] == ["ok"] * (len(cells) - 1) + [status]
    assert replies[-1]["content"].get("ename") in (None, "SystemExit")
    seen = []
    hook = lambda message: seen.append(message["content"].get("text", ""))  # noqa: E731
    client.execute_interactive("print(x)", timeout=30, output_hook=hook)
    assert "".join(seen) == "1\n"
    assert manager.is_alive()
