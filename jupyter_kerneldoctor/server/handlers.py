"""REST: the list of recordings, one report, what its kernel is doing, and the reference pages."""

from collections.abc import Callable
from typing import TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from jupyter_kerneldoctor.diagnosis.reference import Kind, pages
from jupyter_kerneldoctor.recording.store import UnknownRecordingError, UnreadableRecordingError
from jupyter_kerneldoctor.render import jsontext
from jupyter_kerneldoctor.reports.inspection import CannotInspectError, inspect
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

from .thread_pool import ThreadPool

T = TypeVar("T")

_threads = ThreadPool()


class _Handler(APIHandler):
    """Reading and diagnosing happens in a thread: a recording of a whole day must not keep the server from serving."""

    auth_resource = "kerneldoctor"

    def initialize(self, post_mortems: PostMortems) -> None:
        self.post_mortems = post_mortems

    async def in_thread(self, work: Callable[..., T], *args: object) -> T:
        return await _threads.run(work, *args)


class RecordingsHandler(_Handler):
    """`GET kerneldoctor/recordings`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all recordings, newest first."""
        rows = await self.in_thread(self.post_mortems.rows)
        self.finish(jsontext.render(rows))


def _not_found(error: UnknownRecordingError) -> web.HTTPError:
    unreadable = isinstance(error, UnreadableRecordingError)
    return web.HTTPError(404, str(error) if unreadable else "There is no recording with this id.")


class RecordingHandler(_Handler):
    """`GET kerneldoctor/recordings/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, recording_id: str) -> None:
        """Return the report of one recording."""
        try:
            document = await self.in_thread(self.post_mortems.document, recording_id)
        except UnknownRecordingError as error:
            raise _not_found(error) from None
        self.finish(jsontext.render(document))


class InspectHandler(_Handler):
    """`POST kerneldoctor/recordings/{id}/inspect`: a POST, as the recorder then reads stacks and writes."""

    @web.authenticated
    @authorized
    async def post(self, recording_id: str) -> None:
        """Return what the kernel of a recording is doing; 409 with a reason where it cannot be inspected."""
        try:
            document = await self.in_thread(inspect, self.post_mortems.store, recording_id)
        except UnknownRecordingError as error:
            raise _not_found(error) from None
        except CannotInspectError as error:
            self.set_status(409)
            document = {"message": str(error), "help": error.help, "refused": error.reason}
        self.finish(jsontext.render(document))


class PageHandler(_Handler):
    """`GET kerneldoctor/docs/causes/{id}` and `.../fixes/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, kind: Kind, name: str) -> None:
        """Return the reference page of a cause or fix, in Markdown."""
        page = (await self.in_thread(pages, kind)).get(name)
        if page is None:
            raise web.HTTPError(404, "There is no page with this name.")
        self.finish(page, set_content_type="text/plain; charset=UTF-8")


HANDLERS = (
    (r"recordings/?", RecordingsHandler),
    (r"recordings/([^/]+)/inspect", InspectHandler),
    (r"recordings/(.+)", RecordingHandler),  # slashes too, so that whatever is no id gets our 404
    (r"docs/(causes|fixes)/(.+)", PageHandler),
)
