"""Whatever stands in the texts of a recording, no report lets it become markup, or a command of a terminal."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.causes import all_causes
from jupyter_kerneldoctor.render import html, markdown, terminal

HOSTILE = [
    "`<img src=x onerror=alert(1)>`",
    '"><script>alert(1)</script>',
    "' onload='x",
    "\x1b]52;c;aaaa\x07",
    "```\n<img src=q>\n```",
    "</style><svg onload=x><!--",
    "\u202e[x](javascript:alert(1))![a](http://x.org/y)",
]
OWN_WORDS = ("kind", "how", "state", "type", "dtype", "signal", "by", "language", "loaded_by", "id", "boot", "event")
"""Fields in which only words of ours count."""

TAGS = {
    *("!doctype", "html", "meta", "title", "style", "div", "h3", "h4", "p", "span", "b", "br", "i", "ul", "li", "code"),
    *("pre", "details", "summary", "svg", "rect", "line", "text", "polygon", "polyline", "circle"),
}
ATTRIBUTES = {
    *("lang", "charset", "class", "style", "role", "aria-label", "viewbox", "points", "text-anchor"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"),
}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


class Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def spoiled(value, name="", number=0):
    """Return a value with something hostile in each of its texts; in code it is a comment, so that rules read on."""
    hostile = HOSTILE[number % len(HOSTILE)]
    if isinstance(value, str):
        if name in OWN_WORDS or not value:
            return value
        return f"{value}\n# {hostile}" if name == "source" else f"{value}{hostile}"
    if dataclasses.is_dataclass(value):
        given = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
        changed = {one: spoiled(given[one], one, number + at) for at, one in enumerate(given)}
        return dataclasses.replace(value, **changed)
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        return value._replace(**{one: spoiled(getattr(value, one), one, number) for one in value._fields})
    if isinstance(value, tuple | list):
        return type(value)(spoiled(one, name, number + at) for at, one in enumerate(value))
    if isinstance(value, dict):
        return {key: spoiled(one, name, number) for key, one in value.items()}
    return value


def outside_of_code(text):
    """Yield what Markdown does not show as code, a line each."""
    fence = ""
    for line in text.split("\n"):
        begin = re.match("`{3,}", line)
        if begin and (not fence or line == fence):
            fence = "" if fence else begin[0]
        elif not fence and not line.startswith("<details><summary>") and line != "</details>":
            yield re.sub(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)", "", line)


@pytest.mark.parametrize("cause", all_causes(), ids=lambda cause: cause.id)
def test_no_text_of_a_recording_becomes_markup(cause):
    for number, recording in enumerate(cause.fires_on()):
        doc = diagnose(spoiled(recording, number=number)).to_json()
        page, pasted, printed = html.page(doc), markdown.render(doc), terminal.render(doc, details=True)
        seen = Markup()
        seen.feed(page)
        assert seen.tags <= TAGS
        assert seen.attributes <= ATTRIBUTES
        assert not UNSEEN.search(page + pasted + printed)
        assert not [line for line in outside_of_code(pasted) if re.search(r"(?<!\\)<|(?<!\\)\]\(", line)]
