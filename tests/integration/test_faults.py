"""The doctor never harms the patient: whatever happens to the recorder, the user's kernel runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from support import requires

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel


def kill_sidecar(kernel: LiveKernel) -> None:
    os.kill(kernel.sidecar_pid(), signal.SIGKILL)
    kernel.wait_sidecar_gone()


def test_a_killed_sidecar_costs_one_warning_and_nothing_else(kernel: LiveKernel) -> None:
    kill_sidecar(kernel)

    first, second = kernel.run("1 + 1"), kernel.run("2 + 2")

    assert (first.result, second.result) == ("2", "4")
    assert first.stderr.count("KernelDoctor stopped recording") == 1
    assert second.stderr == ""
    assert "is recording" in kernel.run("%kerneldoctor on").stdout


def test_the_kernel_notes_that_its_sidecar_is_gone(kernel: LiveKernel) -> None:
    kill_sidecar(kernel)
    kernel.run("1 + 1")
    assert "kernel.jsonl" not in {Path(file.path).name for file in psutil.Process(kernel.pid).open_files()}
    kernel.manager.shutdown_kernel(now=False)

    recording = kernel.recording()
    assert recording.end is None
    assert recording.lost_wall_s is not None


def test_a_killed_sidecar_is_survived_with_sigpipe_at_its_default(kernel: LiveKernel) -> None:
    kernel.run("import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)")
    kill_sidecar(kernel)

    kernel.run("x = 1")
    assert kernel.run("x").result == "1"


def test_the_recording_of_a_killed_sidecar_is_readable_and_has_the_last_second(kernel: LiveKernel) -> None:
    kernel.client.execute("pile = []\nimport time\nwhile True:\n    pile.append(bytearray(300_000)); time.sleep(0.01)")
    kernel.wait_recorded(lambda found: found.running_cell is not None and len(found.samples) > 20)
    sidecar = kernel.sidecar_pid()
    now = time.monotonic()
    os.kill(sidecar, signal.SIGKILL)
    os.kill(kernel.pid, signal.SIGKILL)
    kernel.wait_dead()

    recording = kernel.recording()
    assert recording.end is None
    assert recording.running_cell is not None
    assert now - recording.samples[-1].mono_s < 1.0


def test_descriptors_closed_behind_our_back_reach_no_file_of_the_user(kernel: LiveKernel, tmp_path: Path) -> None:
    # Only sockets to the sidecar and the crash file are closed: closing ipykernel's own would end any kernel.
    kernel.run(
        "import os\n"
        "def target(fd):\n"
        "    try: return os.readlink(f'/proc/self/fd/{fd}')\n"
        "    except OSError: return ''\n"
        "from jupyter_kerneldoctor import kernel as _k\n"
        "ours = [_k._doctor._link._socket.fileno()]\n"
        "ours += [fd for fd in range(3, 500) if target(fd).endswith('crash.txt')]\n"
        "for fd in ours: os.close(fd)\n"
        "files = [os.open(f'user-{n}.txt', os.O_RDWR | os.O_CREAT) for n in range(len(ours))]\n"
        "assert set(files) == set(ours), (files, ours)"
    )
    kernel.run("y = 2")
    assert kernel.run("y").result == "2"
    kernel.run("%unload_ext kerneldoctor")
    assert kernel.run("[os.fstat(f).st_size for f in files]").result == "[0, 0]"


def test_waiting_for_and_listing_children_never_meets_the_sidecar(kernel: LiveKernel) -> None:
    sidecar = kernel.sidecar_pid()
    outcome = kernel.run(
        "import os, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', ''])\n"
        "seen = []\n"
        "while True:\n"
        "    try: seen.append(os.wait()[1])\n"
        "    except ChildProcessError: break\n"
        "seen"
    )

    assert outcome.result == "[0]"
    assert sidecar not in [child.pid for child in psutil.Process(kernel.pid).children(recursive=True)]
    assert os.getsid(sidecar) != os.getsid(kernel.pid)


def test_a_place_that_cannot_be_written_costs_one_clear_warning(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("not a directory")
    kernel = start_kernel(data_root=tmp_path / "a-file")

    outcome = kernel.load()

    assert outcome.stderr.count("\n") == 1
    assert "cannot record" in outcome.stderr
    assert "KERNELDOCTOR_DATA_DIR" in outcome.stderr
    assert kernel.run("1 + 1").result == "2"


def test_a_relative_data_directory_means_the_kernels_own(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    kernel = start_kernel(data_root=Path("relative"))
    kernel.load()
    kernel.data_root = tmp_path / "relative"

    assert kernel.wait_recorded(lambda found: found.sidecar is not None)


def test_a_sidecar_that_cannot_start_costs_one_warning(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("import sys; right = sys.executable; sys.executable = '/nonexistent/python'")
    said = kernel.load().stderr
    time.sleep(0.3)  # the shell finds out that there is no such program, a moment before or after the cell's end

    outcome = kernel.run("1 + 1")

    assert outcome.result == "2"
    assert (said + outcome.stderr).count("stopped recording") == 1


@requires.root
def test_a_full_disk_costs_recordings_not_the_kernel(start_kernel: Callable[..., LiveKernel], tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        kernel = start_kernel(data_root=disk)
        kernel.load()
        for number in range(40):
            assert kernel.run(f"{number}  # " + "x" * 5000).result == str(number)
        recording = kernel.recording()
        assert recording.cells[0].source.startswith("%load_ext")
        (disk / "recordings" / recording.id / "samples.jsonl").unlink()
        kernel.run_and_die("import os\nos._exit(3)")
        assert kernel.wait_recorded(lambda found: found.alive is False).cells
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_forked_child_records_nothing_and_its_crash_is_its_own(kernel: LiveKernel) -> None:
    outcome = kernel.run(
        "import ctypes, os, sys\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    get_ipython().run_cell('in_child = 1')\n"
        "    ctypes.string_at(0)\n"
        "os.waitpid(pid, 0)[1] & 0x7f"
    )
    kernel.run("after = 1")

    assert outcome.result == str(int(signal.SIGSEGV))
    recording = kernel.wait_recorded(lambda found: found.cells[-1].source == "after = 1")
    assert not any(cell.source == "in_child = 1" for cell in recording.cells)
    assert recording.crash_text == ""
    assert recording.alive


def test_a_fork_that_outlives_the_kernel_does_not_hide_its_death(kernel: LiveKernel) -> None:
    kernel.run("import os, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)")
    kernel.run_and_die("os._exit(5)")

    assert kernel.recording().end.exit_code == 5


def test_two_loads_are_one_sidecar(kernel: LiveKernel) -> None:
    assert "already loaded" in kernel.load().stdout
    kernel.run("import jupyter_kerneldoctor.kernel as k; k.load_ipython_extension(get_ipython())")

    assert len(kernel.recordings()) == 1


def test_unloading_gives_everything_back(kernel: LiveKernel) -> None:
    state = (
        "ip = get_ipython()\n"
        "[len(ip.events.callbacks['pre_run_cell']), len(ip.events.callbacks['post_run_cell']),"
        " len(ip.input_transformers_cleanup), 'postmortem' in ip.magics_manager.magics['line']]"
    )
    loaded = eval(kernel.run(state).result)
    kernel.run("%unload_ext kerneldoctor")
    unloaded = eval(kernel.run(state).result)

    assert [a - b for a, b in zip(loaded, unloaded, strict=True)] == [1, 1, 1, 1]
    kernel.wait_sidecar_gone()


def test_what_went_wrong_at_the_start_is_said_in_the_first_cell(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("not a directory")
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    config = '{"InteractiveShellApp": {"extra_extensions": ["kerneldoctor"]}}'
    (profile / "ipython_kernel_config.json").write_text(config)
    kernel = start_kernel(data_root=tmp_path / "a-file")

    first, second = kernel.run("1 + 1"), kernel.run("2 + 2")

    assert first.stderr.count("cannot record") == 1
    assert (first.result, second.result, second.stderr) == ("2", "4", "")


def test_a_kernel_that_loads_it_at_its_start_is_known_as_such_also_after_off_and_on(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    config = '{"InteractiveShellApp": {"extra_extensions": ["kerneldoctor"]}}'
    (profile / "ipython_kernel_config.json").write_text(config)
    kernel = start_kernel()
    kernel.run("%kerneldoctor off")
    kernel.run("%kerneldoctor on")

    assert kernel.wait_recorded(lambda found: found.sidecar is not None).kernel.loaded_by == "startup"


def test_the_name_of_the_package_loads_it_too(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("%load_ext jupyter_kerneldoctor")

    assert "is recording" in kernel.run("%kerneldoctor").stdout


def test_loading_says_nothing_when_all_is_well(start_kernel: Callable[..., LiveKernel]) -> None:
    outcome = start_kernel().load()

    assert (outcome.stdout, outcome.stderr) == ("", "")


def test_a_users_module_of_a_standard_name_does_not_reach_the_sidecar(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    kernel = start_kernel()
    for name in ("json", "select", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not the module you want')")
    kernel.load()

    assert kernel.wait_recorded(lambda found: found.sidecar is not None)


def test_junk_sent_to_the_sidecar_is_passed_over(kernel: LiveKernel) -> None:
    kernel.run(
        "from jupyter_kerneldoctor import kernel as _k\n"
        "for junk in (b'{', b'[1]', bytes(range(256)), b'{\"event\": 3}', b'{}'):\n"
        "    _k._doctor._link._socket.send(junk)"
    )
    kernel.run("'still there'")

    assert kernel.wait_recorded(lambda found: found.cells[-1].source == "'still there'" and found.cells[-1].finished)


def test_random_deaths_leave_readable_recordings(start_kernel: Callable[..., LiveKernel], tmp_path: Path) -> None:
    for delay_s in (0.0, 0.01, 0.05, 0.2):
        kernel = start_kernel(data_root=tmp_path / str(delay_s))
        kernel.load()
        kernel.client.execute("for _ in range(10**9): pass")
        time.sleep(delay_s)
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.wait_dead()
        assert kernel.recording().end.signal == "SIGKILL"


def test_a_kernel_that_is_held_up_when_the_sidecar_starts_is_recorded(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run(
        "import time\n"
        "from jupyter_kerneldoctor.recording import sidecar_launch\n"
        "from jupyter_kerneldoctor.kernel import link\n"
        "def spawn_sidecar(*arguments):\n"
        "    pid = sidecar_launch.spawn_sidecar(*arguments)\n"
        "    time.sleep(1)  # other threads of the kernel may keep this one waiting\n"
        "    return pid\n"
        "link.spawn_sidecar = spawn_sidecar"
    )

    assert kernel.load().stderr == ""
    assert kernel.wait_recorded(lambda found: found.cells[-1].source.startswith("%load_ext"))


def test_a_sidecar_that_stands_still_does_not_hold_up_the_cells(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("import socket; socket.setdefaulttimeout(60)")
    kernel.load()
    sidecar = kernel.sidecar_pid()
    os.kill(sidecar, signal.SIGSTOP)
    said, ended = [], [time.monotonic()]
    for number in range(100):  # more than the socket holds
        said.append(kernel.run(f"#{'x' * 100_000}\n{number}").stderr)
        ended.append(time.monotonic())
    os.kill(sidecar, signal.SIGCONT)

    assert max(after - before for before, after in pairwise(ended)) < 50  # one that waited would take 60
    assert said == [""] * 100
    kernel.wait_recorded(lambda found: len(found.cells) > 10)
    time.sleep(0.5)  # until all that waited has been read
    kernel.run("'heard again'")
    assert kernel.wait_recorded(lambda found: found.cells[-1].source == "'heard again'")


def test_a_file_of_the_users_in_the_place_of_a_descriptor_of_ours_spoils_no_figure(kernel: LiveKernel) -> None:
    kernel.run("pass")
    outcome = kernel.run(
        "import os\n"
        "where = {os.readlink(f'/proc/self/fd/{n}'): n for n in map(int, os.listdir('/proc/self/fd'))"
        " if os.path.exists(f'/proc/self/fd/{n}')}\n"
        "number = next(n for path, n in where.items() if path.endswith('/statm'))\n"
        "with open('mine.txt', 'w') as file: print('7 7 7 and other words', file=file)\n"
        "os.dup2(os.open('mine.txt', os.O_RDONLY), number) == number"
    )
    measured = kernel.run("%%memwatch\n'measured'")
    kernel.run("os.close(number)")
    kernel.run("'last'")

    assert (outcome.result, measured.result) == ("True", "'measured'")
    recording = kernel.wait_recorded(lambda found: found.cells[-1].source == "'last'" and found.cells[-1].finished)
    assert all(cell.rss_after_bytes > 10_000_000 for cell in recording.cells[1:])


def test_callbacks_that_a_user_has_cleared_are_no_trouble(kernel: LiveKernel) -> None:
    kernel.run(
        "ip = get_ipython()\n"
        "for hooks in ip.events.callbacks.values(): hooks.clear()\n"
        "ip.input_transformers_cleanup.clear()"
    )

    assert "not recording" in kernel.run("%kerneldoctor off").stdout
    assert "is recording" in kernel.run("%kerneldoctor on").stdout
    assert kernel.run("%unload_ext kerneldoctor").stderr == ""
    kernel.wait_sidecar_gone()


def test_switching_it_off_closes_all_descriptors(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run(
        "import os, time\n"
        "def target(fd):\n"
        "    try: return os.readlink(f'/proc/self/fd/{fd}')\n"
        "    except OSError: return None\n"  # that of the list itself
        "def open_files(): return {(fd, target(fd)) for fd in os.listdir('/proc/self/fd')"
        " if target(fd) and 'profile_default' not in target(fd)}"  # where IPython writes its history
    )
    kernel.run("before = open_files()")

    for _ in range(3):
        kernel.run("%load_ext kerneldoctor")
        assert "is recording" in kernel.run("%kerneldoctor on").stdout
        kernel.run("x = 1")
        kernel.run("%kerneldoctor off")

    # The thread that reads the output lets go by itself.
    kernel.run("end = time.time() + 20\nwhile open_files() - before and time.time() < end: time.sleep(0.05)")
    assert kernel.run("open_files() - before").result == "set()"
    assert kernel.run("import faulthandler; faulthandler.is_enabled()").result == "False"


def test_switching_it_off_leaves_the_users_own_faulthandler_on(kernel: LiveKernel) -> None:
    kernel.run("import faulthandler; crash = open('crash.log', 'w'); faulthandler.enable(file=crash)")
    kernel.run("%kerneldoctor off")

    assert kernel.run("faulthandler.is_enabled()").result == "True"
    kernel.run("%kerneldoctor on")
    kernel.run_and_die("faulthandler._sigsegv()")
    assert (
        "Segmentation fault"
        in (Path(kernel.manager.provisioner.parent.connection_file).parent / "crash.log").read_text()
    )


def test_signals_that_user_code_has_blocked_reach_the_recorder(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())")
    kernel.run("signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    kernel.load()

    status = Path(f"/proc/{kernel.sidecar_pid()}/status").read_text()
    masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
    assert int(masks["SigBlk"], 16) == 0
    assert int(masks["SigIgn"], 16) & 1 << (signal.SIGCHLD - 1) == 0
