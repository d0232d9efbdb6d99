"""Numbers and networks are found where they are written, through whatever people put between."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.diagnosis.code.origins import Origins
from jupyter_kerneldoctor.diagnosis.examples import recording
from jupyter_kerneldoctor.diagnosis.frameworks.torch import Kind, Tensors
from jupyter_kerneldoctor.diagnosis.frameworks.training import find_batch_size

LOOP = "for x, y in loader:\n    net(x).mean().backward()"


def notebook(*cells):
    made = recording(*cells, signal="SIGKILL")
    return Notebook(made.cells, made.cells[-1])


@pytest.mark.parametrize(
    "cells",
    [
        ("BATCH = 512\nloader = DataLoader(ds, batch_size=BATCH)", LOOP),
        ("BATCH = 512\nbs = BATCH", "loader = make(bs=bs)\n" + LOOP),
        (
            "def make(data, batch_size=32): return DataLoader(data, batch_size=batch_size)",
            "loader = make(ds, 512)",
            LOOP,
        ),
        ("@dataclass\nclass C:\n    bs: int = 512", "cfg = C()\nloader = DataLoader(ds, cfg.bs)", LOOP),
        ("@dataclass\nclass C:\n    bs: int = 64", "cfg = C(bs=512)\nloader = DataLoader(ds, cfg.bs)", LOOP),
        ("cfg = {'batch_size': 512}", "loader = DataLoader(ds, cfg['batch_size'])", LOOP),
        (
            "p = argparse.ArgumentParser()\np.add_argument('--batch-size', type=int, default=512)",
            "args = p.parse_args([])\nloader = DataLoader(ds, args.batch_size)",
            LOOP,
        ),
        (
            "class T:\n    def __init__(self, net, cfg):\n        self.net, self.cfg = net, cfg",
            "class U(T):\n    def fit(self):\n        for x in DataLoader(ds, self.cfg.bs): self.net(x).backward()",
            "class C:\n    bs = 512\nU(net, C()).fit()",
        ),
        ("def train(net, loader):\n    " + LOOP.replace("\n", "\n    "), "train(net, DataLoader(ds, batch_size=512))"),
        ("def loaders(bs): return DataLoader(a, bs), DataLoader(b, 8)", "loader, val = loaders(512)", LOOP),
        ("for i in range(0, len(X), 512):\n    net(X[i:i+512]).mean().backward()",),
    ],
)
def test_batch_size_is_found_where_it_is_written(cells):
    found = find_batch_size(notebook("import torch\nfrom torch.utils.data import DataLoader", *cells))
    assert found is not None
    assert found.value == 512
    assert found.scope.segment(found.node) == "512"


def test_two_origins_are_no_number():
    code = notebook("def f(n): return n", "f(1)\nf(2)")
    function = code.functions_named("f").__next__()
    assert Origins(code).number(function.body[0].value, function) is None


@pytest.mark.parametrize(
    "cells",
    [
        (
            "class T:\n    def __init__(self):\n        self.m = torch.nn.Linear(1, 1)\n    def f(self): self.m(x)",
            "T().f()",
        ),
        (
            "class T:\n    def __init__(self, m): self.m = m\n    def f(self): self.m(x)",
            "t = T(torch.nn.ReLU())",
            "t.f()",
        ),
        (
            "class B:\n    def __init__(self, m): self.m = m",
            "class T(B):\n    def f(self): self.m(x)",
            "T(torch.nn.ReLU()).f()",
        ),
        ("def f(m): m(x)", "f(torch.nn.ReLU())\nf(torch.nn.GELU())"),
        ("m = build()\nopt = torch.optim.Adam(m.parameters())", "m(x)"),
        ("class Base(torch.nn.Module): pass\nclass M(Base): pass", "m = M()\nm(x)"),
    ],
)
def test_networks_are_known_behind_attributes_and_parameters(cells):
    code = notebook("import torch\n", *cells)
    tensors = Tensors(code)
    calls = [
        (one, scope) for scope in code.running for one in scope.calls if one.args and ast.unparse(one.args[0]) == "x"
    ]
    assert [tensors.kind(one, scope) for one, scope in calls] == [Kind.GRAPH]


def test_optimizers_and_tokenizers_are_no_networks():
    cell = "import torch\nfrom transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('x')\n"
    code = notebook(cell + "o = torch.optim.Adam(p)\no.state_dict()", "t(x)\no(x)")
    tensors = Tensors(code)
    assert {tensors.kind(one, scope) for scope in code.running for one in scope.calls} == {Kind.OTHER}
