"""Imports point one way, and what runs beside the kernel stays small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "jupyter_kerneldoctor"

ALLOWED = {
    "recording": set(),
    "diagnosis": {"recording"},
    "render": {"diagnosis", "recording"},
    "sidecar": {"recording"},
    "kernel": {"render", "diagnosis", "recording"},
    "server": {"render", "diagnosis", "recording"},
}


def imported_parts(file: Path, part: str) -> set[str]:
    """The parts of the package that a file imports, lazily or not; imports for type checkers count as well."""
    found = set()
    package = ["jupyter_kerneldoctor", *file.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            names = [".".join([*stem, alias.name]) for alias in node.names]
        for name in names:
            words = name.split(".")
            if words[0] == "jupyter_kerneldoctor" and len(words) > 1 and words[1] in ALLOWED:
                found.add(words[1])
    return found - {part}


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_point_one_way(part: str) -> None:
    for file in (PACKAGE / part).rglob("*.py"):
        assert imported_parts(file, part) <= ALLOWED[part], file


def test_only_the_door_imports_the_kernel_part_and_nobody_the_sidecar() -> None:
    for file in PACKAGE.rglob("*.py"):
        part = file.relative_to(PACKAGE).parts[0]
        assert imported_parts(file, part) & {"kernel", "sidecar"} == set(), file


HEAVY = {"asyncio", "zmq", "jsonschema", "pandas", "IPython", "psutil", "ssl", "rich", "libcst", "typing_extensions"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_the_sidecar_stays_small() -> None:
    assert modules_after("import jupyter_kerneldoctor.sidecar.watcher") & (HEAVY | {"dataclasses", "shutil"}) == set()


def test_diagnosing_loads_no_parser_of_code_before_it_needs_one() -> None:
    assert "libcst" not in modules_after("import jupyter_kerneldoctor.diagnosis")
