"""Imports point one way, and what runs beside the kernel stays small."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "jupyter_kerneldoctor"

ALLOWED = {
    "recording": set(),
    "sidecar": {"recording"},
    "diagnosis": {"recording"},
    "render": {"diagnosis", "recording"},
    "reports": {"diagnosis", "recording"},
    "kernel": {"reports", "render", "diagnosis", "recording"},
    "server": {"trial", "reports", "render", "diagnosis", "recording"},
    "trial": {"diagnosis", "recording"},
    "commands": {"trial", "reports", "render", "diagnosis", "recording"},
    "cli.py": {"commands", "render"},
    "__main__.py": {"cli.py"},
    "__init__.py": set(),
}
"""Each package and each module beside them, with those that it may import. `kernel` is imported by kerneldoctor.py."""

PARTS = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or next(path.rglob("*.py"), None)}


@cache
def imported_modules(file: Path) -> set[str]:
    """What a file imports, lazily or not, as full names; imports for type checkers count as well."""
    found = set()
    package = ["jupyter_kerneldoctor", *file.relative_to(PACKAGE).parent.parts]
    statements = ast.parse(file.read_text(encoding="utf-8")).body
    for node in statements:  # it grows meanwhile; expressions import nothing
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            found.update(".".join([*stem, alias.name]) for alias in node.names)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements += getattr(node, block, ())
    return found


def imported_parts(file: Path, part: str) -> set[str]:
    """The parts of the package that a file imports."""
    found = set()
    for name in imported_modules(file):
        words = name.split(".")
        if words[0] == "jupyter_kerneldoctor" and len(words) > 1:
            found |= {words[1], f"{words[1]}.py"} & PARTS
    return found - {part}


def test_every_part_is_guarded() -> None:
    assert set(ALLOWED) == PARTS


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_point_one_way(part: str) -> None:
    path = PACKAGE / part
    for file in [path] if path.is_file() else path.rglob("*.py"):
        assert imported_parts(file, part) <= ALLOWED[part], file


LAYERS = (
    {"units", "family", "registry", "certainty"},
    {"postmortem", "code"},
    {"analysis", "changes"},
    {"indentation"},
    {"edits"},
    {"argument_dicts", "frameworks"},
    {"kernel_end"},
    {"death_site"},
    {"death"},
    {"texts", "conflicts", "endless_wait"},
    {"examples"},
    {"cause"},
    {"causes"},
    {
        "case",
        "calls",
        "environments",
        "facts",
        "heap_gaps",
        "joined_tables",
        "place",
        "unrolled",
        "unused_objects",
        "workers",
    },
    {"trained_weights"},
    {"sizing", "filled"},
    {"fix"},
    {"lesser_ways", "trainer_setting"},
    {"fixes"},
    {"ranking", "proposals"},
    {"incidents", "recurrence", "reference"},
    {"judgement"},
    {"__init__"},
)
"""The parts of `diagnosis`, lowest first: each imports only those before it, or itself."""


def test_the_layers_of_the_diagnosis_form_no_circle() -> None:
    diagnosis = PACKAGE / "diagnosis"
    level = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    for file in diagnosis.rglob("*.py"):
        own = file.relative_to(diagnosis).parts[0].removesuffix(".py")
        for imported in imported_modules(file):
            part = imported.removeprefix("jupyter_kerneldoctor.diagnosis.").split(".")[0]
            if imported.startswith("jupyter_kerneldoctor.diagnosis.") and part in level and part != own:
                assert level[part] < level[own], f"{file} imports {imported}"


MOST_LINES = {"": 300, "diagnosis/fixes": 298}
"""No file is longer, nor one of these folders: one reason a file. The second number is only made smaller."""


@pytest.mark.parametrize("folder", MOST_LINES)
def test_files_stay_short(folder: str) -> None:
    lines = {str(file): len(file.read_text(encoding="utf-8").splitlines()) for file in (PACKAGE / folder).rglob("*.py")}
    assert {file: number for file, number in lines.items() if number > MOST_LINES[folder]} == {}


def test_rules_look_at_trees_where_that_is_counted() -> None:
    uncounted = {"walk", "unparse", "dump"}
    for file in (PACKAGE / "diagnosis").rglob("*.py"):
        used = {one.attr for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if _is_of_ast(one)}
        assert not used & uncounted or file.name in ("trees.py", "cellsource.py"), f"{file}: code/trees.py has them"


def _is_of_ast(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ast"


HEAVY = {"asyncio", "zmq", "jsonschema", "pandas", "IPython", "psutil", "ssl", "rich", "typing_extensions"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_the_sidecar_stays_small() -> None:
    costly = {"dataclasses", "shutil", "subprocess", "traceback"}
    assert modules_after("import jupyter_kerneldoctor.sidecar.watcher") & (HEAVY | costly) == set()
