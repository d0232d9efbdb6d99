import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from jupyter_kerneldoctor.render import html

HOSTILE = "<script>alert(1)</script>&\"'<img src=x onerror=alert(1)>\x1b[31m\ud800"


class Tags(HTMLParser):
    """Collects the tags and attributes a browser would see, and checks that each tag is closed."""

    def __init__(self):
        super().__init__()
        self.seen, self.attributes, self._open = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag != "br":
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


def tags_of(text):
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert parser._open == []
    return parser


def test_is_a_fragment_without_script(doc):
    found = tags_of(html.render(doc))

    assert {"svg", "pre", "h3", "style"} <= found.seen
    assert not found.seen & {"script", "img", "link", "iframe", "html", "body"}
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "src")]


def test_marks_the_line_and_the_change(doc):
    text = html.render(doc)

    assert '<span class="kd-culprit"><i>3</i>      losses.append(loss)</span>' in text
    assert '<span class="kd-plus">+    losses.append(loss.item())</span>' in text
    assert "<code>losses.append(loss)</code>" in text


def test_uses_the_theme_with_fallbacks(doc):
    assert "var(--jp-content-font-color1,#212121)" in html.render(doc)


def spoil(value):
    """Make every text of a document hostile, but those the document's own vocabulary fixes."""
    if isinstance(value, dict):
        fixed = ("kind", "applicability", "basis", "started", "ended")
        return {key: item if key in fixed else spoil(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spoil(item) for item in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_no_text_of_the_document_becomes_markup(doc):
    text = html.render(spoil(doc))

    assert not tags_of(text).seen & {"script", "img"}
    assert "\x1b" not in text
    text.encode()


def test_the_chart_is_well_formed_and_tells_screen_readers_what_it_is(doc):
    text = html.render(doc)
    svg = ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])

    assert svg.get("role") == "img"
    assert "3.9 GiB" in svg.get("aria-label")
    assert len(svg.findall("rect")) == 4
    assert svg.find("circle") is not None


def test_no_chart_without_samples(doc):
    doc["timeline"]["samples"] = {"t_s": [], "memory_bytes": []}

    assert "<svg" not in html.render(doc)
