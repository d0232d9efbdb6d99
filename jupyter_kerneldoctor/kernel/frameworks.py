"""Records the versions and allocators of the deep-learning libraries that the user imported, at the end of a cell.

Nothing here imports a library, initialises a device, or resets a figure that the user's code may read: what is missing
is looked for again after the next cell. An error of a library never reaches the user.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..recording.token_bucket import TokenBucket
from .messages import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from .link import Link

State = dict[str, Any]
"""Fields of `recording.events.Framework` without the time."""

_FIGURES = ("allocated_bytes", "reserved_bytes", "peak_bytes")
_BUDGET_S = 0.001
_SMALL_STEP = 0.01
_OUT_OF_MEMORY_EVERY_S = 0.1
_OUT_OF_MEMORY_BURST = 50
_OUT_OF_MEMORY_REFILL_S = 30.0
"""Code may catch the error and try again for days."""


def allocators() -> list[State]:
    """Return what the allocators hold now, one entry for each device in use. Never raises."""
    found: list[State] = []
    for name, framework in _FRAMEWORKS.items():
        module = _imported(name)
        if module is None:
            continue
        try:
            states = framework.allocators(module)
        except Exception:  # noqa: S112 - the library fails; the others may still answer
            continue
        found += [{"name": name, **state} for state in states if any(state.get(figure) for figure in _FIGURES)]
    return found


class FrameworkWatch:
    """Sends at a cell's end what has changed."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: set[str] = set()
        self._sent: dict[tuple[str, str], State] = {}
        self._next_mono_s = 0.0
        self._out_of_memory_sent_mono_s = 0.0
        self._out_of_memory_bucket = TokenBucket(_OUT_OF_MEMORY_BURST, _OUT_OF_MEMORY_REFILL_S)
        self._observes = False

    def cell_ended(self, seq: int) -> None:
        """Send what has changed. Costs three look-ups in a dict where no library is imported. Never raises."""
        modules = sys.modules
        if "torch" in modules or "tensorflow" in modules or "jax" in modules:
            started = time.monotonic()
            if started < self._next_mono_s:
                return
            try:
                self._look(seq, started)
            except Exception:  # noqa: S110 - perhaps another library of that name
                pass
            took = time.monotonic() - started
            if took > _BUDGET_S:  # many devices, or a lock: then use a hundredth of the time at most
                self._next_mono_s = started + 100 * took

    def _look(self, seq: int, now_mono_s: float) -> None:
        for name, framework in _FRAMEWORKS.items():
            module = _imported(name)
            if module is not None and name not in self._known:
                self._known.add(name)
                version, built_for = _text(module, "__version__"), _built_for(framework, module)
                self._send(now_mono_s, name=name, cell_seq=seq, version=version, built_for=built_for)
        if not self._observes:
            self._observes = _observe_torch(self._out_of_memory)
        for state in allocators():
            key = state["name"], state["device"]
            if key not in self._sent or _has_moved(self._sent[key], state):
                self._sent[key] = state
                self._send(now_mono_s, cell_seq=seq, **state)

    def _out_of_memory(self, device: int, asked: int, total: int, free: int) -> None:
        """Send an event; torch calls this before it raises, in the same thread. An error here would hide its own."""
        try:
            now = time.monotonic()
            if now - self._out_of_memory_sent_mono_s < _OUT_OF_MEMORY_EVERY_S:
                return  # the code tries smaller and smaller sizes
            self._out_of_memory_sent_mono_s = now
            if not self._out_of_memory_bucket.take(now):
                return
            state = _torch_device(sys.modules["torch"], device)
            state.update(total_bytes=total, free_bytes=free, asked_bytes=asked)
            self._send(now, name="torch", **state)
        except Exception:  # noqa: S110 - see above
            pass

    def _send(self, mono_s: float, **fields: Any) -> None:
        self._link.send(message("framework", mono_s, **fields))


class _Framework(NamedTuple):
    built_for: Callable[[Any], dict[str, Any]]
    allocators: Callable[[Any], list[State]]


