"""`explain`: the reference pages of causes and fixes."""

import difflib
from argparse import Namespace

from jupyter_kerneldoctor.diagnosis.reference import Kind, pages, subjects
from jupyter_kerneldoctor.render import reference_page

from .errors import NoSuchPageError
from .output import say, width

_MOST, _NEAREST, _ALIKE = 8, 3, 0.5


def explain(options: Namespace) -> None:
    """Print the reference pages of causes and fixes; without names, what there is."""
    causes, fixes = pages("causes"), pages("fixes")
    if not options.names:
        say("\n\n".join([*_listed("causes", "CAUSES"), *_listed("fixes", "FIXES")]))
        return
    known = {**causes, **fixes}
    names = [name.lower() for name in options.names]
    for name in names:
        if name not in known:
            raise NoSuchPageError(name, _similar(name, list(known)))
    say("\n\n\n".join(reference_page.render(known[name], width()) for name in names))


def _listed(kind: Kind, title: str) -> list[str]:
    """Return a part for each family of causes, or each subject of fixes."""
    widest = max(map(len, pages(kind)))
    return [
        title,
        *(
            "\n".join([heading, *(f"  {rule.id:<{widest}}  {rule.title}" for rule in found)])
            for heading, found in subjects(kind).items()
        ),
    ]


def _similar(name: str, known: list[str]) -> list[str]:
    """Return the ids of which a word begins so, or else the nearest in spelling."""
    holding = [one for one in known if name and f"-{name}" in f"-{one}"]
    return holding[:_MOST] or difflib.get_close_matches(name, known, _NEAREST, _ALIKE)
