"""`enable` and `disable`: whether every new kernel of this environment, or of this user, loads the extension.

The extension is one name in a list of IPython's configuration: `extra_extensions`, because a profile that sets
`extensions` would replace ours. Everything else in the file stays as it was.
"""

import json
import os
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from .errors import DamagedConfigError, ReadOnlyPrefixError, ReadOnlyProfileError
from .output import say

EXTENSION = "kerneldoctor"
FILE = "ipython_kernel_config.json"
SECTION, LIST = "InteractiveShellApp", "extra_extensions"


def enable(options: Namespace) -> None:
    """Load the extension in every new kernel."""
    path = config_path(user=options.user)
    config, names = _read(path)
    kernels = _kernels(user=options.user)
    if EXTENSION in names:
        say(f"{kernels} already load KernelDoctor ({path}).")
        return
    config.setdefault(SECTION, {})[LIST] = [*names, EXTENSION]
    _write(path, config, user=options.user)
    say(f"{kernels} will load KernelDoctor ({path}).")
    say("In kernels already running, run `%load_ext kerneldoctor`, or restart them.")
    say(f"`jupyter kerneldoctor disable{' --user' if options.user else ''}` undoes this.")


def disable(options: Namespace) -> None:
    """Stop loading the extension in new kernels."""
    path = config_path(user=options.user)
    config, names = _read(path)
    kernels = _kernels(user=options.user)
    if EXTENSION not in names:
        say(f"{kernels} do not load KernelDoctor; nothing was changed ({path}).")
    else:
        config[SECTION][LIST] = [name for name in names if name != EXTENSION]
        if not config[SECTION][LIST]:
            del config[SECTION][LIST]
        if not config[SECTION]:
            del config[SECTION]
        _write(path, config, user=options.user)
        say(f"{kernels} will not load KernelDoctor ({path}).")
    other = config_path(user=not options.user)
    if EXTENSION in _names_or_nothing(other):
        flag = "" if options.user else " --user"
        say(f"It is still enabled in {other}: run `jupyter kerneldoctor disable{flag}` to change that.")


def config_path(*, user: bool) -> Path:
    """Return the file to change: the environment's, or that of the user's IPython profile."""
    if not user:
        return Path(sys.prefix) / "etc" / "ipython" / FILE
    home = os.environ.get("IPYTHONDIR") or "~/.ipython"
    return Path(home).expanduser() / "profile_default" / FILE


def _kernels(*, user: bool) -> str:
    return "All your new kernels" if user else f"New kernels of the environment {sys.prefix}"


def _read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return the configuration and the list in it; both empty when there is no file yet."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except OSError as error:
        raise DamagedConfigError(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise DamagedConfigError(path, f"is not valid JSON: {error}") from None
    section = config.get(SECTION, {}) if isinstance(config, dict) else None
    names = section.get(LIST, []) if isinstance(section, dict) else None
    if not isinstance(names, list):
        raise DamagedConfigError(path, f"has no list in {SECTION}.{LIST}")
    return config, names


def _names_or_nothing(path: Path) -> list[Any]:
    try:
        return _read(path)[1]
    except DamagedConfigError:
        return []


def _write(path: Path, config: dict[str, Any], *, user: bool) -> None:
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
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{FILE}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(config, indent=2) + "\n")
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise (ReadOnlyProfileError if user else ReadOnlyPrefixError)(path, error) from None
