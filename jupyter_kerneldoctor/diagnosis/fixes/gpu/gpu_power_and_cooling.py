from jupyter_kerneldoctor.recording.events import GpuSample, Xid

from ...fix import Advice, Case, Death

_HOT = GpuSample(-1.0, 0, temperature_c=93, power_w=348.0, throttle=("thermal",))
_ECC = (48, 63, 64, 92, 94, 95)
_BUS = (79,)


class GpuPowerAndCooling(Advice):
    """Check the card's power, heat and memory before the program.

    What it does: A card that falls off the bus or slows down under load lacks power or cooling more often than it is
    broken. A lower power limit costs little speed and shows whether that is it. Errors of its memory (ECC) are a case
    for the warranty.

    When it is offered: The card or its driver reported a fault of the hardware.

    What it costs: A lower power limit costs a few percent of speed. It needs an administrator.
    """

    id, title, causes = "gpu-power-and-cooling", "Check the card's power and cooling", ("gpu-hardware",)
    why = (
        "{seen} Lower its power limit and watch its heat; check the airflow, the power supply and how it sits in its "
        "slot."
    )
    snippet = (
        "!nvidia-smi --query-gpu=index,temperature.gpu,power.draw,power.limit,clocks_throttle_reasons.active "
        "--format=csv\n!nvidia-smi -q -d ECC,ROW_REMAPPER | head -60\n!sudo nvidia-smi -i {index} -pl {watts}"
    )

    FIRES = [
        Case("train()", gpu_samples=[_HOT], says=("93 °C", "-i 0 -pl 278")),
        Case("train()", xids=[Xid(-1.0, 79, 1)], says=("fell off the bus", "-i 1")),
        Case("train()", xids=[Xid(-1.0, 48, 0)], says=("warranty",)),
    ]
    SILENT = [Case("train()", cause="gpu-oom", gpu_samples=[_HOT])]

    def facts(self, death: Death) -> dict[str, str]:
        """Say what the card reported last."""
        xid = death.recording.xids[-1] if death.recording.xids else None
        last = death.recording.gpu_samples[-1] if death.recording.gpu_samples else None
        seen = "The card reported a fault."
        if xid is not None and xid.code in _BUS:
            seen = "The card fell off the bus (Xid 79)."
        elif xid is not None and xid.code in _ECC:
            seen = f"The card's memory has errors (Xid {xid.code}). If they come again, it is a case for the warranty."
        elif last is not None and last.temperature_c:
            power = f" and took {last.power_w:.0f} W" if last.power_w else ""
            seen = f"The card was at {last.temperature_c} °C{power}."
        index = xid.index if xid is not None and xid.index is not None else last.index if last is not None else 0
        watts = round(last.power_w * 0.8) if last is not None and last.power_w else 250
        return {"seen": seen, "index": str(index), "watts": str(watts)}
