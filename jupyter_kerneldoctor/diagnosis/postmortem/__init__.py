"""The answer of `diagnose`: how a kernel ended, why, where, and what to change.

`PostMortem.to_json` is the public form, the same on the command line, over REST and in the panel.
"""

from .answer import EarlierDeath, Ending, PostMortem, Recurrence, State, Survived, Timeline, iso
from .culprit import Caller, Culprit, Grown, Statement
from .finding import CauseFinding, Evidence, Reason
from .fix_proposal import Basis, Edit, ExpectedPeak, FixProposal

__all__ = [
    "Basis",
    "Caller",
    "CauseFinding",
    "Culprit",
    "EarlierDeath",
    "Edit",
    "Ending",
    "Evidence",
    "ExpectedPeak",
    "FixProposal",
    "Grown",
    "PostMortem",
    "Reason",
    "Recurrence",
    "State",
    "Statement",
    "Survived",
    "Timeline",
    "iso",
]
