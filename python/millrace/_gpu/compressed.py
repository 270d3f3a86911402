"""A compressed field of a batch: from streams in the slot to finished rows on the device.

    streams ──copy──► device ──nvCOMP──┐
    elements ─────────copy─────────────┼──► finished rows
    refused: redone by the CPU ─copy───┘

Everything is on the feed stream, and the stage's thread waits for what nvCOMP says of each row: what it
refuses is redone from the slot, which is there only until the batch is finished.
"""

from __future__ import annotations

from math import prod
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from .._cuda.arrays import item_bytes
from .._cuda.nvcomp import status_name
from .._generated.array_words import READ_BEHIND, ArrayForm, Head
from .._generated.device import TURN_PARTS
from ..errors import EngineError
from . import plan
from .slot import Redo, Slot, redone, slot_of
from .unpacker import Unpacker

Array = Any


class CompressedField:
    """One field: how its rows look. ``device`` is what the engine told."""

    def __init__(self, tools: Any, name: str, device: Mapping[str, Any]) -> None:
        self._tools = tools
        self.name = name
        self.kind = str(device["dtype"])
        self.shape = tuple(device["shape"])
        self._codec = str(device["codec"])
        self._words = int(device["headBytes"]) // 4
        self._size = prod(self.shape) * item_bytes(self.kind)
        # Now, not with the first batch: what is missing is said when the feed is opened.
        self._unpacker: Unpacker = tools.unpacker

    @property
    def stream(self) -> int:
        """Where the finished rows are written."""
        return int(self._tools.feed)

    def make(self, values: Any, out: int, redo: Optional[Redo]) -> List[Mapping[str, Any]]:
        """Makes the rows; those that stay bad. ``values``: uint8[count, row bytes]."""
        if not len(values):
            return []
        slot = slot_of(values, self._words)
        forms = self._forms(slot)
        self._copy(slot, np.flatnonzero(forms == ArrayForm.RAW), out)
        self._clear(np.flatnonzero(forms == ArrayForm.NOTHING), out)
        packed = np.flatnonzero(forms == ArrayForm.COMPRESSED)
        reasons: Dict[int, str] = {}
        most = max(1, self._tools.capacity // TURN_PARTS // self._size)
        for first in range(0, len(packed), most):
            reasons.update(self._decompress(slot, packed[first : first + most], out))
        return self._redo(slot, reasons, out, redo) if reasons else []

    def _forms(self, slot: Slot) -> Array:
        forms, lengths, sizes = slot.rows[:, [Head.FORM, Head.BYTES, Head.SIZE]].T.astype(np.int64)
        wrong = ~np.isin(forms, (ArrayForm.NOTHING, ArrayForm.COMPRESSED, ArrayForm.RAW)) | (
            lengths > slot.room
        )
        wrong |= (forms != ArrayForm.NOTHING) & (sizes != self._size)
        wrong |= (forms == ArrayForm.RAW) & (lengths != self._size)
        wrong |= (forms == ArrayForm.COMPRESSED) & (lengths == 0)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise EngineError(
                f"field {self.name!r}, row {row}: its head makes no sense (form {forms[row]}, {lengths[row]} "
                f"bytes for {sizes[row]}, and a row has {self._size})"
            )
        return forms

    def _copy(self, slot: Slot, rows: Array, out: int) -> None:
        """Rows that are finished."""
        for first, count in plan.equal_runs(rows, np.full(len(slot.rows), self._size)):
            self._tools.driver.copy_rows_in(
                out + first * self._size, self._size, slot.data + first * slot.stride, slot.stride,
                self._size, count, self._tools.feed,
            )  # fmt: skip

    def _clear(self, rows: Array, out: int) -> None:
        for row in rows.tolist():
            self._tools.driver.zero(out + row * self._size, self._size, self._tools.feed)

    def _decompress(self, slot: Slot, rows: Array, out: int) -> Mapping[int, str]:
        """Why rows were refused. Neighbours are copied together, each as long as the longest."""
        lengths = slot.rows[rows, Head.BYTES].astype(np.int64)
        pitch = int(plan.aligned(lengths.max() + READ_BEHIND))
        width = min(pitch, slot.room)
        base = self._unpacker.room(pitch * len(rows))
        done = 0
        for first, count in plan.equal_runs(rows, np.zeros(len(slot.rows))):
            self._tools.driver.copy_rows_in(
                base + done * pitch, pitch, slot.data + first * slot.stride, slot.stride, width, count,
                self._tools.feed,
            )  # fmt: skip
            done += count
        streams = base + np.arange(len(rows)) * pitch
        outputs = out + rows * self._size
        actual, statuses = self._unpacker.decompress(
            self._codec, streams, lengths, outputs, self._size, self._tools.feed
        )
        return {
            int(row): status_name(int(status)) if status else f"{size} bytes came out of {self._size}"
            for row, size, status in zip(rows, actual, statuses)
            if status or size != self._size
        }

    def _redo(
        self, slot: Slot, reasons: Mapping[int, str], out: int, redo: Optional[Redo]
    ) -> List[Mapping[str, Any]]:
        """Rows that nvCOMP refused are decompressed by the CPU, in place; what it can't, either, is bad."""
        good, bad = redone(redo, self.name, reasons)
        if (self._forms(slot)[good] != ArrayForm.RAW).any():
            raise EngineError(f"field {self.name!r}: rows were not redone as asked")
        self._copy(slot, good, out)
        self._clear(np.setdiff1d(sorted(reasons), good), out)
        return bad
