"""How one item of a container is in memory at a time: made when it is asked for, in a mapped file, or found by key."""

import ast
from collections.abc import Sequence

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.stores import container_name
from ..code.trees import walk
from .kept_items import KeptItem, lines_of
from .kept_rows import Less
from .later_uses import Use
from .numpy import GATHERERS

_JOINS = ("numpy.", "torch.", "tensorflow.")
_JOINED = frozenset((*GATHERERS, "torch.stack", "torch.cat", "torch.tensor", "torch.as_tensor", "tensorflow.stack"))
_TRAINS = ("backward", "step", "fit", "train", "train_on_batch", "partial_fit", "minimize", "apply_gradients")
_DRAINS = ("pop", "popleft", "popitem", "clear", "get", "get_nowait")
_NUMBERS = ("item", "len", "float", "int", "round", "sum", "mean", "score")
_LONGEST_BODY = 8
_ASKED = (
    "self.sources = list({source})  # in __init__, in place of the loop: what each is made of\n\n"
    "def __len__(self):\n    return len(self.sources)\n\n"
    "def __getitem__(self, i):  # makes one when it is asked for, in the workers of a DataLoader, too\n"
    "    {target} = self.sources[i]\n{body}    return {value}"
)
_GENERATOR = (
    "def {word}():  # no list: makes each when the loop comes to it, and anew for the next loop\n"
    "    {head}:\n{body}        yield {value}\n{rest}\n"
    "for one in {word}():  # in place of {plain}; what goes through several times needs a class with __iter__\n"
    "    ..."
)
_REST = "        ...  # and the rest of the round, as in the loop\n"
_MAPPED = (
    "{plain} = np.lib.format.open_memmap('{word}.npy', 'w+', 'float32', (n, *shape))  # on the disk\n"
    "{plain} = np.empty((n, *shape), 'float32')  # or in memory, preallocated; 'uint8' for 0 to 255\n"
    "{plain}[i] = {value}  # in the loop, i: its number; no list that is copied into an array at its end\n\n"
    "part = np.load('{word}.npy', mmap_mode='r')[i : i + 64]  # later: only these are read, as in __getitem__"
)
_TABLES = (
    "{value_line}part.to_parquet(f'{word}/part-{{i}}.parquet')  # i: the number of the round; none is kept\n\n"
    "pd.read_parquet('{word}', columns=['a', 'b'])  # behind the loop: only the columns that are needed\n"
    "totals = part.sum(numeric_only=True) if totals is None else totals + part.sum(numeric_only=True)  # or sums"
)
_KEYED = (
    "if {key} in wanted:  # wanted: a set of those that are looked up later\n    {store}\n\n"
    "import shelve\n\n{plain} = shelve.open('{word}')  # or a dict on the disk, text keys: the same brackets"
)


def one_in_memory(kept: KeptItem, item_type: str | None, uses: Sequence[Use], code: Notebook) -> Less | None:
    """Return how one item is in memory at a time; None where the loop needs those before, or makes numbers only."""
    scope, word = kept.scope, kept.name.rpartition(".")[2].strip("_")
    inside = [node for loop in scope.loops_around(kept.statement) for node in scope.inside(loop)]
    called = {last_name(one.func) for one in inside if isinstance(one, ast.Call)}
    if called & set(_TRAINS) or _is_read_there(kept, inside) or _is_number(kept.value):
        return None
    value = kept.text(kept.value)
    if item_type == "pandas.DataFrame":
        line = "" if value == "part" else f"part = {value}\n"
        code_ = _TABLES.format(value_line=line, word=word)
        return Less(code_, f"Write each table to a file as it comes, and keep none in {kept.name}")
    if kept.key is not None and kept.form == "one":
        code_ = _KEYED.format(key=kept.text(kept.key), store=kept.store, plain=kept.name, word=word)
        return Less(code_, f"Put only what is looked up into {kept.name}, or keep it on the disk")
    loop, body = _loop(kept)
    if kept.key is not None or kept.form in ("many", "listed") or loop is None:
        return None
    if scope.function == "__init__" and _has_getitem(scope, code) and isinstance(loop, ast.For):
        source, target = kept.text(loop.iter), scope.segment(loop.target)
        names = {"source": source, "target": target, "body": _before(kept, loop, body, 4), "value": value}
        return Less(_ASKED.format(**names), "Make each when it is asked for, in __getitem__: keep what it is made of")
    if any(one.startswith(_JOINS) for use in uses for one in use.through) or is_joined_later(kept.name, code):
        return Less(
            _MAPPED.format(plain=kept.name, word=word, value=value),
            f"Fill one array, preallocated or in a file (memmap), and no list {kept.name}",
        )
    names = {
        "word": word,
        "head": _head(loop, kept),
        "body": _before(kept, loop, body, 8),
        "value": value,
        "rest": _REST if any(one.lineno > kept.statement.lineno for one in getattr(loop, "body", ())) else "",
        "plain": kept.name,
    }
    return Less(_GENERATOR.format(**names), "Make each when it is needed: a generator, no list of all")


