"""What a function makes of many items, made of one after the other: a sum, the largest, counts, the best few, files."""

import ast
from typing import NamedTuple

from ..code.calls import last_name
from ..code.scopes import Scope
from .later_uses import parent_of


class Step(NamedTuple):
    """What takes the place of keeping each item."""

    title: str
    inside: str
    """In the loop."""
    before: str = ""
    behind: str = ""
    goes: bool = True
    """Nothing is kept in the container then."""
    is_put: bool = True
    """It takes the place of the statement that puts the item in."""


class Items(NamedTuple):
    """What a reduction is given of each item."""

    element: str
    condition: str = ""
    inner: str = ""
    """` for word in text`, where it goes through each item, too; the element is then of these."""
    first: str = ""
    """The line that gives the item its name."""

    @property
    def each(self) -> str:
        """The elements of one item, for a function that takes many."""
        if not self.inner.strip():
            return self.element
        return f"{self.element}{self.inner}" + (f" if {self.condition}" if self.condition else "")

    def step(self, title: str, line: str, before: str = "", behind: str = "", *, goes: bool = True) -> Step:
        """Return a step whose line runs for the items that count."""
        is_asked = self.condition and not self.inner.strip()
        line = f"if {self.condition}:\n    " + line.replace("\n", "\n    ") if is_asked else line
        return Step(title, "\n".join(filter(None, (self.first, line))), before, behind, goes)


class _Way(NamedTuple):
    """How a function is done with one item after the other."""

    title: str
    before: str
    one: str
    """The lines for an item; "" where they are known for its elements only."""
    many: str
    """For all elements of an item; "" where they are not known."""
    behind: str


