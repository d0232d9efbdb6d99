"""A reference page, written in Markdown, as text for a terminal."""

import re

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BOLD = re.compile(r"`[^`]*`|\*\*(.+?)\*\*", re.DOTALL)
"""Code is matched first: `f(**options)` is not bold."""


def render(markdown: str) -> str:
    """Return the page with its title underlined, headings in capitals and no asterisks; code keeps its backticks."""
    text = _TITLE.sub(lambda found: f"{found[1]}\n{'=' * len(found[1])}", markdown.strip())
    text = _SECTION.sub(lambda found: found[1].upper(), text)
    return _BOLD.sub(lambda found: found[1] or found[0], text)
