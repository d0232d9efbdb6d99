"""Cells that only ask KernelDoctor: they are no work of the notebook's."""

import re

_ASKS = re.compile(
    r"%?(?:postmortem|kerneldoctor)\??(?:\s+[\w.-]+)*"
    r"|%?(?:re)?load_ext\s+kerneldoctor"
    r"|!\s*jupyter[ -]kerneldoctor\b.*"
)


def asks_kerneldoctor(source: str) -> bool:
    """Whether each line is a magic or a command of KernelDoctor: `%postmortem`, `!jupyter kerneldoctor report`."""
    lines = [line.strip() for line in source.splitlines()]
    code = [line for line in lines if line and not line.startswith("#")]
    return bool(code) and all(_ASKS.fullmatch(line) for line in code)
