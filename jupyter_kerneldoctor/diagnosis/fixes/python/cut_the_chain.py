import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import last_name
from ...code.classes import class_named, fields, methods
from ...code.trees import unparse
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote

_CLASS = "class Version:\n    def __init__(self, text, before=()):\n        self.text, self.before = text, before\n"
_LOOP = "now = Version('')\nfor step in range(10**6):\n    now = Version(change(now.text), before=(now,))"
_GREW = NamedObject(
    "now", "Version", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0, item_type="Version"
)


class CutTheChain(Fix):
    """Let go of what came before.

    What it does: An object that keeps the one that it was made from keeps all before that one, too, though no list
    names them. Python frees them once the chain is cut: set the attribute back, or keep of what came before only the
    number or the text that you need.

    When it is offered: Memory ran out in objects of a class of the notebook that hold others of the same class, which
    they were given when they were made.

    What it costs: The way back is gone: cut the chain where you no longer need it.
    """

    id, title, causes = "cut-the-chain", "Let go of what came before: cut the chain", (Family.MEMORY,)

    FIRES = [Case(_CLASS, _LOOP, grew=_GREW, says=("`self.before`", "9,000 objects", "now.before = ()"))]
    SILENT = [
        Case(_CLASS.replace("before=()", "before"), _LOOP, grew=_GREW),  # a chain that each of them must have
        Case(_CLASS.replace("self.text, self.before = text, before", "self.text = text"), _LOOP, grew=_GREW),
        Case(_CLASS, _LOOP.replace(", before=(now,)", ""), grew=_GREW),
    ]

    def propose(self, death: Death) -> Proposals:
        for one in death.growth.objects:
            name = (one.type or "").rpartition(".")[2]
            chained = _chained(name, death) if name == (one.item_type or "").rpartition(".")[2] else None
            if chained is not None:
                attribute, empty = chained
                why = f"Each {quote(name)} keeps in {quote(f'self.{attribute}')} what it was made from, and that what "
                why += f"it was made from itself: {death.growth.items_gained(one):,} objects came, and none went."
                snippet = f"# where what came before is no longer needed, for each object that stays:\n{one.name}"
                snippet += f".{attribute} = {empty}\n\n# or keep only what you need of it, as a number or a text"
                yield Proposal(why=why, explains=death.memory.missing_bytes, snippet=snippet)
                return


def _chained(name: str, death: Death) -> tuple[str, str] | None:
    """Return the attribute that holds what an object was made from, and what it is without; None without one."""
    node = class_named(name, death.code)
    init = None if node is None else methods(node).get("__init__")
    if node is None or init is None:
        return None
    names, given = [one.arg for one in init.args.args], set[str | None]()
    for scope in death.code.scopes_mentioning(name):
        for call in (one for one in scope.calls if last_name(one.func) == name):
            given |= {*names[1 : 1 + len(call.args)], *(word.arg for word in call.keywords)}
    defaults = dict(zip(names[::-1], init.args.defaults[::-1], strict=False))
    kept = [one for one in fields(node) if one in given and isinstance(defaults.get(one), ast.Constant | ast.Tuple)]
    return (kept[0], unparse(defaults[kept[0]])) if kept else None
