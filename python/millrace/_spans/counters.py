"""The counters of a lane: sums since the beginning, of the lane itself and of the rings that it is about.

They are added up in this process and written out every few milliseconds, into one of two copies in turn, each
with a number and a checksum. So one copy is always whole, whenever a reader looks and whenever the process is
killed. The twin of ``packages/core/spans/counters.ts``.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from typing import Dict, List, Optional, Tuple

from .._generated.span_words import OWN_BYTES, SUM_BYTES, SUMS, SumAt

#: All of a copy but its check: number, ring, ms by kind, bytes, rows, claims, reads, opens; when.
SUM_BODY = struct.Struct("<2I20dd12x")
#: The same of the lane's own: number, CPU time, delay, garbage, when.
OWN_BODY = struct.Struct("<I4x4d20x")
#: Indexes into the sums of a ring; those of kind k are at k - 1.
BYTES, ROWS, CLAIMS = ((at - SumAt.MS) // 8 for at in (SumAt.BYTES, SumAt.ROWS, SumAt.CLAIMS))
_WORDS = (SumAt.AT - SumAt.MS) // 8
SUMS_IN_LANE = 2 * OWN_BYTES
#: Rings whose sums are kept here, until a new one comes: many more than are open at once.
_MOST_RINGS = 64


def latest_copy(copies: bytes, at: int, size: int) -> Optional[bytes]:
    """Of two copies that lie one behind the other the latest that is whole; None: none was ever written."""
    best: Optional[Tuple[int, bytes]] = None
    for start in (at, at + size):
        copy = copies[start : start + size]
        (number,) = struct.unpack_from("<I", copy)
        whole = number and struct.unpack_from("<I", copy, size - 4)[0] == zlib.crc32(copy[:-4])
        if whole and (best is None or 0 < (number - best[0]) & 0xFFFFFFFF < 1 << 31):
            best = (number, copy)
    return best and best[1]


class Counters:
    """Written by one thread."""

    def __init__(self, memory: mmap.mmap, at: int) -> None:
        self._map = memory
        self._at = at
        #: By ring: ms by kind, bytes, rows, claims, reads, opens.
        self.rings: Dict[int, List[float]] = {}
        #: CPU time, delay, garbage.
        self.own = [0.0, 0.0, 0.0]
        self._own_number = 0
        #: By place: its ring, how often it was written, and the turn at which it was used last.
        self._places: List[List[int]] = []
        self._turn = 0
        self._load()

    def sums(self, ring: int) -> List[float]:
        """Those of a ring, to be added to."""
        sums = self.rings.get(ring)
        if sums is None:
            if len(self.rings) > _MOST_RINGS:
                shown = {place[0] for place in self._places}
                self.rings = {key: value for key, value in self.rings.items() if key in shown}
            sums = self.rings[ring] = [0.0] * _WORDS
        return sums

    def write(self, ring: int, when: float) -> None:
        """Writes the sums of a ring, up to ``when``."""
        place = self._place_of(ring)
        self._turn += 1
        number = self._places[place][1] % 0xFFFFFFFF + 1
        self._places[place] = [ring, number, self._turn]
        body = SUM_BODY.pack(number, ring, *self.rings[ring], when)
        at = self._at + SUMS_IN_LANE + (2 * place + number % 2) * SUM_BYTES
        self._put(at, body)

    def write_own(self, when: float) -> None:
        """Writes what the lane knows of itself."""
        self._own_number = self._own_number % 0xFFFFFFFF + 1
        body = OWN_BODY.pack(self._own_number, *self.own, when)
        self._put(self._at + self._own_number % 2 * OWN_BYTES, body)

    def _put(self, at: int, body: bytes) -> None:
        self._map[at : at + len(body) + 4] = body + struct.pack("<I", zlib.crc32(body))

    def _place_of(self, ring: int) -> int:
        """Its own, or that which was not used for longest; the first is that of ring 0."""
        if ring == 0:
            return 0
        for place in range(1, SUMS):
            if self._places[place][0] == ring:
                return place
        return min(range(1, SUMS), key=lambda place: self._places[place][2])

    def _load(self) -> None:
        """Goes on with the sums that are there."""
        memory = self._map[self._at : self._at + SUMS_IN_LANE + SUMS * 2 * SUM_BYTES]
        own = latest_copy(memory, 0, OWN_BYTES)
        if own is not None:
            self._own_number, *self.own, _ = OWN_BODY.unpack_from(own)
        for place in range(SUMS):
            copy = latest_copy(memory, SUMS_IN_LANE + place * 2 * SUM_BYTES, SUM_BYTES)
            if copy is None:
                self._places.append([0, 0, 0])
                continue
            number, ring, *values = SUM_BODY.unpack_from(copy)
            self._places.append([ring, number, 0])
            self.rings[ring] = values[:_WORDS]
