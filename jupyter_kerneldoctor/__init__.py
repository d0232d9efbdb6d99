"""KernelDoctor tells why a Jupyter kernel died, which line did it, and what to change.

The kernel and the sidecar import this module: it imports nothing.
"""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__` is looked up when asked for: importlib.metadata costs more than all the rest of this package."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see above

    try:
        return version("jupyter-kerneldoctor")
    except PackageNotFoundError:
        return "0+not-installed"  # run from a source tree


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-kerneldoctor"}]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "jupyter_kerneldoctor.server"}]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext jupyter_kerneldoctor`: who knows the package's name only gets in, too."""
    import kerneldoctor  # noqa: PLC0415 - only a kernel needs it

    kerneldoctor.load_ipython_extension(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext jupyter_kerneldoctor`."""
    import kerneldoctor  # noqa: PLC0415

    kerneldoctor.unload_ipython_extension(shell)
