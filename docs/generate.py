"""Writes docs/generated/ from the code: `python docs/generate.py`. `make docs` runs it, git ignores what it writes."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import recorded_fields
import yaml

from jupyter_kerneldoctor import cli, server
from jupyter_kerneldoctor.diagnosis import diagnose, postmortem
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth
from jupyter_kerneldoctor.diagnosis.examples.stuck import own_frame
from jupyter_kerneldoctor.render import terminal
from jupyter_kerneldoctor.server.handlers import HANDLERS
from jupyter_kerneldoctor.server.live import LiveWebsocket
from jupyter_kerneldoctor.server.trials import ROUTE, TrialHandler

Document = dict[str, Any]

GENERATED = Path(__file__).parent / "generated"

READ = "sales = pd.read_csv('sales.csv')\nsales['column_3'].value_counts()"

COMPUTED = {
    "died": "whether this is a death the user should hear of",
    "cause": "id of the likeliest cause, the first of `causes`",
    "confidence": "how sure that is, 0 to 1",
    "certainty": "the same in a word: proven, strong evidence, likely, possible, weak",
    "general": "true where it only says which way the kernel ended",
    "headline": "the answer in one sentence",
    "ruled_out": "what it is not, and why: sentences",
}
"""Keys of the document that are no fields of `PostMortem`."""


def commands() -> str:
    """Return each command with its help."""
    parser = cli._parser()  # noqa: SLF001 - what the command line itself uses
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    parts = [
        f"## {name}\n\n```text\n{command.format_help().strip()}\n```\n" for name, command in actions[0].choices.items()
    ]
    return "\n".join(["# Commands\n", f"```text\n{parser.format_help().strip()}\n```\n", *parts])


def http() -> str:
    """Return the addresses, with what each method answers."""
    rows = []
    for pattern, handler in (*HANDLERS, (ROUTE, TrialHandler)):
        for verb in ("get", "post", "delete"):
            if method := handler.__dict__.get(verb):
                names = iter([*inspect.signature(method).parameters][1:])
                path = re.sub(r"\([^)]*\)", lambda _: f"{{{next(names)}}}", pattern).replace("/?", "")  # noqa: B023
                rows.append(f"`{verb.upper()} kerneldoctor/{path}`\n: {_one_line(inspect.getdoc(method))}\n")
    rows.append(f"websocket\n: {_one_line(inspect.getdoc(LiveWebsocket))}\n")
    return "\n".join(rows)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def event() -> str:
    """Return the schema of the death event as a table."""
    schema = yaml.safe_load((Path(server.__file__).parent / "death.yaml").read_text("utf-8"))
    rows = []
    for name, field in schema["properties"].items():
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        rows.append(f"| `{name}` | {' or '.join(kinds)} | {field['description']} |\n")
    about = f"`{schema['$id']}`, version {schema['version']}.\n\n{schema['description']}\n"
    return f"{about}\n| field | type | |\n| --- | --- | --- |\n{''.join(rows)}"


def example() -> Document:
    """Return the post-mortem of a kernel that read a table whole."""
    grew = grew_in(800 * MIB, own_frame(READ, 1))
    death = recording(
        "%load_ext kerneldoctor",
        "import pandas as pd",
        READ,
        signal="SIGKILL",
        memory=[i * 100 * MIB for i in range(2, 11)],
        groups=[Group(GIB, oom_kills=(0, 1), usage_bytes=GIB)],
        growths=[growth(3, grew)],
    )
    return diagnose(death).to_json()


def post_mortem() -> str:
    """Return the tables of the post-mortem's parts, and one as an example."""
    document = example()
    fields = set(postmortem.PostMortem.__dataclass_fields__)
    if set(document) - fields != set(COMPUTED):
        raise SystemExit(f"COMPUTED in {__file__} is not what to_json adds: {sorted(set(document) - fields)}")
    document["timeline"]["samples"] = {name: values[:2] for name, values in document["timeline"]["samples"].items()}
    computed = "".join(f"| `{name}` | {words} |\n" for name, words in COMPUTED.items())
    tables = recorded_fields.tables(*sorted(Path(postmortem.__file__).parent.glob("*.py")))
    as_json = json.dumps(document, indent=2, ensure_ascii=False)
    return (
        "### Document\n\nThe fields of [PostMortem](#postmortem), and\n\n"
        f"| key | |\n| --- | --- |\n{computed}\n{tables}\n"
        f"## Example\n\nThe samples are cut.\n\n```json\n{as_json}\n```\n"
    )


def main() -> None:
    """Write all pages."""
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    GENERATED.mkdir(exist_ok=True)
    for page in (commands, http, event, post_mortem):
        (GENERATED / f"{page.__name__}.md").write_text(page(), "utf-8")
    (GENERATED / "report.txt").write_text(terminal.render(example()), "utf-8")


if __name__ == "__main__":
    main()
