"""What is recorded of graphics cards.

Most machines that run these tests have no card, so NVIDIA's own bindings speak with a stand-in for the driver's library
(tests/support/nvml). What can be asked of any card is asked of a real one, too, where there is one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import requires
from support.nvml import GIB, REAL_DRIVER, RealMachine, StandIn, needs_card

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import GpuSample
    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux

DIE = "import os\nos.kill(os.getpid(), 9)"


@pytest.fixture
def machine(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "driver")


@pytest.fixture
def start_on(start_kernel: Callable[..., LiveKernel]) -> Callable[[StandIn | RealMachine], LiveKernel]:
    """Start a kernel with KernelDoctor on a machine with cards."""

    def start(machine: StandIn | RealMachine) -> LiveKernel:
        kernel = start_kernel(**machine.environment)
        kernel.load()
        return kernel

    return start


def while_a_cell_runs(kernel: LiveKernel, seen: Callable[[Recording], object]) -> Recording:
    """Let a cell run, as cards are looked at each second then, until the recording shows something."""
    kernel.client.execute("import time\ntime.sleep(60)")
    return kernel.wait_recorded(seen)


def looked_at(recording: Recording) -> bool:
    return recording.gpu_driver is not None and len(recording.gpu_samples) > 0


def last_sample(recording: Recording, index: int = 0) -> GpuSample:
    return [sample for sample in recording.gpu_samples if sample.index == index][-1]


def test_two_cards_and_the_driver_are_told(start_on, tmp_path: Path) -> None:
    machine = StandIn(tmp_path / "driver", cards=2)
    machine.card(1, name="Stand-in 80 GiB", total=80 * GIB, used=30 * GIB)

    recording = start_on(machine).wait_recorded(lambda found: looked_at(found) and len(found.gpu_samples) == 2)

    assert recording.gpu_driver.version == "550.54.14"
    assert recording.gpu_driver.cuda == "12.4"
    assert recording.gpu_driver.error is None
    assert [(gpu.index, gpu.name, gpu.total_bytes) for gpu in recording.gpus] == [
        (0, "Stand-in 24 GiB", 24 * GIB),
        (1, "Stand-in 80 GiB", 80 * GIB),
    ]
    assert [sample.used_bytes for sample in recording.gpu_samples] == [1 * GIB, 30 * GIB]
    first = recording.gpu_samples[0]
    assert (first.utilisation, first.temperature_c, first.power_w, first.ecc_uncorrected) == (40, 61, 215.5, 0)


def test_memory_of_the_kernel_and_its_children_is_told_from_that_of_others(start_on, machine: StandIn) -> None:
    kernel = start_on(machine)
    child = kernel.run("import subprocess\nsubprocess.Popen(['sleep', '60']).pid").result
    machine.hold(kernel.pid, 5 * GIB)
    machine.hold(int(child), 1 * GIB)
    machine.hold(os.getpid(), 2 * GIB)

    recording = while_a_cell_runs(kernel, lambda found: last_sample(found).used_bytes == 9 * GIB)

    sample = last_sample(recording)
    assert sample.own_bytes == 6 * GIB
    name = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert [(other.pid, other.bytes, other.name) for other in sample.others] == [(os.getpid(), 2 * GIB, name)]


def test_a_card_that_fills_up_is_followed_until_the_death(start_on, machine: StandIn) -> None:
    kernel = start_on(machine)
    kernel.wait_recorded(looked_at)
    machine.hold(kernel.pid, 23 * GIB)
    while_a_cell_runs(kernel, lambda found: last_sample(found).used_bytes == 24 * GIB)

    kernel.process.kill()
    recording = kernel.wait_recorded(lambda found: found.end)

    assert recording.gpu_samples[0].used_bytes == 1 * GIB
    assert last_sample(recording).used_bytes == recording.gpus[0].total_bytes
    assert last_sample(recording).own_bytes == 23 * GIB


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        pytest.param(0x20, ("thermal",), id="too hot, slowed by software"),
        pytest.param(0x48, ("thermal", "hw-slowdown"), id="too hot, slowed by the card itself"),
        pytest.param(0x88, ("power-brake", "hw-slowdown"), id="the power supply asks for it"),
        pytest.param(0x04, ("power-cap",), id="at the power limit"),
        pytest.param(0x01, (), id="idle, which is no throttling"),
    ],
)
def test_why_the_clocks_are_held_down_is_told(start_on, machine: StandIn, reasons: int, told: tuple[str, ...]) -> None:
    machine.card(0, throttle=reasons, temperature=91, ecc=3)

    sample = last_sample(start_on(machine).wait_recorded(looked_at))

    assert sample.throttle == told
    assert sample.temperature_c == 91
    assert sample.ecc_uncorrected == 3


def test_an_xid_is_told_with_its_card(start_on, tmp_path: Path) -> None:
    machine = StandIn(tmp_path / "driver", cards=2)
    kernel = start_on(machine)
    kernel.wait_recorded(looked_at)
    before = time.monotonic()

    machine.xid(79, index=1)

    xid = kernel.wait_recorded(lambda found: found.xids).xids[0]
    assert (xid.code, xid.index) == (79, 1)
    assert before <= xid.mono_s <= time.monotonic()


def test_a_card_that_falls_off_the_bus_is_told(start_on, machine: StandIn) -> None:
    kernel = start_on(machine)
    kernel.wait_recorded(looked_at)

    machine.order("nvmlDeviceGetMemoryInfo", 15)
    recording = while_a_cell_runs(kernel, lambda found: found.gpu_driver.error)

    assert recording.gpu_driver.error == "card 0: GPU is lost"
    assert recording.gpus[0].name == "Stand-in 24 GiB"


def test_what_a_card_does_not_support_is_not_known(start_on, machine: StandIn) -> None:
    machine.card(0, utilisation=None, temperature=None, power=None, throttle=None, ecc=None)

    sample = last_sample(start_on(machine).wait_recorded(looked_at))

    assert sample.used_bytes == 1 * GIB
    assert sample.utilisation is sample.temperature_c is sample.power_w is sample.ecc_uncorrected is None
    assert sample.throttle == ()


def test_an_older_driver_tells_what_it_can(start_on, tmp_path: Path) -> None:
    machine = StandIn(tmp_path / "driver", old_driver=True)
    machine.card(0, throttle=0x20)
    machine.hold(os.getpid(), 2 * GIB)

    recording = start_on(machine).wait_recorded(looked_at)

    assert last_sample(recording).throttle == ("thermal",)
    assert last_sample(recording).others[0].bytes == 2 * GIB
    assert recording.gpu_driver.error is None


@pytest.mark.parametrize(
    ("function", "code", "error"),
    [
        pytest.param("init", 18, "Driver/library version mismatch", id="updated without a reboot"),
        pytest.param("nvmlDeviceGetCount_v2", 999, "Unknown Error", id="answers nothing but errors"),
        pytest.param("nvmlDeviceGetHandleByIndex_v2", 15, "card 0: GPU is lost", id="lost already at the start"),
    ],
)
def test_a_driver_that_cannot_be_asked_is_told_with_its_own_words(
    start_on, machine: StandIn, function: str, code: int, error: str
) -> None:
    machine.order(function, code)

    recording = start_on(machine).wait_recorded(lambda found: found.gpu_driver)

    assert recording.gpu_driver.error == error
    assert recording.gpus == ()


@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetPowerUsage"])
def test_a_driver_that_hangs_holds_nothing_up(start_on, machine: StandIn, function: str) -> None:
    machine.order(function, "hang")
    kernel = start_on(machine)
    kernel.run("1 + 1")
    kernel.wait_recorded(lambda found: found.gpu_driver and found.gpu_driver.error)

    kernel.run_and_die(DIE)
    dead = time.monotonic()
    recording = kernel.wait_recorded(lambda found: found.end)

    assert recording.gpu_driver.error == f"NVML does not answer ({function.removesuffix('WithFlags')})"
    assert recording.gpu_samples == ()
    assert recording.end.signal == "SIGKILL"
    assert recording.end.mono_s - dead < 3
    assert [cell.source for cell in recording.cells][-2:] == ["1 + 1", DIE]
    kernel.wait_sidecar_gone()


def test_a_driver_that_answers_again_is_believed_again(start_on, machine: StandIn) -> None:
    machine.order("nvmlDeviceGetPowerUsage", "hang")
    kernel = start_on(machine)
    kernel.wait_recorded(lambda found: found.gpu_driver and found.gpu_driver.error)

    machine.order("nvmlDeviceGetPowerUsage", None)

    recording = kernel.wait_recorded(lambda found: found.gpu_samples and not found.gpu_driver.error)
    assert recording.gpu_driver.version == "550.54.14"


def test_without_a_driver_nothing_is_recorded_of_cards(kernel: LiveKernel) -> None:
    if REAL_DRIVER:
        pytest.skip("cannot run here: this machine has a driver")
    kernel.run("1 + 1")
    recording = kernel.wait_recorded(lambda found: found.cells[-1].finished)

    assert recording.gpu_driver is None
    assert not list((kernel.data_root / "recordings" / recording.id).glob("gpu*"))


@needs_card
def test_a_real_card_is_told(start_on) -> None:
    kernel = start_on(RealMachine())
    recording = kernel.wait_recorded(looked_at)

    assert recording.gpu_driver.error is None
    assert recording.gpu_driver.version
    assert recording.gpu_driver.cuda
    assert recording.gpus[0].total_bytes > 1 * GIB
    assert 0 <= last_sample(recording).used_bytes <= recording.gpus[0].total_bytes


@needs_card
def test_memory_taken_on_a_real_card_is_the_kernels(start_on) -> None:
    kernel = start_on(RealMachine())
    before = last_sample(kernel.wait_recorded(looked_at))
    RealMachine.hold_in(kernel, 2 * GIB)

    recording = while_a_cell_runs(kernel, lambda found: last_sample(found).used_bytes > before.used_bytes + GIB)

    own = last_sample(recording).own_bytes
    assert own is None or own >= 2 * GIB, "None in a container, which is shown no process ids or those of the host"
