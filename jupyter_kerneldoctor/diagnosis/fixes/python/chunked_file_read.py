import ast

from ...calls import calls_at
from ...code.origins import Origins
from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.kept import keeps_its_rounds

_OPENS = ("builtins.open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open")
_OF_TEXTS = ("builtins.open", "io.open", "codecs.open")
_READS = ("read", "readlines", "read_text", "read_bytes")


class ChunkedFileRead(Fix):
    """Read the file line by line, not all at once.

    What it does: `f.readlines()` and `f.read()` hold the whole file, and `json.load` makes objects of five to ten times
    its size. A file gives one line after the other by itself, and `ijson` one record after the other.

    When it is offered: Memory ran out on a line that reads a file in one of these ways. It is an edit where a loop goes
    through the lines.

    What it costs: Nothing for lines. With `ijson` the data are no longer there as one object.
    """

    id, title, causes = "chunked-file-read", "Read the file piece by piece", (Family.MEMORY,)

    FIRES = [
        Case(
            "with open('a.log') as f:\n    for line in f.readlines():  # all\n        use(line)",
            becomes="with open('a.log') as f:\n    for line in f:  # all\n        use(line)",
        ),
        Case(
            "def load(path):\n    text = open(path)\n    return sum(len(one) for one in text.read().splitlines())",
            "load('a')",
            becomes={"text.read().splitlines()": "(line.rstrip('\\n') for line in text)"},
        ),
        *(
            Case(f"rows = {new}\nwith open('a.log') as f:\n    {loop}", line=3, says=("for line in f:", "fit, too"))
            for new, loop in (
                ("{}", "for line in f.readlines(): rows.setdefault(line[0], []).append(line)"),
                ("[]", "rows = [line.split() for line in f.readlines()]"),
            )
        ),
        Case(
            "n = []\nwith open('a.log') as f:\n    for line in f.readlines(): n.append(len(line))",
            line=3,
            becomes="n = []\nwith open('a.log') as f:\n    for line in f: n.append(len(line))",
        ),
        Case("import json", "data = json.load(open(p))", says=("ijson.items(file, 'item')", "open(p, 'rb')")),
        *(
            Case(f"with open(p{mode}) as f:\n    {used}", line=2, says=("for line in file",))
            for mode, used in (
                ("", "rows = (one.split() for one in f.readlines())"),  # asked for when the file is closed
                (", 'r+'", "for line in f.readlines(): f.write(line)"),
            )
        ),
        *(  # bytes; and a text behind the last end of a line
            Case(
                f"with open(p{mode}) as f:\n    for line in f.read().{cut}: use(line)",
                line=2,
                says=("for line in file",),
            )
            for mode, cut in ((", 'rb'", "splitlines()"), ("", "split('\\n')"))
        ),
        Case("data = open('all.txt').read()", says=("for line in file",)),
        Case(
            "import json",
            "with open(p) as f:\n    docs = [json.loads(line) for line in f]",
            says=("json.loads(line)['a']", "chunksize=50_000", "fields"),
        ),
    ]
    SILENT = [
        Case("with open('a.log') as f:\n    for line in f: use(line)"),
        Case("data = response.read()"),
        Case("import rasterio", "with rasterio.open('a.tif') as src:\n    data = src.read()"),
        Case("import json", "data = json.load(open(p))\nbig = [0] * 10**10", line=2),
        Case("for line in queue.readlines(): use(line)"),
    ]

    def propose(self, death: Death) -> Proposals:
        if death.is_of_this_cell:
            yield from (*_by_line(death), *_streamed(death), *_whole(death))


def _by_line(death: Death) -> Proposals:
    """Change loops over all lines."""
    for node, scope in death.code.running.nodes(ast.AST):
        match node:
            case ast.For(iter=lines) | ast.comprehension(iter=lines) if death.was_running(lines, scope):
                if _outlives_its_file(node, scope):
                    continue
                if new := _lines_of(lines, scope, death):
                    why = f"{quote(scope.segment(lines))} holds all lines at once. A file gives one at a time."
                    edits, snippet = replace(scope, lines, new), None
                    if keeps_its_rounds(node, scope, Origins(death.code)):
                        why += " What is kept of each line has to fit, too."
                        each = scope.segment(node.target)
                        edits, snippet = (), f"for {each} in {new}:\n    ...  # keep of each only what you need"
                    yield Proposal(edits, why, death.memory.missing_bytes, "Read the file line by line", snippet)


def _outlives_its_file(node: ast.AST, scope: Scope) -> bool:
    """Whether the lines may be asked for when the file is closed: a generator that has a name, or is returned."""
    made = [one for one in scope.nodes if isinstance(one, ast.GeneratorExp) and node in one.generators]
    used = {one for call in scope.calls for one in call.args}
    return any(one not in used for one in made)


