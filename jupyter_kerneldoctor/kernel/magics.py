"""Defines the magics `%%memwatch` and `%memwatch`, `%postmortem`, `%kerneldoctor`."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from . import postmortem
from .memwatch import MemWatch

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .doctor import Doctor

_NO_BODY = "\n"
"""The body of a `%%memwatch` whose cell runs by itself; IPython does not accept an empty one."""

_ACTIONS = ("status", "on", "off", "live")

_NAMES = {"cell": ("memwatch",), "line": ("memwatch", "postmortem", "kerneldoctor")}


@magics_class
class KernelDoctorMagics(Magics):
    """The magics of this extension."""

    def __init__(self, shell: InteractiveShell, doctor: Doctor) -> None:
        super().__init__(shell)
        self._doctor = doctor
        self._memwatch = MemWatch(shell, doctor)
        shell.input_transformers_cleanup.append(_watch_whole_cell)

    @staticmethod
    def unregister(shell: InteractiveShell) -> None:
        """Remove the magics."""
        with suppress(ValueError):  # user code may have cleared it
            shell.input_transformers_cleanup.remove(_watch_whole_cell)
        for kind, names in _NAMES.items():
            for name in names:
                shell.magics_manager.magics[kind].pop(name, None)

    @magic_arguments()
    @argument("-n", "--no-timeline", action="store_true", help="Print only the line with the figures, no timeline.")
    @argument("code", nargs="*", help="%%memwatch only: the line of code to run.")
    @line_cell_magic
    def memwatch(self, line: str, cell: str | None = None) -> Any:
        """Measure the memory of a cell (`%%memwatch` as its first line) or of one line of code (`%memwatch x = f()`).

        Prints the peak, the net change, the time taken, and how much memory was left below the nearest limit.
        """
        if cell is None:
            options, code = self._options_and_code(line)
            compiled = self.shell.compile(self.shell.transform_cell(code), "<memwatch>", "exec")
            with self._memwatch.watch(timeline=not options.no_timeline):
                exec(compiled, self.shell.user_ns)  # noqa: S102 - it is the user's own line
            return None
        options = self._options(line)
        if options.code:
            raise UsageError(f"%%memwatch: unrecognized arguments: {' '.join(options.code)}. The cell was not run.")
        self._memwatch.watch_cell(timeline=not options.no_timeline)
        return None if cell == _NO_BODY else self._run(cell)

    @magic_arguments()
    @argument("recording", nargs="?", help="A recording's id, as `jupyter kerneldoctor list` shows it.")
    @argument("--details", action="store_true", help="All fixes and facts, and the memory over time.")
    @line_magic
    def postmortem(self, line: str) -> None:
        """Show why this notebook's kernel died last."""
        options = _parsed(self.postmortem, line)
        postmortem.show(self.shell, options.recording, details=options.details)

    @magic_arguments()
    @argument("action", nargs="?", default="status", help="status (the default), on, off or live.")
    @line_magic
    def kerneldoctor(self, line: str) -> None:
        """Say whether this kernel is recorded and where, switch that off and on, or show live what it uses.

        `%kerneldoctor live` draws below the cell what is left of the memory, and follows the cells that run. For that
        anywidget must be installed; without it, it shows once what is used now.
        """
        action = _parsed(self.kerneldoctor, line).action
        if action not in _ACTIONS:
            known = ", ".join(f"`%kerneldoctor {one}`" for one in _ACTIONS)
            raise UsageError(f"There is no `%kerneldoctor {action}`. There are {known}.")
        if action == "live":
            from .live_view import LiveView  # noqa: PLC0415 - nobody pays for it who does not ask

            LiveView(self.shell, self._doctor).show()
            return
        if action == "on":
            self._doctor.start()
            if self._doctor.problem:
                return  # the user has been told
        elif action == "off":
            self._doctor.stop()
        print(self._doctor.status())  # noqa: T201 - this is what the user asked for

    def _options(self, line: str) -> Namespace:
        if not line:
            return Namespace(no_timeline=False, code=[])  # argparse takes longer than all else that this magic does
        return _parsed(self.memwatch, line)

    def _options_and_code(self, line: str) -> tuple[Namespace, str]:
        """Split a line: options come first; the code begins at the first other word and stays as it is written."""
        words, code = [], line.lstrip()
        while code.startswith("-"):
            word, _, code = code.partition(" ")
            words.append(word)
            code = code.lstrip()
        options = self._options(" ".join(words))
        if not code:
            raise UsageError("%memwatch needs a line of code: `%memwatch x = f()`. For a whole cell: `%%memwatch`.")
        return options, code

    def _run(self, cell: str) -> Any:
        """Run the rest of a cell in which another cell magic comes before or after this one; return its result."""
        first, _, body = cell.partition("\n")
        if first.startswith("%%"):
            name, _, line = first[2:].partition(" ")
            return self.shell.run_cell_magic(name, line, body)
        self.shell.run_cell(cell).raise_error()
        return None


def _parsed(magic: Any, line: str) -> Namespace:
    """Return the options of a magic. Raises UsageError, which names the magic and where its options are told."""
    try:
        options: Namespace = parse_argstring(magic, line)
    except UsageError as error:
        name = f"{'%%' if magic.__name__ == 'memwatch' else '%'}{magic.__name__}"
        raise UsageError(f"{name}: {error}. Nothing was run; `{name}?` shows the options.") from None
    return options


def _watch_whole_cell(lines: list[str]) -> list[str]:
    """Turn a first line `%%memwatch ...` into a call, and leave the rest of the cell to IPython as it is.

    So `await`, the display of the last expression, line numbers in tracebacks and errors work as in any other cell.
    A cell magic on the next line has to be the first line: then `%%memwatch` runs as a cell magic.
    """
    words = lines[0].split(None, 1) if lines else []
    if not words or words[0] != "%%memwatch" or any(line.startswith("%%") for line in lines[1:2]):
        return lines
    options = words[1].strip() if len(words) > 1 else ""
    return [f"get_ipython().run_cell_magic('memwatch', {options!r}, {_NO_BODY!r})\n", *lines[1:]]
