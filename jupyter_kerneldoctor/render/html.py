"""A post-mortem as a fragment of HTML for the output of a cell: self-contained, no script, light and dark."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import plural

from . import diff, svgchart, wording
from .excerpt import excerpt
from .outline import Outline
from .printable import one_line, visible

Document = dict[str, Any]

# JupyterLab's variables carry its theme; the fallbacks serve other front ends and exported notebooks.
_STYLE = """
.kd-report{--kd-text:var(--jp-content-font-color1,#212121);--kd-quiet:var(--jp-content-font-color2,#616161);
--kd-edge:var(--jp-border-color2,#bdbdbd);--kd-code:var(--jp-layout-color2,rgba(128,128,128,.1));
--kd-bad:var(--jp-error-color1,#d32f2f);--kd-good:var(--jp-success-color1,#388e3c);
--kd-blue:var(--jp-brand-color1,#1976d2);color:var(--kd-text);max-width:46rem;
font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:var(--jp-ui-font-size1,13px);line-height:1.45}
.kd-report h3{margin:0 0 .3em;font-size:1.3em;line-height:1.3}
.kd-report h4{margin:1.2em 0 .4em;font-size:.85em;letter-spacing:.06em;text-transform:uppercase;color:var(--kd-quiet)}
.kd-report p{margin:.3em 0}.kd-report ul{margin:.3em 0;padding-left:1.3em}.kd-report li{margin:.25em 0}
.kd-report details{margin:.3em 0}.kd-report summary{cursor:pointer;color:var(--kd-quiet)}
.kd-report .kd-quiet{color:var(--kd-quiet);font-size:.9em}
.kd-report .kd-chip{display:inline-block;padding:0 .6em;margin-right:.4em;border:1px solid var(--kd-edge);
border-radius:1em}
.kd-report pre.kd-code{margin:.4em 0;padding:.4em 0;overflow-x:auto;background:var(--kd-code);color:var(--kd-text);
border:1px solid var(--kd-edge);font-family:var(--jp-code-font-family,monospace);font-size:.95em;line-height:1.4}
.kd-report .kd-code span{display:block;padding:0 .7em;border-left:3px solid transparent;min-height:1.4em}
.kd-report .kd-code .kd-culprit,.kd-report .kd-code .kd-minus{border-left-color:var(--kd-bad);
background:rgba(211,47,47,.14)}
.kd-report .kd-code .kd-plus{border-left-color:var(--kd-good);background:rgba(56,142,60,.16)}
.kd-report .kd-code i{color:var(--kd-quiet);font-style:normal;user-select:none}
.kd-chart{display:block;width:100%;height:auto}
.kd-chart text{font-size:11px;fill:var(--kd-quiet)}.kd-chart .kd-limit-name{fill:var(--kd-bad)}
.kd-chart .kd-band{fill:var(--kd-blue);fill-opacity:.1}.kd-chart .kd-last{fill:var(--kd-bad)}
.kd-chart .kd-grid{stroke:var(--kd-edge);stroke-opacity:.5}
.kd-chart .kd-area{fill:var(--kd-blue);fill-opacity:.2}
.kd-chart .kd-line{fill:none;stroke:var(--kd-blue);stroke-width:1.6}
.kd-chart .kd-limit{stroke:var(--kd-bad);stroke-dasharray:4 3}
.kd-chart .kd-death{stroke:var(--kd-bad);stroke-width:1.4}.kd-chart .kd-death-dot{fill:var(--kd-bad)}
"""


def render(doc: Document) -> str:
    """Return the whole post-mortem."""
    return fragment("".join(_blocks(doc)))


def fragment(body: str) -> str:
    """Return safe HTML with the look of a report, for the output of a cell."""
    return f'<style>{_STYLE}</style><div class="kd-report">{body}</div>'


def page(doc: Document) -> str:
    """Return the whole post-mortem as a file that a browser opens."""
    look = "<style>:root{color-scheme:light}body{margin:1.5rem}</style>"
    title = f"<title>{escape(one_line(doc['headline']).replace('`', ''))}</title>"
    return f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">{title}{look}{render(doc)}</html>\n'


def escaped(text: Any) -> str:
    """Return text on one line, with what stands in backticks set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(one_line(text)))


def _blocks(doc: Document) -> Iterator[str]:
    yield f"<h3>{escaped(doc['headline'])}</h3>"
    sure = wording.certainty(doc)
    yield "<p>" + (f'<span class="kd-chip">{sure}</span>' if sure else "")
    yield f'<span class="kd-chip">{escaped(wording.end_summary(doc))}</span>'
    yield f'<span class="kd-quiet">{escaped(wording.time_of_end(doc) or "")}</span></p>'
    yield from _Html().body(doc)
    yield _quiet("p", wording.identification(doc))


def _quiet(tag: str, text: str) -> str:
    return f'<{tag} class="kd-quiet">{escaped(text)}</{tag}>'


class _Html(Outline):
    def heading(self, text: str) -> str:
        return f"<h4>{escaped(text)}</h4>"

    def paragraph(self, text: str, note: str = "") -> str:
        return f"<p>{escaped(text)}{' ' + _quiet('span', f'({note})') if note else ''}</p>"

    def quiet(self, text: str) -> str:
        return _quiet("p", text)

    def bold(self, text: str) -> str:
        return f"<p><b>{escaped(text)}</b></p>"

    def bullets(self, items: Iterable[tuple[str, str]]) -> str:
        texts = (escaped(text) + (f"<br>{_quiet('span', note)}" if note else "") for text, note in items)
        return f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>"

    def folded(self, summary: str, blocks: Iterable[str]) -> str:
        return f"<details><summary>{escaped(summary)}</summary>{''.join(blocks)}</details>"

    def excerpt(self, cell: Document) -> str:
        shown = excerpt(cell)
        digits = len(str(shown.lines[-1].number)) if shown.lines else 1
        lines = [
            (f"<i>{line.number:>{digits}}</i>  {escape(line.text)}", "kd-culprit" if line.culprit else "")
            for line in shown.lines
        ]
        above = [(f"<i>… {plural(shown.left_out_above, 'line')} above</i>", "")] if shown.left_out_above else []
        below = [(f"<i>… {plural(shown.left_out_below, 'line')} below</i>", "")] if shown.left_out_below else []
        return _code([*above, *lines, *below])

    def code(self, text: str) -> str:
        return _code([(escape(visible(line)), "") for line in text.splitlines()])

    def diff(self, text: str) -> str:
        kinds = {"-": "kd-minus", "+": "kd-plus"}
        return _code([(escape(visible(line)), kinds.get(line[:1], "")) for line in diff.lines_of(text)])

    def chart(self, doc: Document) -> str:
        return svgchart.chart(doc)


def _code(lines: list[tuple[str, str]]) -> str:
    """Return a block of code from lines of safe HTML, each with its class."""
    spans = "".join(f'<span class="{kind}">{line}</span>' if kind else f"<span>{line}</span>" for line, kind in lines)
    return f'<pre class="kd-code">{spans}</pre>'
