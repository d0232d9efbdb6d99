"""What may be kept of a recorded value that somebody else will see: a function for each kind of value."""

import builtins
import math
import os
import re
from typing import Any

LEFT_OUT = "left out"

_KNOWN_MODULES = frozenset(
    (
        *("builtins", "array", "collections", "concurrent", "io", "mmap", "multiprocessing", "os", "pathlib"),
        *("IPython", "PIL", "cudf", "cupy", "dask", "datasets", "distributed", "jax", "jaxlib", "joblib", "keras"),
        *("lightgbm", "loky", "matplotlib", "numba", "numpy", "pandas", "polars", "pyarrow", "rmm", "scipy", "sklearn"),
        *("tensorflow", "torch", "transformers", "xarray", "xgboost"),
    )
)
"""Types of these may be named. One of the user's own says what he works on."""

_CGROUP = re.compile(r"(?<![^/])[^/]+(?=/)")
_PUBLIC_PARTS = frozenset(("proc", "sys", "fs", "cgroup", "memory", "user.slice", "system.slice", "PID"))
_PUBLIC_MOUNTS = frozenset(("/", "/tmp", "/var/tmp", "/dev/shm", "/home", "/var", "/run", "/usr", "/opt", "/mnt"))  # noqa: S108
_PUBLIC_WORDS = frozenset(("-m", "-f", "-c", "ipykernel_launcher", "ipykernel", "{connection_file}"))
_PUBLIC_PROGRAMS = re.compile(r"python[\d.]*t?|sh|bash|dash")

_DTYPE_WORDS = (
    "[usvo]|bfloat|binary|bool|boolean|bytes|categorical|category|complex|date|datetime|decimal|double|duration|enum|float"
    "|sparse|half|halffloat|int|large_binary|large_string|list|mixed|null|object|q?u?int|str|string|struct|structured|time"
    "|timedelta|timestamp|utf|void"
)
_DTYPE = re.compile(
    rf"[<>|]?({_DTYPE_WORDS})\d{{0,6}}(_e\dm\d[a-z]*)?(\[([a-z]{{1,2}}(, tz)?|({_DTYPE_WORDS})\d{{0,6}})\])?",
    re.ASCII | re.IGNORECASE,
)
_DEVICE = re.compile(r"(cuda|mps|tpu|xpu|rocm|gpu|cpu)(:[0-9]+)?")

_KERNEL_ID = re.compile(r"[0-9a-f-]{1,36}")

_LOG_LINES = re.compile(r"(?i)\b(out of memory|oom|killed process|segfault|traps:|general protection|nvrm|xid)\b")
_LOG_NAMES = re.compile(r"\((?!python)[^()]*\)|(?<=memcg=)[^, ]+|(?<=cpuset=)[^, ]+|(?<=comm=)\S+|(?<=task=)[^, ]+")


class UserNames:
    """What the user and the home directory are called."""

    def __init__(self, home: str) -> None:
        homes = sorted({home, os.path.realpath(home)} - {"", "/"}, key=len, reverse=True)
        self._homes = [path.rstrip("/") for path in homes]
        names = {os.path.basename(path) for path in self._homes} - {"", "root", "user", "home"}
        self._names = re.compile("|".join(rf"(?<=/){re.escape(name)}(?=/|$)" for name in sorted(names)) or r"(?!)")

    def hidden_in(self, text: str) -> str:
        """Return text without them."""
        for home in self._homes:
            text = text.replace(home, "~")
        return self._names.sub("user", text)


def is_number(value: Any) -> bool:
    """Whether a value is a number that JSON can hold, yes, no or nothing."""
    return value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def number(value: Any, _user: UserNames) -> Any:
    """Keep a number, or yes and no."""
    return value if is_number(value) else None


def numbers(value: Any, _user: UserNames) -> Any:
    """Keep a list or an object of numbers."""
    if isinstance(value, dict):
        return {name: entry for name, entry in value.items() if name.isidentifier() and is_number(entry)}
    return [entry for entry in value if is_number(entry)] if isinstance(value, list) else None


def word(value: Any, user: UserNames) -> Any:
    """Keep words that are ours, the system's or a library's."""
    return user.hidden_in(value) if isinstance(value, str) else None


