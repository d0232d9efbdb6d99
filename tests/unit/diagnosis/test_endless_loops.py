"""Loops of which nothing changes what they ask, told from the code alone."""

import textwrap

import pytest

from jupyter_kerneldoctor.diagnosis.code.endless_loops import endless_loop
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.recording.model import Cell

BISECT = "while lo < hi:\n    mid = (lo + hi) // 2\n    if f(mid):\n        hi = mid\n    else:\n        lo = mid"
NEAR = "hi - lo > 1e-9 * max(1, abs(lo), abs(hi))"
CONTINUE = "while i < len(rows):\n    if rows[i].startswith('#'):\n        continue\n    f(rows[i])\n    i += 1"


def judged(source, *before):
    cells = [*map(Cell, before), Cell(textwrap.dedent(source))]
    return endless_loop(Notebook(cells, cells[-1]), cells[-1], 2)


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        ("while i < n:\n    f(i)", "unchanged", None),
        ("while total < limit:\n    count += f(rows[count])", "unchanged", None),
        ("while start < len(rows):\n    part = rows[start:start + 9]; total += sum(part)", "unchanged", None),
        ("while i < n and n > 0:\n    f(i)", "unchanged", None),
        ("while i < len(urls):\n    pages.append(fetch(urls[i]))", "uncounted", None),
        ("while len(urls) > i:\n    urls.append(fetch(urls[i]))", "uncounted", None),
        ("while queue:\n    print(queue[0])", "unchanged", None),
        ("while len(rows) > 3:\n    print(rows[0])", "unchanged", None),
        (CONTINUE, "skipped", "i += 1"),
        (CONTINUE.replace("        continue", "        left += 1\n        continue"), "skipped", "i += 1"),
        (BISECT, "halved", "lo = mid + 1"),
        (BISECT.replace("hi = mid", "hi = mid - 1"), "halved", "(lo + hi + 1) // 2"),
        (BISECT.replace("lo < hi", "lo <= hi").replace("lo = mid", "lo = mid + 1"), "halved", "hi = mid - 1"),
        (BISECT.replace("lo < hi", "hi > lo"), "halved", "lo = mid + 1"),
        (BISECT.replace("//", "/"), "narrowed", NEAR),
        (BISECT.replace("//", "/").replace("lo < hi", "hi - lo > 1e-18"), "narrowed", NEAR),
        ("while x != 1.0:\n    x += 0.1", "missed", "x < 1.0 - 0.1 / 2"),
        ("while t != stop:\n    t -= 0.3", "missed", "t > stop + 0.3 / 2"),
        ("while True:\n    line = p.stdout.readline()\n    if 'end' in line: break", "read", "line"),
        ("while b'\\n' not in data:\n    data += sock.recv(64)", "read", None),
        ("while i < n:\n    f(i)\n    i =+ 1", "reset", "i += 1"),
        ("while i < n:\n    for i in range(9): f(i)", "same", None),
        ("while n > 0:\n    n // 10", "unchanged", "n //= 10"),
        ("while not done:\n    time.sleep(1)", "polled", None),
        ("while os.path.exists(self.path):\n    time.sleep(1)", "file", None),
        ("while lock.exists():\n    time.sleep(1)\n    print('.')", "file", None),
    ],
)
def test_a_loop_without_an_end(source, kind, text):
    found = judged(source)
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    "source",
    [
        "while i < n:\n    i += 1",
        BISECT.replace("//", "/").replace("lo < hi", "hi - lo > 1e-9"),
        BISECT.replace("//", "/").replace("lo < hi", "lo < hi and rounds < 99"),
        "while i < n:\n    i = step(i)",
        "while i < n:\n    for i in range(i + 9): f(i)",
        "while i < n:\n    if f(i): break",
        "while i < n:\n    try:\n        f(i)\n    except StopIteration:\n        break",
        "while i < n and not found:\n    f(i)",
        "while i < n:\n    if f(i): break\n    i =+ 1",
        "while i < n:\n    i =+ 1\n    i += f(i)",
        "while i < len(urls):\n    fetch(urls)",
        "while i < len(urls):\n    urls.pop()",
        "while i < len(self.urls):\n    fetch(self.urls[i])",
        "while i < len(urls):\n    urls = rest(urls[i])",
        "while len(rows) < n:\n    f(rows[0])",
        "while i < len(rows):\n    i += step(rows[i])",
        "while rows:\n    rows.pop()",
        "while rows:\n    take(rows)",
        "while rows:\n    del rows[0]",
        "while rows:\n    left = rows; left.pop()",
        "while len(rows) > 3:\n    rows = rows[1:]",
        "while self.busy:\n    self.step()",
        "while not event.is_set():\n    time.sleep(1)",
        "while not job.done:\n    time.sleep(1)",
        "while True:\n    f()",
        "while True:\n    line = p.stdout.readline()\n    if not line: break",
        "while p.poll() is None:\n    line = p.stdout.readline()",
        "while True:\n    part = sock.recv(64)\n    if part == b'': break",
        "while True:\n    line = f.readline().strip()\n    if line and f(line): break",
        "while f(i):\n    g()",
        "while x != 1.0:\n    x += 0.25",
        "while (line := read()) != 'end':\n    f(line)",
        CONTINUE.replace("        continue", "        i += 1\n        continue"),
        CONTINUE.replace("        continue", "        rows[i] = next(more)\n        continue"),
        CONTINUE.replace("        continue", "        fill(rows)\n        continue"),
        CONTINUE.replace("rows[i].startswith('#')", "read() is None"),
        BISECT.replace("lo = mid", "lo = mid + 1"),
        f"{BISECT}\n    if hi - lo == 1: break",
    ],
)
def test_a_loop_that_may_end(source):
    assert judged(source) is None