_SUM = _Way(
    "Add up as they come: {container} is only summed",
    "total = 0",
    "total += {one}",
    "total += sum({each})",
    "total",
)
_MEAN = _Way(
    "Keep a running mean, not all of {container}",
    "total, count = 0, 0",
    "total += {one}\ncount += 1",
    "total += sum({each})\ncount += sum(1{inner})",
    "total / count",
)
_SPREAD = _Way(
    "Keep running sums, not all of {container}",
    "count, total, squares = 0, 0.0, 0.0",
    "one = {one}\ncount, total, squares = count + 1, total + one, squares + one * one",
    "",
    "squares / count - (total / count) ** 2  # the variance; its root is the deviation",
)
_SAMPLE = _SPREAD._replace(
    behind="(squares - total * total / count) / (count - 1)  # the variance; its root is the deviation"
)
_BINS = _Way(
    "Count how often each value comes, and keep none of {container}",
    "counts = np.zeros(bins, dtype='int64')",
    "counts[int({one} / width)] += 1  # width: how exact it must be",
    "",
    "np.cumsum(counts)  # the median is where this passes half of its end",
)
_COUNT = _Way(
    "Count as they come: {container} is only counted",
    "from collections import Counter\n\ncounts = Counter()",
    "counts[{one}] += 1",
    "counts.update({each})",
    "counts",
)
_DIFFERENT = _Way(
    "Keep each different one once: a set in place of {container}",
    "found = set()",
    "found.add({one})",
    "found.update({each})",
    "found",
)
_ANY = _Way(
    "Ask each as it comes, and keep none of {container}",
    "found = False",
    "found = found or bool({one})",
    "found = found or any({each})",
    "found",
)
_ALL = _ANY._replace(before="found = True", one="found = found and bool({one})", many="found = found and all({each})")
_EXTREME = _Way(
    "Keep the best one only, not all of {container}",
    "best = None",
    "one = {one}\nbest = one if best is None else {last}(best, one)",
    "one = {last}({each})\nbest = one if best is None else {last}(best, one)",
    "best",
)
_BY_SCORE = _Way(
    "Keep the best one only, not all of {container}",
    "best = None",
    "one = {one}\nrank = ({key})(one)\nif best is None or rank {sign} best[0]:\n    best = rank, one",
    "",
    "best[1]",
)
_WHOLE = {
    "mean": _MEAN._replace(one="one = {one}\ntotal, count = total + np.sum(one), count + np.size(one)", many=""),
    "median": _BINS._replace(one="np.add.at(counts, (np.ravel({one}) / width).astype(int), 1)  # width: how exact"),
    **dict.fromkeys(
        ("std", "var"),
        _SPREAD._replace(
            one="one = np.asarray({one}, dtype=float)\n"
            "count, total, squares = count + one.size, total + one.sum(), squares + (one * one).sum()"
        ),
    ),
    "unique": _DIFFERENT._replace(one="found.update(np.unique({one}).tolist())", behind="np.array(sorted(found))"),
    **{
        name: way._replace(one=way.one.replace("{one}", f"np.{name}({{one}})"), many="")
        for way, names in {
            _SUM: ("sum", "nansum"),
            _EXTREME: ("max", "min", "amax", "amin"),
            _ANY: ("any",),
            _ALL: ("all",),
        }.items()
        for name in names
    },
}
"""Of numpy, where no axis is given: the numbers in all items count, whether an item is a number or an array."""
_ALONG = {
    "sum": _SUM,
    "mean": _MEAN,
    "std": _SPREAD,
    "var": _SPREAD,
    **{
        name: _EXTREME._replace(one=f"one = {{one}}\nbest = one if best is None else np.{how}(best, one)")
        for name, how in {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}.items()
    },
}
"""Of numpy, along the first axis: arrays are put together place by place."""
_WAYS = {
    **dict.fromkeys(("sum", "fsum"), _SUM),
    **dict.fromkeys(("mean", "fmean", "average"), _MEAN),
    **dict.fromkeys(("std", "var", "pstdev", "pvariance"), _SPREAD),
    **dict.fromkeys(("stdev", "variance"), _SAMPLE),
    **dict.fromkeys(("median", "percentile", "quantile", "histogram", "hist"), _BINS),
    **dict.fromkeys(("Counter", "FreqDist", "value_counts"), _COUNT),
    **dict.fromkeys(("set", "frozenset"), _DIFFERENT),
    **dict.fromkeys(("max", "min"), _EXTREME),
    "any": _ANY,
    "all": _ALL,
}
_WRITTEN = {
    **dict.fromkeys(
        ("json.dump", "json.dumps"), "file.write(json.dumps({one}) + '\\n')  # a line for each: read them one by one"
    ),
    **dict.fromkeys(
        ("pickle.dump", "pickle.dumps", "joblib.dump"),
        "pickle.dump({one}, file)  # one after the other; pickle.load as often",
    ),
    **dict.fromkeys(
        ("numpy.save", "numpy.savez", "numpy.savez_compressed"),
        "np.save(f'part-{{i}}.npy', {one})  # i: the number of the round; a file for each",
    ),
    "torch.save": "torch.save({one}, f'part-{{i}}.pt')  # i: the number of the round; a file for each",
}
_WRITTEN_BY = {
    "writerows": "{owner}.writerow({one})",
    "writelines": "{owner}.write({one})",
    "executemany": "{owner}.execute(statement, {one})  # commit every thousand",
    "insert_many": "{owner}.insert_one({one})",
    "join": "file.write({one} + {owner})",
    "mimsave": "writer.append_data({one})  # writer = imageio.get_writer(path), before the loop",
}
_DRAWS = ("plot", "hist", "scatter", "imshow", "FuncAnimation", "ArtistAnimation", "boxplot", "hist2d", "kdeplot")


