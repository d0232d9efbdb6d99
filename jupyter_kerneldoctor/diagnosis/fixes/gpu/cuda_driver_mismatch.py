from jupyter_kerneldoctor.recording.events import Framework, GpuDriver

from ...fix import Advice, Case, Death

_OLD = GpuDriver("470.82.01", "11.4")
_NEW = Framework("torch", -9.0, "2.5.1", {"cuda": "12.4"})


class CudaDriverMismatch(Advice):
    """Install a build for the driver at hand, or a newer driver.

    What it does: Each driver knows CUDA up to some version; `nvidia-smi` shows it. A library that was built for a newer
    one cannot use the card. Within one major version older drivers will do: CUDA 12 needs driver 525 or newer, CUDA 11
    needs 450.

    When it is offered: The driver and a library do not fit together.

    What it costs: A new driver needs an administrator and a restart of the machine.
    """

    id, title, causes = "cuda-driver-mismatch", "Take a build for this driver, or a newer driver", ("driver-mismatch",)
    why = (
        "{versions} Install a build for a CUDA that the driver knows, or have the driver updated. After an update "
        "of the driver the machine has to be restarted."
    )
    snippet = (
        "!nvidia-smi  # the first line: the driver, and the newest CUDA that it knows\n"
        "%pip install --force-reinstall {name} --index-url https://download.pytorch.org/whl/cu{cuda}"
    )

    FIRES = [
        Case(
            "x.cuda()",
            gpu_driver=_OLD,
            frameworks=[_NEW],
            says=("driver 470.82.01 knows CUDA up to 11.4", "built for CUDA 12.4", "cu118"),
        ),
        Case("x.cuda()", says=("do not fit",)),
    ]
    SILENT = [Case("x.cuda()", cause="gpu-oom", gpu_driver=_OLD)]

    def facts(self, death: Death) -> dict[str, str]:
        """Say which versions there are, as far as they were recorded."""
        driver = death.recording.gpu_driver
        built = next((one for one in death.recording.frameworks if one.built_for.get("cuda")), None)
        parts = []
        if driver is not None and driver.version:
            knows = f" knows CUDA up to {driver.cuda}" if driver.cuda else ""
            parts.append(f"The driver {driver.version}{knows}")
        if built is not None:
            parts.append(f"{built.name} {built.version or ''} was built for CUDA {built.built_for['cuda']}")
        versions = "; ".join(parts) + "." if parts else "The driver and the library do not fit together."
        is_old = driver is not None and (driver.cuda or "12").startswith("11")
        return {"versions": versions, "name": "torch", "cuda": "118" if is_old else "126"}
