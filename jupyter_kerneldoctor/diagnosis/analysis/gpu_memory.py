"""The memory of a graphics card while a cell ran: before, at its highest, and its limit."""

from dataclasses import dataclass
from functools import cached_property

from jupyter_kerneldoctor.recording.events import Incident

from .gpu import Card, card_at, framework_at
from .memory import Memory

_HEADROOM = 0.10  # of the card is kept free
_MOST = 0.5
_LEAST_HEADROOM_BYTES = 512 << 20


@dataclass(frozen=True)
class GpuMemory(Memory):
    """What the kernel held of the card that was full, from NVML, the library's allocator and the exception."""

    incident: Incident | None = None

    @cached_property
    def _moment_s(self) -> float:
        end = self.recording.end
        return self.incident.mono_s if self.incident is not None else end.mono_s if end is not None else float("inf")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {} if self.incident is None else self.incident.numbers

    @cached_property
    def _card(self) -> Card | None:
        return card_at(self.recording, self._moment_s, self._numbers.get("gpu"))

    @cached_property
    def before_bytes(self) -> int | None:
        """What the kernel held of the card when the cell began; 0 where nothing was seen of a card until then."""
        if self.cell is None:
            return None
        began = self.cell.started_mono_s
        own = [one.own_bytes for one in self.recording.gpu_samples if one.mono_s <= began and one.own_bytes is not None]
        used = [one.allocated_bytes for one in self.recording.frameworks if one.mono_s <= began and one.allocated_bytes]
        return used[-1] if used else own[-1] if own else 0

    @cached_property
    def peak_bytes(self) -> int | None:
        """What the kernel needed at the least: what it held, and what it asked for at last."""
        framework = framework_at(self.recording, self._moment_s)
        held = [self._numbers.get("allocated_bytes"), None if framework is None else framework.allocated_bytes]
        held += [self._numbers.get("process_bytes"), None if self._card is None else self._card.own_bytes]
        known = next((one for one in held if one is not None), None)
        asked = 0 if self.incident is None else self.incident.asked_bytes or 0
        return None if known is None else known + asked

    @cached_property
    def limit_bytes(self) -> int | None:
        """How much of the card other programs leave."""
        total = self._numbers.get("total_bytes", None if self._card is None else self._card.total_bytes)
        others = self._numbers.get("others_bytes", 0 if self._card is None else self._card.others_bytes)
        return None if total is None else max(0, total - others)

    @property
    def grew_here(self) -> bool:
        """Whether the cell itself took the memory; false where other programs hold most of the card."""
        total = self._numbers.get("total_bytes", None if self._card is None else self._card.total_bytes)
        return super().grew_here and not (total and (self.limit_bytes or 0) < _MOST * total)

    @cached_property
    def used_before_bytes(self) -> int | None:
        """The same as `before_bytes`: what others hold is taken off the limit."""
        return self.before_bytes

    @cached_property
    def ramp_bytes(self) -> int:
        """How much was taken before the last request, where that was most of it."""
        growth, asked = self.missing_bytes or 0, 0 if self.incident is None else self.incident.asked_bytes or 0
        return growth - asked if 2 * asked > growth else growth

    @property
    def safe_target_bytes(self) -> int | None:
        """How much the kernel may use at most to be safe: the card less a tenth, or less 512 MiB."""
        limit = self.limit_bytes
        return None if limit is None else max(limit - max(int(_HEADROOM * limit), _LEAST_HEADROOM_BYTES), limit // 2)
