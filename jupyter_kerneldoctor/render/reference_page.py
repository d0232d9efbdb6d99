"""A reference page, written in Markdown, as text for a terminal."""

import re
import textwrap

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BOLD = re.compile(r"`[^`]*`|\*\*(.+?)\*\*", re.DOTALL)
"""Code is matched first: `f(**options)` is not bold."""

_ITEM = re.compile(r"([-*]|\d+\.) ")
_CODE = re.compile(r" {4}|\t|```|\|")
"""How lines begin that stay as they are: indented code, fences, tables."""


def render(markdown: str, width: int) -> str:
    """Return the page with its title underlined, headings in capitals, no asterisks, and lines that fit the width."""
    text = _reflowed(markdown.strip(), width)
    text = _TITLE.sub(lambda found: f"{found[1]}\n{'=' * len(found[1])}", text)
    text = _SECTION.sub(lambda found: found[1].upper(), text)
    return _BOLD.sub(lambda found: found[1] or found[0], text)


def _reflowed(text: str, width: int) -> str:
    lines: list[str] = []
    paragraph: list[str] = []
    is_fenced = False

    def end() -> None:
        if paragraph:
            indent = "  " if _ITEM.match(paragraph[0]) else ""
            joined = " ".join(line.strip() for line in paragraph)
            kept = {"subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}
            lines.extend(textwrap.wrap(joined, width, **kept))  # type: ignore[arg-type]
            paragraph.clear()

    for line in text.split("\n"):
        is_fence = line.startswith("```")
        if is_fence or is_fenced or not line.strip() or line.startswith("#") or _CODE.match(line):
            end()
            lines.append(line)
            is_fenced ^= is_fence
        else:
            if _ITEM.match(line):
                end()
            paragraph.append(line)
    end()
    return "\n".join(lines)