def test_a_function_that_changes_the_name_from_another_cell():
    assert judged("while i < n:\n    step()", "def step():\n    global i\n    i += 1") is None


@pytest.mark.parametrize("source", ["while not self.ready:\n    pass", "while not found:\n    pass"])
def test_a_thread_may_change_what_a_loop_asks(source):
    own = "class Job:\n    def start(self): self.ready = False"
    assert judged(source, own).kind == "unchanged"
    assert judged(source, own, "import threading\nthreading.Thread(target=load).start()") is None


def test_an_attribute_that_cells_set_is_no_property():
    own = "class Job:\n    def start(self): self.done = False"
    assert judged("while not job.done:\n    time.sleep(1)", own).kind == "polled"
    asks = f"{own}\nclass Remote:\n    @property\n    def done(self): return ask(self)"
    assert judged("while not job.done:\n    time.sleep(1)", asks) is None


def test_a_loop_that_is_to_go_on_until_it_is_interrupted():
    assert judged("while running:\n    step()", "running = True") is None
    assert judged("try:\n    while n < most:\n        step(next(items))\nexcept StopIteration: pass") is None


@pytest.mark.parametrize(
    ("source", "before"),
    [
        ("while queue:\n    step()", "queue = [1]\ndef step():\n    queue.pop()"),
        ("while len(agents) > 1:\n    game.round()", "agents = [1, 2]\ngame = Game(agents)"),
        ("while not results:\n    pump(loop)", "results = []"),
        ("while i < len(jobs):\n    step(jobs[i])", "jobs = load()\nserver = Server(jobs)"),
        ("while i < len(jobs):\n    step(jobs[i])", "def step(job):\n    jobs.remove(job)"),
        ("while i < len(jobs):\n    step(jobs[i])", "def step(job):\n    global i\n    i += 1"),
        ("while not got:\n    pass", "got = []\nsd.InputStream(callback=lambda d, *a: got.append(d)).start()"),
        ("while not events:\n    pass", "from signal import signal, SIGALRM\nsignal(SIGALRM, events.append)"),
        ("while done < 5:\n    step()", "done = np.zeros(1)\ndef step(): np.add(done, 1, done)"),
        ("while error > tol:\n    np.abs(a - b, out=error)", ""),
        ("while found < 10:\n    search()", "def search():\n    get_ipython().user_ns['found'] += 1"),
        ("while i < n:\n    take(next(items))", ""),
        ("while i < n:\n    assert f(i)", ""),
        ("while not port.in_waiting:\n    pass", ""),
        ("while True:\n    frame = camera.read()\n    if key(frame) == 113: break", "camera = VideoStream().start()"),
        ("while True:\n    value = sensor.read()\n    plot(value)", "sensor = Sensor(open('/dev/i2c-1'))"),
        ("while True:\n    line = log.readline()\n    if 'end' in line: break\n    sleep(1)", "log = open('a.log')"),
        ("while True:\n    line = log.readline()\n    if 'end' in line: break", "log = open(p)\nPopen(['make'])"),
        ("while True:\n    part = port.read(4)\n    show(part)", "import serial\nport = serial.Serial(timeout=0)"),
        ("while True:\n    task = pipe.recv()\n    work(task)", "pipe, other = Pipe()"),
        ("while i < n:\n    j += 1\n    if data[j] < 0:\n        continue\n    i += 1", ""),
        ("while i < n:\n    a, b = b, a + b\n    if a % 2:\n        continue\n    i += 1", ""),
        ("while i < n:\n    if port.in_waiting == 0:\n        continue\n    i += 1", ""),
        (BISECT.replace("    if f", "    if mid == lo: break\n    if f"), ""),
        (BISECT.replace("    if f", "    rounds += 1\n    if rounds > 60: break\n    if f"), ""),
        ("while x != 1.0:\n    x += 0.1\n    x = round(x, 1)", "x = 0.0"),
        ("while x != 1.0:\n    x += 0.1\n    if x > 1: break", "x = 0.0"),
        ("while x != stop:\n    x += 0.1\n    work(x)", "x, stop = 0.0, 0.5\nx = 0.0\nstop = 0.5"),
    ],
)
def test_an_ordinary_program_that_looks_endless(source, before):
    assert judged(source, before) is None


