"""The Jupyter Server extension: serves reports, publishes an event for each death, records what only it knows."""

from jupyter_server.serverapp import ServerApp


def _load_jupyter_server_extension(serverapp: ServerApp) -> None:
    from .extension import load  # noqa: PLC0415 - `jupyter server extension list` imports this module, too

    load(serverapp)
