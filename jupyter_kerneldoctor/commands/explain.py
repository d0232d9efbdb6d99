"""`explain`: the reference pages of causes and fixes."""

import difflib
from argparse import Namespace

from jupyter_kerneldoctor.diagnosis.reference import pages
from jupyter_kerneldoctor.render import reference_page

from .errors import NoSuchPageError
from .output import say, width


def explain(options: Namespace) -> None:
    """Print the reference pages of causes and fixes; without names, what there is."""
    causes, fixes = pages("causes"), pages("fixes")
    if not options.names:
        say("\n\n".join(f"{title}\n{_listed(found)}" for title, found in (("CAUSES", causes), ("FIXES", fixes))))
        return
    known = {**causes, **fixes}
    names = [name.lower() for name in options.names]
    for name in names:
        if name not in known:
            raise NoSuchPageError(name, _similar(name, list(known)), sorted(known))
    say("\n\n\n".join(reference_page.render(known[name], width()) for name in names))


def _listed(found: dict[str, str]) -> str:
    widest = max(map(len, found))
    titles = {name: page.partition("\n")[0].removeprefix("# ") for name, page in found.items()}
    return "\n".join(f"{name:<{widest}}  {title}" for name, title in titles.items())


def _similar(name: str, known: list[str]) -> list[str]:
    """Return the ids of which a word begins so, or else those spelled alike."""
    holding = [one for one in known if name and f"-{name}" in f"-{one}"]
    return holding or difflib.get_close_matches(name, known, n=2)
