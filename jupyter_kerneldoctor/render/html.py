"""A post-mortem as a fragment of HTML for the output of a cell: self-contained, no script, light and dark."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name

from . import diff, svgchart, wording
from .excerpt import excerpt
from .next_steps import next_steps
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
    title = f"<title>{escape(one_line(doc['headline']))}</title>"
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
    if cell := wording.shown_cell(doc):
        yield from _cell(doc, cell)
    if doc.get("story"):
        yield f"<p>{escaped(doc['story'])}</p>"
    if wording.is_about_memory(doc):
        yield svgchart.chart(doc)
    if again := wording.recurrence(doc):
        yield f"<p>{escaped(again)}</p>"
    yield from _fixes(doc)
    yield from _evidence(doc)
    if unknown := wording.not_known(doc):
        yield _titled_list("What is not known", [escaped(sentence) for sentence in unknown])
    if survived := wording.survived(doc):
        yield _titled_list("Survived before", [escaped(sentence) for sentence in survived])
    if steps := next_steps(doc):
        yield _titled_list("What to do now", [escaped(step) for step in steps])
    yield f'<p class="kd-quiet">{escaped(wording.identification(doc))}</p>'


def _titled_list(title: str, items: list[str]) -> str:
    return f"<h4>{title}</h4>{_list(items)}"


def _list(items: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _code(lines: list[tuple[str, str]]) -> str:
    """Return a block of code from lines of safe HTML, each with its class."""
    spans = "".join(f'<span class="{kind}">{line}</span>' if kind else f"<span>{line}</span>" for line, kind in lines)
    return f'<pre class="kd-code">{spans}</pre>'


def _cell(doc: Document, cell: Document) -> Iterator[str]:
    yield f"<h4>Where: {escaped(wording.place(cell))}</h4>"
    shown = excerpt(cell)
    digits = len(str(shown.lines[-1].number)) if shown.lines else 1
    lines = [
        (f"<i>{line.number:>{digits}}</i>  {escape(line.text)}", "kd-culprit" if line.culprit else "")
        for line in shown.lines
    ]
    above = [(f"<i>… {shown.left_out_above} lines above</i>", "")] if shown.left_out_above else []
    below = [(f"<i>… {shown.left_out_below} lines below</i>", "")] if shown.left_out_below else []
    yield _code([*above, *lines, *below])
    if calls := wording.called_from(doc):
        yield f'<p class="kd-quiet">{escaped(calls)}</p>'
    if cell.get("truncated"):
        yield '<p class="kd-quiet">The cell is very long: only its start and end were recorded.</p>'
    if why := wording.why_no_line(doc):
        yield f'<p class="kd-quiet">{escaped(why)}</p>'


def _evidence(doc: Document) -> Iterator[str]:
    items = [_evidence_item(fact) for fact in wording.evidence(doc)]
    shown, folded = items[: wording.SHOWN_EVIDENCE], items[wording.SHOWN_EVIDENCE :]
    shown += [escaped(sentence) for sentence in wording.less_likely(doc)]
    folded += [escaped(sentence) for sentence in doc.get("ruled_out") or []]
    if shown:
        yield f"<h4>Why we think so</h4>{_list(shown)}"
    if count := wording.folded_count(doc):
        yield f"<details><summary>{count}</summary>{_list(folded)}</details>"


def _evidence_item(fact: Document) -> str:
    note = wording.source_note(fact)
    return escaped(fact["text"]) + (f'<br><span class="kd-quiet">{escaped(note)}</span>' if note else "")


def _fixes(doc: Document) -> Iterator[str]:
    """Yield the first fix open, the others folded below their titles."""
    if doc["fixes"] or doc.get("fixes_left_out"):
        yield f"<h4>What to change</h4>{escaped(doc.get('fixes_left_out') or '')}"
    for number, fix in enumerate(doc["fixes"], start=1):
        title, body = f"{number}. {escaped(fix['title'])}", "".join(_fix(fix))
        is_first = number == 1
        yield f"<p><b>{title}</b></p>{body}" if is_first else f"<details><summary>{title}</summary>{body}</details>"
    if more := wording.more_fixes(doc):
        yield f'<p class="kd-quiet">{escaped(more)}</p>'


def _fix(fix: Document) -> Iterator[str]:
    said = " ".join(escaped(text) for text in (fix["why"], wording.expected_peak(fix)) if text)
    yield f'<p>{said} <span class="kd-quiet">({wording.APPLICABILITY[fix["applicability"]]})</span></p>'
    for edit in fix["edits"]:
        yield f'<p class="kd-quiet">In {escaped(cell_name(edit.get("execution_count")))}:</p>'
        yield _code([_diff_line(line) for line in diff.lines_of(edit["diff"])])
    if fix.get("snippet"):
        yield _code([(escape(visible(line)), "") for line in fix["snippet"].splitlines()])


def _diff_line(line: str) -> tuple[str, str]:
    return escape(visible(line)), {"-": "kd-minus", "+": "kd-plus"}.get(line[:1], "")
