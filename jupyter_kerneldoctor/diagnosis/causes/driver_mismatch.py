from jupyter_kerneldoctor.recording.events import Framework, GpuDriver

from ..analysis import gpu
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..examples import GIB, recording
from ..examples.gpu import died, sample, survived, torch_memory


class DriverMismatch(Cause):
    """The driver of the graphics card, CUDA and the library that uses them do not fit together.

    What it means: A library such as PyTorch or TensorFlow is built for one generation of CUDA and of cuDNN, and the
    driver allows CUDA up to some version. The card cannot be used, or the process is ended, if the driver is too old,
    another cuDNN is found first, or the card is too new or too old for the build. The same happens after an update of
    the driver until the machine is restarted.

    How it is recognised: CUDA, cuDNN or the driver's library say so ("driver version is insufficient", "no kernel image
    is available", "source was compiled with", "Driver/library version mismatch"), in an error or in the last words
    before an abort. The report adds the versions: what the driver allows, and what the library was built for.

    What to do: Install a build of the library for the CUDA that `nvidia-smi` shows (its upper right corner), or update
    the driver. After an update of the driver, restart the machine. Remove other copies of cuDNN from `LD_LIBRARY_PATH`;
    with pip, the library brings its own.

    Example: `torch.zeros(1).cuda()` with a build for CUDA 12.6 and a driver that allows 11.4.
    """

    id, title, family = "driver-mismatch", "Driver, CUDA and library do not fit together", Family.GPU
    incidents = frozenset({"cuda-error"})

    def judge(self, death: Death) -> CauseFinding | None:
        words = death.gpu_message
        if words is None or words.trouble not in ("mismatch", "handle"):
            return None
        certainty = Certainty.STRONG if words.trouble == "mismatch" else _of_a_handle(death)
        return self.finding(
            death,
            min(words.sure, certainty),
            f"{_told(death)}; the kernel ended {death.where()}.",
            (words.evidence, *gpu.driver_evidence(death.recording)),
            summary="Ended: driver and library do not fit together",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Name the versions."""
        trouble = gpu.incident_trouble(incident)
        if trouble not in ("mismatch", "handle"):
            return None
        said = Evidence(f"CUDA reported: {quote(incident.signature or '', 120)}.", None, None, incident.error)
        return self.finding(
            death,
            Certainty.PROVEN if trouble == "mismatch" else _of_a_handle(death),
            f"{_told(death)} {death.where()}.",
            (said, *gpu.driver_evidence(death.recording)),
            summary="Driver and library do not fit together",
        )

    def fires_on(self) -> Recordings:
        """TensorFlow's cuda_dnn.cc, a cuDNN that PyTorch does not find, and a handle with an old driver."""
        words = (
            "E gpu/cuda_dnn.cc:378] Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.9.4.  CuDNN "
            "library needs to have matching major version and equal or higher minor version.\n"
        )
        yield died(words)
        words = "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file\n"
        yield died(words)
        old = GpuDriver("470.57.02", "11.4")
        words = "E cuda_dnn.cc: Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED\n"
        built, free = [Framework("tensorflow", -9.0, "2.15", {"cuda": "12.2"})], [sample(2 * GIB, 1 * GIB)]
        yield died(words, gpu_driver=old, frameworks=built, samples=free)

    def survives(self) -> Recordings:
        """PyTorch's errors at the first use of the card."""
        old, built, error = GpuDriver("470.57.02", "11.4"), [torch_memory(0, 0)], "builtins.RuntimeError"
        for words in (
            "The NVIDIA driver on your system is too old",
            "no kernel image is available for execution on the device",
        ):
            yield survived("cuda-error", words, "x.cuda()", gpu_driver=old, frameworks=built, error=error)
        broken = GpuDriver(error="Driver/library version mismatch")
        words = "system has unsupported display driver / cuda driver combination"
        yield survived("cuda-error", words, "x.cuda()", gpu_driver=broken, error=error)

    def silent_on(self) -> Recordings:
        """A full card, versions that differ in what does not matter, and a library that looked for a card."""
        words = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
        yield died(words, samples=[sample(24 * GIB, 20 * GIB)])
        minor = GpuDriver("535.54", "12.2")
        yield died("", signal="SIGSEGV", gpu_driver=minor, frameworks=[torch_memory(0, 0)])
        # What TensorFlow says on a machine without a card, before it works on the processor.
        without = (
            "2026-01-01 10:11:12.131415: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] "
            "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared "
            "object file: No such file or directory\n"
        )
        for end in ({"signal": "SIGSEGV"}, {"signal": "SIGABRT"}, {"exit_code": 3}):
            yield recording("import tensorflow as tf\nrun()", output=without, **end)


def _of_a_handle(death: Death) -> Certainty:
    """A handle that could not be made: the driver is to blame where it is too old, and the card's memory where full."""
    end = death.recording.end
    card = gpu.card_at(death.recording, end.mono_s if end is not None else float("inf"))
    if card is not None and card.is_full:
        return Certainty.WEAK
    driver = death.recording.gpu_driver
    is_to_blame = gpu.too_new(death.recording) or (driver is not None and driver.error)
    return Certainty.LIKELY if is_to_blame else Certainty.WEAK


def _told(death: Death) -> str:
    found = gpu.too_new(death.recording)
    needed, allowed = (f" (CUDA {found[0]})", f" (CUDA {found[1]})") if found else ("", "")
    return f"The card's driver{allowed} does not fit the library{needed}"
