"""``decode="auto"``: who decodes images, the engine's CPU threads or the trainer's GPU, decided by measuring.

The CPU goes first: it takes nothing from the trainer. If the GPU hardly ever waits for data, that is that.
Otherwise the GPU decodes for a while, and whoever feeds the trainer faster goes on. Which samples come, in
which order and with which choices is the same in any case.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

#: Steps after a change that say nothing yet: batches are on their way, caches fill, kernels are chosen.
SETTLING = 10
#: A trial takes this many steps, and this long (seconds), at least.
STEPS = 20
SECONDS = 1.5
#: Below this share of the time nobody minds waiting.
FINE = 0.02
#: The GPU must be this much faster to be worth what it takes of it.
BETTER = 1.01


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

    @property
    def long_enough(self) -> bool:
        """Whether it says something."""
        return self.steps >= STEPS and self.seconds >= SECONDS

    def __str__(self) -> str:
        return f"{self.rate:,.0f} samples/s, the GPU waiting {self.share:.1%} of the time"


class Decision:
    """Where images are decoded: given, forced, or found by trials."""

    def __init__(self, asked: str, impossible: Optional[str] = None) -> None:
        #: Where they are decoded now: "cpu" or "gpu".
        self.where = "gpu" if asked == "gpu" else "cpu"
        #: Whether that is still being measured.
        self.open = asked == "auto" and impossible is None
        #: Why, in a few words, once it is decided.
        self.why = f"as asked: decode={asked!r}" if asked != "auto" else (impossible or "")
        self._told = asked != "auto"
        self._skip = SETTLING
        self._trials: Dict[str, Trial] = {"cpu": Trial(), "gpu": Trial()}

    @property
    def news(self) -> Optional[str]:
        """What the user did not ask for and should know, said once: who decodes, and why."""
        if self.open or self._told:
            return None
        self._told = True
        return str(self)

    def step(self, samples: int, seconds: float, waited: float) -> bool:
        """One step was made. True when from now on somebody else decodes, or when it is decided."""
        if not self.open:
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        trial = self._trials[self.where] = self._trials[self.where].plus(samples, seconds, waited)
        if not trial.long_enough:
            return False
        if self.where == "gpu":
            self._compare()
        elif trial.share <= FINE:
            self._settle("cpu", f"it keeps up ({trial})")
        else:
            self.where, self._skip = "gpu", SETTLING
        return True

    def refuse(self, reason: str) -> None:
        """The GPU can't: the CPU does it."""
        self._settle("cpu", reason)

    def _compare(self) -> None:
        cpu, gpu = self._trials["cpu"], self._trials["gpu"]
        if gpu.rate > BETTER * cpu.rate:
            self._settle("gpu", f"{gpu}; the CPU's {cpu}")
        else:
            self._settle("cpu", f"{cpu}; the GPU's {gpu}")

    def _settle(self, where: str, why: str) -> None:
        self.where, self.why, self.open = where, why, False

    def __str__(self) -> str:
        name = "the GPU decodes images" if self.where == "gpu" else "the CPU decodes images"
        return f"{name}: {self.why}"
