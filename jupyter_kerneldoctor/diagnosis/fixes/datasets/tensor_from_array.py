import ast

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.trees import walk
from ...edits import Changes, replace
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_TENSORS = ("torch.tensor", "torch.as_tensor")
_TYPED = ("torch.FloatTensor", "torch.LongTensor", "torch.Tensor", "torch.IntTensor", "torch.DoubleTensor")
_TURNS = ("flip", "fliplr", "flipud", "rot90")
_TENSORFLOW = ("tensorflow.constant", "tensorflow.convert_to_tensor")
_ARRAYS = "import numpy as np\nimport torch\nX = np.ones((9000, 900))"


class TensorFromArray(Fix):
    """Make the tensor of the array itself, not of a list of its numbers.

    What it does: `x.tolist()` makes a Python object of each number: 32 bytes in place of 8, or of 4. PyTorch and
    TensorFlow take the array as it is, and give it another type if they are asked to.

    When it is offered: Memory ran out while a list was made of an array and a tensor of the list. It is an edit where
    the tensor's type is written, so that the result is the same.

    What it costs: Nothing. `torch.from_numpy` shares the array's memory: what is written into one is in the other.
    """

    id, title, causes = "tensor-from-array", "Make the tensor of the array itself, without a list", OUT_OF_MEMORY

    FIRES = [
        Case(
            _ARRAYS,
            "t = torch.tensor(X.tolist(), dtype=torch.float32)",
            becomes="t = torch.tensor(X, dtype=torch.float32)",
            says=("32 bytes",),
        ),
        Case(
            _ARRAYS
            + "\ndef to_tensor(a):\n    x = a[:, :-1].tolist()\n    return torch.tensor(x, dtype=torch.float32)",
            "t = to_tensor(X)",
            becomes={"[:, :-1].tolist()": "[:, :-1]"},
        ),
        Case(
            "import pandas as pd\nimport torch\ndf = pd.read_csv('a')",
            "t = torch.FloatTensor(df.values.tolist())",
            says=("torch.from_numpy(df.values.astype('float32'))",),
        ),
        Case(  # an array that is read backwards is copied first
            _ARRAYS,
            "t = torch.tensor(X[::-1].tolist(), dtype=torch.float32)",
            says=("torch.from_numpy(X[::-1].astype('float32'))",),
        ),
        Case(  # columns of several types are objects
            "import pandas as pd\nimport torch\ndf = pd.read_csv('a')",
            "t = torch.tensor(df.values.tolist(), dtype=torch.float32)",
            says=("torch.from_numpy(df.values.astype('float32'))",),
        ),
        Case(  # `as_tensor` would share the array's memory
            _ARRAYS,
            "t = torch.as_tensor(X.tolist(), dtype=torch.float64)",
            says=("torch.from_numpy(X.astype('float32'))",),
        ),
        Case(_ARRAYS, "t = torch.tensor(list(X))", says=("torch.from_numpy(X.astype('float32'))",)),
    ]
    SILENT = [
        Case(_ARRAYS, "t = torch.tensor(X)"),
        Case(_ARRAYS, "t = torch.tensor(X.tolist())\nbig = [0] * 10**10", line=2),
        Case("import torch", "t = torch.tensor(rows.tolist())"),  # of what is not known
        Case(_ARRAYS, "x = X.tolist()\ny = x[0]"),
        Case(  # each is a list: an array of objects
            "import pandas as pd\nimport torch\ndf = pd.read_csv('a')",
            "t = torch.tensor(df['vector'].values.tolist(), dtype=torch.float32)",
        ),
        Case(_ARRAYS + "\nX = np.array(rows, dtype=object)", "t = torch.tensor(X.tolist(), dtype=torch.float32)"),
    ]

    def propose(self, death: Death) -> Proposals:
        calls = [*death.code.running.calls(*_TENSORS, *_TYPED, *_TENSORFLOW)] if death.is_of_this_cell else []
        for call in calls:
            given = call.node.args[0] if call.node.args else None
            for one, where in all_origins(given, call.scope, death.code)[:4] if given is not None else ():
                array = _listed(one)
                grew = any(
                    death.was_running(node, scope) and grew_in(death, scope.tree.statements[node], scope) is not False
                    for node, scope in ((one, where), (call.node, call.scope))
                )
                if array is None or not isinstance(one, ast.Call) or not grew or not _is_array(array, where, death):
                    continue
                text = where.segment(array)
                why = f"{quote(where.segment(one))} makes a Python object of each number: 32 bytes, and the array "
                why += "stays beside it. A tensor can be made of the array itself."
                edits: Changes = ()
                is_typed = call.name == "torch.tensor" and call.argument("dtype") is not None
                if is_typed and _is_taken_as_it_is(array, where, death) and _is_only_use(one, call, where):
                    edits = replace(where, one, text)
                short = text if len(text) < 60 else "array"
                yield Proposal(edits, why, death.memory.missing_bytes, snippet=_snippet(call, short))
                break


