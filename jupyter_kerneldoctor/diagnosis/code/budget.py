"""How much code a diagnosis may read."""

from dataclasses import dataclass


class CodeTooLargeError(Exception):
    """The cells hold more code than can be read in the time that a diagnosis may take, or it is nested too deeply."""


@dataclass
class Budget:
    """How much of the code may still be read, in units of about a microsecond."""

    left: float

    def spend(self, units: float) -> None:
        """Take the units off. Raises CodeTooLargeError when there are none left."""
        self.left -= units
        if self.left < 0:
            raise CodeTooLargeError
