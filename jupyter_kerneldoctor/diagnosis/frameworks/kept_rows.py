"""What a loop puts into a list of each round, and how less is kept of it: of rows, pairs, numbers, texts and tables."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.stores import Store, container_name
from ..code.trees import walk
from ..postmortem import Grown


class Less(NamedTuple):
    """A way to keep less: what to copy, and what is said in place of the usual."""

    code: str
    title: str = ""
    told: str = ""


_FIELDS = Less(
    "{plain}.append(({fields}))  # of each only the fields you need, as a tuple: a quarter of a dict\n\n"
    "yield {row}  # or no list: hand out one after the other, where they are gone through once{table}",
    "Keep of each row only the fields you need, as a tuple",
    "A dict has hundreds of bytes beside its values. A tuple of the fields that are used takes a quarter; sums, and "
    "counts with `Counter`, need no rows at all.",
)
_PAGE = "if {0} == seen: break  # the last page again? then there are no more\nfor row in {0}: ..."
_OF_A_FILE = (
    "\n\nimport pandas as pd\n\n# or whole columns; dtype='category' for texts that repeat\n"
    "table = pd.read_csv({path}, usecols=[{names}]{sep})"
)
_COLUMNS = Less(
    "from array import array\n\ncolumns = {{{made}}}  # before the loop, in place of {plain}\n\n"
    "{appended}  # in it: numbers into an array('d'), texts into a list\n\n"
    "pd.DataFrame(columns)  # behind it; or no list: write each row as it comes, csv.writer(file).writerow(...)",
    "Keep a column for each field, not a dict for each round",
    "A dict of each round has hundreds of bytes beside its values; a number in an array has eight.",
)
_THINNED = Less(
    "if step % 10 == 0:  # every tenth round is enough to look at\n"
    "    {plain}.append(...)  # and .astype('float32') in the place of .copy(): half of it\n\n"
    "# or all of them in a file, which is read as it is needed:\n"
    "kept = np.lib.format.open_memmap('kept.npy', 'w+', 'float32', (rounds, *shape))\nkept[step] = ..."
)
_COPIES = Less(
    "if step % 10 == 0:  # step: the number of the round\n    {plain}.append({value})\n\n"
    "changes.append((place, old, new))  # or what a round changes only: all states follow from the first and these\n\n"
    "{plain} = deque(maxlen=100)  # from collections import deque: the newest, where the last steps are taken back",
    "Keep every tenth copy, or only what each round changes",
    "Each round keeps a copy of the whole state, of which it changed a small part.",
)
_NUMBERS = Less(
    "from array import array\n\n{plain} = array('{kind}')  # before the loop, in place of []: append stays as it is\n\n"
    "# behind it, without a copy: np.frombuffer({plain}, '{dtype}')\n# or no list: yield {value}",
    "Keep the numbers in an array: array('{kind}')",
    "A list has 8 bytes for each number, and an object of 24 or more besides. In an array each takes 8 at most.",
)
_PAIRS = Less(
    "from array import array\n\n{plain} = array('i')  # before the loop; 'd' for fractions\n\n"
    "{plain}.extend(({value}))  # in it, in place of append: 4 bytes for each number\n\n"
    "table = np.frombuffer({plain}, 'int32').reshape(-1, {count})  # behind it, without a copy\n\n"
    "yield {value}  # or no list, where they are gone through once: in place of append, in a function",
    "Keep the numbers in an array, or yield one after the other",
    "Each item is a {kind} of its own: some hundred bytes for {count} values. Numbers in an array take 4 bytes each.",
)
_TEXTS = Less(
    "import sys\n\n{plain}.append(sys.intern({value}))  # where the same texts come again: each is held once\n\n"
    "yield {value}  # or no list: hand out one after the other, where they are gone through once\n\n"
    "counts[{value}] += 1  # or only how often each comes: counts = collections.Counter()",
    "Hold each different text once, or take one after the other",
    "A text takes 50 bytes and more.",
)
_COUNTED = Less(
    "if len({plain}) > 1_000_000:  # now and then: forget what came once\n"
    "    for key in [key for key, times in {plain}.items() if times < 2]:\n        del {plain}[key]\n\n"
    "bucket = hash({counted}) % len(counts)  # or about right: counts = np.zeros(1 << 24, 'uint32')\n"
    "counts[bucket] += 1",
    "Forget rare keys, or count in an array",
    "Most of the keys came once, as a rule; a key with its count takes a hundred bytes and more.",
)
_MARKS = Less(
    "marks = bytearray(largest + 1)  # a byte for each number there could be, in place of {plain}\n"
    "marks[{value}] = 1  # in place of add; `if marks[n]` in place of `in`; sum(marks) is how many\n\n"
    "# or, where they are large, numbers in parts: known = np.union1d(known, part) has 8 bytes for each",
    "Mark the numbers in an array, not in a set",
    "A set takes 60 bytes and more for each number.",
)
_HASHES = Less(
    "from hashlib import blake2b\n\n"
    "{plain}.add(blake2b(repr({value}).encode(), digest_size=8).digest())  # 8 bytes of it, not all\n\n"
    "# or on the disk: con.execute('insert or ignore into seen values (?)', [key]), with a primary key",
    "Keep a short hash of each, or a table on the disk",
    "A set keeps each of them whole, and 30 bytes and more besides.",
)
_OBJECTS = Less(
    "class {kind}:\n    __slots__ = ({slots})  # no dict for each: a third of the bytes\n\n"
    "# or a column for each attribute, and no objects: {first}s[i] is that of the i-th\n"
    "{first}s = np.zeros(n, 'float32')",
    "Give the class __slots__, or keep its attributes in arrays",
    "Each object has a dict of its own for its attributes.",
)
_BY_KEY = Less(
    "from array import array\n\nkeys, items = array('q'), array('q')  # before the loop, in place of {plain}\n\n"
    "keys.append({key})  # in it: 8 bytes each; of texts a number, ids.setdefault(text, len(ids))\n"
    "items.append({value})\n\n"
    "table = pd.DataFrame({{'key': keys, 'item': items}}).sort_values('key')  # behind it; table.groupby('key')\n\n"
    "# or on the disk, found by key: con = sqlite3.connect('kept.db')\n"
    "con.execute('insert into kept values (?, ?)', ({key}, {value}))  # create index by_key on kept (key)",
    "Keep the pairs of key and item in two arrays, or in a table on the disk",
    "A {kind} for each key takes {count} bytes and more before anything is in it, and each item 8 to 60.",
)
_DICTS = ("dict", "defaultdict", "collections.defaultdict", "Counter", "collections.Counter")
_SIZES = {"list": "56", "set": "216"}
_NUMBER = 64  # bytes of a whole number and of its place in a list; longer ones fit no array
_LONGEST = 300
_FEW_ATTRIBUTES, _FEW_NUMBERS = 1000, 400  # bytes of an object, of a tuple or list of numbers that holds no more
_KINDS = {"int": ("q", "int64"), "float": ("d", "float64"), "bool": ("b", "int8")}


def less_of_each(stores: Iterable[Store], container: Grown, each_bytes: int, code: Notebook) -> Less | None:
    """Return how less of each round is kept, by what an item is and takes; None where nothing is known that would."""
    item_type = container.item_type
    limits = {"tuple": _FEW_NUMBERS, "list": _FEW_NUMBERS, "int": _NUMBER * (1 + (container.type == "set"))}
    most = limits.get(item_type or "", _FEW_ATTRIBUTES)
    if each_bytes > most and item_type not in ("float", "bool", "str", "dict"):
        item_type = f"large {item_type}"
    for store in stores:
        values = store.values if store.adds_items else ()
        if container.type == "set" and len(values) == 1:
            return _filled(_MARKS if item_type == "int" else _HASHES, store, values[0])
        if container.type in _DICTS and container.item_type in _SIZES and (key := _key(store)) and len(values) == 1:
            named = {"key": key, "kind": container.item_type, "count": _SIZES[container.item_type]}
            return _filled(_BY_KEY, store, values[0], **named)
        if container.type in _DICTS and (counted := _counted(store)):
            return _COUNTED._replace(code=_COUNTED.code.format(plain=store.container, counted=counted))
        is_list = container.type in ("list", "collections.deque", "deque")
        if is_list and len(values) == 1 and (found := _of_value(store, values[0], item_type, code)) is not None:
            return found
    return None


def _key(store: Store) -> str:
    """Return the key of the list or set that a statement adds to: `index[word].append(i)`; "" for another."""
    match store.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "add", value=ast.Subscript(slice=key)))):
            return "" if isinstance(key, ast.Constant) else store.scope.segment(key)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "add", value=ast.Call(args=[key, _])))):
            return store.scope.segment(key)
    return ""


def _counted(store: Store) -> str:
    """Return the key that a statement counts in a dict; "" for another."""
    match store.statement:
        case ast.AugAssign(target=ast.Subscript(slice=key), value=ast.Constant(value=int())):
            return store.scope.segment(key)
        case ast.Assign(targets=[ast.Subscript(slice=key)], value=ast.BinOp(op=ast.Add()) as added):
            asks = any(isinstance(one, ast.Attribute) and one.attr == "get" for one in walk(added))
            return store.scope.segment(key) if asks else ""
    return ""


def _of_value(store: Store, value: ast.expr, item_type: str | None, code: Notebook) -> Less | None:
    if _is_emptied(store):
        return None  # a queue or a stack
    match value:
        case ast.Name(id=row) if item_type == "dict":
            fields, columns = _fields(row, store, code)
            return _filled(_FIELDS, store, value, row=row, fields=fields, table=_table(row, store, columns))
        case ast.Call() | ast.Subscript() if item_type == "dict":
            fields, _ = _fields("row", store, code)
            less = _filled(_FIELDS, store, value, row="row", fields=fields, table="")
            head = _PAGE if ".extend(" in store.scope.segment(store.statement) else "row = {}"
            return less._replace(code=f"{head.format(store.scope.segment(value))}\n{less.code}")
        case ast.Dict() if item_type == "dict":
            return _columns(store, value)
        case ast.Tuple(elts=parts) if all(map(_is_copy, parts)):
            return _filled(_THINNED, store, value)
        case _ if _is_copy(value):
            return _filled(_COPIES, store, value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if item_type in ("tuple", "list") and len(parts) > 1:
            if not any(_is_text(one) or isinstance(one, ast.JoinedStr | ast.Starred) for one in parts):
                text = ", ".join(" ".join(store.scope.segment(one).split()) for one in parts)
                return _filled(_PAIRS, store, value, value=text, count=str(len(parts)), kind=item_type)
    return _of_type(store, value, item_type, code)


def _of_type(store: Store, value: ast.expr, item_type: str | None, code: Notebook) -> Less | None:
    """Return how less is kept of numbers, texts and tables, however they are made."""
    if (kind := item_type or "") in _KINDS:
        return _filled(_NUMBERS, store, value, kind=_KINDS[kind][0], dtype=_KINDS[kind][1])
    if kind == "str":
        return _filled(_TEXTS, store, value)
    bound = (one for scope in code.scopes_mentioning(kind) for one in scope.bindings.get(kind, ())) if kind else ()
    made = (one.definition for one in bound if isinstance(one.definition, ast.ClassDef))
    return next((_filled(_OBJECTS, store, value, kind=kind, **_slots(one)) for one in made), None)


def _slots(made: ast.ClassDef) -> dict[str, str]:
    """Return the attributes that a class sets of itself, as they are written in `__slots__`, and the first of them."""
    found = (one for one in walk(made) if isinstance(one, ast.Attribute) and getattr(one.value, "id", "") == "self")
    names = list(dict.fromkeys(one.attr for one in found if isinstance(one.ctx, ast.Store))) or ["x", "y"]
    return {"slots": ", ".join(map(repr, names)) + ("," if len(names) == 1 else ""), "first": names[0].strip("_")}


def _columns(store: Store, entry: ast.Dict) -> Less | None:
    """Return how the fields of a dict that is written out are kept, one list for each."""
    if not all(map(_is_text, entry.keys)):
        return None
    names = [one.value for one in entry.keys if isinstance(one, ast.Constant)]
    texts = [" ".join(store.scope.segment(one).split()) for one in entry.values]
    added = "; ".join(f"columns[{one!r}].append({text})" for one, text in zip(names, texts, strict=True))
    made = ", ".join(f"{one!r}: []" for one in names)
    return _filled(_COLUMNS, store, entry, made=made, appended=added) if len(added) < _LONGEST else None


def _filled(less: Less, store: Store, given: ast.expr, **names: str) -> Less:
    named = {"plain": store.container, "value": " ".join(store.scope.segment(given).split()), **names}
    told = less.told.replace("{kind}", names.get("kind", "")).replace("{count}", names.get("count", ""))
    return Less(less.code.format(**named), less.title.format(**named) if less.title else "", told)


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_copy(node: ast.expr) -> bool:
    """Whether an expression is a copy: `x.copy()`, `deepcopy(x)`, `[row[:] for row in x]`."""
    match node:
        case ast.Call(func=function):
            return last_name(function) in ("copy", "deepcopy")
        case ast.ListComp(elt=inner):
            return _is_copy(inner)
        case ast.Subscript(slice=ast.Slice(lower=None, upper=None, step=None)):
            return True
        case ast.Call(func=ast.Name(id="list"), args=[ast.Name()]):
            return True
    return False


def _is_emptied(store: Store) -> bool:
    """Whether items are taken out of the container again."""
    calls = [one.func for one in store.scope.calls if last_name(one.func).startswith("pop")]
    return any(isinstance(one, ast.Attribute) and container_name(one.value) == store.container for one in calls)


def _fields(row: str, store: Store, code: Notebook) -> tuple[str, str]:
    """Return the fields that the code reads of the rows it kept, and the columns of the file that it needs for them."""
    kept, later = store.container.rpartition(".")[2], dict[str, None]()
    for scope in code.scopes_mentioning(kept):
        for node in scope.nodes:
            match node:
                case (
                    ast.For(target=ast.Name(id=name), iter=rows)
                    | ast.comprehension(target=ast.Name(id=name), iter=rows)
                ) if last_name(rows) == kept:
                    later |= dict.fromkeys(_read_of(name, scope.nodes, ast.Load))
    later |= dict.fromkeys(_columns_read(kept, code))
    here, made = (list(_read_of(row, store.scope.nodes, one)) for one in (ast.Load, ast.Store))
    read = [one for one in dict.fromkeys((*here, *later)) if one not in made]
    fields = ", ".join(f"{row}[{one!r}]" for one in list(later) or here or ["a", "b"])
    return fields + ("," if "," not in fields else ""), ", ".join(map(repr, read or ["a", "b"]))


def _columns_read(kept: str, code: Notebook) -> Iterator[str]:
    """Yield the columns that are taken of a table of these rows: `pd.DataFrame(rows)[["a", "b"]]`."""
    for scope in code.scopes_mentioning(kept):
        for node in scope.nodes:
            match node:
                case ast.Subscript(value=ast.Call(func=made, args=[rows]), slice=ast.List(elts=names)):
                    if last_name(made) == "DataFrame" and last_name(rows) == kept:
                        yield from (
                            one.value for one in names if isinstance(one, ast.Constant) and isinstance(one.value, str)
                        )


def _read_of(row: str, nodes: Iterable[ast.AST], how: type[ast.expr_context]) -> Iterator[str]:
    """Yield the fields of a row that are read, or written."""
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(field)), ctx=used):
                if name == row and isinstance(used, how):
                    yield field


def _table(row: str, store: Store, columns: str) -> str:
    """Return how the rows of a csv file are read as a table; "" where they come from elsewhere."""
    around = [one for one in store.scope.around(store.statement) if isinstance(one, ast.With | ast.For)]
    calls = [one for node in around for one in walk(node) if isinstance(one, ast.Call)]
    reader = next((one for one in calls if last_name(one.func) in ("DictReader", "reader")), None)
    opened = next((one.args[0] for one in calls if last_name(one.func) == "open" and one.args), None)
    if reader is None:
        return ""
    text = "path" if opened is None else store.scope.segment(opened)
    path = text if len(text) < _LONGEST // 10 and row not in text else "path"
    given = (one.value for one in reader.keywords if one.arg == "delimiter")
    sep = "".join(f", sep={store.scope.segment(one)}" for one in given)
    return _OF_A_FILE.format(path=path, names=columns, sep=sep)
