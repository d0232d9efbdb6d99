"""A graphics card that was full, and survived, gets the fixes that the machine's memory gets."""

from dataclasses import replace

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB
from jupyter_kerneldoctor.diagnosis.examples.gpu import sample, survived

LOAD = (
    "import torch\nmodel = torch.nn.Linear(9, 9).cuda()\nloader = torch.utils.data.DataLoader(data, batch_size=512)\n"
)
STEP = "for x, y in loader:\n    opt.zero_grad()\n    loss = torch.nn.functional.mse_loss(model(x), y)\n"
NUMBERS = {"total_bytes": 24 * GIB, "free_bytes": GIB // 2, "allocated_bytes": 20 * GIB, "reserved_bytes": 22 * GIB}


def fixes(source, line, numbers=NUMBERS, **more):
    made = survived("torch-out-of-memory", "CUDA out of memory", source, numbers=numbers, asked_bytes=4 * GIB, **more)
    (incident,) = made.incidents
    frames = tuple(replace(one, line=line) for one in incident.frames)
    made = replace(made, incidents=(replace(incident, frames=frames),))
    return {one.id: one for one in diagnose(made).fixes}


def test_training_step_is_taken_in_parts():
    found = fixes(LOAD + STEP + "    loss.backward()\n    opt.step()", 7)
    fix = found["micro-batch-split"]
    assert "The cell began at 0 bytes and took 24.0 GiB with a batch_size of 512." in fix.why
    assert "At most 460 would fit" in fix.why
    assert "full_x.split(32)" in fix.edits[0].new_source
    assert "reduce-batch-size" in found


def test_losses_and_evaluation():
    kept = fixes(LOAD + "log = []\n" + STEP + "    log.append(loss)", 7)
    assert {"detach-accumulated-loss", "no-grad-evaluation"} <= set(kept)
    assert not {"micro-batch-split", "reduce-batch-size"} & set(kept)


def test_other_programs_fill_the_card():
    """What others hold is no batch's fault: next to nothing was left for the cell."""
    source = LOAD + STEP + "    loss.backward()\n    opt.step()"
    numbers = {"total_bytes": 24 * GIB, "others_bytes": 23 * GIB, "allocated_bytes": GIB // 2}
    assert "micro-batch-split" not in fixes(source, 7, numbers, gpu_samples=[sample(24 * GIB, GIB)])
