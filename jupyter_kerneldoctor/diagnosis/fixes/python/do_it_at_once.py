from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.stores import stores
from ...examples import MIB
from ...filled import filling
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.at_once import done_at_once
from ...frameworks.kept_items import kept_items

_ROWS = NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)
_DICT = replace(_ROWS, type="dict")
_LOOP = "rows = []\nfor x in xs:\n    rows.append(load(x))\n"
_PAGES = (
    "class Pages:\n    def __init__(self): self.rows = {}\n    def get(self, url):\n        body = fetch(url)\n"
    "        self.rows[url] = body\n    def run(self):\n        for u in urls: self.get(u)\n"
)
_RUN, _OF_PAGES = "p = Pages()\np.run()\n", replace(_DICT, name="p.rows")
_KEYS = "rows = {}\nfor k in names:\n    rows[k] = load(k)\n"
_JOINED = "df = pd.concat(rows)\n"
_COUNTER = "from collections import Counter"


def _case(code: str, *says: str, before: str = "import numpy as np, pandas as pd", of: NamedObject = _ROWS) -> Case:
    return Case(before, code, grew=of, says=says)


class DoItAtOnce(Fix):
    """Do at once what is done with each item later.

    What it does: Looks at what the cells do with a container when it is full: whether they only add it up, take the
    largest, count, write it to a file, or take a part of each item. All of that can be done with each item as it comes,
    and then the item need not be kept.

    When it is offered: Memory ran out while a loop filled a list, dict or set, or a comprehension made one, and the
    cells show all that is done with it.

    What it costs: The items themselves are not there later.
    """

    id, title, causes = "do-it-at-once", "Do at once what is done with each later", (Family.MEMORY,)
    unless_offered = frozenset(
        {
            *("append-to-the-list-you-iterate", "close-figures", "detach-accumulated-loss", "drop-kept-tape"),
            *("detach-collected-outputs", "no-grad-evaluation", "bound-the-queue", "note-what-was-seen"),
            *("remove-hooks", "clear-after-update", "add-up-weights", "running-mean"),
            "keep-best-model",
        }
    )

    FIRES = [
        _case(_LOOP + "print(sum(r.n for r in rows))", "total += r.n", "`sum(r.n for r in rows)`"),
        _case(_LOOP + "m = fmean(rows)", "total += load(x)", "total / count", before="from statistics import fmean"),
        _case(_LOOP + "best = max(rows, key=cost)", "rank > best[0]"),
        _case(_LOOP + "rows.sort(key=cost)\nprint(rows[:10])", "heapq.nsmallest(10, [*best, load(x)], key=cost)"),
        _case(_LOOP + "top = sorted(rows, reverse=True)[:5]", "heapq.nlargest(5, [*best, load(x)])"),
        _case(_LOOP + "n = Counter(w for r in rows for w in r)", "counts.update(w for w in r)", before=_COUNTER),
        _case(
            _LOOP + "for r in rows:\n    if r.late:\n        n[r.day] += 1",
            "r = load(x)\nif r.late:\n    n[r.day] += 1",
        ),
        _case(_LOOP + "for epoch in range(9):\n    for r in rows:\n        fit(r)", "yield load(x)", "in rows():"),
        _case(
            _LOOP + "sizes = [len(r) for r in rows]",
            "rows.append(len(r))",
            "rows  # in place of [len(r) for r in rows]",
        ),
        _case(_LOOP + _JOINED + "n = df.groupby('shop').a.mean()", "('shop').a.agg(", "mean = total['sum'] / total["),
        _case(_LOOP + "good = [r for r in rows if r.ok]", "r = load(x)\nif r.ok:\n    rows.append(r)"),
        _case(_LOOP + "import json\njson.dump(rows, open('a.json', 'w'))", "file.write(json.dumps(load(x))"),
        _case(_LOOP + "print(rows[-1], rows[-3])", "deque(maxlen=3)"),
        _case(_LOOP + "if x in rows:\n    print(x)", "rows.add(hash(load(x)))"),
        _case(
            _LOOP + _JOINED + "n = df.groupby('shop')['sum'].mean()",
            *("('shop')['sum'].agg(['sum', 'count'])", "mean = total['sum'] / total['count']"),
        ),
        _case(_LOOP + _JOINED + "n = df.groupby(['a', 'b']).size()", "part.groupby(['a', 'b']).size()", "level=[0, 1]"),
        _case(_LOOP + _JOINED + "df.to_csv('all.csv')", "part.to_csv(path, mode='a'"),
        _case(_LOOP + _JOINED + "print(df['a'].mean(), df['b'].max())", "rows.append(part[['a', 'b']])"),
        _case(_LOOP + _JOINED + "late = df[df['delay'] > 15]", "rows.append(df[df['delay'] > 15])"),
        _case(_LOOP + "p = np.concatenate(rows).argmax(axis=1)", "rows.append(load(x).argmax(1))"),
        _case(_LOOP + "pd.DataFrame(rows).to_csv('a.csv')", "writer.writerow(load(x))"),
        _case(
            "rows = defaultdict(list)\nfor x in xs:\n    rows[x.shop].append(x.sum)\n"
            "for shop, sums in rows.items():\n    print(shop, sum(sums) / len(sums))",
            *("sums[x.shop] += x.sum", "counts[x.shop] += 1"),
            of=_DICT,
        ),
        _case(
            "rows = defaultdict(list)\nfor s, g in games():\n    rows[s].append(g)\n    value[s] = np.mean(rows[s])",
            *("a running mean", "sums[s] / counts[s]"),
            of=_DICT,
        ),
        _case(
            "rows = defaultdict(list)\nfor s, g in games():\n    rows[s].append(g)\n    last = rows[s][-60:]",
            "defaultdict(lambda: deque(maxlen=60))",
            of=_DICT,
        ),
        _case(
            "rows = {}\nfor k in ks:\n    rows[k] = f(k)\nn = max(rows, key=lambda k: len(rows[k]))",
            "rows[k] = len(f(k))",
            of=_DICT,
        ),
        _case(_KEYS + "print(rows['a'])", "lru_cache(maxsize=32)", "return load(k)", of=_DICT),
        _case(
            _RUN + "print(sum(len(b) for b in p.rows.values()))", "self.total += len(b)", before=_PAGES, of=_OF_PAGES
        ),
        _case(
            "class Net:\n    def __init__(self): self.rows = []\n    def go(self, x):\n        self.rows.append(x)\n"
            "    def back(self): return self.rows[-1]\nnet = Net()\nfor x in xs:\n    net.go(x)",
            *("# in __init__, in place of the line that makes self.rows", "self.rows = deque(maxlen=1)"),
            of=replace(_ROWS, name="net.rows"),
        ),
        Case(
            "rows = [f(x) for x in xs if x]\nn = max(rows)",
            line=1,
            says=("for x in xs:\n    if x:\n        one = f(x)",),
        ),
        _case(_RUN + "print('x' in p.rows)", "self.rows.add(url)", before=_PAGES, of=_OF_PAGES),
        _case(
            "def f():\n    rows = []\n    for x in xs:\n        rows.append(load(x))\n    return rows\nn = max(f())",
            "best = one if best is None else max(best, one)",
        ),
        _case(_LOOP + "print(len(rows))", "count += 1"),
        _case(_LOOP + "for i in range(len(rows)):\n    if rows[i].ok: print(rows[i].n)", "if one.ok: print(one.n)"),
        _case(_LOOP + "d = [change(a, b) for a, b in zip(rows, rows[1:])]", "b = load(x)\nif a is not None:", "a = b"),
        _case(_LOOP + "a = np.array(rows)\np = np.percentile(a, 95, axis=0)", "if i % 10 == 0:"),
        _case(
            "rows = defaultdict(list)\nfor a, b in zip(words, words[1:]):\n    rows[a].append(b)\n"
            "print(random.choice(rows['the']))",
            *("rows[a][b] += 1", "weights=counts.values()"),
            of=_DICT,
        ),
        Case(
            "rows, seen = [], set()\nfor h in hours:\n    seen = seen | users(h)\n    rows.append((h, seen))\n"
            "print([(h, len(one)) for h, one in rows])",
            line=3,
            says=("(h, one) = (h, seen)", "rows.append((h, len(one)))"),
        ),
        Case("rows = [load(x) for x in xs]\nprint(max(len(r) for r in rows))", line=1, says=("max(best, one)",)),
        _case(_LOOP + "m = np.mean(rows)", "total + np.sum(one), count + np.size(one)"),
        _case(_LOOP + "m = sum(rows) / len(rows)", "total += load(x)", "count += 1", "count  # in place of len(rows)"),
        _case(_LOOP + "m = np.max(rows, axis=0)", "np.maximum(best, one)"),
        _case(  # the name had another meaning in the loop
            "rows = []\nfor x in xs:\n    p = net(x)\n    rows.append(p)\np = torch.cat(rows)\nprint(p.argmax(1))",
            "rows.append(p.argmax(1))",
            before="import torch",
        ),
        _case(_LOOP + "n = np.unique(rows)", "found.update(np.unique(load(x)).tolist())"),
        _case(_LOOP + "s = stdev(rows)", "/ (count - 1)", before="from statistics import stdev"),
        _case(_LOOP + "print(rows[-3:])", "list(rows)[-3:]  # a deque has no slices"),
        _case(_LOOP + _JOINED + "n = df.groupby('shop').mean()", "total.xs('sum', axis=1, level=1)"),
        _case(
            _LOOP + "df = pl.concat(rows)\ndf.write_csv('a.csv')", "part.write_csv(file", before="import polars as pl"
        ),
        _case(
            "rows = []\nfor x in xs:\n    rows.append({'a': x.a})\npd.DataFrame(rows).to_csv('a.csv')", "writeheader()"
        ),
    ]
    SILENT = [
        _case(_LOOP),  # a cell that is to come may read them
        _case(_LOOP + "mean = sum(rows) / len(rows)\nvar = sum((r - mean) ** 2 for r in rows)"),
        _case(_LOOP + "print(rows[0])"),
        _case(_LOOP + "    print(len(rows))"),
        _case(_LOOP + "for epoch in range(9):\n    for r in rows:\n        r.move()"),  # they have changed
        _case(_LOOP + "print(sum(r.a for r in rows), sum(r.b for r in rows))"),
        _case(_LOOP + "for i in range(len(rows)):\n    print(rows[i] - rows[0])"),
        _case(_LOOP + "show(rows)"),
        _case(_LOOP + "while rows:\n    work(rows.pop())"),
        _case(_LOOP + "new = [scale(r) for r in rows]"),
        _case(_LOOP + "new = []\nfor r in rows:\n    new.append(r)"),
        _case(_LOOP + _JOINED + "print(df.describe())"),
        _case(_LOOP + _JOINED + "n = df.groupby('shop')['sum'].median()"),
        _case(_LOOP + "m = np.mean(rows, axis=1)"),
        _case(_LOOP + "a = np.stack(rows)\nfit(a)"),
        _case(_LOOP + _JOINED + "late = df[df.delay > df.delay.mean()]"),  # the mean of all
        _case(_LOOP + "df = pd.concat(rows, axis=1)\ndf.to_csv('a.csv')"),  # side by side
        _case(_LOOP + "p = np.concatenate(rows, axis=1).argmax(axis=1)"),
        _case(_LOOP + "a = np.array(rows)\nprint(a.mean(), a.std())"),  # both would count
        _case(_LOOP + "total = sum(xs)\nprint(sum(rows) / total)"),  # the name is taken
        _case(_LOOP + "x = 5\nfor r in rows:\n    print(r + x)"),
        _case("rows = []\nfor x in xs:\n    rows.extend(load(x))\nprint(sum(rows) / len(rows))"),
        _case(_LOOP + _JOINED + "n = df.groupby('shop')['sum'].rolling(3).mean()"),
        _case(_LOOP + _JOINED + "n = df.groupby(df['t'].dt.hour).mean()"),
        _case(_LOOP + "text = ' '.join(rows)\nwords = text.split()"),
        _case(_LOOP + "a = np.vstack(rows)\np = a.argmax(axis=1)"),
        _case(_LOOP + "flat = sum(rows, [])"),  # lists, no numbers
        _case(_LOOP + "m = np.average(rows, weights=w)"),
        _case(_LOOP + "m = np.nanmean(rows)"),
        _case(_LOOP + "s = np.std(rows, ddof=1)"),
        _case(_LOOP + "m = max(rows, default=0)"),
        _case(_LOOP.replace("load(x)", "[x, 1]") + "print([3, 1] in rows)"),  # a list has no hash
        _case(_LOOP + _JOINED + "n = df.groupby('shop', as_index=False).sum()"),
        _case(_LOOP + _JOINED + "n = df.sum(axis=1)"),
        _case(_LOOP + "df = pl.concat(rows)\nn = df.sum()", before="import polars as pl"),
        _case(_LOOP + "p = torch.cat(rows).max(dim=1)", before="import torch"),  # values and their numbers
        _case(_LOOP + "p = np.hstack(rows).argmax(axis=1)"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.is_of_this_cell:
            return
        container, fillers = death.growth.container, kept_items(stores(death.code.running))
        if container is not None and container.with_graph:
            return
        for kept in filling(death, fillers):
            if (less := done_at_once(kept, fillers, death.code)) is not None:
                grew = death.memory.missing_bytes if container is None else container.grew_bytes or container.bytes
                name = kept.name if container is None else container.name
                why = f"{quote(name)} grew by {size(grew or 0)}. {less.told}"
                yield Proposal((), why, grew, less.title, less.code)
                return
