"""Where an interpreter keeps what, in bytes from the start of each structure. `learn` finds it out."""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """The offsets that are needed to read a stack."""

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
    code_file: int
    code_name: int
    code_lines: int
    """In PyCodeObject: the location table, a bytes object."""
    code_first_line: int
    str_length: int
    str_state: int
    str_mask: int
    str_kinds: dict[str, list[int]]
    """By what is left of the state under the mask: offset of the characters, and bytes of each."""
    bytes_length: int
    bytes_data: int


class Runtime(NamedTuple):
    """Addresses in the kernel, as it tells them itself (`kernel.kernel_info`)."""

    interpreter: int
    code_type: int
    str_type: int
    bytes_type: int
    none: int


class Interpreter(NamedTuple):
    """One in a process: what it has told of itself, and where the file begins that it was loaded from."""

    runtime: Runtime
    file: str
    """Its device and inode, as proc_pid_maps(5) gives them."""
    start: int


class UnexpectedLayoutError(Exception):
    """This interpreter's structures are not what was expected; the message names the one."""
