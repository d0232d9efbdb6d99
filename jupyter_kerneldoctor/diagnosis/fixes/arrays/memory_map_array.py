import ast

from ...code.calls import last_name
from ...code.origins import Origins
from ...edits import Changes, set_argument
from ...fix import Call, Case, Death, Family, Scope, SetArgument
from ...frameworks.numpy import GATHERERS

_TAKE_ALL = ("fit", "fit_transform", "train_test_split", "tensor", "array", "DataFrame", "from_tensor_slices")
_COPIES = frozenset({"astype", "copy", "tolist", "flatten"})
_DEEPEST = 3
_WRITTEN = (
    "rng.shuffle(X)",
    "for i in ks:\n    part = X[i : i + 9]\n    part -= 1",
    "X.sort()",
    "np.subtract(X, m, out=X)",
    "X[0] = 1",
    "X /= 255",
    "np.save('f.npy', X * 2)",
)
_WRITE = ("numpy.save", "numpy.savez", "numpy.lib.format.open_memmap")


class MemoryMapArray(SetArgument):
    """Leave the array in its file, and read only the parts that are used.

    What it does: `np.load(path)` copies the whole file into memory. With `mmap_mode` the array stays in the file: only
    the rows that are used are read, and Linux drops them again when memory is short. "c" lets the cells write into the
    array; Linux promises memory for that, though, and for a file that may be larger than the machine it is "r".

    When it is offered: Memory ran out on a line that loads a `.npy` file whole. Not for `.npz` files and pickled
    objects, which cannot be mapped, and not where the cells write into the array.

    What it costs: With "c", what is written into the array takes memory, and does not reach the file; with "r" it
    raises an error. `X * 2` is a whole array
    again: work on slices. A row's first use waits for the disk.
    """

    id, title, causes = "memory-map-array", "Leave the array in its file: mmap_mode", (Family.MEMORY,)
    functions, argument, position, value = ("numpy.load",), "mmap_mode", 1, '"c"'
    why = "copies the whole file into memory. Left in its file, only the rows that are used are read."

    FIRES = [
        Case("import numpy as np", "X = np.load('f.npy')", becomes="X = np.load('f.npy', mmap_mode=\"c\")"),
        Case("import numpy as np", "X = np.load('f.npy')", becomes="X = np.load('f.npy', mmap_mode=\"r\")", groups=[]),
    ]
    SILENT = [
        *(
            Case("import numpy as np", f"X = np.load('a.npy')\n{used}", line=1)
            for used in ("X = X / 255", "X = X.astype('float32')", "a, b = train_test_split(X)")
        ),
        Case("import numpy as np\ncache = {}", "for i in range(9000):\n    cache[i] = np.load(f'{i}.npy')"),
        Case("import numpy as np", "X = np.load('feats.npz')"),
        Case("import numpy as np", "X = np.load(path, allow_pickle=True)"),
        *(Case("import numpy as np", f"X = np.load('f.npy')\n{written}") for written in _WRITTEN),
        Case("import numpy as np", "X = np.concatenate([np.load(p) for p in paths])"),  # all is copied anyway
        Case("import numpy as np", "X = np.load('f.npy') / 255"),
        Case("import numpy as np", "X = np.load('f.npy').astype('float32')"),
        Case("import numpy as np\ndef read(p): return np.load(p)", "X = np.array([read(p) for p in paths])"),
        Case("import numpy as np", "X = np.load('small.npy')\nbig = [0] * 10**10", line=2),
    ]

    def change(self, call: Call, death: Death) -> Changes:
        """Map it for reading only where the file may be larger than what Linux promises at once (proc(5))."""
        edits = super().change(call, death)
        return edits if death.memory.has_group_limit or not edits else set_argument(call, self.argument, '"r"')

    def saves(self, call: Call, death: Death) -> int | None:
        """Count all that was missing; nothing for what cannot be mapped or is written to."""
        files = {one.scope.segment(one.node.args[0]) for one in death.code.running.calls(*_WRITE) if one.node.args}
        if call.node.args and call.scope.segment(call.node.args[0]) in files:
            return None  # who opens it for writing cuts what is mapped
        match call.node.args[:1]:
            case [ast.Constant(value=str(path))] if path.endswith(".npz"):
                return None
        match call.statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if _is_written_to(name, call) or _is_used_whole(name, call):
                return None
            case ast.Assign(targets=[ast.Subscript()]) | ast.Expr():
                return None  # each that is kept holds its file open, too
        is_copy = call.argument("allow_pickle", 2) is not None or _is_copied(call.node, call.scope, death)
        return None if is_copy else death.memory.missing_bytes


def _is_copied(node: ast.AST, scope: Scope, death: Death, depth: int = 0) -> bool:
    """Whether the whole array is copied where it is read, by arithmetic or into another; or where a function is called.

    `np.load(path) / 255`, `np.stack([read(path) for path in paths])`.
    """
    for one in scope.nodes:
        match one:
            case ast.BinOp(left=left, right=right) if node in (left, right):
                return True
            case ast.Call(func=ast.Attribute(attr=method, value=value)) if value is node and method in _COPIES:
                return True
    if any(node in one.scope.inside(one.node) for one in death.code.running.calls(*GATHERERS)):
        return True
    if depth > _DEEPEST or not isinstance(scope.statement_of(node), ast.Return):
        return False
    calls = Origins(death.code).calls_of(scope)
    return bool(calls) and all(_is_copied(call, caller, death, depth + 1) for call, caller in calls)


def _is_used_whole(name: str, call: Call) -> bool:
    """Whether the array is copied by its name: by arithmetic, as another type, or by what trains on it."""
    for node in call.scope.nodes:
        match node:
            case ast.BinOp(left=ast.Name(id=array)) | ast.BinOp(right=ast.Name(id=array)):
                pass
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id=array))) if method in _COPIES:
                pass
            case ast.Call(args=[ast.Name(id=array), *_]) if last_name(node.func) in _TAKE_ALL:
                pass
            case _:
                continue
        if array == name:
            return True
    return False


def _is_written_to(name: str, call: Call) -> bool:
    """Whether the array, or a slice of it that has a name, is changed in place: what is written takes memory."""
    names = {name}
    for node in call.scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=part)], value=ast.Subscript(value=ast.Name(id=whole))) if (
                whole == name
            ):
                names.add(part)
    for node in call.scope.nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=array), ctx=ast.Store()) | ast.AugAssign(target=ast.Name(id=array)):
                if array in names:
                    return True
            case ast.Call(func=ast.Attribute(attr="shuffle" | "sort" | "fill"), args=[ast.Name(id=array), *_]):
                if array in names:
                    return True
            case (
                ast.Call(func=ast.Attribute(attr="sort" | "fill" | "partition", value=ast.Name(id=array)))
                | ast.keyword(arg="out", value=ast.Name(id=array))
            ) if array in names:
                return True
    return False
