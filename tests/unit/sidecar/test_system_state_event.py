"""The sidecar records each field of `SystemState` for a real process, and no other."""

from __future__ import annotations

import subprocess
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from support.requires import linux
from support.sidecars import record, wait_for

from jupyter_kerneldoctor.recording.events import SystemState
from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.layout import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = linux

NAMES = [field.name for field in fields(SystemState)]
NOT_EVERYWHERE = (
    "neighbours",
    "pressure_some",
    "pressure_full",
    "pids_current",
    "pids_limit",
    "under_oom",
    "oom_killer_disabled",
)
"""What needs a setting of the machine or a limit."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The first event `surroundings` of a process, as it is on disk."""
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            directory, link = record(process.pid, tmp_path_factory.mktemp("data"))
            written: list[dict[str, Any]] = []
            wait_for(lambda: written.extend(_states(directory / JOURNAL)) or written)
            yield written[0]
            link.close()
        finally:
            process.kill()


def _states(journal: Any) -> list[dict[str, Any]]:
    return [event for event in read_events(journal) if event["event"] == "surroundings"]


@pytest.mark.parametrize("name", NAMES)
def test_the_field_is_recorded(state: dict[str, Any], name: str) -> None:
    if name in NOT_EVERYWHERE and name not in state:
        pytest.skip(f"cannot run here: this machine does not know {name}")

    assert state[name] is not None


def test_no_field_is_recorded_that_readers_do_not_know(state: dict[str, Any]) -> None:
    assert state.keys() - {"event", "wall_s"} <= {*NAMES}
