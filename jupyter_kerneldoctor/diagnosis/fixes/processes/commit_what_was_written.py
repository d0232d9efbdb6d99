import ast
from functools import partial

from ...code.open_writes import open_write
from ...code.origins import all_origins
from ...edits import insert_after
from ...fix import Call, Death, Fix, Proposal, Proposals, quote, stuck

_OPEN = (
    "import sqlite3\nmine, other = sqlite3.connect('a.db'), sqlite3.connect('a.db', timeout=900)",
    "mine.execute('insert into runs values (1)')",
)
_WAITS = "other.execute('create table notes (text)')"
_case = partial(stuck, waits_in="hrtimer_nanosleep")


class CommitWhatWasWritten(Fix):
    """Commit what one connection has written before another one needs the database.

    What it does: Before `insert`, `update` and `delete` the sqlite3 module begins a transaction, and until `commit()`
    SQLite keeps the database locked for all other connections, those of the same notebook among them. The edit commits
    after the write.

    When it is offered: The kernel waits for a database of SQLite, and a cell has written to it without committing.

    What it costs: After each commit the data is on the disk, which takes some milliseconds.
    """

    id, title, causes = "commit-what-was-written", "Commit what the other connection has written", ("hang",)

    FIRES = [
        _case(*_OPEN, _WAITS, becomes={2: _OPEN[1] + "\nmine.commit()"}),
        _case(
            f"{_OPEN[0]}\nc = mine.cursor()",
            "c.execute('insert into runs values (1)')",
            _WAITS,
            becomes={2: "c.execute('insert into runs values (1)')\nc.connection.commit()"},
        ),
    ]
    SILENT = [
        _case(_OPEN[0], f"with mine:\n    {_OPEN[1]}", _WAITS),
        stuck(*_OPEN, "q.get()"),
    ]

    def propose(self, death: Death) -> Proposals:
        write, still = open_write(death.code), death.stuck_cell
        if write is None or still is None or still.main.kind != "sleep" or death.causes[0].id != "hang":
            return
        connection = _connection(write, death)
        commits = f"{connection or 'connection'}.commit()"
        why = f"{quote(write.text)} begins a transaction, and until it is committed no other connection can write."
        snippet = f"{commits}\n# or: with connection: ...  which commits at its end"
        edits = () if connection is None else insert_after(write.scope, write.statement, commits)
        yield Proposal(edits, why, snippet=snippet)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the write is still there
        """Whether there is nothing left that is not committed."""
        return open_write(after.code) is None


def _connection(write: Call, death: Death) -> str | None:
    """Return the text of the connection that a statement belongs to; None where it may be a cursor or a connection."""
    match write.node.func:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="cursor", value=connection))):
            return write.scope.segment(connection)
        case ast.Attribute(value=owner):
            for one, where in all_origins(owner, write.scope, death.code):
                match one:
                    case ast.Call(func=function) if death.code.qualified(function, where) == "sqlite3.connect":
                        return write.scope.segment(owner)
                    case ast.Call(func=ast.Attribute(attr="cursor" | "execute")):
                        return f"{write.scope.segment(owner)}.connection"
    return None
