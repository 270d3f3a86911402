"""``decode="auto"``: who decodes images, the engine's CPU threads, the trainer's GPU or both, by measuring.

The CPU goes first: it takes nothing from the trainer. If the GPU hardly ever waits for data, that is that.
Otherwise the GPU decodes for a while, then both do: the CPU nearly as much as it can, the GPU what is
missing. What feeds the trainer fastest goes on.
Which samples come, in which order and with which choices is the same in any case.
"""

from __future__ import annotations

from math import floor
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .._generated.decision import BETTER, FINE, LESS, MEASURING, SETTLING, SHARES
from .._stream.stats import say
from ..errors import DefinitionError

CPU, GPU, BOTH = "cpu", "gpu", "both"


def check_decode(name: str, asked: Optional[str], on_gpu: bool, needed: str, found: Any) -> None:
    """Refuses what makes no sense; says so where the GPU is asked about and there is none."""
    if asked not in (None, "auto", CPU, GPU):
        raise DefinitionError(f'decode: "auto", "cpu" or "gpu", not {asked!r}')
    if on_gpu:
        return
    if asked == GPU:
        raise DefinitionError(f'decode="gpu" needs {needed}, not {found}')
    if asked == "auto":
        say(f"{name}: the CPU decodes images: batches go to {found}, not to a GPU")


class Trial(NamedTuple):
    """What was measured while one of them decoded."""

    steps: int = 0
    samples: int = 0
    seconds: float = 0.0
    #: Of these, the trainer's GPU stood still for want of data.
    waited: float = 0.0

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def share(self) -> float:
        """Share of the time that was waited."""
        return self.waited / self.seconds if self.seconds > 0 else 0.0

    def plus(self, samples: int, seconds: float, waited: float) -> "Trial":
        """One more step."""
        return Trial(self.steps + 1, self.samples + samples, self.seconds + seconds, self.waited + waited)

    def lasted(self, least: Tuple[int, float]) -> bool:
        """Whether it took so many steps and seconds."""
        return self.steps >= least[0] and self.seconds >= least[1]

    def __str__(self) -> str:
        return f"{self.rate:,.0f} samples/s, the GPU waiting {self.share:.1%} of the time"


class Decision:
    """Where images are decoded: given, forced, or found by trials."""

    def __init__(self, asked: str, impossible: Optional[str] = None) -> None:
        #: Who decodes now: "cpu", "gpu" or "both".
        self.who = GPU if asked == GPU else CPU
        #: Whether that is still being measured.
        self.open = asked == "auto" and impossible is None
        #: Why, in a few words, once it is decided.
        self.why = f"as asked: decode={asked!r}" if asked != "auto" else (impossible or "")
        self._told = asked != "auto"
        #: Steps since the last change, until it has settled.
        self._before = Trial()
        self._trials: Dict[str, Trial] = {CPU: Trial(), GPU: Trial(), BOTH: Trial()}

    @property
    def where(self) -> str:
        """Where a batch is finished: "cpu" or "gpu"."""
        return CPU if self.who == CPU else GPU

    @property
    def cpu_share(self) -> float:
        """Of images that are finished on the GPU, the share that the CPU decodes."""
        if self.who != BOTH:
            return 0.0
        # While the CPU decoded alone, this much of what the trainer could have taken was there.
        fed = 1 - self._trials[CPU].share
        share = floor(LESS * fed * SHARES + 0.5)
        return min(max(share, 1), SHARES - 1) / SHARES

    @property
    def news(self) -> Optional[str]:
        """What the user did not ask for and should know, said once: who decodes, and why."""
        if self.open or self._told:
            return None
        self._told = True
        return str(self)

    def step(self, samples: int, seconds: float, waited: float) -> bool:
        """One step was made. True when who decodes changes now, or is decided."""
        if not self.open:
            return False
        if not self._before.lasted(SETTLING):
            self._before = self._before.plus(samples, seconds, waited)
            return False
        trial = self._trials[self.who] = self._trials[self.who].plus(samples, seconds, waited)
        if not trial.lasted(MEASURING):
            return False
        if self.who == CPU and trial.share <= FINE:
            self._settle(CPU, f"it keeps up ({trial})")
        elif self.who == BOTH:
            self._compare()
        else:
            self.who, self._before = (GPU if self.who == CPU else BOTH), Trial()
        return True

    def pause(self) -> None:
        """The engine's tuner changes workers or depth: the trial begins again when it has settled."""
        self._before = self._trials[self.who] = Trial()

    def refuse(self, reason: str) -> None:
        """The GPU can't after all: the CPU does it."""
        self._settle(CPU, reason)

    def _compare(self) -> None:
        """The fastest; of those that are as fast, the one that takes least of the trainer's GPU."""
        best = CPU
        for other in (BOTH, GPU):
            if self._trials[other].rate > BETTER * self._trials[best].rate:
                best = other
        names = {CPU: "the CPU", GPU: "the GPU", BOTH: "both"}
        others = "; ".join(f"{names[who]}: {t}" for who, t in self._trials.items() if who != best)
        self._settle(best, f"{self._trials[best]} ({others})")

    def _settle(self, who: str, why: str) -> None:
        self.who, self.why, self.open = who, why, False

    def __str__(self) -> str:
        if self.who == BOTH:
            return f"CPU and GPU decode images, the CPU {self.cpu_share:.0%} of them: {self.why}"
        return f"the {self.who.upper()} decodes images: {self.why}"