def test_a_file_that_nobody_writes_has_an_end():
    source = "while True:\n    line = table.readline()\n    if 'end' in line: break"
    assert judged(source, "table = open('a.csv')").kind == "read"


def test_a_step_that_callers_give_may_be_one_of_several():
    walk = "def walk(x, end, h):\n    while x != end:\n        x += h\nfor h in {}:\n    walk(0.0, 1.0, h)"
    assert judged(walk.format("(0.5, 0.1)")).text == "x < end - h / 2"
    assert judged(walk.format("(0.5, 0.25)")) is None


@pytest.mark.parametrize("start", ["0.0", "1" + "0" * 400])
@pytest.mark.parametrize("step", ["1e999", "0.1"])
def test_numbers_beyond_all_bounds_are_no_trouble(start, step):
    judged(f"while x != 1.0:\n    x += {step}", f"x = {start}")


@pytest.mark.parametrize(
    ("source", "before", "text"),
    [
        ("for part in iter(lambda: f.read(64), ''):\n    use(part)", "f = open(p, 'rb')", 'b""'),
        ("for line in iter(p.stdout.readline, ''):\n    print(line)", "p = Popen(c, stdout=PIPE)", 'b""'),
        ("for line in iter(f.readline, b''):\n    print(line)", "f = open(p)", '""'),
        ("while line != '':\n    line = f.readline()", "f = open(p, mode='rb')", 'b""'),
        ("while (part := f.read(64)) != '':\n    use(part)", "f = Path(p).open('rb')", 'b""'),
        ("for line in iter(p.stdout.readline, ''):\n    print(line)", "p = Popen(c, stdout=PIPE, text=True)", None),
        ("for line in iter(p.stdout.readline, ''):\n    print(line)", "p = Popen(c, **options)", None),
        ("for line in iter(f.readline, ''):\n    print(line)", "f = gzip.open(p, 'rt')", None),
        ("for line in iter(f.readline, ''):\n    print(line)", "f = open(p)", None),
        ("for line in iter(f.readline, ''):\n    print(line)", "f = open(p, mode)", None),
        ("for line in iter(f.readline, ''):\n    if not line: break", "f = open(p, 'rb')", None),
        ("for line in iter(q.get, ''):\n    print(line)", "q = Queue()", None),
    ],
)
def test_the_end_of_the_data_in_another_type(source, before, text):
    found = judged(source, before)
    assert (None if found is None else (found.kind, found.text)) == (text and ("mistyped", text))


def test_the_line_of_a_loop_that_begins_a_function_of_its_own():
    source = "\nfor part in iter(lambda: f.read(64), ''):\n    use(part)"
    cells = [Cell("f = open(p, 'rb')"), Cell(source)]
    assert endless_loop(Notebook(cells, cells[-1]), cells[-1], 2).kind == "mistyped"