def _imported(name: str) -> Any:
    """Return the module; None unless its import is complete, as a half-imported one must not be touched."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return None if spec is None or getattr(spec, "_initializing", False) else module


def _built_for(framework: _Framework, module: Any) -> dict[str, str]:
    try:
        return {name: str(version) for name, version in framework.built_for(module).items() if version}
    except Exception:
        return {}


def _text(module: Any, name: str) -> str | None:
    value = getattr(module, name, None)
    return None if value is None else str(value)


def _has_moved(before: State, after: State) -> bool:
    pairs = [(before.get(figure) or 0, after.get(figure) or 0) for figure in _FIGURES]
    return any(abs(new - old) > _SMALL_STEP * max(new, old) for old, new in pairs)


# --- torch (docs.pytorch.org/docs/stable/cuda.html, "Memory management"; ROCm builds answer to the same names)


def _torch_built_for(torch: Any) -> dict[str, Any]:
    cudnn = getattr(torch._C, "_cudnn", None)  # noqa: SLF001 - the public function loads cuDNN
    compiled = cudnn.getCompileVersion() if cudnn is not None else ()
    version = torch.version
    return {
        "cuda": getattr(version, "cuda", None),
        "rocm": getattr(version, "hip", None),
        "cudnn": ".".join(map(str, compiled)),
    }


def _torch_allocators(torch: Any) -> list[State]:
    if not torch.cuda.is_initialized():
        return []
    # The public device_count() asks NVML anew until it has been called once after CUDA was initialised.
    count = getattr(torch._C, "_cuda_getDeviceCount", torch.cuda.device_count)  # noqa: SLF001
    return [_torch_device(torch, index) for index in range(count())]


def _torch_device(torch: Any, index: int) -> State:
    """Read all figures with one call: `memory_allocated()` and the like flatten the same table each time."""
    stats = torch.cuda.memory_stats_as_nested_dict(index)
    allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
    return {
        "device": f"cuda:{index}",
        "allocated_bytes": allocated["current"],
        "reserved_bytes": reserved["current"],
        "peak_bytes": allocated["peak"],
        "total_bytes": torch.cuda.get_device_properties(index).total_memory,
    }


def _observe_torch(observer: Callable[[int, int, int, int], None]) -> bool:
    """Have torch call `observer` when a card's memory is full; return False if it has to be tried again.

    Attaching would initialise CUDA, so torch is asked to do it when it initialises CUDA itself. An observer cannot be
    removed again.
    """
    torch = _imported("torch")
    if torch is None:
        return False

    def attach() -> None:
        try:
            torch._C._cuda_attach_out_of_memory_observer(observer)  # noqa: SLF001 - there is no public name
        except Exception:  # noqa: S110 - torch would raise it where the user first touches a card
            pass

    try:
        if torch.cuda._initialization_lock.locked():  # noqa: SLF001 - another thread initialises CUDA: do not wait
            return False
        if hasattr(torch._C, "_cuda_attach_out_of_memory_observer"):  # noqa: SLF001
            torch.cuda._lazy_call(attach)  # noqa: SLF001 - torch sets its random seeds in this way
    except Exception:  # noqa: S110 - an unknown version of torch
        pass
    return True


# --- TensorFlow (tensorflow.org/api_docs/python/tf/config, on get_memory_info)


def _tensorflow_built_for(tensorflow: Any) -> dict[str, Any]:
    build = tensorflow.sysconfig.get_build_info()
    return {"cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version")}


def _tensorflow_allocators(tensorflow: Any) -> list[State]:
    # The public functions would initialise all cards.
    context = sys.modules["tensorflow.python.eager.context"].context_safe()
    if context is None or not context._initialized:  # noqa: SLF001 - there is no public name
        return []
    found = []
    for device in tensorflow.config.list_logical_devices("GPU"):
        name = device.name.removeprefix("/device:")  # "GPU:0"
        memory = tensorflow.config.experimental.get_memory_info(name)
        found.append({"device": name, "allocated_bytes": memory["current"], "peak_bytes": memory["peak"]})
    return found


# --- JAX (docs.jax.dev/en/latest/jax.html, on memory_stats of a device)


def _jax_built_for(_jax: Any) -> dict[str, Any]:
    found = {"jaxlib": _text(sys.modules.get("jaxlib.version"), "__version__")}
    for plugin in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
        versions = sys.modules.get(f"{plugin}._versions")
        if versions is not None:
            cuda, cudnn = versions.cuda_runtime_build_version(), versions.cudnn_build_version()
            found["cuda"] = f"{cuda // 1000}.{cuda % 1000 // 10}"  # 12030 is 12.3
            found["cudnn"] = f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"  # 90100 is 9.1.0
    return {name: version for name, version in found.items() if version}


def _jax_allocators(jax: Any) -> list[State]:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():  # asking for devices would initialise them
        return []
    found = []
    for device in jax.local_devices():
        stats = device.memory_stats()
        if stats:  # the CPU tells nothing
            found.append(
                {
                    "device": f"{device.platform}:{device.id}",
                    "allocated_bytes": stats.get("bytes_in_use"),
                    "reserved_bytes": stats.get("pool_bytes"),
                    "peak_bytes": stats.get("peak_bytes_in_use"),
                    "total_bytes": stats.get("bytes_limit"),
                }
            )
    return found


_FRAMEWORKS = {
    "torch": _Framework(_torch_built_for, _torch_allocators),
    "tensorflow": _Framework(_tensorflow_built_for, _tensorflow_allocators),
    "jax": _Framework(_jax_built_for, _jax_allocators),
}
