"""What a cell costs with the tools that users would take instead, installed into a directory that is removed again."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from support.kernels import LiveKernel
from user_side import in_turn, median_added, walls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from figures import Figure

# In place of the interpreter, which is the first argument: Fil has to start the kernel itself.
_BY_FIL = ["/bin/sh", "-c", f'shift; exec "{sys.executable}" -m filprofiler python "$@"', "sh"]


class _Peer(NamedTuple):
    package: str
    begin: str
    """What is run once in the kernel."""
    cell: str
    """A cell that does nothing, measured by the tool."""
    prefix: list[str] | None = None
    """What starts the kernel."""


PEERS = (
    _Peer("memory_profiler", "%load_ext memory_profiler", "%%memit\npass"),
    _Peer("ipython_memory_usage", "%load_ext ipython_memory_usage\n%imu_start", "pass"),
    _Peer("memray", "%load_ext memray", "%%memray_flamegraph\npass"),
    _Peer("filprofiler", "%load_ext filprofiler", "%%filprofile\npass", _BY_FIL),
)


def peers(work: Path, rounds: int) -> Iterator[Figure]:
    """What each of them adds to a cell that does nothing, a plain kernel and one with the tool in turn."""
    plain = LiveKernel(work / "peers-plain", work)
    try:
        for peer in PEERS:
            name = f"a cell that does nothing, with {peer.package}: until all output is there"
            try:
                yield _added(plain, work, peer, name, rounds)
            except (subprocess.SubprocessError, AssertionError) as error:
                print(f"{name:<70} not measured: {error}")
    finally:
        plain.close()


def _added(plain: LiveKernel, work: Path, peer: _Peer, name: str, rounds: int) -> Figure:
    """Raises CalledProcessError where the tool cannot be installed, AssertionError where it does not run."""
    place = work / peer.package
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), peer.package]
    subprocess.run(install, check=True, capture_output=True)
    kernel = LiveKernel(work / f"peers-{peer.package}", work, peer.prefix, PYTHONPATH=str(place))
    try:
        for source in (peer.begin, peer.cell):
            outcome = kernel.run(source)
            assert outcome.reply["status"] == "ok", outcome.reply.get("evalue")
        found = in_turn(plain, kernel, "pass", None, rounds, others=peer.cell)
        return median_added(name, *map(walls, found), "ms")
    finally:
        kernel.close()
