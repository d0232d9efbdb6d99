from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.stores import stores
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.row_pairs import RowPairs, joins, made_row_pairs, row_pairs
from ...place import grew_in, guilty_place

_NP = "import numpy as np\nx = np.load('pictures.npy')"
_LEAST = 512  # bytes: a smaller item is no row of an array
_LOOP = (
    "pairs, labels = [], []\nfor i in range(len(x)):\n    j = rng.integers(len(x))\n    {put}\n    labels += [0, 1]\n"
)
_GREW = NamedObject("pairs", "list", 1600 * MIB, items=90_000, grew_bytes=1500 * MIB, items_before=0, item_type="tuple")


class KeepPositions(Fix):
    """Keep the positions of pairs, and take their rows when they are needed.

    What it does: A list of pairs or triplets has each row of an array as often as it is in one, and the array that is
    made of the list copies all of them. Positions take some bytes each: the rows of a batch are taken when it is used.

    When it is offered: Memory ran out where a list was filled with two or more rows of arrays in each round, `x[i]` and
    `x[j]`, or where one array was made of it.

    What it costs: Taking the rows of each batch, which is quick.
    """

    id, causes = "keep-positions", (Family.MEMORY,)
    title = "Keep the positions (i, j) of each pair, and take the rows when a batch needs them"

    FIRES = [
        Case(
            "import keras\n" + _NP,
            _LOOP.format(put="pairs += [[x[i], x[j]]]") + "P = np.array(pairs)",
            line=6,
            says=("positions.append((i, j))", "x[part[:, 0]], x[part[:, 1]]", "PyDataset", "`np.array(pairs)`"),
        ),
        Case(
            "import torch\n" + _NP,
            _LOOP.format(put="a, b = x[i], x[j]\n    pairs.append((x[i], x[j], x[k]))") + "P = torch.stack(pairs)",
            line=7,
            says=("i1, i2, i3 = positions[n]", "return x[i1], x[i2], x[i3]"),
        ),
        Case(
            "import keras\n" + _NP,
            "def make(x):\n    one, other = [], []\n    for i, row in enumerate(x):\n        near = x[pick(y[i])]\n"
            "        one.append(row)\n        other.append(near)\n    return np.array(one), np.array(other)\nmake(x)",
            says=("positions.append((i, pick(y[i])))",),
        ),
        Case(
            _NP,
            _LOOP.format(put="pairs.append((x[i].copy(), x[j].copy()))"),
            grew=_GREW,
            says=("rows_1, rows_2 = x[part[:, 0]], x[part[:, 1]]",),
        ),
        Case(  # no array, and names for positions
            "import numpy as np\nx = {name: load(name) for name in names}",
            _LOOP.format(put="pairs.append((x[i], x[j]))") + "P = np.array(pairs)",
            line=6,
            says=("rows_1, rows_2 = np.stack([x[one[0]] for one in part]), np.stack([x[one[1]] for one in part])",),
        ),
        Case("import torch\n" + _NP, "P = np.array([(x[i], x[j]) for i, j in near])", says=("x[i1], x[i2]",)),
    ]
    SILENT = [
        Case(_NP, _LOOP.format(put="pairs.append((x[i], y[i]))") + "P = np.array(pairs)", line=6),
        Case(
            "import numpy as np\nx = np.zeros(500)",
            _LOOP.format(put="pairs.append((x[i], x[j]))") + "P = np.array(pairs)",
            line=6,
        ),
        Case(_NP, _LOOP.format(put="pairs.append((i, j))") + "P = np.array(pairs)", line=6),
        Case(_NP, _LOOP.format(put="pairs.append(x[i])") + "P = np.array(pairs)", line=6),
        Case(_NP, _LOOP.format(put="pairs.append((x[i : i + 9], x[i + 9 : i + 18]))") + "P = np.array(pairs)", line=6),
        Case(_NP, _LOOP.format(put="pairs.append((x[i], x[j]))") + "P = np.array(labels)\nbig = [0] * 10**9", line=7),
        Case(_NP, _LOOP.format(put="pairs.append((x[i], x[j]))"), grew=replace(_GREW, items=9_000_000)),
        Case("x = ['a']", _LOOP.format(put="pairs.append((x[i], x[j]))"), grew=replace(_GREW, items=9_000_000)),
        Case(_NP, _LOOP.format(put="pairs.append((x[i], x[j]))"), cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, at = death.growth.container, guilty_place(death)
        if not death.is_of_this_cell or not death.memory.grew_here:
            return
        found = [*row_pairs(list(stores(death.code.running))), *(made_row_pairs(at.node, at.scope) if at else ())]
        for pairs in found:
            known = [death.values.of(row.node, pairs.stores[0].scope) for row in pairs.rows]
            if any(one is not None and len(one.shape) == 1 and one.dtype for one in known):
                continue  # of numbers
            names = pairs.names
            word = None if container is None else container.name.rpartition(".")[2]
            is_it = word is not None and word in {one.rpartition(".")[2] for one in names}
            if is_it and (death.growth.bytes_per_item or _LEAST) < _LEAST:
                continue
            joined = next(_joined(pairs, death), None)
            if joined is None and not is_it:
                continue
            what = quote(" and ".join(sorted(names)) if joined is None or is_it else joined)
            arrays = " and ".join(quote(one) for one in dict.fromkeys(row.array for row in pairs.rows))
            how = f"{what} holds rows" if joined is None or is_it else f"{what} copies rows"
            why = f"{how} of {arrays}, each as often as it is in one of the pairs. Positions take some bytes each."
            package = next((one for one in ("torch", "keras") if death.code.imports(one)), "")
            package = package or ("keras" if death.code.imports("tensorflow") else "")
            yield Proposal(
                (),
                why,
                death.memory.missing_bytes,
                snippet=pairs.code(package, are_arrays=pairs.are_arrays(death.code)),
            )
            return


def _joined(pairs: RowPairs, death: Death) -> Iterator[str]:
    """Yield the texts of the calls that were making one array of the pairs."""
    for scope in death.code.running:
        calls = [one for one in scope.calls if death.was_running(one, scope)]
        named = joins(pairs.names - {""}, calls) if pairs.names != {""} else calls
        for call in named:
            statement = scope.tree.statements[call]
            if pairs.names == {""} and statement is not pairs.stores[0].statement:
                continue
            if grew_in(death, statement, scope) is not False:
                yield " ".join(scope.segment(call).split())
