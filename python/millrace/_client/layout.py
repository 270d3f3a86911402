"""Where things lie in the shared memory: the offsets of docs/protocol.md, and a feed's fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

PROTOCOL = 2

#: Batches that the control page can name at once.
TABLE = 32
#: 32-bit words of the control page: the slot of batch k, and (k + 1) mod 2³² once it has one.
TABLE_SLOT = 32
TABLE_BATCH = 64
#: Byte offset of the heartbeat: the engine's CLOCK_MONOTONIC in seconds (f64).
HEARTBEAT_AT = 640
#: Byte offsets of what each maker holds: claim + 1 (i64), since when (f64, 0: not at a row), at which row
#: (i32).
CLAIMS_AT = 2048
#: The bits of a claim that are its number; those above tell how often its batch was begun again.
CLAIM = (1 << 48) - 1
SINCE_AT = 8192
ROW_AT = 10240
MAKERS = 256

#: Bytes of a slot's header; 32-bit words in it.
HEADER_BYTES = 256
COUNT = 2
BAD = 3
READY = 4
CURSOR = 8
#: 64-bit floats in it: where a run goes on after this batch, and where the batch itself stands.
NEXT_EPOCH = 26
NEXT_POSITION = 27
EPOCH = 28
STEP = 29
POSITION = 30

#: What became of a row.
GOOD = 1
FILLER = 3


def _bfloat16() -> Any:
    """NumPy has no bfloat16 of its own: the one of ml_dtypes (it comes with JAX), else the bare 16 bits."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("<u2")
    return np.dtype(ml_dtypes.bfloat16)


_DTYPES: Dict[str, str] = {
    "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "i32": "<i4", "u32": "<u4", "i64": "<i8",
    "f16": "<f2", "f32": "<f4", "f64": "<f8", "bool": "?",
}  # fmt: skip


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype by which NumPy shows an element type of the definition."""
    return _bfloat16() if name == "bf16" else np.dtype(_DTYPES[name])


@dataclass(frozen=True)
class Field:
    """A field's place in a slot: byte offsets from the slot's start."""

    index: int
    name: str
    #: Element type, as the definition calls it, and as NumPy shows it.
    kind: str
    dtype: np.dtype[Any]
    #: Shape of one row, without the axis that varies.
    shape: Tuple[int, ...]
    #: dense, padded, ragged or text.
    form: str
    at: int
    length_at: int
    offsets_at: int
    #: chw or hwc, for pictures.
    layout: str
    #: Bytes of one row (dense), or of one element along the axis that varies.
    unit_bytes: int
    #: What becomes of it on the device, where it is finished there (docs/protocol.md).
    device: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Layout:
    """A feed's fields in a slot, and the columns with one entry a row."""

    rows: int
    status_at: int
    position_at: int
    row_at: int
    #: Where the fields begin.
    data_at: int
    fields: List[Field]

    @property
    def generated(self) -> List[str]:
        """Names of the fields that a device makes out of nothing: the slot has no bytes for them."""
        return [field.name for field in self.fields if (field.device or {}).get("kind") == "generated"]

    @staticmethod
    def read(told: Mapping[str, Any]) -> "Layout":
        """From ``opened.layout`` of the protocol."""
        fields = [
            Field(
                index=index,
                name=field["name"],
                kind=field["dtype"],
                dtype=numpy_dtype(field["dtype"]),
                shape=tuple(field["shape"]),
                form=field["form"],
                at=field["at"],
                length_at=field.get("lengthAt", -1),
                offsets_at=field.get("offsetsAt", -1),
                layout=field.get("layout") or "",
                unit_bytes=field.get("unitBytes", 0),
                device=field.get("device"),
            )
            for index, field in enumerate(told["fields"])
        ]
        return Layout(
            told["rows"], told["statusAt"], told["positionAt"], told.get("rowAt", -1), told["dataAt"], fields
        )
