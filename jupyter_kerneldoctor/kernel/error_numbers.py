"""Reads the numbers in libraries' messages about memory: "Tried to allocate 2.00 GiB"."""

import math
import re

_SIZE = r"(?<![\d.,])([\d.,]{0,24}\d) ?(bytes|[KMGT]?i?B)\b"
"""Bounded in length: a cell waits for this, and an exception's text may consist of digits only."""

_FACTORS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
"""PyTorch, NumPy and XLA count in powers of 1024, whether they write GB or GiB."""

_SIZES = {
    "asked_bytes": (
        rf"(?:[Tt]ried|[Tt]rying) to allocate {_SIZE}",
        rf"Unable to allocate {_SIZE}",
        rf"Out of memory allocating {_SIZE}",
        rf"Failed to allocate {_SIZE}",
    ),
    "total_bytes": (rf"{_SIZE} total capacity", rf"total capac\w+ of {_SIZE}"),
    "free_bytes": (rf"of which {_SIZE} is free", rf"{_SIZE} free"),
    "allocated_bytes": (
        rf"{_SIZE} already allocated",
        rf"{_SIZE} is allocated by PyTorch",
        rf"MPS allocated: {_SIZE}",
        rf"allocated so far: {_SIZE}",
    ),
    "reserved_bytes": (rf"{_SIZE} reserved in total by PyTorch",),
    "unallocated_bytes": (rf"{_SIZE} is reserved by PyTorch but unallocated",),
    "process_bytes": (rf"this process has {_SIZE} memory in use",),
    "allowed_bytes": (rf"{_SIZE} allowed", rf"max allowed: {_SIZE}", rf"limit set to: {_SIZE}"),
}
"""PyTorch 1.x and 2.x, MPS, NumPy, XLA, CuPy, OpenCV."""

_OTHERS = rf"Process \d+ has {_SIZE} memory in use"

_INTEGERS = {
    "asked_bytes": r"alloc of size (\d+) failed",  # pyarrow: malloc, realloc
    "gpu": r"GPU[ :](\d+)",
    "pid": r"\(pid(?:\(s\))? (\d+)",
    "exit_code": r"SIG[A-Z]{1,9}\((-\d+)\)",
}

_TENSOR = r"shape\[([\d,]{1,200})\] and type (\w+)"
_TF_BYTES = {"half": 2, "bfloat16": 2, "float": 4, "int32": 4, "double": 8, "int64": 8, "complex64": 8, "uint8": 1}


def parse(text: str) -> dict[str, int]:
    """Return the numbers in a text by what they mean, as in `recording.events.Incident.numbers`."""
    found = {name: size for name, patterns in _SIZES.items() if (size := _first(patterns, text)) is not None}
    for name in ("asked_bytes", "gpu"):
        value = integer(name, text)
        if value is not None:
            found.setdefault(name, value)
    others = [_bytes(*match) for match in re.findall(_OTHERS, text)]
    if others:
        found["others_bytes"] = sum(others)
    if "unallocated_bytes" in found and "allocated_bytes" in found:
        found.setdefault("reserved_bytes", found["allocated_bytes"] + found["unallocated_bytes"])
    if tensor := re.search(_TENSOR, text):
        shape = [int(length) for length in tensor[1].split(",") if length]
        found.setdefault("asked_bytes", math.prod(shape) * _TF_BYTES.get(tensor[2], 4))
    return found


def integer(name: str, text: str) -> int | None:
    """Return a number that is no size, `gpu`, `pid` or `exit_code`; None where the text has none."""
    found = re.search(_INTEGERS[name], text)
    return int(found[1]) if found is not None else None


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    found = next((match for pattern in patterns if (match := re.search(pattern, text))), None)
    return None if found is None else _bytes(found[1], found[2])


def _bytes(number: str, unit: str) -> int:
    return round(float(number.replace(",", "")) * _FACTORS[unit[0].lower()])
