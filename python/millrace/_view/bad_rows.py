"""Rows that turned out to be bad on the device: taken out of a finished batch, or made zero."""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np

from ..batch import Batch, Ragged, about_of

#: Numbers as an array beside another one, of its library and on its device: ``(numbers, beside)``.
Beside = Callable[["np.ndarray[Any, Any]", Any], Any]


def without_bad(batch: Batch, rows: List[int], policy: str, beside: Beside) -> Batch:
    """The batch after rows turned out to be bad on the device: as marked zeros (mask), or without them.

    Fillers become zeros, and a batch that has some keeps its size: blank fillers stand for what is dropped.
    """
    about = about_of(batch)
    if policy == "drop" and about.fillers.any():
        dropped = [row for row in rows if not about.fillers[row]]
        order = np.concatenate([np.setdiff1d(np.arange(about.count), dropped), dropped]).astype(np.int64)
        about.fillers[dropped] = True
        batch = _rows(without_bad(batch, rows, "mask", beside), order, beside)
        about.names = None
        return batch
    if policy != "drop":
        about.valid[rows] = False
        for name, value in list(batch.items()):
            if name == "valid":
                batch[name] = beside(about.valid, value)
            elif hasattr(value, "shape") and name not in about.lengths:
                batch[name] = _blanked(value, beside(np.array(rows), value))
        return batch
    about.names = None
    return _rows(batch, np.setdiff1d(np.arange(about.count), rows), beside)


def _rows(batch: Batch, keep: "np.ndarray[Any, Any]", beside: Beside) -> Batch:
    """The batch with some of its rows, in this order."""
    about = about_of(batch)
    kept = Batch(about=about)
    for name, value in batch.items():
        kept[name] = _only(value, keep, beside)
    about.positions, about.valid, about.fillers = (
        column[keep] for column in (about.positions, about.valid, about.fillers)
    )
    about.lengths = {name: lengths[keep] for name, lengths in about.lengths.items()}
    about.count = len(keep)
    return kept


def _blanked(value: Any, rows: Any) -> Any:
    """The array with zeros in some rows. JAX's can't be changed in place."""
    if hasattr(value, "at"):
        return value.at[rows].set(np.zeros((), value.dtype))
    value[rows] = 0
    return value


def _only(value: Any, keep: "np.ndarray[Any, Any]", beside: Beside) -> Any:
    """Some of a field's rows."""
    if isinstance(value, list):
        return [value[i] for i in keep]
    if not isinstance(value, Ragged):
        return value[beside(keep, value)]
    bounds = np.asarray([int(offset) for offset in value.offsets])
    parts = [np.arange(bounds[i], bounds[i + 1]) for i in keep]
    index = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
    return Ragged(value.values[beside(index, value.values)], beside(offsets, value.offsets))