def is_joined_later(name: str, code: Notebook) -> bool:
    """Whether a call makes one array or table of a container, or a model is fitted on it: all of it is used."""
    word = name.rpartition(".")[2]
    for scope in code.scopes_mentioning(word):
        for call in scope.calls:
            is_used = code.qualified(call.func, scope) in _JOINED or last_name(call.func) in ("fit", "TensorDataset")
            if is_used and any(container_name(one).rpartition(".")[2] == word for one in call.args):
                return True
    return False


def _is_read_there(kept: KeptItem, inside: Sequence[ast.AST]) -> bool:
    """Whether the loop reads the container that it fills, or takes items out: a queue, what was seen, a sequence."""
    own = set(walk(kept.statement))
    for node in inside:
        if node in own and not (isinstance(node, ast.Name) and node in set(walk(kept.value))):
            continue
        if isinstance(node, ast.Name | ast.Attribute) and container_name(node) == kept.name:
            return True
    calls = (one.func for one in kept.scope.calls if isinstance(one.func, ast.Attribute))
    return any(one.attr in _DRAINS and container_name(one.value) == kept.name for one in calls)


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and last_name(value.func) in _NUMBERS)


def _loop(kept: KeptItem) -> tuple[ast.For | ast.While | ast.comprehension | None, list[ast.stmt]]:
    """Return the innermost loop that puts the item in, and its statements before that one."""
    if kept.form == "made" and isinstance(kept.statement, ast.Assign):
        made = kept.statement.value
        found = getattr(made, "generators", [])
        return (found[0] if len(found) == 1 else None), []
    loops = kept.scope.loops_around(kept.statement)
    loop = loops[0] if loops else None
    if not isinstance(loop, ast.For | ast.While):
        return None, []
    before = [one for one in loop.body if (one.end_lineno or one.lineno) < kept.statement.lineno]
    return loop, before


def _head(loop: ast.For | ast.While | ast.comprehension, kept: KeptItem) -> str:
    if isinstance(loop, ast.While):
        return f"while {kept.text(loop.test)}"
    return f"for {kept.scope.segment(loop.target)} in {kept.text(loop.iter)}"


def _before(kept: KeptItem, loop: ast.AST, body: Sequence[ast.stmt], by: int) -> str:
    """Return the lines of a round that come before the item is kept, and the test that it passes, indented."""
    lines = [line for one in body for line in lines_of(one, kept.scope).split("\n")]
    if len(lines) > _LONGEST_BODY:
        lines = [*lines[: _LONGEST_BODY - 1], "...  # and so on, as in the loop"]
    inside = set(kept.scope.inside(loop)) if body or isinstance(loop, ast.stmt) else set()
    tests = [one.test for one in kept.scope.around(kept.statement) if isinstance(one, ast.If) and one in inside]
    lines += [f"if not ({kept.text(one)}): continue" for one in tests if isinstance(loop, ast.For)]
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def _has_getitem(init: Scope, code: Notebook) -> bool:
    scopes = code.scopes(init.cell)
    return any(one.owner == init.owner and one.function == "__getitem__" for one in scopes if init.owner)
