"""Trouble with graphics cards, from recordings made by hand after the documentation: there is no card to break here."""

from __future__ import annotations

import re

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.gpu import HARDWARE_XIDS
from jupyter_kerneldoctor.diagnosis.analysis.gpu_messages import trouble_of
from jupyter_kerneldoctor.diagnosis.causes import all_causes
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, cell_file, crash_report, recording
from jupyter_kerneldoctor.diagnosis.examples.gpu import CARD, died, sample, survived, torch_memory
from jupyter_kerneldoctor.diagnosis.examples.stuck import stuck_in
from jupyter_kerneldoctor.recording.events import (
    Framework,
    GpuDriver,
    GpuProcess,
    GpuSample,
    NamedObject,
    Namespace,
    Xid,
)

CAUSES = {cause.id: cause for cause in all_causes() if hasattr(cause, "survives")}
SURVIVED = [(name, number) for name, cause in CAUSES.items() for number, _ in enumerate(cause.survives())]


def texts(recorded):
    return " ".join(evidence.text for evidence in diagnose(recorded).cause.evidence)


@pytest.mark.parametrize(("name", "number"), SURVIVED)
def test_an_error_that_was_survived_is_explained(name, number):
    answer = diagnose(list(CAUSES[name].survives())[number])
    assert (answer.cause.id, answer.end.kind, answer.died) == (name, "running", False)
    assert answer.cause.confidence >= 0.9
    assert answer.cell.line == 1
    assert not re.search(r"SIG[A-Z]{3}|cgroup|RSS|!|\n", answer.cause.headline)


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        ("CUDA error: out of memory", "memory"),
        ("CUBLAS_STATUS_ALLOC_FAILED", "memory"),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes", "memory"),
        ("HIP out of memory", "memory"),
        ("CUDA error: device-side assert triggered", "astray"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "astray"),
        ("no kernel image is available for execution on the device", "mismatch"),
        ("Failed to initialize NVML: Driver/library version mismatch", "mismatch"),
        ("libcudnn.so: cannot open shared object file", "mismatch"),
        ("CUBLAS_STATUS_NOT_INITIALIZED", "handle"),
        ("Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR", "handle"),
        ("uncorrectable ECC error encountered", "hardware"),
        ("CUDA error: invalid argument", None),
        ("terminate called after throwing an instance of 'std::bad_alloc'", None),
    ],
)
def test_words_of_libraries(words, trouble):
    assert trouble_of(words) == trouble


def test_who_else_holds_the_card():
    other = GpuProcess(777, 18 * GIB, "python3")
    made = survived("torch-out-of-memory", "CUDA out of memory", gpu_samples=[sample(24 * GIB, 5 * GIB, other)])
    assert diagnose(made).cause.headline.endswith("; other programs hold 18.0 of 24.0 GiB.")
    assert "Another program on the card, `python3` (process 777), held 18.0 GiB." in texts(made)


def test_memory_in_pieces():
    pieces = survived("torch-out-of-memory", "CUDA out of memory", frameworks=[torch_memory(14 * GIB, 22 * GIB)])
    assert "PyTorch had reserved another 8.0 GiB without using it" in texts(pieces)
    whole = survived("torch-out-of-memory", "CUDA out of memory", frameworks=[torch_memory(21 * GIB, 22 * GIB)])
    assert "reserved" not in texts(whole)


def test_a_traceback_that_keeps_tensors():
    kept = NamedObject("the last traceback", "traceback", 9 * GIB, hidden=True, device="cuda:0")
    on_cpu = NamedObject("df", "DataFrame", 9 * GIB)
    made = survived("torch-out-of-memory", "CUDA out of memory", namespaces=[Namespace(-2.0, 1, (kept, on_cpu))])
    assert "The last traceback keeps 9.0 GiB on the card (traceback)." in texts(made)
    assert "df" not in texts(made)


def test_libraries_that_take_a_whole_card():
    jax = Framework("jax", -0.5, "0.7")
    made = survived(
        "jax-out-of-memory", "RESOURCE_EXHAUSTED", frameworks=[jax], gpu_samples=[sample(23 * GIB, 20 * GIB)]
    )
    assert "jax takes most of a card at first use" in texts(made)


def test_out_of_memory_of_the_machine_in_tensorflow_is_not_the_cards():
    made = survived("tf-resource-exhausted", "OOM when allocating tensor: CPU")
    assert diagnose(made).cause.id != "gpu-oom"


