"""Sets up the extension when the server starts."""

import sys
import threading
from collections.abc import Callable
from logging import Logger
from pathlib import Path

from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join

from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

from .death_monitor import DeathMonitor
from .end_requests import observe_end_requests
from .handlers import HANDLERS
from .launches import observe_launches
from .live import LivePages, LiveRecordings, LiveWebsocket
from .server_file import ServerFile
from .settings import KernelDoctor
from .trials import ROUTE, TrialHandler, Trials
from .websocket import observe_cells

_SCHEMA = Path(__file__).parent / "death.yaml"


def load(serverapp: ServerApp) -> None:
    """Serve reports and watch kernels. If watching fails, reports are served all the same."""

    def failed(what: str) -> Callable[[Exception], None]:
        return lambda error: serverapp.log.warning("KernelDoctor cannot %s.", what, exc_info=error)

    post_mortems = PostMortems()
    base_url = serverapp.web_app.settings["base_url"]
    arguments = {"post_mortems": post_mortems}
    handlers = [(url_path_join(base_url, "kerneldoctor", path), kind, arguments) for path, kind in HANDLERS]
    pages = LivePages(LiveRecordings(post_mortems), serverapp.kernel_manager, failed("show what a kernel uses"))
    live = url_path_join(base_url, "kerneldoctor", "live"), LiveWebsocket, {"pages": pages}
    trials = {"trials": Trials(post_mortems, failed("try a fix"))}
    trial = url_path_join(base_url, "kerneldoctor", ROUTE), TrialHandler, trials
    serverapp.web_app.add_handlers(".*$", [live, trial, *handlers])  # type: ignore[no-untyped-call]
    try:
        serverapp.event_logger.register_event_schema(_SCHEMA)
        settings = KernelDoctor(parent=serverapp)
        watches_all = sys.platform == "linux" and settings.watch_all_kernels
        file = ServerFile(post_mortems)
        monitor = DeathMonitor(serverapp, post_mortems, file, settings, watches_all=watches_all)
        monitor.start()
        observe_end_requests(serverapp.kernel_manager, monitor)
        # In a thread, as the disk may not answer.
        threading.Thread(target=_log_refusal, args=(post_mortems.store, serverapp.log), daemon=True).start()
        if watches_all:
            observe_launches(serverapp.kernel_manager, monitor.kernels)
            observe_cells(serverapp.web_app.settings, monitor.kernels.requested, monitor.kernels.replied)
    except Exception:
        serverapp.log.exception("KernelDoctor cannot watch the kernels of this server. It only shows recordings.")


def _log_refusal(store: Store, log: Logger) -> None:
    """Say why there will be no recordings at all, where that is so."""
    if (refusal := store.refusal) is not None:
        log.warning("KernelDoctor does not use %s: %s.", store.directory, refusal.strerror or refusal)
