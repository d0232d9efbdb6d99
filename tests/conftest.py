"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

# The suite gives the same answer each time; HYPOTHESIS_PROFILE=explore looks at new examples in each run.
settings.register_profile("repeatable", derandomize=True, deadline=None)  # a busy machine is slow
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

pytest_plugins = ["support.fixtures"]

CANNOT_RUN_HERE = "cannot run here"


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from going through thousands of tests again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in _hidden_skips(terminalreporter):
        terminalreporter.write_line(f"SKIPPED WITHOUT NEED: {report.nodeid}: {report.longrepr}", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With KERNELDOCTOR_NO_SKIPS, a skip must say that the test cannot run on this machine, or the run fails."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _hidden_skips(reporter) and session.exitstatus == 0:
        session.exitstatus = 1


def _hidden_skips(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    if not os.environ.get("KERNELDOCTOR_NO_SKIPS"):
        return []
    return [report for report in reporter.stats.get("skipped", []) if CANNOT_RUN_HERE not in str(report.longrepr)]
