"""Objects of libraries are measured without touching what their own threads may be writing."""

import contextlib
import sys
import time
import types

from jupyter_kerneldoctor.kernel import library_objects
from jupyter_kerneldoctor.kernel.introspection import mro

MIB = 1 << 20


class Parameter:
    """A stand-in with PyTorch's names. A backward pass writes `grad` without holding the GIL: nobody may read it."""

    is_meta, is_leaf, requires_grad, shape, dtype = False, True, True, (MIB,), "torch.float32"
    device = type("device", (), {"type": "cpu"})()

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: id(self), nbytes=lambda: 4 * MIB)

    @property
    def grad(self):
        raise SystemExit("read while another thread may write it")


Parameter.__module__, Parameter.__qualname__, Parameter.__name__ = "torch", "Tensor", "Tensor"


class Module:
    def __init__(self):
        self._parameters, self._buffers, self._modules = {"weight": Parameter()}, {}, {}


Module.__module__ = "torch.nn.modules.module"


def test_gradients_are_not_read(monkeypatch):
    torch = types.ModuleType("torch")
    torch._C = types.SimpleNamespace(DisableTorchFunctionSubclass=contextlib.nullcontext)
    monkeypatch.setitem(sys.modules, "torch", torch)

    for value in (Parameter(), Module()):
        buffer = library_objects.describe(value, mro(type(value)), time.thread_time() + 1)

        assert buffer is not None
        assert [size for _, size in buffer.parts] == [4 * MIB]
