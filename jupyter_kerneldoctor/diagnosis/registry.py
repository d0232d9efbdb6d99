"""Finds rules: one class in one file, and no list of them kept by hand."""

import importlib
import inspect
import pkgutil
import re
import textwrap
from functools import cache
from types import ModuleType
from typing import ClassVar, TypeVar


class Rule:
    """What causes and fixes have in common. The docstring of a rule is its reference page."""

    id: ClassVar[str]
    """As in the public JSON; never renamed."""
    title: ClassVar[str]
    """A few words for people."""
    headings: ClassVar[tuple[str, ...]]
    """With which, and a colon, the parts of the docstring begin, one after the other."""

    @classmethod
    def example(cls) -> str:
        """Return the example that its page ends with, as Markdown; "" when its docstring holds one."""
        return ""


R = TypeVar("R", bound=Rule)


@cache
def rules(package: ModuleType, base: type[R]) -> tuple[type[R], ...]:
    """Return the rule classes defined in `package` and the packages in it, sorted by id. `_helper.py` holds none."""
    found: list[type[R]] = []
    for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if name.rpartition(".")[2].startswith("_"):
            continue
        members = vars(importlib.import_module(name)).values()
        found += [
            member
            for member in members
            if inspect.isclass(member)
            and issubclass(member, base)
            and member.__module__ == name
            and isinstance(getattr(member, "id", None), str)
        ]
    return tuple(sorted(found, key=lambda rule: rule.id))


def page(rule: type[Rule]) -> str:
    """Return the reference page of a rule as Markdown: its title, its id, and its docstring."""
    part = re.compile(rf"^({'|'.join(rule.headings)}): (.+(?:\n.+)*)", re.MULTILINE)
    words = inspect.cleandoc(rule.__doc__ or "").removeprefix(f"{rule.title}.").lstrip()  # nothing is said twice
    text = part.sub(lambda found: f"## {found[1]}\n{_filled(found[2])}", words)
    shown = rule.example()
    example = f"\n\n## Example\n\n{shown}" if shown else ""
    return f"# {rule.title}\n\n`{rule.id}`\n\n{text}{example}\n"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split("\n")), 116, break_long_words=False, break_on_hyphens=False)
