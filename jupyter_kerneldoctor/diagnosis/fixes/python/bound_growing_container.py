import re
import sys
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...analysis.growth import is_of_one_step
from ...code.stores import stores
from ...examples import MIB
from ...fix import Advice, Case, Death, Family, quote, size
from ...frameworks.kept_in_loops import less_of_a_hook, less_of_a_pass, less_of_the_loop
from ...frameworks.kept_rows import Less, less_of_each
from ...frameworks.kept_tensors import less_of_tensors
from ...frameworks.one_in_memory import is_joined_later
from ...postmortem import Grown

_LOOP = "rows = []\nwhile True:\n    rows.append(read())"
_ROWS = NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_GRAPHS_HELD = replace(_ROWS, bytes=9000, grew_bytes=9000, with_graph=True)


def _dict(items: str) -> NamedObject:
    return replace(_ROWS, type="dict", item_type=items)


def _in_rounds(before: str, cell: str, *says: str) -> Case:
    return Case(before, cell, grew=_ROWS, says=says)


def _of_items(body: str, item_type: str, *says: str) -> Case:
    held = replace(_ROWS, item_type=item_type, items=9_000_000)
    return Case(f"rows = []\nfor a in xs:\n    {body}", grew=held, says=says)


_NET = "import torch\nnet = torch.nn.Linear(9, 9)"
_REPLAY = "import random\nclass Past:\n    def draw(self): return random.sample(self.rows, 9)\npast = Past()"
_WEIGHTS = "import keras\nclass Past:\n    def on_epoch_end(self, n): self.rows.append(m.get_weights())\npast = Past()"
_PAST = replace(_ROWS, name="past.rows")
_CACHE = NamedObject("f", "functools._lru_cache_wrapper", 1600 * MIB, items=9, grew_bytes=1500 * MIB, items_before=0)

_FRAMES = _dict("pandas.DataFrame")
_FLIGHTS = "import pandas as pd\nflights = pd.read_csv('flights.csv')\nrows = {}\n"
_SEARCH = (
    "from collections import deque\nrows, todo = {root: None}, deque([root])\nwhile todo:\n    word = todo.popleft()\n"
    "    if word == wanted:\n        break\n    for other in changed(word):\n        if other not in rows:\n"
    "            rows[other] = word\n            todo.append(other)"
)
_PAIRS = "import itertools\nrows = {}\nfor one, other in itertools.combinations(genes, 2):\n"
_HOOKED = (
    "import torch\nrows = []\ndef look(m, i, out):\n    rows.append(out.detach())\n"
    "net = torch.nn.Linear(9, 9)\nnet.register_forward_hook(look)"
)
_STAYS = (
    "rows = []\nfor stay in stays.itertuples():\n    days = pd.date_range(stay.come, stay.go)\n    rows.append(f(days))"
)
_FORGETS = "forgets the oldest"
LOOPS_THAT_TELL = (
    Case(
        _FLIGHTS + "for plane, part in flights.groupby('plane'):\n    rows[plane] = part.copy()",
        grew=_FRAMES,
        says=("rows_of = flights.groupby('plane').indices", "flights.iloc[rows_of[plane]]"),
    ),
    Case(
        "import pandas as pd\n" + _STAYS,
        grew=replace(_ROWS, item_type="pandas.DataFrame"),
        says=("pd.date_range(stay.come, min(stay.go, horizon))", ".cumsum()"),
    ),
    Case(
        _PAIRS + "    rows[one, other] = near(one, other)",
        grew=_dict("float"),
        says=("if score >= threshold", "rows[one, other] = score", "blocks"),
    ),
    Case(
        "for i in range(1, n):\n    for j in range(1, m):\n        rows[i][j] = rows[i - 1][j - 1] + a[i]",
        grew=replace(_ROWS, item_type="list"),
        says=("previous = row",),
    ),
    Case("while len(rows) < n:\n    rows.append(rows[-1] + rows[-2])", grew=_ROWS, says=("maxlen=2",)),
    Case(_SEARCH, grew=_dict("str"), says=("A*", "for other in changed(word):", "growing limit of depth")),
    Case(
        _HOOKED,
        "for x in xs:\n    net(x).sum().backward()",
        grew=replace(_ROWS, item_type="torch.Tensor"),
        says=("handle = net.register_forward_hook(look)", "handle.remove()"),
    ),
    # and where the loop tells nothing of the kind
    Case(
        _FLIGHTS + "for k, part in flights.groupby('k'):\n    rows[k] = part['x'].max()", grew=_FRAMES, says=(_FORGETS,)
    ),
    Case(_SEARCH.replace("changed(word)", "graph[word]"), grew=_dict("str"), says=(_FORGETS,)),
)

