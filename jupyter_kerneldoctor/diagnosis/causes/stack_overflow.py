import builtins
import re
from collections.abc import Iterator

from ..analysis.stack_fault import Fault
from ..analysis.traceback import GAVE_UP_ON_STACK, Recursion, fatal_message
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..code.deep_calls import DeepCall
from ..code.notebook import Call
from ..conflicts import by_words
from ..examples import PID, cell_file, crash_in, crash_report, recording
from ..texts import evidence
from ..units import cell_name, sentence

_RAISED_LIMIT = re.compile(r"\bsetrecursionlimit\s*\(")
_RAISED_TO = re.compile(r"\bsetrecursionlimit\s*\(\s*(?:int\()?([\d_]+(?:e\d)?|sys\.maxsize)(?:\s*\*\*\s*(\d))?")
_FAR = 10_000  # nested calls, of which native code needs some hundred bytes each, and a stack has 8 MiB
_WALKS_IN_C = re.compile(r"\b(?:dumps?|loads?|repr|str|format|print|deepcopy|compile|eval|parse|hash)\s*\(")
_DOCUMENT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:xml\.etree|lxml)\b", re.MULTILINE)
"""Elements of these are copied by a recursion in C that no limit stops."""
_CALLED = re.compile(r"(?<![\w.])([\w.]+)\s*\(")
_NO_ROOM = Evidence("There is no crash report: it needs room on the stack, too, in all threads but the main one.")
_WALKERS = ("json/", "copy.py", "copyreg.py", "pickle.py", "ast.py", "pprint.py", "reprlib.py")
"""Of the standard library: what goes through nested data by a recursion in C, whose calls no crash report shows."""


