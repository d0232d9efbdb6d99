"""Graphs: of networkx matrices of all pairs of nodes, and drawings of each edge; of PyTorch a row for each edge."""

import ast
from collections.abc import Mapping

from jupyter_kerneldoctor.recording.events import Stack

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from ..examples.stuck import own_frame, thread
from ..place import guilty_place
from .conditions import given, is_gathered, without
from .way import LesserWay, names

_NX = "import networkx as nx"
_ADDS = ("index_add", "index_add_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")
_LAYER = (
    "import torch\nclass Layer(torch.nn.Module):\n    def forward(self, x, edges):\n        src, dst = edges\n"
    "        rows = x[src]\n        return torch.zeros_like(x).index_add(0, dst, rows)\nnet = Layer()"
)
_TAKES = Stack(-0.1, "busy", (thread(own_frame(_LAYER, 5, "forward"), own_frame("out = net(x, edges)", 1)),))


def _has_a_row_for_each_edge(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Name the nodes, and the two ends of the edges, where memory grew as rows are taken that are then added up."""
    at = guilty_place(death) if death.code.imports("torch") else None
    if at is None:
        return False
    adds = [one for one in at.scope.calls if getattr(one.func, "attr", "") in _ADDS]
    for node in at.scope.nodes if adds else ():
        match node:
            case ast.Subscript(value=ast.Name(id=rows), slice=ast.Name(id=ends), ctx=ast.Load()):
                near = at.scope.inside(at.node)
                if node in near or any(one in near for one in adds):
                    to = next((one for one in adds[0].args[1:2]), None)
                    told = at.scope.segment(to) if isinstance(to, ast.Name) else "dst"
                    return {"rows": rows, "ends": ends, "others": told}
    return False


WAYS = (
    LesserWay(
        (".()", *(f".{name}" for name in _ADDS)),
        "Add up the neighbours without a row for each edge: a sparse matrix, or some edges at a time",
        "takes a row of numbers for each edge before they are added up.",
        "n = len({rows})  # made once: a number for each edge; sums of all neighbours are a product then\n"
        "A = torch.sparse_coo_tensor(torch.stack([{others}, {ends}]), torch.ones(len({ends})), (n, n)).coalesce()\n"
        "total = torch.sparse.mm(A, {rows})\n\n"
        "total = torch.zeros_like({rows})  # or some edges at a time\n"
        "for some, to in zip({ends}.split(100_000), {others}.split(100_000)):\n"
        "    total = total.index_add(0, to, {rows}[some])",
        Case(_LAYER, "out = net(x, edges)", stacks=[_TAKES], says=("torch.sparse.mm(A, x)", "src.split(100_000)")),
        _has_a_row_for_each_edge,
        silent=(Case("import torch\nnet = torch.nn.Linear(9, 9)", "out = net(x[src])"),),
    ),
    LesserWay(
        ("networkx.kamada_kawai_layout",),
        "Lay it out by springs, or draw the nodes with most edges only: spring_layout",
        "works out the length of the way between each pair of nodes.",
        "few = {of0}.subgraph(sorted({a0}, key={of0}.degree, reverse=True)[:500])  # the 500 nodes with most edges\n"
        "{to} = nx.spring_layout(few, iterations=50)  # knows edges only",
    ),
    LesserWay(
        (
            *("networkx.simrank_similarity", "networkx.google_matrix", "networkx.communicability"),
            *("networkx.communicability_exp", "networkx.modularity_matrix", "networkx.resistance_distance"),
        ),
        "Ask for one node, or a sum over all: pagerank, single pairs",
        "makes a number for each pair of nodes.",
        "ranks = nx.pagerank({a0})  # a number for each node, from the edges alone\n"
        "near = nx.ego_graph({a0}, node, radius=2)  # or the same call on what is around one node",
        Case(_NX, "s = nx.simrank_similarity(G)"),
        without("source", "target", "nodeA", 1),
        silent=("s = nx.simrank_similarity(G, source=1)",),
    ),
    LesserWay(
        ("networkx.laplacian_spectrum", "networkx.adjacency_spectrum", "networkx.normalized_laplacian_spectrum"),
        "Ask for some eigenvalues of the sparse matrix: eigsh(k=10)",
        "makes the full matrix of all pairs of nodes, and all of its eigenvalues.",
        "from scipy.sparse.linalg import eigsh\n\n"
        "L = nx.laplacian_matrix({a0}).astype(float)  # sparse; or nx.adjacency_matrix\n"
        "{to} = eigsh(L, k=10, return_eigenvectors=False)  # the ten largest",
    ),
    LesserWay(
        (
            *("networkx.bipartite.projected_graph", "networkx.bipartite.weighted_projected_graph"),
            "networkx.algorithms.bipartite.projected_graph",
            "networkx.algorithms.bipartite.weighted_projected_graph",
            "networkx.line_graph",
        ),
        "Leave out the nodes with most edges, or multiply sparse matrices",
        "makes an edge for each pair that share something: a node of 10,000 edges alone gives 50 million.",
        "from networkx.algorithms import bipartite\n\n"
        "few = {of0}.subgraph([n for n in {a0} if {of0}.degree(n) < 500])  # who has very many links says little\n\n"
        "B = bipartite.biadjacency_matrix({a0}, nodes, dtype='int32')  # or sparse: how many links two nodes share\n"
        "shared = B @ B.T",
    ),
    LesserWay(
        tuple(
            f"networkx.{name}"
            for name in (
                *("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "non_edges"),
                *("preferential_attachment", "common_neighbor_centrality"),
            )
        ),
        "Score only pairs with a neighbour in common, one after the other",
        "goes through each pair of nodes without an edge, and all of them are kept.",
        "import heapq\n\naround = lambda u: {{w for v in {of0}[u] for w in {of0}[v]}} - set({of0}[u])  # two steps\n"
        "best = []\nfor u in {a0}:\n    scored = {score}({a0}, [(u, w) for w in around(u) if u < w])\n"
        "    best = heapq.nlargest(1000, [*best, *scored], key=lambda one: one[2])",
        Case(_NX, "s = list(nx.jaccard_coefficient(G))"),
        lambda call, death: (
            len(call.node.args) == 1
            and is_gathered(call, death)
            and {"score": "nx.jaccard_coefficient" if call.name.endswith("non_edges") else names(call)["function"]}
        ),
        silent=("s = list(nx.jaccard_coefficient(G, pairs))",),
    ),
    LesserWay(
        ("networkx.draw", "networkx.draw_networkx", "networkx.draw_networkx_edges", "networkx.draw_spring"),
        "Draw the edges as lines, without arrows and names: arrows=False, with_labels=False",
        "makes an arrow of some kilobytes for each edge of a directed graph, and a text for each name.",
        "few = {of0}.subgraph(sorted({a0}, key={of0}.degree, reverse=True)[:1000])  # those with most edges\n"
        "nx.draw_networkx(few, arrows=False, with_labels=False, node_size=5, width=0.2)  # all edges in one collection",
        Case(_NX, "nx.draw(G)"),
        lambda call, death: not given(False, "arrows")(call, death),
        silent=("nx.draw_networkx_edges(G, pos, arrows=False)",),
    ),
)
