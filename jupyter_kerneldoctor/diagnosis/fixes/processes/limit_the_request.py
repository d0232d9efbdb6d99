import ast
from collections.abc import Iterator
from functools import partial

from ...calls import library_of
from ...edits import set_argument
from ...examples.stuck import frame
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote, stuck

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_PLACES: dict[str, int | None] = {
    **{f"requests.{name}": None for name in _METHODS},
    "urllib.request.urlopen": 2,
    "http.client.HTTPConnection": None,
    "http.client.HTTPSConnection": None,
    "socket.create_connection": 1,
    "smtplib.SMTP": None,
    "smtplib.SMTP_SSL": None,
    "ftplib.FTP": None,
    "imaplib.IMAP4": None,
    "imaplib.IMAP4_SSL": None,
    "poplib.POP3": None,
    "telnetlib.Telnet": 2,
}
"""What connects or asks, and where its `timeout` may stand without a name."""
_SESSIONS = ("requests.Session(", "requests.session(")
_case = partial(stuck, inner=[frame("socket.py", "readinto")], waits_in="wait_woken")


class LimitTheRequest(Fix):
    """Give a request to a server a time limit.

    What it does: `requests`, `urllib` and `socket` wait for an answer as long as it takes, for ever where none comes.
    With `timeout` they raise an error when the server has said nothing for so long. The edit sets it.

    When it is offered: The kernel is stuck in a call that asks a server and has no time limit.

    What it costs: A server that needs longer before it says anything ends in an error: choose a limit it keeps.
    """

    id, title, causes = "limit-the-request", "Give the request a time limit: timeout=30", ("hang", "no-death")

    FIRES = [
        _case(
            "from urllib.request import urlopen\nwith urlopen(url) as page: page.read()",
            becomes="from urllib.request import urlopen\nwith urlopen(url, timeout=30) as page: page.read()",
            says=("`urlopen(url)`",),
        ),
        _case(
            "import requests\ns = requests.Session()\nr = s.get(url)",
            becomes="import requests\ns = requests.Session()\nr = s.get(url, timeout=30)",
        ),
    ]
    SILENT = [
        _case("import requests\nr = requests.get(url, timeout=5)"),
        _case("r = cache.get(url)"),
        Case("import requests\nrequests.get(url)", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or still.main.kind not in ("input", "unknown", "lock"):
            return
        for call in _asking(death):
            place = _PLACES.get(call.name)
            if call.argument("timeout", *([] if place is None else [place])) is None and call.is_written_out:
                why = f"{quote(call.text)} waits for the answer as long as it takes: without `timeout` for ever."
                yield Proposal(set_argument(call, "timeout", "30"), why)


def _asking(death: Death) -> Iterator[Call]:
    """Yield the calls that ask a server, in what was being executed."""
    for call in death.code.running.calls(*_PLACES):
        if death.was_running(call.node, call.scope):
            yield call
    for node, scope in death.code.running.nodes(ast.Call) if death.code.imports("requests") else ():
        match node.func:
            case ast.Attribute(attr=method, value=owner) if method in _METHODS and death.was_running(node, scope):
                if library_of(owner, scope, death.code).startswith(_SESSIONS):
                    yield Call(node, scope, method)
