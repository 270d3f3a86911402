"""Judges bad samples when their batch is handed out, in order.

What looks like a mistake in the definition or the installation ends the run whatever ``onError`` says. Loops
in Node have the same rules (packages/core/deliver/node/judge.ts).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from .._generated.judge import FEW, FEW_ALIKE, FIRST, LISTED, NAMED
from ..errors import MillraceError, SampleError, from_engine
from .causes import Causes


class Judge:
    """Counts the bad samples of one run."""

    def __init__(self) -> None:
        #: Distinct bad samples of this run, the first of them in full.
        self.count = 0
        self.samples: List[Dict[str, str]] = []
        #: Their names: no more than the budget and one are kept, for then the run ends.
        self._names: Set[str] = set()
        self._causes = Causes()
        self._seen = 0
        self._bad_among_first = 0
        #: Whether it is still to be seen if the feed works at all.
        self._early = True
        #: Bad rows of this epoch, and the first of their names.
        self._rows = 0
        self._named: List[str] = []

    def sample(self, bad: Mapping[str, Any], policy: str, budget: int) -> None:
        """One bad row of the batch whose turn it is. Raises where the run ends."""
        message = str(bad["message"])
        if bad["row"] < 0:
            raise from_engine({"tag": bad.get("mistake"), "message": message})
        name = str(bad["id"])
        if self._seen + bad["row"] < FIRST:
            self._bad_among_first += 1
        if self._rows < NAMED:
            self._named.append(name)
        self._rows += 1
        if name not in self._names:
            self._names.add(name)
            self.count += 1
            self._causes.add(bad)
            if len(self.samples) < LISTED:
                self.samples.append({"id": name, "stage": bad["stage"], "message": message})
        if policy == "fail":
            raise SampleError(message)
        mistake = bad.get("mistake")
        if mistake is not None:
            raise _mistaken(mistake, message)
        if self.count > budget:
            raise MillraceError(
                f"{self.count} bad samples are more than onError.budget = {budget} allows; "
                f"the last: {message}"
                + (f". All of them: {self._causes.text()}" if self.count > NAMED else "")
            )

    def batch(self, samples: int, policy: str, epoch_rows: int) -> None:
        """A batch of so many samples, bad ones included, is about to be handed out. May end the run."""
        self._seen += samples
        if not self._early or policy == "fail":
            return
        if self._bad_among_first == self._seen >= min(FEW_ALIKE, epoch_rows):
            suspect = self._causes.only_suspect
            what = "your code fails for every sample" if suspect == "code" else "no sample can be made"
            if suspect is not None:
                raise _mistaken("Definition", f"{what}: {self._causes.text()}")
        if self._bad_among_first > FIRST / 2:
            raise self._too_many(min(FIRST, self._seen))
        self._early = self._seen < FIRST

    def epoch_ends(self, policy: str, epoch_rows: int) -> Optional[str]:
        """Says how many were dropped or masked in the epoch, if any. Raises where it was a bad beginning."""
        if self._early and policy != "fail" and epoch_rows >= FEW and self._seen >= FEW:
            self._early = False
            if self._bad_among_first > self._seen / 2:
                raise self._too_many(self._seen)
        rows, named = self._rows, self._named
        self._rows, self._named = 0, []
        return told(rows, named, policy) if rows > 0 else None

    def _too_many(self, looked: int) -> MillraceError:
        return MillraceError(
            f"{self._bad_among_first} of the first {looked} samples are bad: that is more than half, and "
            f"looks like a mistake in the feed. {self._causes.text()}. Mend the feed, or leave those samples "
            "out of its source"
        )


def told(rows: int, named: Sequence[str], policy: str) -> str:
    """How many rows were dropped or masked, and some of their names."""
    more = f" and {rows - len(named)} more" if rows > len(named) else ""
    done = "masked" if policy == "mask" else "dropped"
    return f"{rows} bad sample{'' if rows == 1 else 's'} {done}: {', '.join(named)}{more}"


def _mistaken(tag: str, message: str) -> MillraceError:
    """The error for what is no bad sample."""
    text = f'{message}. "onError" is for bad samples, and this is none'
    return from_engine({"tag": tag, "message": text})
