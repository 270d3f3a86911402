"""Who decodes images: the engine's CPU threads, the trainer's GPU or both.

It is given, or as a state says, or found by the engine's tuner (docs/measure.md), which asks for it by a
word of the ring.

Which samples come, in which order and with which choices is the same in any case.
"""

from __future__ import annotations

from typing import Any, Optional

from .._client.say import say
from .._generated.decoder import CPU, GPU, SHARES
from ..errors import DefinitionError


def check_decode(name: str, asked: Optional[str], on_gpu: bool, needed: str, found: Any) -> None:
    """Refuses what makes no sense; says so where the GPU is asked about and there is none."""
    if asked not in (None, "auto", "cpu", "gpu"):
        raise DefinitionError(f'decode: "auto", "cpu" or "gpu", not {asked!r}')
    if on_gpu:
        return
    if asked == "gpu":
        raise DefinitionError(f'decode="gpu" needs {needed}, not {found}')
    if asked == "auto":
        say(f"{name}: the CPU decodes images: batches go to {found}, not to a GPU")


class Decision:
    """Where images are decoded. ``saved``: the CPU's share by a state."""

    def __init__(self, asked: str, impossible: Optional[str] = None, saved: Optional[float] = None) -> None:
        #: Twentieths of images that the CPU decodes now.
        self.twentieths = GPU if asked == "gpu" else CPU
        #: Whether the tuner is still finding out.
        self.open = asked == "auto" and impossible is None
        #: Why, in a few words, once it is decided.
        self.why = f"as asked: decode={asked!r}" if asked != "auto" else (impossible or "")
        self._told = asked != "auto"
        if self.open and saved is not None:
            self.adopt(saved)

    @property
    def who(self) -> str:
        """ "cpu", "gpu" or "both"."""
        return "cpu" if self.twentieths == CPU else "gpu" if self.twentieths == GPU else "both"

    @property
    def where(self) -> str:
        """Where a batch is finished: "cpu" or "gpu"."""
        return "cpu" if self.twentieths == CPU else "gpu"

    @property
    def cpu_share(self) -> float:
        """Of images that are finished on the GPU, the share that the CPU decodes."""
        return self.twentieths / SHARES if self.who == "both" else 0.0

    @property
    def news(self) -> Optional[str]:
        """What the user did not ask for and should know, said once: who decodes, and why."""
        if self.open or self._told:
            return None
        self._told = True
        return str(self)

    def adopt(self, saved: float) -> None:
        """A state says who decodes."""
        self.twentieths = round(min(1.0, max(0.0, saved)) * SHARES)
        self.settle("as the state says")

    def settle(self, why: str) -> None:
        """What decodes now goes on to do so."""
        self.open, self.why = False, why

    def refuse(self, reason: str) -> None:
        """The GPU can't after all: the CPU does it."""
        self.twentieths = CPU
        self.settle(reason)

    def __str__(self) -> str:
        if self.who == "both":
            return f"CPU and GPU decode images, the CPU {self.cpu_share:.0%} of them: {self.why}"
        return f"the {self.who.upper()} decodes images: {self.why}"
