"""REST: the list of recordings, one report in several forms, what its kernel is doing, and the reference pages."""

from collections.abc import Callable
from typing import TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from jupyter_kerneldoctor.diagnosis.reference import Kind, pages
from jupyter_kerneldoctor.recording.store import UnknownRecordingError, UnreadableRecordingError
from jupyter_kerneldoctor.render import html, jsontext, markdown
from jupyter_kerneldoctor.reports.deletion import delete
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
        await self.finish(jsontext.render(rows))
        await self.in_thread(self.post_mortems.prepare, rows)


class StorageHandler(_Handler):
    """`GET kerneldoctor/storage`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return where the recordings are, and what they take on the disk."""
        store = self.post_mortems.store
        used = await self.in_thread(store.disk_bytes)
        self.finish(jsontext.render({"directory": str(store.directory), "bytes": used}))


def _not_found(error: UnknownRecordingError) -> web.HTTPError:
    unreadable = isinstance(error, UnreadableRecordingError)
    return web.HTTPError(404, str(error) if unreadable else "There is no recording with this id.")


class RecordingHandler(_Handler):
    """`GET kerneldoctor/recordings/{id}`, and `DELETE`."""

    @web.authenticated
    @authorized
    async def get(self, recording_id: str) -> None:
        """Return the report of one recording."""
        try:
            document = await self.in_thread(self.post_mortems.document, recording_id)
        except UnknownRecordingError as error:
            raise _not_found(error) from None
        self.finish(jsontext.render(document))

    @web.authenticated
    @authorized
    async def delete(self, recording_id: str) -> None:
        """Delete a recording; 409 where its kernel is being recorded."""
        try:
            await self.in_thread(self.post_mortems.store.path, recording_id)
        except UnknownRecordingError as error:
            raise _not_found(error) from None
        done = await self.in_thread(delete, self.post_mortems.store, [recording_id])
        if done.living:
            raise web.HTTPError(409, "Its kernel is being recorded.")
        for failure in done.failures.values():
            raise web.HTTPError(500, f"The recording cannot be deleted: {failure.strerror or failure}.")
        self.set_status(204)


class TextHandler(_Handler):
    """`GET kerneldoctor/recordings/{id}/markdown` and `.../html`: the report, to paste or to keep."""

    @web.authenticated
    @authorized
    async def get(self, recording_id: str, form: str) -> None:
        """Return the report of one recording as text; HTML, too, so that no browser shows it with our rights."""
        try:
            document = await self.in_thread(self.post_mortems.document, recording_id)
        except UnknownRecordingError as error:
            raise _not_found(error) from None
        text = html.page(document) if form == "html" else markdown.render(document)
        self.finish(text.encode(errors="backslashreplace"), set_content_type="text/plain; charset=UTF-8")


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
    (r"storage", StorageHandler),
    (r"recordings/([^/]+)/inspect", InspectHandler),
    (r"recordings/([^/]+)/(markdown|html)", TextHandler),
    (r"recordings/(.+)", RecordingHandler),  # slashes too, so that whatever is no id gets our 404
    (r"docs/(causes|fixes)/(.+)", PageHandler),
)
