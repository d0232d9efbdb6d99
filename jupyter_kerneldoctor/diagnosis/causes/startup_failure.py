from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.model import Recording, ServerView

from ..analysis.start_failure import said_before_it_left, start_failure
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..examples import recording
from ..texts import evidence

_AT_ONCE_S = 5.0


class StartupFailure(Cause):
    """The kernel never became ready: it could not be started, or ended before it answered.

    What it means: The trouble is not in the notebook but in what it runs with. The program that kernel.json names is
    gone, the environment has no ipykernel, a file of yours has the name of a module of Python's (`random.py`,
    `token.py`), the disk is full, or packages do not fit together. A client that interrupts the kernel while it starts
    also ends it.

    How it is recognised: The Jupyter server noted that the kernel ended, or could not be started at all, before it
    answered. The reason is read from the error that the server got and from what the process wrote, where that was
    kept: the server keeps it from the second attempt on. Before the server has noted anything: it left with an error
    within seconds, and no cell ran.

    What to do: Look at the last lines of that text. Install the kernel again from the environment that it is to run in:
    `python -m ipykernel install --user`; `jupyter kernelspec list` shows where each kernel.json lies. Rename a file
    that hides a module, and delete its `__pycache__`. Run the command line of kernel.json in a terminal to see it fail.

    Example: A kernelspec whose `argv` names the Python of an environment that was removed.
    """

    id, title, family = "startup-failure", "The kernel could not start", Family.START

    def judge(self, death: Death) -> CauseFinding | None:
        server = death.recording.server
        if death.request is not None or death.recording.cells:
            return None
        status = evidence.exit_status(death) if death.status.known else ()
        if not server.never_ready:
            told = f"The kernel did not start: it left at once with exit code {death.status.exit_code}."
            left = _left_at_once(death)
            return (
                self.finding(death, Certainty.LIKELY, told, status, line=None, summary="Left at once") if left else None
            )
        failure = start_failure(server)
        return self.finding(
            death,
            Certainty.PROVEN if failure.known else Certainty.STRONG,
            f"The kernel did not start: {failure.reason}.",
            (*_from_server(server), *status),
            line=None,
            summary="Never became ready",
        )

    def fires_on(self) -> Recordings:
        """No interpreter, no ipykernel, a file that hides a module, a full disk, and no word at all."""
        gone = "[Errno 2] No such file or directory: '/gone/bin/python'"
        command = ("/gone/bin/python", "-m", "ipykernel_launcher", "-f", "kernel.json")
        yield recording(alive=None, end="not-seen", server=_failed(start_error=gone, start_command=command))
        without = "/env/bin/python: No module named ipykernel_launcher\n"
        yield recording(end="not-seen", server=_failed(stderr=without, returncode=1))
        hidden = (
            "Traceback (most recent call last):\n"
            '  File "/env/lib/python3.11/site-packages/ipykernel_launcher.py", line 18, in <module>\n'
            '  File "/usr/lib/python3.11/tempfile.py", line 45, in <module>\n'
            '  File "/home/ada/course/random.py", line 3, in <module>\n'
            "AttributeError: partially initialized module\n"
        )
        yield recording(exit_code=1, server=_failed(stderr=hidden, returncode=1))
        full = "OSError: [Errno 28] No space left on device: '/home/ada/.ipython'\n"
        yield recording(exit_code=1, server=_failed(stderr=full, returncode=1))
        yield recording(end="not-seen", server=_failed(returncode=1))
        yield _by_server(recording(exit_code=1), after_s=0.1)

    def silent_on(self) -> Recordings:
        """A kernel that answered, and one whose start was called off."""
        yield recording("f()", exit_code=1, server="watched")
        yield recording(exit_code=0, server=_failed(requested="shutdown", returncode=0))
        yield _by_server(recording(exit_code=1), after_s=60.0)


def _by_server(recorded: Recording, after_s: float) -> Recording:
    assert recorded.end is not None
    kernel = replace(recorded.kernel, loaded_by="server")
    return replace(recorded, kernel=kernel, started_mono_s=recorded.end.mono_s - after_s)


def _failed(**seen: object) -> ServerView:
    return ServerView(never_ready=True, **seen)  # type: ignore[arg-type]


def _left_at_once(death: Death) -> bool:
    """Whether the server started it, has not yet said anything of it, and it left within seconds with an error."""
    recording, end = death.recording, death.recording.end
    if recording.kernel.loaded_by != "server" or not death.status.exit_code or end is None:
        return False
    return end.mono_s - recording.started_mono_s <= _AT_ONCE_S


def _from_server(server: ServerView) -> Iterator[Evidence]:
    said, error = said_before_it_left(server.stderr), server.start_error
    if said is not None:
        yield Evidence(f"It wrote last: {quote(said, 200)}.", said[:200], None, "the kernel's output")
    if error:
        yield Evidence(f"The server got the error {quote(error, 200)}.", error[:200], None, "Jupyter server")
    if server.start_command:
        command = " ".join(server.start_command)
        yield Evidence(f"The kernel's command was {quote(command, 200)}.", command[:200], None, "kernel.json")
    yield Evidence("The kernel never answered.", source="Jupyter server")
