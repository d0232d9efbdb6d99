"""Makes text of the user's safe to show."""

import re
from typing import Any

# Escapes of terminals, characters that reorder text (a source may look like other code than it is) or show nothing,
# lone surrogates; src/text.ts has the same. Newline and tab stay, as sources need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: Any) -> str:
    """Return text in which everything that a terminal or browser would obey is an escape."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), str(text))


def one_line(text: Any) -> str:
    """Return the same on one line, with single spaces."""
    return " ".join(visible(text).split())
