import re

from ...edits import Changes, import_as, insert_before
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SAID = re.compile(r"Q(?P<what>\w{1,60}): Must construct a Q(?P<kind>Gui|Core)?Application before a Q\w+")
_BINDINGS = ("PyQt5", "PyQt6", "PySide6", "PySide2")
_WIDGET = "QWidget: Must construct a QApplication before a QWidget\n"


class QtApplication(Fix):
    """Make the QApplication before anything else of Qt.

    What it does: Widgets, pixmaps and fonts of Qt need an application object, and Qt ends the process where there is
    none. The edit makes it at the top of the cell, or takes the one that is there, and keeps it in a variable: it must
    live on.

    When it is offered: Qt's last words were that an application is to be constructed first.

    What it costs: Nothing. Without a screen set `QT_QPA_PLATFORM=offscreen` before.
    """

    id, title, causes = "qt-application", "Make the QApplication first, and keep it", ("abort",)

    FIRES = [
        Case(
            "from PyQt5 import QtWidgets\nlabel = QtWidgets.QLabel('x')",
            output=_WIDGET,
            becomes="from PyQt5.QtWidgets import QApplication\n"
            "app = QApplication.instance() or QApplication([])  # kept: it must live on\n"
            "from PyQt5 import QtWidgets\nlabel = QtWidgets.QLabel('x')",
        ),
        Case("show()", output=_WIDGET, says=("QApplication([])",)),
    ]
    SILENT = [Case("import PyQt5", output="ASSERT: index < size\n")]

    def propose(self, death: Death) -> Proposals:
        found = _SAID.search(death.text)
        if found is None:
            return
        binding = next((one for one in _BINDINGS if death.code.imports(one)), None)
        why = f"Qt ended the process: {quote(found[0], 100)}. There was no application object, or nothing kept it."
        edits: Changes = ()
        module = death.code.module(death.code.last) if death.cell is not None else None
        if binding is not None and module is not None and module.body:
            name, edits = import_as(module, death.code, f"{binding}.QtWidgets.QApplication", "QApplication")
            line = f"app = {name}.instance() or {name}([])  # kept: it must live on"
            edits += insert_before(module, module.body[0], line)
        of_all = f"from {binding or 'PyQt5'}.QtWidgets import QApplication\n"
        yield Proposal(edits, why, snippet=f"{of_all}app = QApplication.instance() or QApplication([])")

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the words remain
        """Whether an application is made before."""
        return "QApplication([])" in after.code.source(after.code.last)
