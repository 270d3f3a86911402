"""A field's rows in the slot, and asking the engine for those that the GPU refused."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..errors import EngineError

#: Has the engine make rows of a field on the CPU, in place: ``(field, rows)`` → ``[{row, ok, …}]``.
Redo = Callable[[str, List[int]], Sequence[Mapping[str, Any]]]


class Slot(NamedTuple):
    """A field's rows in the host's memory: address of the first, ``stride`` bytes from one to the next."""

    address: int
    stride: int
    #: The words at the head of each row: uint32[count, words], on that memory.
    rows: Any
    #: Bytes behind them.
    room: int

    @property
    def data(self) -> int:
        """Where the bytes of row 0 are."""
        return self.address + self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's words."""
        return int(self.rows.shape[1]) * 4

    def only(self, first: int, behind: int) -> "Slot":
        """Some of the rows."""
        return self._replace(address=self.address + first * self.stride, rows=self.rows[first:behind])


def slot_of(values: Any, words: int) -> Slot:
    """The slot of a field, uint8[count, row bytes]."""
    address, stride = values.ctypes.data, values.strides[0]
    memory = (ctypes.c_ubyte * (stride * (len(values) - 1) + words * 4)).from_address(address)
    rows: Any = np.ndarray((len(values), words), "<u4", memory, strides=(stride, 4))
    return Slot(address, stride, rows, values.shape[1] - words * 4)


def redone(
    redo: Optional[Redo], name: str, reasons: Mapping[int, str]
) -> Tuple["np.ndarray[Any, Any]", List[Mapping[str, Any]]]:
    """What the CPU makes of refused rows: those that are good now, in the slot, and what is said of others.

    ``reasons``: why each was refused. Without ``redo`` that is all that is said of them.
    """
    rows = sorted(reasons)
    if redo is None:
        answers: Sequence[Mapping[str, Any]] = [
            {"row": row, "ok": False, "stage": "decode", "message": reasons[row]} for row in rows
        ]
    else:
        answers = redo(name, rows)
    good = sorted(one["row"] for one in answers if one["ok"])
    if not set(good) <= set(rows):
        raise EngineError(f"field {name!r}: rows {good} were redone, and {rows} asked for")
    return np.array(good, np.int64), [one for one in answers if not one["ok"]]