_ROUNDS = (
    "Keep a number or a summary of each round, only the newest with "
    "`deque(maxlen={newest})`, or write the rows to a file every so often."
)
_ALL = "Write the rows to a file every so often, and read a part at a time: all of them together do not fit."
_DICT = "Keep a number or a summary of each round, or only the newest."
_WRITE = (
    "from collections import deque\n\n{plain} = deque(maxlen={newest})  # keeps the newest\n\n"
    "# or write them out and begin anew:\nif len({plain}) >= 10_000:\n"
    "    with open('{file}.txt', 'a') as file:\n        print(*{plain}, sep='\\n', file=file)\n    {plain}.clear()"
)
_PICKLE = (
    "from collections import deque\n\n{plain} = deque(maxlen={newest})  # keeps the newest\n\n"
    "# or write them out and begin anew:\nimport pickle\n\nif len({plain}) >= {newest}:\n"
    "    with open('{file}.pickle', 'ab') as file:\n        pickle.dump({plain}, file)  # pickle.load: so many\n"
    "    {plain}.clear()"
)
_OLDEST = "if len({plain}) > {newest}:\n    del {plain}[next(iter({plain}))]  # forgets the oldest"
_OF_LISTS = "for kept in {plain}.values():\n    del kept[:-{newest}]  # keeps the newest of each list"
_GRAPHS = (
    "gained {count:,} tensors while the cell ran, each with all that it was worked out from. Empty it when "
    "`backward()` has run; what is only looked at later can be kept as `tensor.detach()`."
)
_CLEAR = "{plain}.clear()  # after backward() and step()\n{plain}.append(value.detach())  # or this, to look at later"
_FEW, _NEWEST = 8, 1000
_NAME = re.compile(r"\w+(?:(?:\[\d+\])?\.\w+)*")  # `callbacks[0].seen`, too