def test_a_file_that_with_has_named():
    source = "with open(p) as f:\n    while True:\n        line = f.readline()\n        if 'end' in line: break"
    assert judged(source).kind == "read"


@pytest.mark.parametrize(("takes", "kind"), [("node.value", "unchanged"), ("node.take()", None)])
def test_a_list_of_nodes_of_the_notebooks_own(takes, kind):
    own = "class Node:\n    def __init__(self, v, n): self.value, self.next = v, n"
    found = judged(f"while node:\n    total += {takes}\n    head = node.next", own)
    assert (found and found.kind) == kind


def test_a_comparison_in_place_of_an_assignment():
    assert judged("while not done:\n    x = step(x)\n    if x < 1: done == True", "done = False").kind == "unchanged"


PAGES = """
while True:
    page = client.items(cursor=cursor)
    rows += page["items"]
    if not page["next"]:
        break
"""


@pytest.mark.parametrize(
    ("source", "before", "kind"),
    [
        (PAGES, "cursor = None", "page"),
        (PAGES.replace("rows += page", "rows.extend(page").replace("]\n    if", "])\n    if"), "cursor = ''", "page"),
        (PAGES.replace("cursor", "offset").replace("offset=offset", "f'{url}?offset={offset}'"), "offset = 0", "page"),
        (PAGES.replace("items(cursor=", "fetch(cursor="), "cursor = None", "page"),
        (PAGES.replace("cursor", "offset").replace("items", "fetch"), "offset = 0", None),
        (PAGES.replace("cursor", "offset").replace("items", "fetch"), "offset = 0\ndef fetch(offset): ...", "page"),
        (PAGES.replace("    if", "    sleep(9) if").replace(":\n        break", " else 0"), "cursor = None", None),
        (PAGES, "cursor = load_cursor()", None),
        (PAGES, "", None),
        (PAGES.replace("break", "break\n    cursor = page['next']"), "cursor = None", None),
        (PAGES.replace("cursor", "timeout"), "timeout = 1", None),
        (PAGES.replace('rows += page["items"]', "print(page)"), "cursor = None", None),
        (PAGES.replace("cursor", "page_size"), "page_size = 1", None),
        (PAGES, "cursor = None\ndef go_on():\n    global cursor\n    cursor = 3", None),
    ],
)
def test_the_same_page_again_and_again(source, before, kind):
    found = judged(source, before)
    assert (found and found.kind) == kind


RETRY = """
while True:
    try:
        table = parse(path)
        break
    except KeyError as error:
        print(error)"""[1:]
STEP = """
while i < len(rows):
    try:
        out.append(f(rows[i]))
        i += 1
    except KeyError:
        continue"""[1:]


@pytest.mark.parametrize(
    "source", [RETRY, RETRY.replace("break", "return table"), STEP, STEP.replace("continue", "pass")]
)
def test_the_same_again_after_an_error(source):
    found = judged(source)
    assert (found.kind, type(found.at).__name__) == ("retried", "Try")


@pytest.mark.parametrize(
    "source",
    [
        RETRY.replace("parse(path)", "requests.get(path)"),
        RETRY.replace("print(error)", "time.sleep(1)"),
        RETRY.replace("print(error)", "path = other(path)"),
        RETRY.replace("print(error)", "raise"),
        RETRY.replace("print(error)", "paths.pop()"),
        f"{RETRY}\n    if tries > 5: break",
        RETRY.replace("        break\n", ""),
        STEP.replace("continue", "i += 1"),
        f"{STEP}\n    i += 1",
        STEP.replace(
            "        out.append(f(rows[i]))\n        i += 1", "        i += 1\n        out.append(f(rows[i - 1]))"
        ),
        "while queue:\n    try:\n        work(queue.pop(0))\n    except KeyError:\n        continue",
        RETRY.replace("parse(path)", "parse(next(files))"),
        STEP.replace("    except", "        rows = rest\n    except").replace("continue", "rows.pop()"),
    ],
)
def test_another_try_that_may_succeed(source):
    found = judged(source)
    assert found is None or found.kind != "retried"