def _streamed(death: Death) -> Proposals:
    """Show how to read JSON record by record."""
    for call in calls_at(death, "json.load", "json.loads", "orjson.loads", "ujson.load", "simplejson.load"):
        source = call.argument(0)
        if isinstance(source, ast.Name) and _is_a_line(source.id, call.scope):
            yield Proposal(
                (),
                f"{quote(call.text)} makes a dict of each line, five to ten times its size. Keep only the fields that "
                "you need of each record, or stream the lines into chunks of columns.",
                death.memory.missing_bytes,
                "Keep only the fields you need of each line, or read in chunks",
                f"rows = [({call.text}['a'], {call.text}['b']) for {source.id} in file]  # your own fields\n\n"
                "# or, as columns, some lines at a time:\nimport pandas as pd\n\n"
                "for chunk in pd.read_json(path, lines=True, chunksize=50_000):\n    …",
            )
        elif source is not None:
            yield Proposal(
                (),
                f"{quote(call.text)} makes Python objects of the whole file, five to ten times its size. `ijson` "
                "streams one record after the other; a file with a record on each line can be read line by line.",
                death.memory.missing_bytes,
                "Stream the JSON file, one record after the other",
                f"%pip install ijson\n\nimport ijson\n\nwith open({_path(source, call.scope, death)}, 'rb') as file:\n"
                "    for record in ijson.items(file, 'item'):  # 'data.item' for a list below \"data\"\n        …",
            )


def _is_a_line(name: str, scope: Scope) -> bool:
    """Whether a name stands for one entry of what a loop goes through."""
    loops = [one for one in scope.nodes if isinstance(one, ast.For | ast.comprehension)]
    return any(isinstance(one.target, ast.Name) and one.target.id == name for one in loops)


def _whole(death: Death) -> Proposals:
    """Show the loop for a text that is read at once."""
    for call, scope in death.code.running.nodes(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr=name, value=file), args=[]) if name in _READS:
                if death.was_running(call, scope) and (path := _opened(file, scope, death)):
                    yield Proposal(
                        (),
                        f"{quote(scope.segment(call))} reads the whole file at once. Take a line, or some MiB, at "
                        "a time.",
                        death.memory.missing_bytes,
                        snippet=f"with open({path}) as file:\n    for line in file:\n        …",
                    )


def _lines_of(node: ast.expr, scope: Scope, death: Death) -> str | None:
    """Return what gives the same lines one by one: `f` for `f.readlines()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="readlines", value=file), args=[], keywords=[]):
            return scope.segment(file) if _is_read_only(_opened(file, scope, death), death) else None
        case ast.Call(
            func=ast.Attribute(attr="splitlines", value=ast.Call(func=ast.Attribute(attr="read", value=file), args=[])),
            args=[],
        ) if _is_read_only(_opened(file, scope, death), death) and not _is_binary(file, scope, death):
            return f"(line.rstrip('\\n') for line in {scope.segment(file)})"
    return None


def _opened(node: ast.expr, scope: Scope, death: Death) -> str | None:
    """Return the path, as written, of what a file object was opened from; None where it is no file."""
    call, where = _opening(node, scope, death) or (None, scope)
    match call:
        case ast.Call(func=function, args=[path, *_]) if death.code.qualified(function, where) in _OPENS:
            return where.segment(path)
        case ast.Call(func=ast.Attribute(value=path)):
            return where.segment(path)
    return None


def _is_read_only(path: str | None, death: Death) -> bool:
    """Whether a file was opened, and no call that was running opens it for writing: it would grow while it is read."""
    for call in death.code.running.calls(*_OPENS):
        given = [*call.node.args, *(word.value for word in call.node.keywords)]
        mode = next((one.value for one in given[1:] if isinstance(one, ast.Constant)), None)
        if isinstance(mode, str) and set(mode) & set("wax+") and call.scope.segment(given[0]) == path:
            return False
    return path is not None


def _is_binary(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a file gives bytes, or may do so: `open(path, "rb")`, `gzip.open(path)`."""
    call, where = _opening(node, scope, death) or (None, scope)
    given = [] if call is None else [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant)]
    is_text = call is not None and death.code.qualified(call.func, where) in (*_OF_TEXTS, None)
    return not (is_text or "rt" in modes) or any(isinstance(one, str) and "b" in one[-3:] for one in modes[-1:])


def _opening(node: ast.expr, scope: Scope, death: Death) -> tuple[ast.Call, Scope] | None:
    """Return the call that opened a file object; None where it is no file."""
    opened: list[tuple[ast.expr, Scope]] = [(node, scope)]
    if isinstance(node, ast.Name):
        binding = death.code.lookup(node.id, scope, node)
        opened = [(binding.value, binding.scope)] if binding is not None and binding.value is not None else []
        for one in scope.nodes:
            match one:
                case ast.withitem(context_expr=made, optional_vars=ast.Name(id=name)) if name == node.id:
                    opened.append((made, scope))
    for call, where in opened:
        match call:
            case ast.Call(func=function, args=[_, *_]) if death.code.qualified(function, where) in _OPENS:
                return call, where
            case ast.Call(func=ast.Attribute(attr="open") as function) if death.code.qualified(function, where) is None:
                return call, where
    return None


def _path(source: ast.expr, scope: Scope, death: Death) -> str:
    """Return the path of what JSON is read from, as written."""
    inner = source.func.value if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) else source
    return _opened(source, scope, death) or _opened(inner, scope, death) or "path"
