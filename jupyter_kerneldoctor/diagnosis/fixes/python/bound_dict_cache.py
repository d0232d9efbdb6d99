from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.dict_caches import dict_caches
from ...code.recursion import names_itself
from ...edits import indent_unit, insert_after
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...place import grew_in

_USED = 0.5  # of the room, for what the cache keeps
_USUAL = 32  # entries, where their size is not known
_LOAD = (
    "cache = {}\ndef load(name):\n    if name not in cache:\n        cache[name] = decode(name)\n    return cache[name]"
)
_OF_SELF = (
    "class Pages:\n    def __init__(self): self.seen = dict()\n    def __getitem__(self, i):\n        try:\n"
    "            return self.seen[i]\n        except KeyError:\n            page = read(i)\n"
    "            self.seen[i] = page{}\n            return page"
)
_GROWN = NamedObject("cache", "dict", 1600 * MIB, items=160, grew_bytes=1600 * MIB, items_before=0)


class BoundDictCache(Fix):
    """Let a cache forget its oldest entries.

    What it does: A dict that a function fills with all it ever read or worked out grows until the memory is full.
    The edit takes the oldest entry out when there are too many.

    When it is offered: Memory grew in a dict that a function looks into before it works a value out, and that
    nothing else uses. Not where the function calls itself: it would work out again and again what it has forgotten.

    What it costs: What was forgotten is read or worked out again.
    """

    id, title, causes = "bound-dict-cache", "Let the cache forget its oldest entries", (Family.MEMORY,)

    FIRES = [
        Case(
            _LOAD,
            "for name in names: use(load(name))",
            grew=_GROWN,
            becomes={
                1: _LOAD.replace(
                    "decode(name)",
                    "decode(name)\n        if len(cache) > 83:  # forgets the oldest\n"
                    "            cache.pop(next(iter(cache)))",
                )
            },
            says=("1.6 GiB", "cache"),
        ),
        Case(
            _OF_SELF.format(""),
            "pages = Pages()\nfor i in range(9000): use(pages[i])",
            grew=replace(_GROWN, name="pages.seen", items=16),
            becomes={
                1: _OF_SELF.format(
                    "\n            if len(self.seen) > 8:  # forgets the oldest\n"
                    "                self.seen.pop(next(iter(self.seen)))"
                )
            },
        ),
    ]
    SILENT = [
        Case(
            _LOAD.replace("decode(name)", "load(name[1:]) + load(name[:-1])"),
            "for name in names: use(load(name))",
            grew=_GROWN,
        ),
        Case(_LOAD, "for name in names: use(load(name))"),  # nothing shows that it grew
        Case(_LOAD, "for name in names: load(name)\nuse(cache)", grew=_GROWN),
        Case("cache = {}", "for name in names: cache[name] = load(name)", grew=_GROWN),
    ]

    def propose(self, death: Death) -> Proposals:
        grown = death.growth.container
        for store, text, scope in dict_caches(death.code) if death.memory.grew_here else ():
            is_it = grown is not None and grown.name.rpartition(".")[2] == text.rpartition(".")[2]
            if names_itself(scope) or not (is_it or grew_in(death, store, scope)):
                continue
            count, unit = _fitting(death) if is_it else _USUAL, indent_unit(scope, store)
            edits = insert_after(
                scope,
                store,
                f"if len({text}) > {count}:  # forgets the oldest",
                f"{unit}{text}.pop(next(iter({text})))",
            )
            took = (grown.grew_bytes if grown is not None and is_it else None) or death.memory.ramp_bytes
            why = f"{quote(text)} keeps all that was ever asked for: {size(took)}. With the edit it keeps {count}."
            yield Proposal(edits, f"{why} What was forgotten is worked out again.", took)
            return


def _fitting(death: Death) -> int:
    """Return how many entries may be kept, by the size of those that there were."""
    grown, headroom = death.growth.container, death.safe_headroom_bytes
    gained = death.growth.items_gained(grown) if grown is not None else 0
    if grown is None or not grown.grew_bytes or gained < 1 or not headroom:
        return _USUAL
    return max(1, int(headroom * _USED * gained / grown.grew_bytes))
