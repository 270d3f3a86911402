"""The shared memory, mapped: which batch is ready, in which slot, and what its header says.

There are two mappings with the same offsets. The engine's words (control page, headers and columns) can only
be read here: a stray write ends this process, not the engine. Fields can be written, as tensors usually can.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any, List, Mapping, Optional, Tuple

from .._generated.control_words import CLAIM_BITS, DECODER_FOUND, MAX_DEPTH, MAX_MAKERS, At, Word
from .._generated.decoder import SHARES
from .._generated.slot_words import HEADER_BYTES, Header, Stamp
from .layout import Layout

#: The address of a mapping is taken by way of a type of one byte.
_Byte = ctypes.c_ubyte
#: The bits of a claim that are its number; those above tell how often its batch was begun again.
_CLAIM = (1 << CLAIM_BITS) - 1


class Memory:
    """The ring of one (feed, rank), as ``opened.memory`` of the protocol describes it."""

    def __init__(self, told: Mapping[str, Any], layout: Layout, depth: int) -> None:
        self.layout = layout
        self.slots: int = told["slots"]
        self.slot_bytes: int = told["slotBytes"]
        self._used = min(depth, self.slots)
        self._control: int = told["control"]
        self._map = _map(told["dataPath"], told["bytes"], write=True)
        self._read = _map(told["path"], told["bytes"], write=False)
        whole = memoryview(self._read)
        self._whole = whole
        self._words = whole[:1024].cast("i")
        self._beat = whole[At.BEAT : At.BEAT + 8].cast("d")
        heads = [whole[a : a + HEADER_BYTES] for a in map(self.slot_at, range(self.slots))]
        self._heads = [head.cast("i") for head in heads]
        self._stamps = [head.cast("d") for head in heads]
        # A class of its own, so that leases can be referred to weakly and carry their memory with them.
        self._lease: Any = type("Lease", (ctypes.Array,), {"_type_": _Byte, "_length_": self.slot_bytes})

    @property
    def depth(self) -> int:
        """Slots in use at present: the engine's tuner may change it."""
        return max(1, min(int(self._words[Word.DEPTH]), self.slots))

    @property
    def decoder(self) -> Optional[Tuple[int, bool]]:
        """Who is to decode images, by the engine's tuner: twentieths of them for the CPU, and whether that is
        decided. None: as it is."""
        word = int(self._words[Word.DECODER])
        twentieths = (word & (DECODER_FOUND - 1)) - 1
        return (twentieths, word >= DECODER_FOUND) if 0 <= twentieths <= SHARES else None

    @property
    def used(self) -> int:
        """Slots that have memory: the greatest depth so far. The others must not be touched."""
        self._used = max(self._used, self.depth)
        return int(self._used)

    def slot_at(self, slot: int) -> int:
        """Byte offset of a slot in the mapping."""
        return self._control + slot * self.slot_bytes

    def fields(self, slot: int) -> Tuple[int, int]:
        """Where the fields of a slot lie in this process, and how many bytes they have."""
        at = self.slot_at(slot) + self.layout.data_at
        return ctypes.addressof(_Byte.from_buffer(self._map, at)), self.slot_bytes - self.layout.data_at

    def columns(self, slot: int) -> memoryview:
        """Header and columns of a slot, read-only."""
        at = self.slot_at(slot)
        return self._whole[at : at + self.layout.data_at]

    def ready(self, batch: int) -> Optional[int]:
        """The slot of a batch that is ready, or None."""
        place = batch % MAX_DEPTH
        name = (batch + 1) & 0xFFFFFFFF
        if self._words[Word.TABLE_BATCH + place] & 0xFFFFFFFF != name:
            return None
        slot = self._words[Word.TABLE_SLOT + place]
        return slot if self._heads[slot][Header.READY] == 1 else None

    def heartbeat(self) -> float:
        """When the engine last showed that it lives, on its own clock."""
        return self._beat[0]

    def head(self, slot: int) -> memoryview:
        """The header of a slot, as 32-bit words."""
        return self._heads[slot]

    def stamps(self, slot: int) -> "memoryview[float]":
        """The header of a slot, as 64-bit floats."""
        return self._stamps[slot]

    def lease(self, slot: int) -> Any:
        """An object that exports a slot, fields only, and keeps the mapping (see leases.py)."""
        lease = self._lease.from_buffer(self._map, self.slot_at(slot))
        lease.memory = self
        return lease

    def in_flight(self, chunks: int) -> List[Tuple[int, int]]:
        """What the workers were at: (epoch, position) of each row being made.

        For naming it after the engine's death.
        """
        if chunks <= 0:
            return []
        claims = self._whole[At.CLAIMS : At.CLAIMS + 8 * MAX_MAKERS].cast("q")
        since = self._whole[At.SINCE : At.SINCE + 8 * MAX_MAKERS].cast("d")
        rows = self._whole[At.ROW : At.ROW + 4 * MAX_MAKERS].cast("i")
        found = []
        for claim, begun, row in zip(claims, since, rows):
            batch = ((claim & _CLAIM) - 1) // chunks
            place = batch % MAX_DEPTH
            opened = self._words[Word.TABLE_BATCH + place] & 0xFFFFFFFF == (batch + 1) & 0xFFFFFFFF
            if claim <= 0 or begun == 0 or not opened or not 0 <= row < self.layout.rows:
                continue
            slot = self._words[Word.TABLE_SLOT + place]
            if self._heads[slot][Header.READY] == 1:
                continue  # done, but the worker had not yet noted that
            first = self.slot_at(slot) + self.layout.position_at + 8 * row
            found.append(
                (int(self._stamps[slot][Stamp.EPOCH]), int(self._whole[first : first + 8].cast("d")[0]))
            )
        return sorted(set(found))

    def forked(self) -> None:
        """In a forked child: lets go of the memory. What the child refers to stays until it is dropped."""
        views: List["memoryview[Any]"] = [self._words, self._beat, *self._heads, *self._stamps, self._whole]
        for view in views:
            view.release()
        for mapping in (self._read, self._map):
            try:
                mapping.close()
            except BufferError:  # a batch lies there: the mapping goes with it
                pass
        del self._read, self._map


def _map(path: str, size: int, write: bool) -> mmap.mmap:
    fd = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC)
    try:
        return mmap.mmap(fd, size, prot=mmap.PROT_READ | (mmap.PROT_WRITE if write else 0))
    finally:
        os.close(fd)
