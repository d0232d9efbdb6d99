"""What users may set of `retention`, in the kernel's configuration and in the server's."""

from __future__ import annotations

from traitlets import Float, Int
from traitlets.config import Configurable

from .retention import Policy

_USUAL = Policy()
_DAY_S = 24 * 3600


class RetentionSettings(Configurable):  # type: ignore[misc]  # its type is not looked at
    """How many recordings are kept, and for how long."""

    keep_recordings = Int(_USUAL.recordings, min=0, help="How many recordings of all kernels to keep.").tag(config=True)
    keep_days = Float(_USUAL.age_s / _DAY_S, min=0.0, help="For how long to keep a recording.").tag(config=True)
    keep_bytes = Int(_USUAL.total_bytes, min=0, help="How much disk all recordings may take.").tag(config=True)

    @property
    def keep(self) -> Policy:
        """What to keep."""
        return Policy(self.keep_recordings, self.keep_days * _DAY_S, self.keep_bytes)