class StackOverflow(Cause):
    """A function called itself, directly or through others, until no space for nested calls was left.

    What it means: Each call through native code needs a piece of the stack, which has a few megabytes. Python counts
    its own calls and raises RecursionError in time. It cannot do so where the limit was raised with
    `sys.setrecursionlimit`, or where native code is part of the recursion.

    How it is recognised: The process was ended by SIGSEGV, and the report of Python's faulthandler, which shows a
    hundred calls, repeats the same few functions. Or Python said that it could not recover from a stack overflow. Or
    Linux logged an invalid address right at the stack pointer: memory is missing there only when the stack is used up.
    That log also shows a recursion in C, which the crash report does not. With less certainty: a cell had raised the
    recursion limit far, and the crash was in what goes through nested data by a recursion in C, as `json.dumps`,
    `pickle.dumps` and `repr` do. Other calls in that line make it less certain. Copies of XML documents need no such
    limit: no limit stops them. Or a thread crashed, and a cell had given threads a small stack; or a tuple was hashed
    that a loop had nested.

    What to do: Find the case that should end the recursion and is never reached. Or write the recursion as a loop, with
    a list of what is left to do. Leave the recursion limit as it was: it prevents this crash.

    Example: A `__bool__` that returns `bool(self)`, after `sys.setrecursionlimit(10**6)`.
    """

    id, title, family = "stack-overflow", "Stack overflow: a recursion too deep", Family.NATIVE_CRASH
    last_words = (
        r"^thread '[^'\n]*'(?: \(\d+\))? has overflowed its stack",
        r"^runtime: goroutine stack exceeds \d+-byte limit",
    )
    warnings = (
        r"^(?:Warning: )?detected a stack overflow; program state may be corrupted",
        r"^(?:ERROR: )?(?:LoadError: )?StackOverflowError:?$",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.signal not in ("SIGSEGV", "SIGABRT", "SIGBUS"):
            return None
        if (words := death.said(self.id)) is not None:
            sure, told = by_words(death, Certainty.PROVEN), f"Native code called itself {death.where()}"
            summary = f"Stack overflow ({death.signal})"
            return self.finding(death, sure, f"{told} until the stack was full.", (words.evidence,), summary=summary)
        recursion = death.traceback.recursion if death.traceback is not None else None
        message, fault = fatal_message(death.recording.crash_text) or "", death.logged_fault
        gave_up = death.signal == "SIGABRT" and GAVE_UP_ON_STACK in message
        logged = fault is not None and fault.on_the_stack
        deep = None if gave_up or recursion is not None or fault is not None else death.deep_call
        if deep is not None:
            return self._of_compiled(death, deep)
        is_in_a_thread = death.background is not None or death.traceback is None
        if (small := death.small_stacks) is not None and is_in_a_thread and recursion is None and not gave_up:
            return self._of_small_stacks(death, small)
        unseen = not gave_up and recursion is None and (logged or (fault is None and _may_recurse_in_c(death)))
        if not gave_up and not unseen and (recursion is None or death.signal == "SIGABRT"):
            return None
        raised = tuple(_raised(death))
        shown = Certainty.PROVEN if gave_up or raised else Certainty.STRONG
        said = (Evidence(f"Python's last words: {message}", message, None, evidence.CRASH_REPORT),) if gave_up else ()
        what = _what(death, recursion, unseen=unseen, logged=logged)
        return self.finding(
            death,
            _of_unseen(death, logged=logged) if unseen else shown,
            f"{sentence(_while(death))}, {what} until the stack was full.",
            (*_repetition(death, recursion), *_at_the_end_of_the_stack(fault), *said, *raised),
            summary=f"Stack overflow ({death.signal})",
        )

    def _of_compiled(self, death: Death, deep: DeepCall) -> CauseFinding:
        does = "called itself" if deep.wraps is None else "called one wrapped iterator after the other, nested,"
        what = f"the hash of {quote(deep.name)}" if deep.is_data else quote(deep.name)
        does = "went down one level of nested tuples after the other" if deep.is_data else does
        told = f"{sentence(_while(death))}, {what} probably {does} until the stack was full."
        why = Evidence(f"{quote(deep.name)} {deep.why}.", deep.name, None, "the cells")
        return self.finding(death, Certainty.LIKELY, told, (why,), summary=f"Stack overflow ({death.signal})")

    def _of_small_stacks(self, death: Death, small: Call) -> CauseFinding:
        name = death.code.cell_name(small.cell)
        told = (
            f"{sentence(_while(death))}, a thread probably needed more than the small stack that {name} gives threads."
        )
        line = Evidence(f"Line {small.node.lineno} of {name}: {quote(small.text)}.", small.text, None, "the cells")
        pieces = (line, *(() if death.traceback is not None else (_NO_ROOM,)))
        return self.finding(death, Certainty.LIKELY, told, pieces, summary=f"Stack overflow ({death.signal})")

    def fires_on(self) -> Recordings:
        """One function, several in a circle, and Python's own last word."""
        define = "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __bool__(self): return bool(a)\na = A()"
        frames = [(cell_file(define), 4, "__bool__")] * 100
        crash = crash_report("Segmentation fault", *frames, cut=True)
        yield recording(define, "bool(a)", signal="SIGSEGV", crash=crash)
        circle = [("/site-packages/lib/a.py", 3, "visit"), ("/site-packages/lib/b.py", 9, "walk")] * 50
        yield recording("walk(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *circle, cut=True))
        crash = crash_in("json.dumps(t)", ("/usr/lib/python3.11/json/encoder.py", 258, "iterencode"))
        yield recording("sys.setrecursionlimit(10**7)", "json.dumps(t)", signal="SIGSEGV", crash=crash)
        crash = crash_in("pickle.dumps(t)")
        yield recording("sys.setrecursionlimit(1_000_000)", "pickle.dumps(t)", signal="SIGSEGV", crash=crash)
        save = "import pickle\ndef save(tree, path):\n    with open(path, 'wb') as file: pickle.dump(tree, file)"
        score = "class Model:\n    def text(self): return '+'.join(self.terms)\n    def score(self):\n"
        score += "        return eval(self.text())"
        frames = [(cell_file(score), 4, "score"), (cell_file("m.score()"), 1, "<module>")]
        crash = crash_report("Segmentation fault", *frames)
        yield recording("sys.setrecursionlimit(10**6)", score, "m.score()", signal="SIGSEGV", crash=crash)
        frames = [(cell_file(save), 3, "save"), (cell_file("save(t, f)"), 1, "<module>")]
        crash = crash_report("Segmentation fault", *frames)
        yield recording("sys.setrecursionlimit(10**6)", save, "save(t, f)", signal="SIGSEGV", crash=crash)
        crash = crash_in("b = copy.deepcopy(a)", ("/usr/lib/python3.11/copy.py", 153, "deepcopy"))
        document = "import copy\nimport xml.etree.ElementTree as ET"
        yield recording(document, "b = copy.deepcopy(a)", signal="SIGSEGV", crash=crash)
        said = "_Py_CheckRecursiveCall: Cannot recover from stack overflow."
        frames = [("/site-packages/lib/a.py", 3, "visit")] * 100
        crash = crash_report(said, *frames, cut=True) + crash_report("Aborted", *frames, cut=True)
        yield recording("visit(x)", signal="SIGABRT", crash=crash)
        said = "thread '<unnamed>' has overflowed its stack\nfatal runtime error: stack overflow, aborting\n"
        yield recording(
            "df.select(e)", signal="SIGABRT", crash=crash_in("df.select(e)", message="Aborted"), output=said
        )
        compiled = "import numba\n@numba.njit\ndef depth(n):\n    return 1 + depth(n + 1)"
        yield recording(compiled, "depth(0)", signal="SIGSEGV", crash=crash_in("depth(0)"))
        wrapped = "import itertools\nrows = iter([])\nfor part in parts:\n    rows = itertools.chain(rows, part)"
        yield recording(wrapped, "next(rows)", signal="SIGSEGV", crash=crash_in("next(rows)"))
        nested = "path = ()\nfor step in steps:\n    path = (step, path)"
        yield recording(nested, "seen.add(path)", signal="SIGSEGV", crash=crash_in("seen.add(path)"))
        named = "from typing import NamedTuple\nclass State(NamedTuple):\n    last: int\n    before: object"
        nested = "def walk(state, steps):\n    for step in steps:\n        state = State(step, before=state)\n"
        nested += "    return state in seen"
        frames = [(cell_file(nested), 4, "walk"), (cell_file("walk((), s)"), 1, "<module>")]
        crash = crash_report("Segmentation fault", *frames)
        yield recording(named, nested, "walk((), s)", signal="SIGSEGV", crash=crash)
        yield recording("import threading\nthreading.stack_size(64 * 1024)", "read_all()", signal="SIGSEGV")
        fault = [_fault("7ffd5a1feff8", "7ffd5a1ff000")]
        yield recording("sum(rows)", signal="SIGSEGV", crash=crash_in("sum(rows)"), kernel_log=fault)

    def silent_on(self) -> Recordings:
        """A crash below a short stack, a deep stack without repetition, other copies, and the recursion of a child."""
        shallow = [("/site-packages/lib/a.py", 3, "visit")] * 5
        yield recording("visit(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *shallow))
        far = [_fault("18", "7ffd5a1ff000")]
        for limit, source, log in (
            ("3000", "pickle.dumps(t)", []),
            ("10**6", "lib.solve(8)", []),
            ("10**7", "pickle.dumps(t)", far),
            ("10**6", "print(lib.solve(8))", []),
        ):
            raised = f"sys.setrecursionlimit({limit})"
            yield recording(raised, source, signal="SIGSEGV", crash=crash_in(source), kernel_log=log)
        copied = crash_in("copy.deepcopy(model)", ("/usr/lib/python3.11/copy.py", 153, "deepcopy"))
        yield recording("import copy, lib", "copy.deepcopy(model)", signal="SIGSEGV", crash=copied)
        roomy = "import threading\nthreading.stack_size(64 << 20)"
        yield recording(roomy, "read_all()", signal="SIGSEGV")
        small = "import threading\nthreading.stack_size(1 << 16)"
        yield recording(small, "lib.run()", signal="SIGSEGV", crash=crash_in("lib.run()"))
        flat = "path = ()\nfor step in steps:\n    path = (*path, step)"
        yield recording(flat, "seen.add(path)", signal="SIGSEGV", crash=crash_in("seen.add(path)"))
        read = crash_in("root = ET.parse(file)", ("/usr/lib/python3.11/xml/etree/ElementTree.py", 580, "parse"))
        parsed = "from xml.etree import ElementTree as ET"
        yield recording(parsed, "root = ET.parse(file)", signal="SIGSEGV", crash=read)
        varied = [("/site-packages/lib/a.py", number, f"step_{number}") for number in range(100)]
        yield recording("go(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *varied, cut=True))
        deep = [("/site-packages/lib/a.py", 3, "visit")] * 100
        yield recording("go(x)", signal="SIGKILL", crash=crash_report("Segmentation fault", *deep, cut=True))


def _fault(address: str, stack_pointer: str) -> str:
    return f"python[{PID}]: segfault at {address} ip 00007f42 sp {stack_pointer} error 6 in libc.so.6[7f40+156000]"


def _while(death: Death) -> str:
    ran = death.when() if death.cell is None else f"while {cell_name(death.cell.execution_count)} ran"
    return ran if death.background is None else "in a background thread"


def _may_recurse_in_c(death: Death) -> bool:
    frame = death.innermost
    if death.signal != "SIGSEGV" or frame is None or death.background is not None:
        return False
    sources = [cell.source for cell in death.recording.cells]
    if frame.short_file.startswith("copy.py") and any(_DOCUMENT.search(one) for one in sources):
        return True
    if not any(_is_far(one) for one in sources):
        return False
    if frame.short_file.startswith(_WALKERS):
        return True
    return death.frames.cell_of(frame) is not None and _WALKS_IN_C.search(_crash_code(death)) is not None


def _crash_code(death: Death) -> str:
    """Return the line of the cells in which it crashed, also in a function; "" where none is known."""
    frame = next(iter(death.user_frames), None)
    if frame is None or frame.cell is None:
        return ""
    return frame.cell.source.split("\n")[frame.line - 1]


def _of_unseen(death: Death, *, logged: bool) -> Certainty:
    """Return how likely a recursion in C is: any call of native code in the line may have crashed by itself."""
    if logged:
        return Certainty.PROVEN
    defined = "\n".join(cell.source for cell in death.recording.cells)
    called = _CALLED.findall(_crash_code(death))
    called = [name for name in called if not hasattr(builtins, name)]  # `open` beside `pickle.dump`
    others = [name for name in called if not (_WALKS_IN_C.search(f"{name}(") or _is_python(name, defined))]
    in_the_cell = death.innermost is not None and death.frames.cell_of(death.innermost) is not None
    return Certainty.WEAK if others and in_the_cell else Certainty.LIKELY


def _is_python(name: str, defined: str) -> bool:
    """Whether a cell defines it: a crash in it would show its name."""
    return re.search(rf"\b(?:def|class)\s+{re.escape(name.rpartition('.')[2])}\b", defined) is not None


def _is_far(source: str) -> bool:
    raised = _RAISED_TO.findall(source)
    return any(number == "sys.maxsize" or float(number) ** int(power or 1) >= _FAR for number, power in raised)


def _what(death: Death, recursion: Recursion | None, *, unseen: bool, logged: bool) -> str:
    if recursion is not None and not unseen:
        return f"{death.frames.name(recursion.frame)} called itself, over {recursion.shown} calls deep,"
    if not unseen or death.traceback is None:
        return "a recursion went on"
    by = "" if death.innermost is None else f" called in {death.frames.name(death.innermost)},"
    return f"native code{by} {'called' if logged else 'probably called'} itself"


def _repetition(death: Death, recursion: Recursion | None) -> Iterator[Evidence]:
    if recursion is not None:
        text = f"{sentence(recursion.share)} in the crash report are {death.frames.name(recursion.frame)}."
        yield Evidence(f"{text} The report does not show them all.", recursion.times, "calls", evidence.CRASH_REPORT)


def _at_the_end_of_the_stack(fault: Fault | None) -> Iterator[Evidence]:
    if fault is not None and fault.on_the_stack:
        text = f"Linux logged an invalid address right at the stack pointer: {quote(fault.line, 120)}."
        why = "Memory is missing there only when the space for nested calls is used up."
        yield Evidence(f"{text} {why}", fault.line[:200], None, "log of the operating system")


def _raised(death: Death) -> Iterator[Evidence]:
    cell = next((cell for cell in death.recording.cells if _RAISED_LIMIT.search(cell.source)), None)
    if cell is not None:
        calls = f"{sentence(cell_name(cell.execution_count))} calls `sys.setrecursionlimit`"
        yield Evidence(f"{calls}, which raises Python's limit on nested calls.", source="journal")