def test_a_handle_is_the_cards_memory_or_the_driver():
    words = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    assert diagnose(died(words, samples=[sample(24 * GIB, 9 * GIB)])).cause.id == "gpu-oom"
    old = {"gpu_driver": GpuDriver("470.57", "11.4"), "frameworks": [torch_memory(0, 0, "12.6")]}
    assert diagnose(died(words, samples=[sample(1 * GIB, 9 * MIB)], **old)).cause.id == "driver-mismatch"
    assert first(died(words)) == ("abort", "likely")


def test_a_newer_minor_version_of_cuda_is_no_mismatch():
    words = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    minor = {"gpu_driver": GpuDriver("535.54", "12.2"), "frameworks": [torch_memory(0, 0, "12.6")]}
    assert first(died(words, **minor)) == ("abort", "likely")


@pytest.mark.parametrize("code", HARDWARE_XIDS)
def test_an_event_of_the_hardware_outweighs_what_the_library_says(code):
    made = died("CUDA error: unspecified launch failure\n", xids=[Xid(-1.0, code, 0)])
    assert diagnose(made).cause.id == "gpu-hardware"


def test_a_cell_that_waits_for_a_card_which_is_gone():
    made = stuck_in("loss.item()", 1, state="D", xids=[Xid(-5.0, 79, 0)], gpus=[CARD])
    answer = diagnose(made)
    assert answer.cause.id == "gpu-hardware"
    assert "no longer answers" in answer.cause.headline


ASTRAY = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [0,0,0], thread: [1,0,0] Assertion "
    "`srcIndex < srcSelectDimSize` failed.\n"
    "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: device-side assert triggered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call.\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n"
    "Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:44 (most recent call):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f in /env/torch/lib/libc10.so)\n\n"
    "Fatal Python error: Aborted\n\nThread 0x00007f (most recent call first):\n"
)
NO_MEMORY = "failed to allocate 11.90G (12780961792 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"


def first(recorded):
    cause = diagnose(recorded).cause
    return cause.id, cause.certainty.word


def test_all_that_pytorch_writes_about_a_card_is_one_message():
    assert first(died(ASTRAY)) == ("gpu-illegal-access", "proven")


def test_a_warning_is_less_than_an_error_and_another_exit_is_a_programs_own():
    assert first(died("E gpu/cuda_driver.cc:802] " + NO_MEMORY)) == ("gpu-oom", "strong")
    assert first(died("W gpu/cuda_driver.cc:802] " + NO_MEMORY)) == ("gpu-oom", "possible")
    assert first(recording("f()", exit_code=1, output=NO_MEMORY)) == ("gpu-oom", "likely")
    assert first(recording("f()", exit_code=1, output=NO_MEMORY + "no licence\n"))[0] == "exit-call"


def test_a_crash_in_a_library_that_uses_a_card_may_be_of_what_it_said():
    def crashed_in(file):
        frames = (f"/env/lib/python3.11/site-packages/{file}", 5, "run"), (cell_file("fit()"), 1, "<module>")
        crash = crash_report("Segmentation fault", *frames)
        return first(recording("fit()", signal="SIGSEGV", output=NO_MEMORY, crash=crash))

    assert crashed_in("tensorflow/python/eager/execute.py") == ("gpu-oom", "strong")
    assert crashed_in("lxml/etree.py") == ("segfault", "likely")


@pytest.mark.parametrize(
    ("held", "words", "answer"),
    [
        (GIB, "unspecified launch failure\n", ("gpu-hardware", "proven")),
        (None, "unspecified launch failure\n", ("gpu-hardware", "proven")),
        (GIB, "", ("gpu-hardware", "likely")),
        (0, "unspecified launch failure\n", ("gpu-illegal-access", "likely")),
        (0, "", ("abort", "likely")),
        (None, "", ("abort", "likely")),
    ],
)
def test_an_event_of_the_hardware_counts_on_a_card_that_the_kernel_used(held, words, answer):
    samples = [] if held is None else [sample(4 * GIB, held)]
    assert first(died(words, samples=samples, xids=[Xid(-5.0, 79, 0)])) == answer


def test_memory_errors_count_for_a_minute():
    def counted(*looks):
        samples = [GpuSample(mono_s, 0, ecc_uncorrected=count) for mono_s, count in looks]
        return first(died("", samples=samples))[0]

    assert counted((-30000, 0), (-20000, 1), (-1, 1)) == "abort"
    assert counted((-30000, 0), (-100, 0), (-1, 1)) == "gpu-hardware"
