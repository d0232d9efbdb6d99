"""Numbers and code as people read them."""

import signal
from collections.abc import Sequence

_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size(amount_bytes: float) -> str:
    """Return "500 MiB", "2.4 GiB": two or three figures are what a reader keeps."""
    if abs(amount_bytes) < _KIB:
        return f"{amount_bytes:.0f} bytes"
    value = float(amount_bytes)
    unit = ""
    for unit in _UNITS:  # noqa: B007 - the unit reached is the result
        value /= _KIB
        if abs(value) < _KIB - 0.5:  # so that nothing is rounded to 1024 of a unit
            break
    whole = abs(value) >= 99.95 or (unit in ("KiB", "MiB") and abs(value) >= 9.95)
    return f"{value:.0f} {unit}" if whole else f"{value:.1f} {unit}"


def of_size(part_bytes: float, whole_bytes: float) -> str:
    """Return both amounts in one unit, unless one is much smaller: "490 of 500 MiB", "46 MiB of 8.0 GiB"."""
    whole = size(whole_bytes)
    number, unit = whole.split(" ")
    if unit == "bytes":
        return f"{part_bytes:.0f} of {whole}"
    if part_bytes < whole_bytes / 10:
        return f"{size(part_bytes)} of {whole}"
    part = part_bytes / _KIB ** (_UNITS.index(unit) + 1)
    return f"{part:.1f} of {whole}" if "." in number else f"{part:.0f} of {whole}"


def share_of(part_bytes: float, whole_bytes: float) -> str:
    """Return "490 of 500 MiB", or "all 500 MiB"."""
    said, all_of_it = of_size(part_bytes, whole_bytes), of_size(whole_bytes, whole_bytes)
    return f"all {size(whole_bytes)}" if said == all_of_it else said


def duration(time_s: float) -> str:
    """Return "0.4 s", "29 s", "2 min 5 s", "3 h 10 min"."""
    if time_s < 0.095:
        return f"{max(time_s, 0.0) * 1000:.0f} ms"
    if time_s < 9.95:
        return f"{time_s:.1f} s"
    seconds = round(time_s)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def cell_name(execution_count: int | None) -> str:
    """Return "cell [7]", or what to call a cell that ran without history."""
    return "a cell without a number" if execution_count is None else f"cell [{execution_count}]"


def quote(code: str, longest: int = 60) -> str:
    """Return code in backticks on one line, shortened, without anything a terminal would obey."""
    line = " ".join("".join(char if char.isprintable() or char.isspace() else "�" for char in code).split())
    line = line.replace("`", "'")
    return f"`{line if len(line) <= longest else line[: longest - 1].rstrip() + '…'}`"


def statement(line: str) -> str:
    """Return a line of code for a sentence that goes on: `with lock:` without the colon."""
    return line.strip().removesuffix(":").rstrip()


def sentence(text: str) -> str:
    """Return the text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    """Return "1 process", "3 processes"."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"


def two_digits(number: int) -> int:
    """Return the number that is not above it and has two digits and zeros: 1,900 for 1,995."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return number - number % unit


def enumeration(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def signal_name(number: int) -> str:
    """Return "SIGKILL" for 9; "signal 40" for a signal without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
