"""`jupyter kerneldoctor`: arguments and errors.

Each command imports what it needs when it runs, as users and `%postmortem` wait for it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

from .commands import output
from .commands.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it

DEBUG_VARIABLE = "KERNELDOCTOR_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    output.prepare()
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.run is None:
            output.say(parser.format_help())
        else:
            return _run(options) or 0
    except BrokenPipeError:
        return 1  # `... | head` has seen enough
    except KeyboardInterrupt:
        return 130
    except CommandError as error:
        return _failed(options, str(error), error.help, error.exit_status)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        problem = f"KernelDoctor failed: {type(error).__name__}: {error}"
        return _failed(options, problem, f"Set {DEBUG_VARIABLE}=1 to see where. Please report this.", 1)
    return 0


def _run(options: argparse.Namespace) -> int | None:
    """Run a command; most return nothing where all is well."""
    module, _, function = options.run.partition(":")
    status: int | None = getattr(importlib.import_module(f".commands.{module}", __package__), function)(options)
    return status


def _failed(options: argparse.Namespace, problem: str, advice: str, status: int) -> int:
    from .render.printable import visible  # noqa: PLC0415 - only when something failed

    if getattr(options, "json", False):
        output.say_json(options.nothing)  # a program that reads standard output gets valid JSON in any case
    print(visible(f"{problem}\n{advice}".strip()), file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter kerneldoctor",
        description="Why did the kernel die?",
        epilog="The id of a recording may be shortened to its first characters, if no other id starts with them.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(run=None)
    _add_commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    return parser


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number


class _Version(argparse.Action):
    """Looks the version up only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from . import __version__  # noqa: PLC0415

        print(__version__)
        parser.exit()


def _add_commands(commands: Commands) -> None:
    def add(name: str, run: str, words: str, **defaults: Any) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        command.set_defaults(run=run, **defaults)
        return command

    words = "show why a kernel died; without arguments, the one that is stuck now, or that died last"
    command = add("report", "reports:report", words, nothing=None)
    group = command.add_argument_group("which report")
    which = group.add_mutually_exclusive_group()
    which.add_argument("recording", nargs="?", help="id of a recording, from `list`")
    which.add_argument("--last", action="store_true", help="the last death; without one, the newest recording")
    which.add_argument("--kernel", metavar="KERNEL_ID", help="the last death of this kernel")
    group.add_argument("--notebook", metavar="PATH", help="the last death of this notebook, if the kernel has none")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs; `null` when there is nothing to report")
    form.add_argument("--format", choices=("text", "markdown", "html"), default="text", help="text by default")
    words = "nothing where the kernel ended as it was asked to, and nothing went wrong before"
    command.add_argument("--if-died", action="store_true", help=words)
    command.add_argument("--details", action="store_true", help="all fixes and facts, and the memory over time")
    command.add_argument("--all", action="store_true", help="all fixes that fit, not only the first three")

    command = add("list", "reports:list_", "list the recordings, deaths first", nothing=[])
    command.add_argument("--all", action="store_true", help="those of kernels that ended as they were asked to, too")
    command.add_argument("--json", action="store_true", help="for programs: all recordings, newest first")

    command = add("inspect", "inspect:inspect", "show what each thread of a running kernel is doing", nothing=None)
    which = command.add_mutually_exclusive_group()
    by_default = "id of a recording, from `list`; by default a kernel that is stuck or busy"
    which.add_argument("recording", nargs="?", help=by_default)
    which.add_argument("--kernel", metavar="KERNEL_ID", help="id or process id of the kernel")
    command.add_argument("--json", action="store_true", help="for programs; `null` when the kernel cannot be inspected")

    words = "run the recorded cells again with a fix, and tell whether the kernel lives"
    command = add("try", "trial:try_", words, nothing=None)
    command.epilog = "Exit status: 0 where the kernel lived, or was running past the place of the failure; else 1."
    _add_trial_options(command)

    command = add("explain", "explain:explain", "explain causes and fixes")
    command.add_argument("names", nargs="*", metavar="ID", help="for example oom-cgroup; without any, all are listed")

    newest = "id of a recording, from `list`; by default the newest"
    command = add("show", "show:show", "show what was recorded, in order of time", nothing=None)
    command.add_argument("recording", nargs="?", help=newest)
    command.add_argument("--json", action="store_true", help="for programs")

    command = add("export", "export:export", "pack a recording into one file for a bug report, without your code")
    command.add_argument("recording", nargs="?", help=newest)
    command.add_argument("-o", "--output", metavar="FILE", help="file or directory; ./kerneldoctor-ID.zip by default")
    command.add_argument("--with-code", action="store_true", help="include the cells' code and what was printed")

    command = add("delete", "delete:delete", "delete recordings")
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("recordings", nargs="*", default=[], metavar="recording", help="ids of recordings, from `list`")
    which.add_argument("--all", action="store_true", help="all recordings except those of running kernels")
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation")

    command = add("enable", "activation:enable", "load KernelDoctor in every new kernel of this environment")
    command.add_argument("--user", action="store_true", help="in all your kernels instead")

    command = add("disable", "activation:disable", "stop loading KernelDoctor in every new kernel")
    command.add_argument("--user", action="store_true", help="undo `enable --user`")


def _add_trial_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("recording", nargs="?", help="id of a recording, from `list`; by default the last death")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--fix", metavar="ID", help="by default the first fix that changes a cell")
    which.add_argument("--fit", choices=("batch_size",), help="find the largest that fits, by two short tries")
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    command.add_argument("--here", action="store_true", help="in the notebook's directory, not in a copy of it")
    command.add_argument("--python", metavar="PATH", help="the interpreter; by default the recorded kernel's")
    command.add_argument("--seconds", type=_seconds, help="time limit; 3 times what it took before, at least 60")
    kinds = ("cgroup", "systemd", "rlimit")
    command.add_argument("--limit-by", choices=kinds, help="how memory is limited; by default the first that works")
    command.add_argument("--json", action="store_true", help="for programs; needs `--yes`")