def words(value: Any, user: UserNames) -> Any:
    """Keep such words in a list or an object."""
    if isinstance(value, dict):
        return {user.hidden_in(name): word(entry, user) for name, entry in value.items()}
    return [word(entry, user) for entry in value] if isinstance(value, list) else word(value, user)


def count_only(value: Any, _user: UserNames) -> Any:
    """Keep how many there are, but no names and addresses."""
    return ["one"] * len(value) if isinstance(value, list) else None


def identity(value: Any, _user: UserNames) -> Any:
    """Keep a process id with its start time and boot id."""
    return (
        value if isinstance(value, list) and all(is_number(part) or isinstance(part, str) for part in value) else None
    )


def type_name(value: Any, _user: UserNames) -> Any:
    """Keep the name of a type if it is Python's or a known library's."""
    if not isinstance(value, str):
        return None
    module, _, _ = value.partition(".")
    return value if module in _KNOWN_MODULES or isinstance(getattr(builtins, value, None), type) else LEFT_OUT


def dtype(value: Any, _user: UserNames) -> Any:
    """Keep the name of a dtype, not the names of a structured array's columns."""
    return value if isinstance(value, str) and _DTYPE.fullmatch(value) else LEFT_OUT


def device(value: Any, _user: UserNames) -> Any:
    """Keep the kind of a device and its number."""
    return value if isinstance(value, str) and _DEVICE.fullmatch(value) else LEFT_OUT


def source(value: Any, _user: UserNames) -> Any:
    """Keep how many lines there were, so that line numbers still say something."""
    return "# code left out" + "\n#" * value.count("\n") if isinstance(value, str) else None


def command(value: Any, _user: UserNames) -> Any:
    """Keep that Python was started, and its module for kernels; an argument may be a token."""
    if not isinstance(value, list):
        return None
    program = [os.path.basename(word) for word in value[:1] if isinstance(word, str)]
    first = [word if _PUBLIC_PROGRAMS.fullmatch(word) else LEFT_OUT for word in program]
    return first + [word if word in _PUBLIC_WORDS else LEFT_OUT for word in map(str, value[1:])]


def control_group(value: Any, _user: UserNames) -> Any:
    """Keep where in the hierarchy it is, and the file's name; a group may be called after its user or container."""
    if not isinstance(value, str):
        return None
    return _CGROUP.sub(lambda part: part[0] if part[0] in _PUBLIC_PARTS or part[0].isdigit() else "x", value)


def group_path(value: Any, user: UserNames) -> Any:
    """Keep how deep a control group is."""
    return control_group(f"{value}/", user)[:-1] if isinstance(value, str) else None


def mount_point(value: Any, _user: UserNames) -> Any:
    """Keep where every system has a file system."""
    return value if value in _PUBLIC_MOUNTS else LEFT_OUT


def log_lines(value: Any, user: UserNames) -> Any:
    """Keep what the operating system logged, without the names of programs and control groups."""
    lines = [line for line in value if isinstance(line, str)] if isinstance(value, list) else []
    return [_LOG_NAMES.sub("x", user.hidden_in(line)) if _LOG_LINES.search(line) else LEFT_OUT for line in lines]


def kernel_id(value: Any, _user: UserNames) -> Any:
    """Keep what Jupyter calls a kernel; of one that somebody named himself that there was a name."""
    return value if isinstance(value, str) and _KERNEL_ID.fullmatch(value) else LEFT_OUT


def display(value: Any, _user: UserNames) -> Any:
    """Keep whether there is a display, and a local one's number."""
    return value if isinstance(value, str) and re.fullmatch(r"(:[\d.]+)?", value) else LEFT_OUT


def libraries(value: Any, _user: UserNames) -> Any:
    """Keep the names of files, not where they are."""
    return [os.path.basename(path) for path in value if isinstance(path, str)] if isinstance(value, list) else None


def traceback(value: Any, user: UserNames) -> Any:
    """Keep the places and the type of an error of ours, not what it says."""
    if not isinstance(value, str):
        return None
    lines = [line for line in value.splitlines() if line.startswith(("Traceback", '  File "'))]
    return user.hidden_in("\n".join([*lines, value.splitlines()[-1].partition(":")[0] if value else ""]))


def hidden(_value: Any, _user: UserNames) -> Any:
    """Say that there was something."""
    return LEFT_OUT
