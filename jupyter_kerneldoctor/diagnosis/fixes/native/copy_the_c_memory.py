import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...calls import library_of
from ...code.attributes import class_of_self
from ...code.calls import last_name
from ...code.classes import class_named, methods
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote

_COPIES = ("copy.copy", "copy.deepcopy", "copy.replace", "dataclasses.replace", "pickle.loads", "pickle.dumps")
_OWN_COPIES = {"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__replace__"}
_FREES = {"free", "destroy", "delete", "dealloc", "release", "close", "dispose"}
_LIBRARIES = ("ctypes", "cffi", "_cffi")
_WORDS = ("double free", "free(): invalid", "munmap_chunk(): invalid", "invalid next size", "unaligned", "corrupted")
_TWICE = "free(): double free detected in tcache 2\n"
_BUFFER = (
    "import copy, ctypes\nlib = ctypes.CDLL(None)\nclass Buffer:\n    def __init__(self, n):\n        self.n = n\n"
    "        self.at = lib.malloc(n)\n    def {}(self):\n        lib.free(self.at)"
)
_SNIPPET = (
    "class {name}:\n    def __copy__(self):\n"
    "        other = type(self)({given})  # it allocates memory of its own\n"
    "        ctypes.memmove(other.{at}, self.{at}, {size})  # as many bytes as were allocated\n        return other\n\n"
    "    def __deepcopy__(self, memo):\n        return self.__copy__()\n\n"
    "# or let Python own the memory, in place of {free}: it is given back once, with the last object that uses it\n"
    "self.data = (ctypes.c_double * n)()  # or numpy.zeros(n), and data.ctypes.data is its address\n"
    "# then nothing has to be freed; what a library allocates, weakref.finalize(self, {function}, self.{at}) frees once"
)


