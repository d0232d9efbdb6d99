"""Reads the location table of a code object, Python 3.11 and later (InternalDocs/code_objects.md in CPython).

The first byte of an entry has its highest bit set; four bits say the form, three how many code units it covers.
"""

_UNIT_BYTES = 2
_MOST_BITS = 32
"""CPython counts lines in an int; bytes that never end a number must not make it ever longer."""

_NO_LOCATION, _LONG, _NO_COLUMNS, _ONE_LINE = 15, 14, 13, range(10, 13)


def line_at(table: bytes, first_line: int, offset: int) -> int | None:
    """Return the line of the instruction at `offset` bytes; None where there is no line, or beyond the table."""
    line, end, position = first_line, 0, 0
    while position < len(table):
        head = table[position]
        form = (head >> 3) & 15
        position += 1
        if form in (_LONG, _NO_COLUMNS):
            line += _signed(table, position)
        elif form in _ONE_LINE:
            line += form - _ONE_LINE.start
        end += ((head & 7) + 1) * _UNIT_BYTES
        if offset < end:
            return None if form == _NO_LOCATION else line
        while position < len(table) and not table[position] & 0x80:
            position += 1
    return None


def _signed(table: bytes, position: int) -> int:
    """Decode pieces of six bits, lowest first, bit 6 set in all but the last; the lowest bit of all is the sign."""
    value = shift = 0
    while position < len(table) and shift <= _MOST_BITS:
        piece = table[position]
        value |= (piece & 63) << shift
        if not piece & 64:
            break
        shift += 6
        position += 1
    return -(value >> 1) if value & 1 else value >> 1