def reduced(
    call: ast.Call, name: str, items: Items, container: str, scope: Scope, *, is_method: bool = False
) -> Step | None:
    """Return how a function of this full name takes one item after the other; None for another function."""
    last, words = last_name(call.func), {one.arg: scope.segment(one.value) for one in call.keywords if one.arg}
    if last == "sorted" or last in ("nlargest", "nsmallest"):
        return _best(call, last, items, words, scope)
    if name in _WRITTEN or last in _WRITTEN_BY:
        text = _WRITTEN.get(name) or _WRITTEN_BY[last]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        line = text.format(one=items.element, owner=scope.segment(owner))
        if items.inner or (last == "join" and not _is_only_written(call, scope)):
            return None
        opened = "file = open('all.pickle', 'wb')" if "pickle" in text else "file = open('all.txt', 'w')"
        before, behind = (opened, "file.close()") if text.startswith(("file.", "pickle.")) else ("", "")
        return items.step(f"Write each as it comes, and keep none in {container}", line, before, behind)
    if last in _DRAWS and not items.inner:
        line = "if i % 100 == 0:  # i: the number of the round; a picture shows no more\n    "
        line += f"{container}.append({items.element})"
        return items.step(f"Keep every hundredth of {container} for the drawing", line, goes=False)
    if (way := _way(call, name, words, scope, is_method=is_method)) is None:
        return None
    line = (way.many if items.inner else way.one).format(
        one=items.element,
        each=items.each,
        inner=items.inner,
        last=last,
        key=words.get("key"),
        sign=">" if last == "max" else "<",
    )
    text = " ".join(scope.segment(call).split())
    behind = f"{way.behind}  # in place of {text}" if "#" not in way.behind else way.behind
    return items.step(way.title.format(container=container), line, way.before, behind) if line else None


def _is_only_written(call: ast.Call, scope: Scope) -> bool:
    """Whether a text is written to a file where it is made, and nothing else reads it."""
    user = parent_of(call, scope)
    return isinstance(user, ast.Call) and last_name(user.func) in ("write", "write_text", "print")


def _way(call: ast.Call, name: str, words: dict[str, str], scope: Scope, *, is_method: bool) -> _Way | None:
    """Return how a function is done with one item after the other; None where it is asked for more than that."""
    last, library = last_name(call.func), name.partition(".")[0]
    given = [scope.segment(one) for one in (call.args if is_method else call.args[1:])]
    given += [words.pop(one) for one in ("axis", "dim") if one in words]
    if len(given) > 1 or (words.keys() - {"key"} and last != "histogram"):
        return None  # weights, ddof, default
    axis = given[0] if given else "None"
    if library == "numpy":
        return {"None": _WHOLE, "0": _ALONG}.get(axis, {}).get(last)
    if library in ("torch", "pandas") and last in ("std", "var"):
        return _SAMPLE if axis == "0" or library == "pandas" else None
    if library == "torch":
        one = "{one}" if axis == "0" else f"torch.{last}({{one}})"
        return _ALONG[last]._replace(one=_ALONG[last].one.replace("{one}", one)) if last in ("sum", "mean") else None
    if given:
        return None
    return _BY_SCORE if "key" in words and last in ("max", "min") else _WAYS.get(last)


def _best(call: ast.Call, last: str, items: Items, words: dict[str, str], scope: Scope) -> Step | None:
    """Return how the best few are kept, where some of a sorted list are taken."""
    count = ""
    match last, parent_of(call, scope):
        case "sorted", ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as upper)):
            count = scope.segment(upper)
        case "nlargest" | "nsmallest", _ if call.args:
            count = scope.segment(call.args[0])
    if not count or items.inner or count.startswith("-"):
        return None
    return best_few(
        count, items, words.get("key", ""), are_largest=last == "nlargest" or words.get("reverse") == "True"
    )


def best_few(count: str, items: Items, key: str, *, are_largest: bool) -> Step:
    """Return how only the best few are kept of items that come one after the other."""
    function, by = "nlargest" if are_largest else "nsmallest", f", key={key}" if key else ""
    line = f"best = heapq.{function}({count}, [*best, {items.element}]{by})"
    return items.step(f"Keep the best {count} only: heapq.{function}", line, "import heapq\n\nbest = []", "best")
