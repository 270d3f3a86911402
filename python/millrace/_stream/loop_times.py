"""The steps of a loop, kept in a fixed piece of memory however long it runs.

Sums over blocks of steps, and a histogram of the waits. Loops in Node keep the same
(packages/observe/account/loop-times.ts): the engine makes accounts of both.
"""

from __future__ import annotations

import time
from math import log
from typing import Any, Dict, List, Optional

#: Blocks at most: when they are full, each two become one, and blocks hold twice as many steps.
BLOCKS = 64
#: Widths of the histogram grow by this factor, so that their middles are less than 2 % away from what is in
#: them. The first one ends at a microsecond, the last one holds all that is longer than a day.
FACTOR = 1.03
LEAST = 1e-6
MOST = 1 + int(log(86_400 / LEAST) / log(FACTOR))
_SCALE, _PER_LEAST = 1 / log(FACTOR), 1 / LEAST

#: What is special about a step.
PLAIN, FIRST, STARTS = 0, 1, 2

#: Sums: asked, supply, hand-over, transfer, compute, samples, steps, garbage collection.
Sums = List[float]
_COUNT, _GC = 6, 7


class LoopTimes:
    """Some steps in a row: booking one is a few additions. By the thread that loops; any may read."""

    def __init__(self) -> None:
        self._first: Optional[Sums] = None
        #: Of all that begin an epoch.
        self._starts: Optional[Sums] = None
        self._blocks: List[Sums] = []
        self._per_block = 1
        #: Steps by how long they waited.
        self._widths: Dict[int, int] = {}
        self._longest = 0.0

    def add(
        self,
        mark: int,
        asked: float,
        supply: float,
        hand: float,
        copy: float,
        compute: float,
        samples: int,
        gc: float,
    ) -> None:
        """Books a step that is over (seconds). ``gc``: garbage collection within its waits."""
        if mark == FIRST:
            self._first = [asked, supply, hand, copy, compute, samples, 1, gc]
            return
        waited = supply + hand
        if waited > self._longest:
            self._longest = waited
        width = 0 if waited <= LEAST else 1 + int(log(waited * _PER_LEAST) * _SCALE)
        self._widths[width] = self._widths.get(width, 0) + 1
        if mark == PLAIN and self._blocks:
            last = self._blocks[-1]
            if last[6] < self._per_block:
                last[1] += supply
                last[2] += hand
                last[3] += copy
                last[4] += compute
                last[5] += samples
                last[6] += 1
                last[7] += gc
                return
        self._put([asked, supply, hand, copy, compute, samples, 1, gc], mark)

    def join(self, later: "LoopTimes") -> None:
        """Adds all that was booked in another one, which is later."""
        if later._first is not None:
            self._first = list(later._first)
        if later._starts is not None:
            self._put(list(later._starts), STARTS)
        for block in later._blocks:
            self._put(list(block), PLAIN)
        for width, steps in list(later._widths.items()):
            self._widths[width] = self._widths.get(width, 0) + steps
        self._longest = max(self._longest, later._longest)

    def _put(self, sums: Sums, mark: int) -> None:
        if mark == STARTS:
            if self._starts is None:
                self._starts = sums
            else:
                _join(self._starts, sums)
            return
        blocks = self._blocks
        if blocks and blocks[-1][_COUNT] < self._per_block:
            _join(blocks[-1], sums)
            return
        if len(blocks) >= BLOCKS:
            for earlier, later in zip(blocks[::2], blocks[1::2]):
                _join(earlier, later)
            self._blocks = blocks = blocks[::2]
            self._per_block *= 2
        blocks.append(sums)

    @property
    def steps(self) -> List[List[float]]:
        """For the engine, in ms: asked, supply, hand-over, transfer, compute, samples, steps, gc, mark."""
        marked = [(self._first, FIRST), (self._starts, STARTS), *((block, PLAIN) for block in self._blocks)]
        return [_told(sums, mark) for sums, mark in marked if sums is not None]

    @property
    def waits(self) -> List[List[float]]:
        """Waits (ms) and how many steps waited about so long; the longest is exact."""
        longest = self._longest * 1000
        counted = sorted(self._widths.items())
        found = [[min(middle_of(width) * 1000, longest), steps] for width, steps in counted]
        if found:
            found[-1][1] -= 1
            found = [*(one for one in found if one[1] > 0), [longest, 1]]
        return found


def middle_of(width: int) -> float:
    """A wait that is counted in a width (seconds)."""
    return 0.0 if width == 0 else LEAST * FACTOR ** (min(width, MOST) - 0.5)


def _join(to: Sums, more: Sums) -> None:
    for i in range(1, 8):
        to[i] += more[i]


def _told(sums: Sums, mark: int) -> List[float]:
    asked, supply, hand, copy, compute, samples, count, gc = sums
    times = [one * 1000 for one in (asked, supply, hand, copy, compute)]
    return [*times, samples, count, gc * 1000, mark]


class Window:
    """A part of a run up to now, as the engine is told of it."""

    def __init__(self, begun: float, look: int) -> None:
        self.times = LoopTimes()
        #: When it began (``time.monotonic``), and which look at the makers was taken then.
        self.begun = begun
        self.look = look

    def told(self) -> Dict[str, Any]:
        """In the words of the protocol."""
        times = self.times
        return {"from": self.begun * 1000, "look": self.look, "steps": times.steps, "waits": times.waits}


class RunTimes:
    """A run, and its latest epoch: steps are booked there, and the run gets them when the next one begins."""

    #: The makers are looked at when an epoch begins, but not more often than this (seconds).
    OFTEN = 1.0

    def __init__(self) -> None:
        self._ended: Optional[Window] = None
        self.epoch: Optional[Window] = None
        #: Looks at the makers so far, and when the latest was.
        self._looks = 0
        self._looked = -self.OFTEN

    def look(self) -> Optional[int]:
        """A batch begins a run or an epoch. The number of the look that is due; None: the latest will do."""
        now = time.monotonic()
        if now - self._looked < self.OFTEN:
            return None
        self._looked = now
        self._looks += 1
        return self._looks

    def add(
        self,
        begins: bool,
        asked: float,
        supply: float,
        hand: float,
        copy: float,
        compute: float,
        samples: int,
        gc: float = 0.0,
    ) -> None:
        """Books a step that is over (seconds). ``begins``: it was the first of an epoch."""
        epoch, mark = self.epoch, PLAIN
        if epoch is None:
            mark = FIRST
            self.epoch = epoch = Window(asked + supply + hand + copy, self._looks)
        elif begins:
            mark = STARTS
            ended, self.epoch = epoch, Window(asked, self._looks)
            epoch = self.epoch
            if self._ended is None:
                self._ended = ended
            else:
                self._ended.times.join(ended.times)
        epoch.times.add(mark, asked, supply, hand, copy, compute, samples, gc)

    @property
    def run(self) -> Optional[Window]:
        """All of it, up to now."""
        ended, epoch = self._ended, self.epoch
        if ended is None or epoch is None:
            return epoch
        whole = Window(ended.begun, ended.look)
        whole.times.join(ended.times)
        whole.times.join(epoch.times)
        return whole
