"""Finds the commands of a shell that signal a process: `kill -9 $PPID` in `!…`, `%%bash` and `os.system(…)`.

A text is read line by line as far as that needs no shell: comments, quoted words and here-documents are no commands.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ..units import signal_name

Aim = Literal["itself", "group", "all"]
"""At what a signal is aimed that ends the kernel: at the kernel, its process group, all processes of some kind."""

PARENT = "$PPID"
"""The process that started the shell: the kernel."""

_PARENT = re.compile(r"-?\$+(?:PPID|\{PPID\})")
_KERNEL = "python -m ipykernel_launcher -f .local/share/jupyter/runtime/kernel.json"
"""A kernel's command line, as `pkill -f` sees it."""
_MOST_REPEATS = 3
_NAMED_PYTHON = re.compile(r"python[\d.]*t?")
_LOOKED_FOR = re.compile(
    r"\b(?:lsof|fuser)\b|\bnvidia-smi\b.{0,99}pid|\b(?:pgrep|pidof)\b[^|)`]{0,99}python|\bps\b.{0,99}\bgrep\b.{0,99}ython"
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_OPENS = frozenset({"if", "for", "while", "until", "case", "select", "{"})
_CLOSES = frozenset({"fi", "done", "esac", "}"})
_BEFORE_A_COMMAND = frozenset(
    {*_OPENS, "then", "do", "else", "elif", "!", "time", "command", "builtin", "exec", "env", "nohup", "sudo"}
)
_QUICK = frozenset({"echo", "printf", "cd", "export", "set", "true", ":", "test", "[", "[[", "date", "pwd", "ps"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_PUNCTUATION = "();<>|&"
_LONGEST = 100  # characters of a pattern
_MOST_LINES, _MOST_CHARACTERS = 20, 4000
"""So much is put together in search of the end of a quoted word: it is read again with each line."""
_LONGEST = 100
"""More characters are no process: a variable that is set to itself twice, again and again, would fill all memory."""


@dataclass(frozen=True)
class ShellKill:
    """A command that signals the process which started the shell."""

    line: int
    """Of the text, from 1."""
    text: str
    """That line."""
    signal: str
    certain: bool
    """It is reached whenever the text runs so far: in no `if`, loop, function or subshell, and after no `&&`."""
    prompt: bool
    """Nothing before it takes time."""
    aim: Aim = "itself"


def shell_kills(script: str) -> Iterator[ShellKill]:
    """Return the commands of a shell's script that signal the process which started it."""
    reader = _Reader()
    for number, line in _logical_lines(script):
        yield from reader.read(number, line)


def _logical_lines(script: str) -> Iterator[tuple[int, str]]:
    """The lines, those put together that a backslash or an open quote joins, without the bodies of here-documents."""
    lines = script.split("\n")
    number = 0
    while number < len(lines):
        first, text = number, lines[number]
        number += 1
        last = min(len(lines), first + _MOST_LINES)
        while number < last and len(text) < _MOST_CHARACTERS and (text.endswith("\\") or _words(text) is None):
            text = f"{text[:-1]} {lines[number]}" if text.endswith("\\") else f"{text}\n{lines[number]}"
            number += 1
        yield first + 1, text
        words = _words(text) or []
        for mark in [word.lstrip("-") for sign, word in pairwise(words) if sign == "<<"]:
            while number < len(lines) and lines[number].strip() != mark:
                number += 1
            number += 1


def _words(line: str) -> list[str] | None:
    """The words and the punctuation of a line, quotes removed; None where a quote is left open."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError:
        return None


class _Reader:
    """Follows a script: which variables hold the parent's id, how deep in blocks, and whether it took time so far."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._blocks = self._subshells = 0
        self._prompt = True

    def read(self, number: int, line: str) -> Iterator[ShellKill]:
        """Take in one line."""
        command: list[str] = []
        conditional = redirects = False
        for word in (*(_words(line) or ()), ";"):
            if word.strip(_PUNCTUATION):
                if not redirects:
                    command.append(word)
                redirects = False
            elif "<" in word or ">" in word:
                redirects = True
            else:
                yield from self._run(command, number, line, conditional=conditional)
                command = []
                self._subshells = max(0, self._subshells + word.count("(") - word.count(")"))
                conditional = "&&" in word or "||" in word or (conditional and "(" in word)

    def _run(self, command: list[str], number: int, line: str, *, conditional: bool) -> Iterator[ShellKill]:
        while command and (command[0] in _BEFORE_A_COMMAND or command[0] in _CLOSES):
            self._blocks = max(0, self._blocks + (command[0] in _OPENS) - (command[0] in _CLOSES))
            command = command[1:]
        while command and (found := _ASSIGNMENT.fullmatch(command[0])):
            value = self._expanded(found["value"])
            self._variables[found["name"]] = value if len(value) <= _LONGEST else ""
            command = command[1:]
        if not command:
            return
        name, words = command[0].rsplit("/", 1)[-1], [self._expanded(word) for word in command[1:]]
        certain = not (conditional or self._blocks or self._subshells)
        is_found = _is_of_found(name, words, line)
        aim = "all" if is_found else _aim(name, words)
        if aim is not None and (signal := _signal(name, words)) is not None:
            yield ShellKill(number, line.strip(), signal, certain and not is_found, self._prompt, aim)
        elif name == "trap" and len(words) > 1:
            for inner in shell_kills(words[0]):
                yield replace(inner, line=number, text=line.strip(), certain=False, prompt=False)
        elif name in _SHELLS and "-c" in words[:-1]:
            for inner in shell_kills(words[words.index("-c") + 1]):
                certain = certain and inner.certain
                yield ShellKill(number, line.strip(), inner.signal, certain, self._prompt, inner.aim)
        self._prompt = self._prompt and name in _QUICK

    def _expanded(self, word: str) -> str:
        return _VARIABLE.sub(lambda found: self._variables.get(found[1] or found[2], found[0]), word)


def _aim(name: str, words: list[str]) -> Aim | None:
    """Return at what of the kernel's a command aims: `kill $PPID`, `kill 0`, `pkill -f python`."""
    if name == "kill":
        targets = [word for before, word in pairwise(["", *words]) if before not in ("-s", "-n", "--signal")]
        if len(targets) > 1 and targets[-1] == "-1":
            return "all"
        return "itself" if any(map(_PARENT.fullmatch, words)) else "group" if "0" in targets else None
    patterns = [word for word in words if not word.startswith("-")]
    if name == "killall":
        return "all" if any(map(_NAMED_PYTHON.fullmatch, patterns)) else None
    if name != "pkill" or len(patterns) != 1 or any(word.startswith(("-P", "-u", "-t", "-s", "-g")) for word in words):
        return None
    is_long = any(re.fullmatch(r"-\w*f|--full", word) for word in words)
    pattern = patterns[0][:_LONGEST]
    repeats = sum(map(pattern.count, "*+?"))
    if "{" in pattern or repeats > _MOST_REPEATS or (repeats and "(" in pattern):  # the user's: it might take for ever
        return None
    try:
        return "all" if re.search(pattern, _KERNEL if is_long else "python") else None
    except re.error:
        return None


def _is_of_found(name: str, words: list[str], line: str) -> bool:
    """Whether a command signals processes that were looked for by a port, or by a name: `kill $(lsof -ti:8080)`."""
    if name == "fuser":
        return any(re.fullmatch(r"-\w*k\w*|--kill", word) for word in words)
    is_told = name == "xargs" and any(word.rpartition("/")[2] == "kill" for word in words)
    is_told = is_told or (name == "kill" and any(word == "$" or word.startswith("`") for word in words))
    return is_told and _LOOKED_FOR.search(line) is not None


def _signal(command: str, words: list[str]) -> str | None:
    """The signal that a command is told to send, or sends without a word; None for 0, which only asks for the process.

    A single letter is an option of most commands, and no signal.
    """
    name = "KILL" if command == "fuser" else "TERM"
    words = words[:-1] if command == "kill" and len(words) > 1 and words[-1] == "-1" else words  # -1: all processes
    for option, value in zip(words, [*words[1:], ""], strict=True):
        if option in ("-s", "-n", "--signal"):
            name = value
        elif command != "kill" and re.fullmatch(r"-[a-z]+", option):
            continue
        elif found := re.fullmatch(r"-s?([A-Za-z]\w*|\d+)", option):
            name = found[1]
    if name.isdecimal():
        return signal_name(int(name)) if int(name) else None
    return "SIG" + name.upper().removeprefix("SIG")
