"""Files, databases, downloads and other programs."""

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .way import LesserWay


def _captures(call: Call, death: Death) -> bool:
    output = call.argument("stdout")
    takes = call.argument("capture_output") is not None or "check_output" in call.name
    return takes or (output is not None and death.code.qualified(output, call.scope) == "subprocess.PIPE")


WAYS = (
    LesserWay(
        ("numpy.genfromtxt", "numpy.loadtxt"),
        "Read the numbers with pandas, as float32",
        "takes many times the size of the file while it reads.",
        "data = pd.read_csv({a0}, header=None, dtype='float32').to_numpy()  # sep=r'\\s+' for columns by blanks",
        Case("import numpy as np", "data = np.loadtxt('a.txt')", says=("pd.read_csv('a.txt'",)),
    ),
    LesserWay(
        ("subprocess.run", "subprocess.check_output"),
        "Read the program's output line by line: Popen",
        "keeps all that the program writes.",
        "with subprocess.Popen({a0}, stdout=subprocess.PIPE, text=True) as process:\n"
        "    for line in process.stdout:\n        ...",
        Case("import subprocess", "out = subprocess.run(c, capture_output=True).stdout", says=("Popen(c,",)),
        _captures,
    ),
    LesserWay(
        ("xml.etree.ElementTree.parse", "lxml.etree.parse"),
        "Take one element at a time: iterparse",
        "makes an object of each element, ten times the size of the file.",
        "for event, element in ElementTree.iterparse({a0}):\n    ...\n    element.clear()",
        Case("from xml.etree import ElementTree", "tree = ElementTree.parse('a.xml')", says=("iterparse('a.xml')",)),
    ),
    LesserWay(
        ("pandas.read_excel", "openpyxl.load_workbook"),
        "Read the sheet row by row: read_only=True",
        "makes an object of each cell of the workbook.",
        "from openpyxl import load_workbook\n"
        "for row in load_workbook({a0}, read_only=True).active.iter_rows(values_only=True):\n    ...",
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "sheet = pd.read_excel('a.xlsx')", says=("read_only=True",)),
    ),
    LesserWay(
        ("requests.get", "urllib.request.urlopen"),
        "Write the download to a file as it comes: stream=True",
        "keeps all that the server sends.",
        "with requests.get({a0}, stream=True) as response, open('download', 'wb') as file:\n"
        "    for part in response.iter_content(1 << 20):\n        file.write(part)",
        Case("import requests", "body = requests.get(url).content", says=("requests.get(url, stream=True)",)),
    ),
    LesserWay(
        (".fetchall",),
        "Take one row after the other from the cursor",
        "makes a list of all rows.",
        "for row in {owner}:\n    ...",
        Case("import sqlite3", "rows = cursor.fetchall()", says=("for row in cursor",)),
    ),
)
