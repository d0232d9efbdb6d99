"""Puts the parts of the extension together when the server starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_server.utils import url_path_join

from jupyter_kerneldoctor.archive import Archive

from .deaths import DeathWatch
from .handlers import HANDLERS
from .launches import announce_launches
from .requests import announce_requests
from .serverfile import ServerFile
from .settings import KernelDoctor
from .traffic import announce_cells

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

_SCHEMA = Path(__file__).parent / "death.yaml"


def load(serverapp: ServerApp) -> None:
    """Serve the reports and watch the kernels. If watching cannot begin, the reports are served all the same."""
    archive = Archive()
    base_url = serverapp.web_app.settings["base_url"]
    handlers = [(url_path_join(base_url, "kerneldoctor", path), kind, {"archive": archive}) for path, kind in HANDLERS]
    serverapp.web_app.add_handlers(".*$", handlers)  # type: ignore[no-untyped-call]
    try:
        serverapp.event_logger.register_event_schema(_SCHEMA)
        settings = KernelDoctor(parent=serverapp)
        watches_all = sys.platform == "linux" and settings.watch_all_kernels
        watch = DeathWatch(serverapp, archive, ServerFile(archive), watches_all=watches_all, stacks=settings.stacks)
        watch.start()
        announce_requests(serverapp.kernel_manager, watch)
        if watches_all:
            announce_launches(serverapp.kernel_manager, watch.kernels)
            announce_cells(serverapp.web_app.settings, watch.kernels.requested, watch.kernels.replied)
    except Exception:
        serverapp.log.exception("KernelDoctor cannot watch the kernels of this server; it only shows recordings.")