class BoundGrowingContainer(Advice):
    """Write out what a loop keeps, or keep only the newest.

    What it does: A list that gets longer in each round of a long loop fills any memory. `deque(maxlen=n)` keeps the
    newest n; a file keeps all of them outside of memory; a sum, a count or a summary for each round is often all that
    is needed.

    When it is offered: Memory ran out little by little, and the recording shows which list, dict or set had grown by
    how much, or by how many tensors with their graphs.

    What it costs: What is not kept is gone, or has to be read again from the file.
    """

    id, title, causes = "bound-growing-container", "Keep less of each round, or write it to a file", (Family.MEMORY,)
    broad = True  # it knows what grew, not what it is for
    unless_offered = frozenset(
        {
            *("append-to-the-list-you-iterate", "close-figures", "detach-accumulated-loss", "drop-kept-tape"),
            *("detach-collected-outputs", "keep-fewer-steps", "no-grad-evaluation", "hold-fewer-items"),
            *("bound-the-queue", "note-what-was-seen", "read-less-in-a-module", "remove-hooks"),
            *("clear-after-update", "add-up-weights", "backward-each-batch", "compare-by-value", "cut-the-chain"),
            *("answer-when-asked", "one-tensor-for-a-column", "keep-positions", "look-up-without-filling"),
        }
    )
    headline = "{title_}"
    why = "{told}"
    snippet = "{code_}"

    FIRES = [
        Case(_LOOP, grew=_ROWS, says=("by 9,000 items", "rows = deque(maxlen=1000)")),
        Case(_LOOP, grew=replace(_ROWS, item_type="pandas.DataFrame"), says=("pickle.dump(rows,",)),
        Case(
            "import csv\nrows = []\nwith open('till.csv') as f:\n    for row in csv.DictReader(f):\n"
            "        rows.append(row)\nfor r in rows:\n    n[r['shop']] += float(r['sum'])",
            grew=replace(_ROWS, item_type="dict"),
            says=("rows.append((row['shop'], row['sum']))", "read_csv('till.csv', usecols=['shop', 'sum'])"),
        ),
        _of_items("rows.append([a, n[b]])", "list", "rows.extend((a, n[b]))", "reshape(-1, 2)", "yield a, n[b]"),
        _of_items("rows.append(f(a))", "float", "rows = array('d')"),
        _of_items("rows += [f(a)]", "float", "rows = array('d')"),
        _of_items(
            "rows.append(Dot(a))\nclass Dot:\n    def __init__(self, at):\n        self.at, self.n = at, 0",
            *("Dot", "class Dot:", "__slots__ = ('at', 'n')"),
        ),
        _of_items("rows.append(json.loads(a))\nt = sum(r['n'] for r in rows)", "dict", "rows.append((row['n'],))"),
        Case(
            "rows = set()\nfor a in xs:\n    rows.add(f(a))",
            grew=replace(_ROWS, type="set", item_type="str"),
            says=("blake2b(repr(f(a)).encode(), digest_size=8)",),
        ),
        Case(
            "rows = set()\nfor a in xs:\n    rows.add(a)",
            grew=replace(_ROWS, type="set", item_type="int", items=20_000_000),
            says=("marks[a] = 1",),
        ),
        Case("while True:\n    rows[f()] = rows.get(f(), 0) + 1", grew=_dict("int"), says=("if times < 2", "hash(f()")),
        _of_items("rows.append(line.strip())", "str", "sys.intern(line.strip())", "yield line.strip()"),
        _of_items("rows.append({'t': t, 'x': f(t)})", "dict", "columns['x'].append(f(t))", "{'t': [], 'x': []}"),
        Case(
            "rows = []\nwhile True:\n    rows.append((u.copy(), v.copy()))",
            grew=replace(_ROWS, item_type="tuple"),
            says=("step % 10", "open_memmap"),
        ),
        Case(
            "rows = {}\nfor a in xs:\n    rows.setdefault(f(a), set()).add(a)",
            grew=_dict("set"),
            says=("keys.append(f(a))", "items.append(a)"),
        ),
        Case(
            "rows = {0}\nfor a in xs:\n    rows |= {n + a for n in rows}",
            grew=replace(_ROWS, type="set", item_type="int"),
            says=("bits |= bits << a",),
        ),
        Case(
            "rows = []\ndef place(done):\n    if len(done) == n:\n        rows.append(done[:])\n"
            "    for c in free(done):\n        place(done + [c])\nplace([])",
            grew=replace(_ROWS, item_type="list"),
            says=("yield done[:]", "yield from place(done + [c])"),
        ),
        Case(
            "rows = {}\ndef ways(i, w):\n    if i == 0: return 1\n    if (i, w) not in rows:\n"
            "        rows[i, w] = ways(i - 1, w) + ways(i - 1, w - a[i])\n    return rows[i, w]\nways(900, 10**6)",
            grew=_dict("int"),
            says=("row = new", "new[w] = what ways works out"),
        ),
        *LOOPS_THAT_TELL,
        Case(_LOOP, grew=_GRAPHS_HELD, says=("9,000 tensors", "rows.clear()")),
        Case(
            _NET + "\ndef score(n):\n    rows = []\n    for _ in range(n):\n        rows.append(net(x))\n"
            "    return crit(torch.stack(rows).mean(0))",
            "score(99).backward()",
            grew=_GRAPHS_HELD,
            says=("for _ in range(n):", "loss.backward()", "rows.append(checkpoint(net, x, use_reentrant=False))"),
        ),
        Case("while True:\n    rows[key()] = read()", grew=_dict("object"), says=("del rows[next(iter(rows))]",)),
        Case("while True:\n    rows['x'].append(read())", grew=_dict("list"), says=("del kept[:-1000]",)),
        _in_rounds(
            "import tensorflow as tf",
            "rows = []\nfor x in xs:\n    rows.append(tape.gradient(loss, model.trainable_variables))",
            *("grads = tape.gradient(loss", "total"),
        ),
        _in_rounds(
            _NET,
            "rows = []\nfor x in xs:\n    rows.append(net(x).detach().clone())",
            *("net(x).detach().clone().cpu().numpy()", ".argmax(-1)"),
        ),
        _in_rounds(
            _NET + "\nrows = {}",
            "for k in range(9000):\n    rows[k] = {'net': net, 'loss': 1.5, 'p': probs}",
            "rows[k] = {'loss': 1.5, 'p': probs.argmax(-1)}",
        ),
        Case(_WEIGHTS, "m.fit(X, callbacks=[past])", grew=_PAST, says=("m.save_weights(f'round",)),
        Case(_REPLAY, "while True: past.rows.append(step())\nelse: past.draw()", grew=_PAST, says=("maxlen=10_000",)),
    ]
    SILENT = [
        Case(_LOOP, grew=_CACHE),
        Case(_LOOP),
        Case(_LOOP, grew=_ROWS, cause="segfault"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the container that grew."""
        one = death.growth.container
        if one is None or not _NAME.fullmatch(one.name):
            return None
        if (one.type or "").startswith("functools."):
            return None  # the cache of a function: `bound-function-cache`
        grew_bytes = one.grew_bytes or one.bytes or 0
        gained = death.growth.items_gained(one)
        is_local = f"{one.where}".startswith("local of")
        if one.with_graph and is_local and (gained < _FEW or is_of_one_step(one)):
            return None
        items = f", by {gained:,} items" if gained > 1 else ""
        told, code = (_GRAPHS, _CLEAR) if one.with_graph else (_ROUNDS, _WRITE)
        if not one.with_graph and "." in (one.item_type or ""):
            code = _PICKLE  # of no builtin type: its text may not say all
        newest = _fitting(death, grew_bytes, gained)
        names = {"plain": one.name, "file": one.name.rpartition(".")[2], "newest": str(newest)}
        if not one.with_graph and one.type in ("dict", "defaultdict", "collections.defaultdict"):
            told, code = _DICT, _OF_LISTS if one.item_type == "list" else _OLDEST
            if code == _OF_LISTS and gained < _FEW:  # how many items its lists have is not known
                names["newest"] = str(_NEWEST // 10)
        less = _less(death, one)
        if less is None and code in (_WRITE, _PICKLE) and is_joined_later(one.name, death.code):  # all of them are used
            told, code = _ALL, code.split("\n\n", 2)[2]
        told = told if less is None or not less.told else less.told
        title = f"Keep less in {quote(one.name)} of each round, or write it to a file"
        grew = "" if one.with_graph else f"grew by {size(grew_bytes)}{items} while the cell ran. "
        return {
            "title_": title if less is None else less.title or title,
            "told": f"{quote(one.name)} {grew}{told.format(count=gained, newest=newest)}",
            "code_": code.format(**names) if less is None else less.code,
        }

    def saves(self, death: Death) -> int | None:
        """Count what it grew by."""
        one = death.growth.container
        if one is None or not death.memory.grew_here:
            return None
        return death.memory.ramp_bytes * 8 // 10 if one.with_graph else one.grew_bytes or one.bytes


def _fitting(death: Death, grew: int, gained: int) -> int:
    """Return how many items to keep: those that fit into half of the room, and a thousand at most."""
    fit = (death.safe_headroom_bytes or 0) // 2 * gained // grew if gained > 1 and grew else _NEWEST
    digit = 10 ** (len(str(fit)) - 1)
    return _NEWEST if fit >= _NEWEST or not death.safe_headroom_bytes else max(1, fit // digit * digit)


def _less(death: Death, container: Grown) -> Less | None:
    """Return how less is kept of what the cells put into a container; None where nothing is known that would."""
    name = container.name.rpartition(".")[2]
    kept = [one for one in stores(death.code.running) if one.container.rpartition(".")[2] == name]
    if container.with_graph:
        return less_of_a_pass(kept, death.code)
    first = less_of_a_hook(container.name, death.code) or less_of_the_loop(kept, death.code)
    first, each = first or less_of_tensors(kept, container, death.code), death.growth.bytes_per_item
    return first or less_of_each(kept, container, each or sys.maxsize, death.code)
