"""Cells as the server sees them: requests on their way in, and what the kernel publishes."""

from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.server.cells import CellTracker
from jupyter_kerneldoctor.server.messages import Answer, Request


class Conversation:
    """A kernel and its clients; `cells` is what a reader of the recording finds."""

    def __init__(self):
        self.events = []
        self.tracker = CellTracker(self.events.append)

    def asks(self, message_id, source="1", cell_id=None, *, store_history=True):
        self.tracker.requested(Request(message_id, source, cell_id, store_history))

    def begins(self, message_id, count, source="1"):
        self.tracker.answered(Answer("busy", message_id))
        self.tracker.answered(Answer("execute_input", message_id, source, count))

    def ends(self, message_id, error=None):
        if error is not None:
            self.tracker.answered(Answer("error", message_id, error=error))
        self.tracker.answered(Answer("idle", message_id))

    def replies(self, message_id, count=None, error=None, *, aborted=False):
        self.tracker.answered(Answer("reply", message_id, count=count, error=error, aborted=aborted))

    @property
    def recording(self):
        return assemble("20261121T032101Z-1-ab12cd", self.events)

    @property
    def cells(self):
        return self.recording.cells

    def waiting(self):
        return [(cell.execution_count, cell.source) for cell in self.recording.queued]

    def seen(self):
        return [(cell.execution_count, cell.source, cell.finished) for cell in self.cells]


def test_a_cell_is_known_before_the_kernel_has_said_a_word():
    kernel = Conversation()

    kernel.asks("m1", "boom()", "cell-1")

    (cell,) = kernel.cells
    assert (cell.execution_count, cell.source, cell.cell_id, cell.finished) == (1, "boom()", "cell-1", False)


def test_the_next_cell_begins_when_the_one_before_it_ends():
    kernel = Conversation()
    kernel.asks("m1", "first")
    kernel.asks("m2", "second")
    kernel.begins("m1", 1)
    assert kernel.seen() == [(1, "first", False)]

    kernel.ends("m1")

    assert kernel.seen() == [(1, "first", True), (2, "second", False)]


def test_a_cell_whose_input_was_not_heard_is_counted_by_its_reply():
    """The server may not listen yet when a kernel that has just started publishes its first input."""
    kernel = Conversation()
    kernel.asks("m1", "first")
    kernel.ends("m1")
    kernel.replies("m1", count=1)

    kernel.asks("m2", "boom()")

    assert kernel.seen()[-1] == (2, "boom()", False)


def test_cells_that_wait_are_recorded_before_the_kernel_gets_to_them():
    """The reply of the running one may be lost with the kernel."""
    kernel = Conversation()
    for source in ("first", "second", "third"):
        kernel.asks(source, source)
    assert kernel.waiting() == [(2, "second"), (3, "third")]

    kernel.replies("first", count=5)
    assert kernel.waiting() == [(3, "third")]  # renumbered when it begins
    assert kernel.seen() == [(5, "first", True), (6, "second", False)]

    kernel.replies("second", count=6, error="ValueError")
    kernel.replies("third", aborted=True)
    assert kernel.waiting() == []


def test_of_many_cells_that_wait_only_the_next_are_recorded():
    kernel = Conversation()
    for number in range(500):
        kernel.asks(f"m{number}", f"cell {number}")

    assert len(kernel.events) < 10
    kernel.replies("m0", count=1)
    assert kernel.waiting()[0] == (3, "cell 2")
    assert len(kernel.waiting()) == 8
    for number in range(1, 500):
        kernel.replies(f"m{number}", count=number + 1)
    assert (len(kernel.cells), kernel.waiting()) == (500, [])
    assert [cell.source for cell in kernel.cells] == [f"cell {number}" for number in range(500)]


def test_the_newest_events_are_told_again():
    kernel = Conversation()
    for number in range(100):
        kernel.asks(f"m{number}", "x = 1")
        kernel.replies(f"m{number}", count=number + 1)

    newest = kernel.tracker.newest_events()

    assert newest == kernel.events[-len(newest) :]
    assert 8 < len(newest) < 40


