from ...trainer_setting import TrainerSetting


class Optim8bit(TrainerSetting):
    """Let the optimizer keep its numbers in 8 bits.

    What it does: Adam keeps two numbers for each weight, eight bytes. `adamw_bnb_8bit` keeps them in two.

    When it is offered: The graphics card was full in `train()` of a Hugging Face Trainer whose settings name no
    optimizer.

    What it costs: The package bitsandbytes, and a little precision.
    """

    id, title = "optim-8bit", "Keep the optimizer's numbers in 8 bits: adamw_bnb_8bit"
    causes, general = ("gpu-oom",), True
    argument, value = "optim", '"adamw_bnb_8bit"'
    why = "lets Adam keep eight bytes for each weight; in 8 bits it keeps two. It needs the package bitsandbytes."
