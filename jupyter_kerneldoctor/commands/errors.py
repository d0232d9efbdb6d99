"""What can go wrong in a command: one class each, with what the user can do about it."""

from pathlib import Path


class CommandError(Exception):
    """A command could not do what was asked. `str()` says why, `help` what to do."""

    exit_status = 2
    help = ""


class NothingToReportError(CommandError):
    """There is no recording that was asked for."""

    exit_status = 1
    help = "Run `%load_ext kerneldoctor` in a notebook, or `jupyter kerneldoctor enable` once for all new kernels."


class NothingOfThatError(NothingToReportError):
    """There are recordings, but none of that kernel or notebook."""

    help = "`jupyter kerneldoctor list` shows which there are."


class NothingOfThatNotebookError(NothingOfThatError):
    """The same; not every run knows the name of its notebook."""

    help = f"{NothingOfThatError.help} Runs by papermill or nbconvert have no notebook name there."


class UnusableDirectoryError(CommandError):
    """What should hold the recordings is no directory that can be read."""

    exit_status = 1

    def __init__(self, directory: Path, error: OSError, variable: str, *, is_set: bool) -> None:
        super().__init__(f"The recordings in {directory} cannot be read: {error.strerror or error}.")
        where = f"{variable} is set; it has to name" if is_set else f"Set {variable} to"
        self.help = f"{where} a directory that you can read and write."


class CannotPrintError(CommandError):
    """Standard output takes no more."""

    exit_status = 1

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The output could not be written: {error.strerror or error}.")


class NoSuchRecordingError(CommandError):
    """The id is not that of a recording."""

    exit_status = 1
    help = "`jupyter kerneldoctor list` shows the recordings there are."

    def __init__(self, recording_id: str) -> None:
        super().__init__(f"There is no recording {recording_id!r}.")


class SeveralRecordingsError(CommandError):
    """The beginning of an id fits more than one."""

    exit_status = 1
    shown = 5

    def __init__(self, beginning: str, ids: list[str]) -> None:
        super().__init__(f"{len(ids)} recordings begin with {beginning!r}.")
        more = ", ..." if len(ids) > self.shown else ""
        self.help = f"Which one do you mean: {', '.join(ids[: self.shown])}{more}?"


class CannotReadError(CommandError):
    """The file system refuses. The message says which file, and why."""

    exit_status = 1
    help = "Only the user whose kernel it was may read a recording, unless the rights of its files were changed."


class NothingRunningError(CommandError):
    """No kernel runs that could be asked."""

    exit_status = 1
    help = "`jupyter kerneldoctor list` shows the recordings there are; `report` says how a kernel ended."


class CannotAskError(CommandError):
    """The kernel cannot be asked what it is doing."""

    exit_status = 1

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.help = advice


class CannotTryFixError(CommandError):
    """The fix cannot be tried."""

    exit_status = 1

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.help = advice


class BeingRecordedError(CommandError):
    """The recording is still being written."""

    help = "Shut that kernel down, or run `%kerneldoctor off` in it, and delete the recording then."

    def __init__(self, recording_id: str) -> None:
        super().__init__(f"The kernel of {recording_id} is running and is being recorded.")


class CannotDeleteError(CommandError):
    """The file system refuses."""

    exit_status = 1

    def __init__(self, failures: dict[str, OSError]) -> None:
        lines = (f"The recording {one} cannot be deleted: {why.strerror or why}." for one, why in failures.items())
        super().__init__("\n".join(lines))


class NotConfirmedError(CommandError):
    """Nobody at a terminal was there to agree, and what was piped in did not."""

    exit_status = 1
    help = "`--yes` deletes without asking; or pipe `y` into it."

    def __init__(self) -> None:
        super().__init__("Nothing was deleted: it was not confirmed.")


class NotConfirmedTrialError(NotConfirmedError):
    """The same, for cells that would run again."""

    help = "`--yes` runs the cells without asking; or pipe `y` into it."

    def __init__(self) -> None:
        CommandError.__init__(self, "Nothing was run: it was not confirmed.")


class FileExistsAlreadyError(CommandError):
    """Nothing is written over."""

    exit_status = 1
    help = "Name another file with `--output FILE`."

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists already.")


class _CannotWriteError(CommandError):
    exit_status = 1

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}.")


class CannotExportError(_CannotWriteError):
    """The file system refuses."""

    help = "Name another place with `--output FILE`."


class NoSuchPageError(CommandError):
    """Nothing of that name is in the reference."""

    def __init__(self, name: str, similar: list[str]) -> None:
        super().__init__(f"There is no cause and no fix {name!r}.")
        choice = " or ".join(filter(None, (", ".join(similar[:-1]), *similar[-1:])))
        asked = f"Did you mean {choice}? " if similar else ""
        self.help = f"{asked}`jupyter kerneldoctor explain` lists all."


class UnreadableConfigError(CommandError):
    """The configuration file cannot be read; it is left alone."""

    help = "Nothing was changed. Correct the file, or move it away, and run the command again."

    def __init__(self, path: Path, error: OSError | UnicodeDecodeError) -> None:
        super().__init__(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.")


class ReadOnlyPrefixError(_CannotWriteError):
    """The environment belongs to someone else."""

    help = "Nothing was changed. `jupyter kerneldoctor enable --user` does it for you alone, in your IPython profile."


class ReadOnlyProfileError(_CannotWriteError):
    """Not even the user's own profile can be written."""

    help = "Nothing was changed. Check the rights of the directory, or set IPYTHONDIR to one that you can write."
