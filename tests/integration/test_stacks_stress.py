"""Kernels do not mind being read from outside, however busy they are, and what is read is true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import requires

pytestmark = requires.linux

STRESS = Path(__file__).resolve().parents[2] / "benchmarks" / "stacks.py"


@pytest.mark.timeout(600)  # half a minute where nothing else runs
def test_busy_kernels_are_read_hundreds_of_times_and_nothing_breaks() -> None:
    result = subprocess.run(
        [sys.executable, str(STRESS), "--dumps", "400"], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert "400 dumps, 0 crashes, 0 wrong" in result.stdout
