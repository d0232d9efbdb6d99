"""What the kernels run: cells as users write them, and cells that take away what a recorder may need."""

from __future__ import annotations

OFF = "%kerneldoctor off"

CLOSES_OURS = """\
import os
from jupyter_kerneldoctor import kernel
def is_ours(fd):
    try: return os.readlink(f'/proc/self/fd/{fd}').startswith((f'/proc/{os.getpid()}/', '/memfd:kerneldoctor'))
    except OSError: return False
link = getattr(kernel._doctor, '_link', None)
ours = ([link._fd] if link and link.is_open else []) + [int(fd) for fd in os.listdir('/proc/self/fd') if is_ours(fd)]
for fd in ours: os.closerange(fd, fd + 1)
users_files = [open(f'/tmp/user-{os.getpid()}-{fd}.txt', 'w+') for fd in ours]
for file in users_files: os.unlink(file.name)
"""
"""Our descriptors are closed, and files of the user's get their numbers."""

OPENS_MANY_FILES = """\
files = []
try:
    while len(files) < 1000: files.append(open('/dev/null'))
except OSError: pass
finally: del files
"""
"""An interrupt does not make it keep them: the cells after it could open nothing either."""

SUBINTERPRETER = """\
import _xxsubinterpreters as interpreters
other = interpreters.create()
interpreters.run_string(other, 'import json; json.dumps([1] * 1000)')
interpreters.destroy(other)
"""

STOPS_RECORDING = (OFF, CLOSES_OURS)

CELLS = (
    "x = sum(range(1000))",
    "import time; time.sleep({duration})",
    "import subprocess; child = subprocess.Popen(['sleep', '1']); child.wait({duration} + 2)",
    "import threading\nfor _ in range(8): threading.Thread(target=sum, args=(range(10**5),)).start()",
    "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)",
    # A daemon as in textbooks: the kernel's code runs on in an orphan with a session of its own.
    "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(1)\n    os._exit(0)",
    "pile = bytearray(50_000_000); del pile",
    "1 / 0",
    "os.write(2, b'native words\\n' * 100)",
    "import signal; old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "os.chdir('/')",
    "from concurrent.futures import ProcessPoolExecutor as Pool\nwith Pool(2) as pool: list(pool.map(abs, range(9)))",
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    OPENS_MANY_FILES,
    SUBINTERPRETER,
    CLOSES_OURS,
    OFF,
    "%kerneldoctor on",
)
"""What is run. Each begins by noting its number in a file, so that what has run is known from another source."""

WRITTEN = "''.join(file.read() for file in globals().get('users_files', ()))"
"""What stands in the files that got the numbers of our descriptors."""
