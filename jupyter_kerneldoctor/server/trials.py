"""Tries a fix for a page: says what a trial would run, runs it, and tells each step as it goes on."""

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web
from tornado.iostream import StreamClosedError

from jupyter_kerneldoctor.recording.store import UnknownRecordingError
from jupyter_kerneldoctor.render import jsontext
from jupyter_kerneldoctor.reports.live_documents import TrialPlan, TrialRefusal, TrialStep
from jupyter_kerneldoctor.reports.post_mortems import PostMortems
from jupyter_kerneldoctor.trial import CannotTryError, Plan, Told, Wishes, make_plan, run
from jupyter_kerneldoctor.trial.directory import survey
from jupyter_kerneldoctor.trial.plan import cells_text

from .thread_pool import ThreadPool

Document = Mapping[str, Any]

ROUTE = r"recordings/([^/]+)/trials/([^/]+)"

_QUIET_S = 10.0
"""An empty line goes out when there is nothing to tell for so long: a proxy would close the connection."""

_GONE_S = 15.0
"""How long the end of a trial may take: its kernel and its files go."""


class Trials:
    """One trial at a time. It ends with the request that asked for it, or with the server."""

    def __init__(self, post_mortems: PostMortems, failed: Callable[[Exception], None]) -> None:
        self._post_mortems = post_mortems
        self._failed = failed
        self._threads = ThreadPool(2)
        self._stop = threading.Event()
        self._none_runs = threading.Event()
        self._none_runs.set()
        atexit.register(self.close)

    async def plan(self, recording_id: str, fix: str) -> Plan:
        """Plan the trial of one fix. Raises CannotTryError, UnknownRecordingError."""
        return await self._threads.run(self._plan, recording_id, fix)

    async def describe(self, plan: Plan) -> TrialPlan:
        """Return what a trial would run, to be shown before. Raises CannotTryError."""
        copied = await self._threads.run(survey, plan.directory)
        return {
            "cells": [{"execution_count": cell.execution_count, "is_changed": cell.is_changed} for cell in plan.cells],
            "cells_text": cells_text(plan),
            "directory": str(plan.directory),
            "gone": plan.gone,
            "copied_bytes": copied.bytes,
            "left_out": copied.outside,
            "limit_bytes": plan.limit_bytes,
            "patience_s": plan.patience_s,
            "python": plan.python,
        }

    async def begin(self) -> None:
        """Take the place of the one trial; wait for one that was stopped. Raises CannotTryError."""
        if self._stop.is_set():
            await self._threads.run(self._none_runs.wait, _GONE_S)
        if not self._none_runs.is_set():
            raise CannotTryError("Another trial is running on this server.", "Wait for its end, or stop it.")
        self._none_runs.clear()
        self._stop = threading.Event()

    async def steps(self, plan: Plan) -> AsyncIterator[Document]:
        """Run what `begin` made room for; yield each step, nothing where there is none for long, and the outcome."""
        loop, news, stop = asyncio.get_running_loop(), asyncio.Queue[Document](), self._stop

        def tell(document: Document) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.put_nowait, document)

        threading.Thread(target=self._run, args=(plan, stop, tell), name="kerneldoctor-trial", daemon=True).start()
        document: Document = {}
        try:
            while document.get("what") not in ("over", "refused"):
                document = {}
                with suppress(asyncio.TimeoutError):
                    document = await asyncio.wait_for(news.get(), _QUIET_S)
                yield document
        finally:
            stop.set()

    def stop(self) -> None:
        """Stop the trial that runs, if any."""
        self._stop.set()

    def close(self) -> None:
        """Stop the trial, and wait until nothing is left of it."""
        self._stop.set()
        self._none_runs.wait(_GONE_S)

    def _plan(self, recording_id: str, fix: str) -> Plan:
        recording = self._post_mortems.store.open(recording_id)
        return make_plan(recording, self._post_mortems.document(recording_id), Wishes(fix))

    def _run(self, plan: Plan, stop: threading.Event, tell: Callable[[Document], None]) -> None:
        try:
            last: Document = {"what": "over", **run(plan, lambda told: tell(_step(told)), stop).to_json()}
        except CannotTryError as error:
            last = _refusal(error)
        except Exception as error:
            self._failed(error)
            last = {"what": "refused", "message": "The trial failed. The server's log says why.", "help": ""}
        self._none_runs.set()
        tell(last)


def _step(told: Told) -> TrialStep:
    cell, ran = told.cell, told.run
    return {
        "what": told.what,
        "number": told.number,
        "execution_count": None if cell is None else cell.execution_count,
        "how": None if ran is None else ran.how,
        "error": None if ran is None else ran.error,
        "took_s": told.took_s,
        "memory_bytes": told.memory_bytes,
        "limited_by": told.limited_by,
    }


def _refusal(error: CannotTryError) -> TrialRefusal:
    return {"what": "refused", "message": str(error), "help": error.help}


class TrialHandler(APIHandler):
    """`kerneldoctor/recordings/{id}/trials/{fix}`: a GET says what would run, a POST runs it.

    The answer to the POST is one JSON document a line. The trial ends when the connection does.
    """

    _has_begun = False

    def initialize(self, trials: Trials) -> None:
        self.trials = trials

    @web.authenticated
    @authorized("execute", "kernels")  # type: ignore[untyped-decorator]
    async def get(self, recording_id: str, fix: str) -> None:
        """Return what a trial would run; 409 where it cannot be tried."""
        plan = await self._planned(recording_id, fix)
        if plan is not None:
            self.finish(jsontext.render(plan[1]))

    @web.authenticated
    @authorized("execute", "kernels")  # type: ignore[untyped-decorator]
    async def post(self, recording_id: str, fix: str) -> None:
        """Run the trial; 409 where it cannot be tried, or another one runs."""
        plan = await self._planned(recording_id, fix, begins=True)
        if plan is None:
            return
        self.set_header("Content-Type", "application/x-ndjson")
        self.set_header("X-Accel-Buffering", "no")  # a proxy would keep the lines back
        self._has_begun = True
        steps = self.trials.steps(plan[0])
        try:
            async for step in steps:
                self.write(jsontext.render(step) + "\n")
                await self.flush()
        except StreamClosedError:
            self.trials.stop()
        finally:
            await steps.aclose()  # type: ignore[attr-defined]

    def on_connection_close(self) -> None:
        """Stop: nobody waits for the outcome."""
        if self._has_begun:
            self.trials.stop()
        super().on_connection_close()

    async def _planned(self, recording_id: str, fix: str, *, begins: bool = False) -> tuple[Plan, TrialPlan] | None:
        try:
            plan = await self.trials.plan(recording_id, fix)
            described = await self.trials.describe(plan)
            if begins:
                await self.trials.begin()
        except UnknownRecordingError:
            raise web.HTTPError(404, "There is no recording with this id.") from None
        except CannotTryError as error:
            self.set_status(409)
            self.finish(jsontext.render(_refusal(error)))
            return None
        return plan, described