class CopyTheCMemory(Fix):
    """Copy the memory, too, where an object that owns memory of C is copied.

    What it does: `copy.copy` and `copy.deepcopy` copy an object attribute by attribute. An address is a number, so that
    both objects have the same one, and each of them gives the memory back. That one of them forgets its address
    does not help: the other one has an address of its own. With `__copy__` and `__deepcopy__` the class says how it is
    copied: into memory of its own.

    When it is offered: The C library found that memory was given back twice, or was damaged, where a method of a class
    frees what an attribute points to, and an object of this class is copied.

    What it costs: Each copy takes as much memory as the first.
    """

    id, title = "copy-the-c-memory", "Give the class a __copy__ that allocates: a copy has the same address"
    causes = ("heap-corruption", "abort", "segfault")

    FIRES = [
        Case(
            _BUFFER.format("__del__"),
            "a = Buffer(9)\nb = copy.copy(a)\ndel a, b",
            signal="SIGABRT",
            output=_TWICE,
            says=("`copy.copy(a)`", "type(self)(self.n)", "memmove(other.at, self.at, self.n)"),
        ),
        Case(
            _BUFFER.format("close"),
            "def take(n):\n    one = Buffer(n)\n    return one\nrows = [take(9)]\nkept = copy.deepcopy(rows)",
            "for one in rows + kept: one.close()",
            signal="SIGABRT",
            output=_TWICE,
            says=("`copy.deepcopy(rows)`",),
        ),
        Case(
            _BUFFER.format("__del__") + "\n    def clone(self):\n        return copy.copy(self)",
            "b = Buffer(9).clone()\ndel b",
            signal="SIGABRT",
            output=_TWICE,
            says=("`copy.copy(self)`",),
        ),
        Case(
            _BUFFER.format("__exit__") + "\nimport pickle",
            "a = Buffer(9)\nb = pickle.loads(pickle.dumps(a))\nwith a: pass\nwith b: pass",
            signal="SIGABRT",
            output=_TWICE,
            says=("`pickle.loads(pickle.dumps(a))`",),
        ),
    ]
    SILENT = [
        Case(_BUFFER.format("close"), "a = Buffer(9)\na.close()\na.close()", signal="SIGABRT", output=_TWICE),
        Case(_BUFFER.format("__del__"), "a = Buffer(9)\nb = copy.copy([1])\ndel a", signal="SIGABRT", output=_TWICE),
        Case(_BUFFER.format("__del__"), "a = Buffer(9)\nb = copy.copy(a)\ndel a, b", signal="SIGABRT"),
        Case(
            _BUFFER.format("__del__") + "\n    def __copy__(self):\n        return Buffer(self.n)",
            "a = Buffer(9)\nb = copy.copy(a)\ndel a, b",
            signal="SIGABRT",
            output=_TWICE,
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        if not any(one in death.text for one in _WORDS):
            return
        for call in death.code.calls(*_COPIES):
            found = next(_owners(call, death), None) if call.node.args else None
            if found is not None:
                why = (
                    f"{quote(call.text)} copies the address in {quote(f'self.{found.at}')} and not the memory: both "
                    f"objects give the same memory back, in {quote(f'{found.name}.{found.function}')} "
                    f"({quote(found.free)})."
                )
                yield Proposal((), why, snippet=_snippet(found))
                return


class _Owner(NamedTuple):
    """A class that gives memory of C back: the method, the call, and the attribute with the address."""

    name: str
    function: str
    free: str
    at: str
    called: str
    definition: ast.ClassDef


def _owners(call: Call, death: Death) -> Iterator[_Owner]:
    """Yield the classes of which an object, or one in a list, is given to a call, and which free memory."""
    names: list[str] = []
    for node, scope in all_origins(call.node.args[0], call.scope, death.code, parts=True):
        if isinstance(node, ast.Call):
            names.append(last_name(node.func))
        elif (own := class_of_self(death.code, node, scope)) is not None:
            names.append(getattr(own.definition, "name", ""))
    for name in dict.fromkeys(names):
        definition = class_named(name, death.code) if name else None
        if definition is not None and not _OWN_COPIES & methods(definition).keys():
            yield from _freed(definition, death)


def _freed(definition: ast.ClassDef, death: Death) -> Iterator[_Owner]:
    for scope in death.code.scopes_mentioning(definition.name):
        own = [one for one in death.code.scopes(scope.cell) if one.owner == definition.name]
        for method in own:
            for node in method.calls:
                match node:
                    case ast.Call(func=ast.Attribute() as function, args=[ast.Attribute(ast.Name("self"), attr=at)]):
                        if _FREES & {*last_name(function).lower().split("_")} and _is_native(function, method, death):
                            text, called = method.segment(node), method.segment(function)
                            yield _Owner(definition.name, method.function, text, at, called, definition)


def _is_native(function: ast.Attribute, scope: Scope, death: Death) -> bool:
    return library_of(function.value, scope, death.code).startswith(_LIBRARIES)


def _snippet(owner: _Owner) -> str:
    """Return the method that copies: `__init__` is given what it was given, where attributes keep that."""
    init = methods(owner.definition).get("__init__")
    parts = [] if init is None else [*walk(init)]
    kept: dict[str, str] = {}
    size = "size"
    for one in parts:
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=places)], value=ast.Tuple(elts=values)):
                kept |= {unparse(value): unparse(place) for place, value in zip(places, values, strict=False)}
            case ast.Assign(targets=[ast.Attribute(attr=owner.at)], value=ast.Call(args=[asked])):
                size = unparse(asked)
            case ast.Assign(targets=[ast.Attribute() as set_here], value=ast.Name(id=name)):
                kept[name] = unparse(set_here)
    names = [] if init is None else [one.arg for one in init.args.args[1:]]
    given = ", ".join(kept.get(one, "...") for one in names)
    tree = ast.parse(size)
    used = [one for one in walk(tree) if isinstance(one, ast.Name)]
    for word in used:
        word.id = kept.get(word.id, "size")
    size = unparse(tree) if "size" not in {one.id for one in used} else "size"
    shown = {"name": owner.name, "given": given, "at": owner.at, "size": size, "free": owner.free}
    return _SNIPPET.format(**shown, function=owner.called)