def test_the_reply_ends_a_cell_though_what_was_published_is_lost_with_the_kernel():
    """So it goes when the next cell kills the kernel with its first statement."""
    kernel = Conversation()
    kernel.asks("m1", "first")
    kernel.asks("m2", "kill")

    kernel.replies("m1", count=7)

    assert kernel.seen() == [(7, "first", True), (8, "kill", False)]


def test_replies_that_are_ahead_of_what_is_published():
    kernel = Conversation()
    for message_id in ("m1", "m2"):
        kernel.asks(message_id, message_id)
    kernel.replies("m1", count=1, error="ZeroDivisionError")
    kernel.replies("m2", aborted=True)
    kernel.begins("m1", 1)
    kernel.ends("m1", error="ZeroDivisionError")

    assert kernel.seen() == [(1, "m1", True)]
    assert kernel.cells[0].error == "ZeroDivisionError"


def test_what_waited_for_a_cell_that_failed_did_not_run():
    kernel = Conversation()
    for message_id in ("m1", "m2", "m3"):
        kernel.asks(message_id, message_id)
    kernel.begins("m1", 1)
    kernel.ends("m1", error="ZeroDivisionError")
    for message_id in ("m2", "m3"):  # refused: busy and idle, and no input in between
        kernel.tracker.answered(Answer("busy", message_id))
        kernel.ends(message_id)

    assert kernel.seen() == [(1, "m1", True)]
    assert kernel.cells[0].error == "ZeroDivisionError"


def test_a_kernel_that_publishes_no_inputs_ran_its_cells_all_the_same():
    kernel = Conversation()
    kernel.asks("m1")
    kernel.ends("m1")

    assert kernel.seen() == [(1, "1", True)]


def test_a_count_that_was_guessed_wrongly_is_put_right():
    kernel = Conversation()
    kernel.asks("m1", "x")
    kernel.begins("m1", 41)
    assert kernel.seen() == [(41, "x", False)]

    kernel.ends("m1")
    kernel.asks("m2", "y")

    assert kernel.seen()[-1] == (42, "y", False)


def test_a_cell_without_history_has_no_count():
    kernel = Conversation()
    kernel.asks("m1", "x", store_history=False)
    kernel.begins("m1", 1)
    kernel.ends("m1")
    kernel.asks("m2", "y")

    assert kernel.seen() == [(None, "x", True), (1, "y", False)]


def test_the_cells_of_clients_that_do_not_speak_through_this_server():
    kernel = Conversation()

    kernel.begins("elsewhere", 7, "from a console")

    assert kernel.seen() == [(7, "from a console", False)]


def test_an_answer_that_got_lost_does_not_hold_up_the_rest():
    kernel = Conversation()
    for message_id in ("m1", "m2", "m3"):
        kernel.asks(message_id, message_id)
    kernel.begins("m1", 1)

    kernel.begins("m3", 3)

    assert kernel.seen() == [(1, "m1", True), (3, "m3", False)]


def test_answers_that_come_twice_count_once():
    kernel = Conversation()
    kernel.asks("m1")
    for _ in range(2):
        kernel.begins("m1", 1)
        kernel.ends("m1")

    assert kernel.seen() == [(1, "1", True)]


def test_an_error_is_recorded_only_where_it_can_be_no_more_than_a_name():
    kernel = Conversation()
    kernel.asks("m1")
    kernel.begins("m1", 1)
    kernel.ends("m1", error="Error in eval(expr): object 'salary' not found")

    assert kernel.cells[0].error is None


def test_a_source_that_is_too_long_keeps_its_ends():
    kernel = Conversation()

    kernel.asks("m1", "a" + "x" * 2_000_000 + "z")

    (cell,) = kernel.cells
    assert cell.truncated
    assert len(cell.source) < 200_000
    assert (cell.source[0], cell.source[-1]) == ("a", "z")
