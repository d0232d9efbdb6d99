"""`python -m versions.front_ends [--only WORD] [--write README.md]`: a kernel dies in each front end, in a browser.

It writes which front ends and which versions of Python were tried so, and what was seen, between two markers of a page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_kerneldoctor.trial.memory_limit import memory_limit
from versions.environments import PYTHONS, ROOT, NotToBeHadError, environment, uv

NEWEST, ORDINARY = "4.6", "3.11"
LIMIT_BYTES = 700 << 20  # the server takes some 150 MiB of it
START_S = 120
CELLS = ["x = 1", "pile = []\nwhile True:\n    pile.append(bytearray(5_000_000))"]
BEGIN, END = "<!-- versions: written by `make compatibility` -->", "<!-- end of versions -->"

HEAD = [
    "| front end | Python | called compatible | the panel says why, and which cell | the line | in the View menu |",
    "| --- | --- | --- | --- | --- | --- |",
]


class Pair(NamedTuple):
    """What is tried together."""

    program: str
    version: str
    python: str

    @property
    def front_end(self) -> str:
        return f"{'JupyterLab' if self.program == 'lab' else 'Notebook'} {self.version}"

    @property
    def page(self) -> str:
        return "lab/tree" if self.program == "lab" else "notebooks"

    @property
    def requirement(self) -> str:
        return f"{'jupyterlab' if self.program == 'lab' else 'notebook'}=={self.version}.*"


PAIRS = [
    *(Pair("lab", version, ORDINARY) for version in ("4.0", "4.2", "4.4", NEWEST)),
    *(Pair("notebook", version, ORDINARY) for version in ("7.2", "7.6")),
    *(Pair("lab", NEWEST, python) for python in PYTHONS if python != ORDINARY),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of what is tried: 'Notebook', '3.13'")
    parser.add_argument("--write", type=Path, help="the page that the table is written into")
    arguments = parser.parse_args()
    out = ROOT / "build" / "versions"
    out.mkdir(parents=True, exist_ok=True)
    uv("build", "--wheel", "--quiet", "--out-dir", str(out), check=True)
    (wheel,) = out.glob("*.whl")
    rows = []
    for pair in PAIRS:
        name = f"{pair.front_end}, Python {pair.python}"
        if arguments.only not in name:
            continue
        try:
            seen = look(pair, wheel, out)
        except NotToBeHadError as error:
            print(f"{name}: not tried: {error}", flush=True)
            continue
        print(name, json.dumps(seen), flush=True)
        rows.append((pair, seen))
    table = [row(pair, seen) for pair, seen in rows]
    print("\n".join([*HEAD, *table]))
    if arguments.write:
        write(arguments.write, table)
    return int(any("error" in seen for _, seen in rows))


def look(pair: Pair, wheel: Path, out: Path) -> dict[str, Any]:
    """Let a kernel run out of memory and return what the browser saw. Raises NotToBeHadError."""
    name = f"{pair.program}-{pair.version}-python-{pair.python}"
    commands = environment(name, pair.python, pair.requirement, "ipykernel", "setuptools<81")
    uv("pip", "install", "--quiet", "--reinstall-package", "jupyter-kerneldoctor", "--python",
       str(commands / "python"), str(wheel), check=True)  # fmt: skip
    listed = subprocess.run([commands / "jupyter", "labextension", "list"], capture_output=True, text=True, check=False)
    mark = re.search(r"jupyter-kerneldoctor v\S+ (.*)", listed.stdout + listed.stderr)
    with tempfile.TemporaryDirectory(prefix="kerneldoctor-versions-") as work, memory_limit(LIMIT_BYTES) as limit:
        write_notebook(Path(work) / "death.ipynb")
        port = free_port()
        server = subprocess.Popen(
            limit.command([
                str(commands / "jupyter"), pair.program, "--no-browser", "--allow-root", "--IdentityProvider.token=",
                "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", f"--ServerApp.root_dir={work}",
            ]),
            env={**os.environ, "KERNELDOCTOR_DATA_DIR": work, "JUPYTER_CONFIG_DIR": work, "JUPYTER_DATA_DIR": work,
                 "IPYTHONDIR": work, "PYTHONPATH": ""},
            stdout=subprocess.DEVNULL, stderr=(out / f"{name}.log").open("w"),
        )  # fmt: skip
        try:
            wait_for(f"http://127.0.0.1:{port}/api")
            url = f"http://127.0.0.1:{port}/{pair.page}/death.ipynb"
            browser = ["node", "front_end.mjs", url, str(out / f"{name}.png")]
            done = subprocess.run(browser, cwd=ROOT / "ui-tests", capture_output=True, text=True, check=False)
            seen: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"error": done.stderr[-300:]}
        finally:
            server.terminate()
            server.wait(30)
    return {**seen, "listed": re.sub(r"\x1b\[\d+m", "", mark[1]) if mark else None}


def row(pair: Pair, seen: dict[str, Any]) -> str:
    says_why = "out of memory" in seen.get("headline", "") and "cell [2]" in seen["headline"]
    has_line = "pile.append" in (seen.get("line") or "")
    is_compatible = " OK" in (seen.get("listed") or "")
    words = ["yes" if fact else "no" for fact in (is_compatible, says_why, has_line, seen.get("menu"))]
    return f"| {pair.front_end} | {pair.python} | {' | '.join(words)} |"


def write(page: Path, rows: list[str]) -> None:
    """Put the rows into the page's table; those of pairs that were not tried now stay."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    old, after = rest.split(END)
    told = {"".join(line.split("|")[1:3]): line for line in [*old.splitlines()[3:], *rows] if line}
    names = [f" {pair.front_end}  {pair.python} " for pair in PAIRS]
    table = [*HEAD, *(told[name] for name in names if name in told)]
    page.write_text(before + "\n".join([BEGIN, *table, END]) + after, "utf-8")


def write_notebook(path: Path) -> None:
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [{**cell, "id": f"cell-{number}", "source": source} for number, source in enumerate(CELLS, 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), "utf-8")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(url: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


if __name__ == "__main__":
    sys.exit(main())