def _snippet(call: Call, array: str) -> str:
    if call.name in _TENSORFLOW:
        return f"x = tf.convert_to_tensor({array}.astype('float32'))"
    if call.name in _TYPED:
        kind = {"LongTensor": "int64", "IntTensor": "int32", "DoubleTensor": "float64"}.get(call.name[6:], "float32")
        return f"x = torch.from_numpy({array}.astype('{kind}'))"
    return f"x = torch.from_numpy({array}.astype('float32'))  # of whole numbers 'int64'"


def _listed(node: ast.expr) -> ast.expr | None:
    """Return the array of `x.tolist()`, of `list(x)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="tolist", value=array), args=[]):
            return array
        case ast.Call(func=ast.Name(id="list"), args=[ast.Name() | ast.Attribute() as array]):
            return array
    return None


def _is_array(node: ast.expr, scope: Scope, death: Death) -> bool:
    value = death.values.of(node, scope)
    if value is not None:
        is_array = value.type.startswith(("numpy", "ndarray"))
        return is_array and bool(value.dtype) and value.dtype != "object"
    if isinstance(node, ast.Attribute) and node.attr == "values":
        return not isinstance(node.value, ast.Subscript)  # a column may hold lists
    made = [(one, where) for one, where in all_origins(node, scope, death.code) if isinstance(one, ast.Call)]
    if any("object" in where.segment(one) for one, where in made):
        return False
    return any((death.code.qualified(one.func, where) or "").startswith("numpy.") for one, where in made)


def _is_taken_as_it_is(array: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether PyTorch takes the array: no table's values, which may be objects, and nothing that is read backwards."""
    found = [array, *(one for one, _ in all_origins(array, scope, death.code))]
    is_of_a_table = any(isinstance(one, ast.Attribute) and one.attr == "values" for one in found)
    parts = [part for one in found for part in walk(one)]
    is_turned = any(isinstance(one, ast.Slice) and isinstance(one.step, ast.UnaryOp) for one in parts)
    is_turned = is_turned or any(last_name(one.func) in _TURNS for one in parts if isinstance(one, ast.Call))
    return not is_turned and (not is_of_a_table or death.values.of(array, scope) is not None)


def _is_only_use(made: ast.Call, call: Call, scope: Scope) -> bool:
    """Whether the list is given to the tensor alone: in the call itself, or by a name that is read nowhere else."""
    if scope is not call.scope:
        return False
    names, statement = scope.assigned_by(made), scope.statement_of(made)
    if call.node.args[0] is made:
        return True
    reads = [
        one for one in scope.names if isinstance(one, ast.Name) and one.id in names and isinstance(one.ctx, ast.Load)
    ]
    return len(reads) == 1 and not scope.is_cell and isinstance(statement, ast.Assign) and statement.value is made
