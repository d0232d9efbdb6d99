"""The reference of causes and fixes, from the docstrings of the rules.

`python -m jupyter_kerneldoctor.diagnosis.reference [DIRECTORY]` writes docs/causes.md, docs/fixes.md and one page for
each fix in docs/fixes/.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Literal

from . import causes as cause_rules
from . import fixes as fix_rules
from .cause import Cause
from .family import Family
from .registry import Rule, page, rules

Kind = Literal["causes", "fixes"]

_INTRODUCTIONS: dict[Kind, str] = {
    "causes": (
        "# Causes\n\nWhy a kernel ended. Each cause is a rule in `jupyter_kerneldoctor/diagnosis/causes/`; "
        "this page is generated from them.\n"
    ),
    "fixes": (
        "# Fixes\n\nWhat to change. Each fix is a rule in `jupyter_kerneldoctor/diagnosis/fixes/`; "
        "these pages are generated from them. `jupyter kerneldoctor explain ID` prints one.\n"
    ),
}

_FAMILIES = {
    Family.MEMORY: "Out of memory",
    Family.GPU: "Graphics cards",
    Family.NATIVE_CRASH: "Crashes in native code",
    Family.LIMIT: "Something else ran out",
    Family.STUCK: "Stuck: the kernel lives and does nothing",
    Family.OWN_END: "Ended by the code that ran",
    Family.OUTSIDE: "Ended from outside",
    Family.START: "Never started",
    Family.ORDINARY_END: "No death",
    Family.ALIVE: "No death",
    Family.UNKNOWN: "Not known",
}


def _rules(kind: Kind) -> tuple[type[Rule], ...]:
    """Return all rules of a kind, sorted by id."""
    return rules(cause_rules, Cause) if kind == "causes" else rules(fix_rules, Rule)


@cache
def pages(kind: Kind) -> dict[str, str]:
    """Return the Markdown page of each cause or each fix, by id."""
    return {rule.id: page(rule) for rule in _rules(kind)}


def files(kind: Kind) -> dict[str, str]:
    """Return the files of a kind's reference, by their path below `docs`: causes are one page, each fix has its own."""
    if kind == "fixes":
        listed = [f"## {heading}\n\n{_links(found, 'fixes/{}.md')}" for heading, found in subjects(kind).items()]
        own = {f"fixes/{name}.md": text for name, text in pages(kind).items()}
        return {"fixes.md": "\n".join([_INTRODUCTIONS[kind], *listed]), **own}
    contents = [f"{heading}:\n\n{_links(found, '#{}')}" for heading, found in subjects(kind).items()]
    parts = [_nested(rule) for rule in _rules(kind)]
    return {"causes.md": "\n".join([_INTRODUCTIONS[kind], *contents, *parts])}


def subjects(kind: Kind) -> dict[str, list[type[Rule]]]:
    """Return the causes of each family, or the fixes of each folder, below what the family or folder is called."""
    found: dict[str, list[type[Rule]]] = {} if kind == "fixes" else {heading: [] for heading in _FAMILIES.values()}
    for rule in _rules(kind):
        found.setdefault(_subject(rule), []).append(rule)
    return found if kind == "causes" else dict(sorted(found.items()))


def _subject(rule: type[Rule]) -> str:
    if issubclass(rule, Cause):
        return _FAMILIES[rule.family]
    return (sys.modules[rule.__module__.rpartition(".")[0]].__doc__ or "").rstrip(".")


def _links(found: list[type[Rule]], address: str) -> str:
    return "".join(f"- [`{rule.id}`]({address.format(rule.id)}): {rule.title}\n" for rule in found)


def _nested(rule: type[Rule]) -> str:
    lines = page(rule).replace(f"# {rule.title}\n\n`{rule.id}`\n", f"# {rule.id}\n\n**{rule.title}**\n", 1).split("\n")
    return "\n".join(f"#{line}" if line.startswith(("# ", "## ")) else line for line in lines)


def main(directory: str = "docs") -> None:
    """Write all pages, and remove those of fixes that are no more."""
    (Path(directory) / "fixes").mkdir(parents=True, exist_ok=True)
    texts = {**files("causes"), **files("fixes")}
    for name, text in texts.items():
        (Path(directory) / name).write_text(text, encoding="utf-8")
    for path in (Path(directory) / "fixes").glob("*.md"):
        if f"fixes/{path.name}" not in texts:
            path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:2])
