"""`enable` and `disable`: whether every new kernel of this environment, or of this user, loads the extension.

It is loaded by some lines at the end of IPython's configuration in Python, so that they can ask first whether there is
such an extension: kernels of other environments read the same profile, and the package may be uninstalled. They extend
`extra_extensions`, because a profile that sets `extensions` would replace ours.
"""

import json
import os
import sys
import tempfile
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from .errors import ReadOnlyPrefixError, ReadOnlyProfileError, UnreadableConfigError
from .output import say

FILE = "ipython_kernel_config.py"
LINES = """
# Written by `jupyter kerneldoctor enable`, removed by `jupyter kerneldoctor disable`; harmless without the package.
from importlib.util import find_spec
if getattr(find_spec("kerneldoctor"), "origin", None):  # a directory of this name has none
    import kerneldoctor  # now: IPython will look into the notebook's directory first, where anything may lie
    get_config().InteractiveShellApp.extra_extensions.append("kerneldoctor")
"""


def enable(options: Namespace) -> None:
    """Load the extension in every new kernel."""
    path = config_path(user=options.user)
    config = _read(path)
    kernels = _kernels(user=options.user)
    _remove_json_entry(path, user=options.user)
    if LINES in config:
        say(f"{kernels} already load KernelDoctor ({path}).")
        return
    _write(path, config + LINES, user=options.user)
    say(f"{kernels} will load KernelDoctor ({path}).")
    say("In kernels already running, run `%load_ext kerneldoctor`, or restart them.")
    say(f"`jupyter kerneldoctor disable{' --user' if options.user else ''}` undoes this.")


def disable(options: Namespace) -> None:
    """Stop loading the extension in new kernels."""
    path = config_path(user=options.user)
    config = _read(path)
    kernels = _kernels(user=options.user)
    was_in_json = _remove_json_entry(path, user=options.user)
    if LINES in config:
        _write(path, config.replace(LINES, ""), user=options.user)
    if was_in_json or LINES in config:
        say(f"{kernels} will not load KernelDoctor ({path}).")
    else:
        say(f"{kernels} do not load KernelDoctor; nothing was changed ({path}).")
    other = config_path(user=not options.user)
    with suppress(UnreadableConfigError):
        if LINES in _read(other):
            flag = "" if options.user else " --user"
            say(f"It is still enabled in {other}: run `jupyter kerneldoctor disable{flag}` to change that.")


def config_path(*, user: bool) -> Path:
    """Return the file to change: the environment's, or that of the user's IPython profile."""
    if not user:
        return Path(sys.prefix) / "etc" / "ipython" / FILE
    home = os.environ.get("IPYTHONDIR") or "~/.ipython"
    return Path(home).expanduser() / "profile_default" / FILE


def _kernels(*, user: bool) -> str:
    return "Your new kernels, in all environments," if user else f"New kernels of the environment {sys.prefix}"


def _read(path: Path) -> str:
    """Return the configuration; nothing when there is no file yet."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableConfigError(path, error) from None


def _remove_json_entry(path: Path, *, user: bool) -> bool:
    """Remove what `enable` wrote until November 2026: without the package it costs a traceback at each start."""
    path = path.with_suffix(".json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        config["InteractiveShellApp"]["extra_extensions"].remove("kerneldoctor")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False
    is_empty = config == {"InteractiveShellApp": {"extra_extensions": []}}
    _write(path, "" if is_empty else json.dumps(config, indent=2) + "\n", user=user)
    return True


def _write(path: Path, config: str, *, user: bool) -> None:
    """Replace the file in one step, so that a kernel which starts meanwhile reads the old or the new, never half.

    A configuration that holds nothing more is removed: so `disable` leaves what was there before `enable`.
    """
    target = path.resolve()  # a link that someone made stays a link
    try:
        if not config:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(config)
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise (ReadOnlyProfileError if user else ReadOnlyPrefixError)(path, error) from None
