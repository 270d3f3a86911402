"""A feed's fields in a slot of the shared memory, as the engine lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Tuple

import numpy as np

from .._generated.dtypes import NUMPY


def _bfloat16() -> Any:
    """NumPy has no bfloat16 of its own: the one of ml_dtypes (it comes with JAX), else the bare 16 bits."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(NUMPY["bf16"])
    return np.dtype(ml_dtypes.bfloat16)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype by which NumPy shows an element type of the definition."""
    return _bfloat16() if name == "bf16" else np.dtype(NUMPY[name])


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
    #: Whether all rows are one array: borders of segments in the whole batch.
    flat: bool = False
    #: What becomes of it on the device, where it is finished there (docs/protocol.md).
    device: Optional[Mapping[str, Any]] = None

    def described(self, rows: int) -> str:
        """Name, type and shape in a batch of so many rows: ``image f32[256, 3, 224, 224] dense``."""
        if self.flat:
            return f"{self.name} {self.kind}[{rows * self.shape[0]}] flat"
        axes = [rows, *(["…"] if self.form != "dense" else []), *self.shape]
        return f"{self.name} {self.kind}[{', '.join(map(str, axes))}] {self.form}"


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
                flat=field.get("flat") is not None,
                device=field.get("device"),
            )
            for index, field in enumerate(told["fields"])
        ]
        return Layout(
            told["rows"], told["statusAt"], told["positionAt"], told.get("rowAt", -1), told["dataAt"], fields
        )
