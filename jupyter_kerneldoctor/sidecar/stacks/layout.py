"""The layout of an interpreter's structures: offsets in bytes from the start of each. `layout_discovery` finds them."""

from typing import NamedTuple


class Layout(NamedTuple):
    """The offsets needed to read a stack."""

    type_: int
    """In every object: its type."""
    interp_head: int
    """In PyInterpreterState: the newest thread state."""
    thread_next: int
    """In PyThreadState: the next older one."""
    thread_native_id: int
    """In PyThreadState: what `threading.get_native_id()` says."""
    thread_frame: list[int]
    """From PyThreadState to the running frame: one step (3.13 and later), or two, through `cframe`."""
    frame_code: int
    """In _PyInterpreterFrame: the code object; its lowest bits may be tags."""
    frame_previous: int
    frame_instruction: int
    code_units: int
    """In PyCodeObject: how many code units of two bytes it has."""
    code_start: int
    """In PyCodeObject: the first of them."""
    code_copies: int | None
    """In PyCodeObject: the array of their copies, one for each thread (3.14 and later without the GIL)."""
    code_file: int
    code_name: int
    code_lines: int
    """In PyCodeObject: the location table, a bytes object."""
    code_first_line: int
    str_length: int
    str_state: int
    str_mask: int
    str_kinds: dict[str, list[int]]
    """By the masked state: the offset of the characters, and how many bytes each takes."""
    bytes_length: int
    bytes_data: int


class Runtime(NamedTuple):
    """Addresses in the kernel, as it reports them itself (`kernel.stack_access`)."""

    interpreter: int
    code_type: int
    str_type: int
    bytes_type: int
    none: int


class Interpreter(NamedTuple):
    """An interpreter in a process: its addresses, and where the file it was loaded from begins."""

    runtime: Runtime
    file: str
    """Device and inode, as proc_pid_maps(5) gives them."""
    start: int


class UnexpectedLayoutError(Exception):
    """A structure of this interpreter is not as expected; the message names it."""
