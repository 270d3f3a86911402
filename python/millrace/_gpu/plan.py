"""What a batch's parameter rows ask for, as plain numbers: sizes, places, cuts and arguments. No device here.

A row of a picture field in the slot is  [ parameter row: `words` × u32 | bytes of a JPEG, or pixels | free ].
Its words are those of _generated/parameter_words.py; only the header is read here.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._cuda.nvjpeg import Bitstreams
from .._generated.device import DEVICE_ALIGN
from .._generated.dtypes import KERNEL
from .._generated.parameter_words import Form, Word
from ..errors import EngineError

Array = Any  # np.ndarray; its full name would be longer than what it says


def aligned(size: Any) -> Any:
    """Rounded up to where the next one may begin."""
    return (size + (DEVICE_ALIGN - 1)) // DEVICE_ALIGN * DEVICE_ALIGN


class Heads(NamedTuple):
    """The headers of some rows, column by column: int64[n]."""

    form: Array
    bytes: Array
    width: Array
    height: Array
    picture: Array
    tables: Array
    #: Of a Form.JPEG: how its chroma is sampled.
    sampling: Array

    def only(self, first: int, behind: int) -> "Heads":
        """Those of some rows."""
        return Heads(*(column[first:behind] for column in self))

    @property
    def pixels(self) -> Array:
        """Bytes of each decoded picture; 0 where there is none."""
        return np.where(self.form == Form.NOTHING, 0, self.width * self.height * 3)


def read_heads(rows: Array, room: int, name: str) -> Heads:
    """Headers from the slot, uint32[n, words]. ``room``: bytes behind a parameter row."""
    columns = (
        Word.FORM, Word.BYTES, Word.STORED_WIDTH, Word.STORED_HEIGHT, Word.PICTURE_BYTES, Word.TABLE_BYTES,
        Word.SAMPLING,
    )  # fmt: skip
    heads = Heads(*rows[:, columns].T.astype(np.int64))
    wrong = ~np.isin(heads.form, (Form.NOTHING, Form.JPEG, Form.PIXELS)) | (heads.bytes > room)
    wrong |= (heads.form == Form.PIXELS) & (heads.bytes != heads.width * heads.height * 3)
    wrong |= (heads.form != Form.NOTHING) & (heads.width * heads.height == 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        told = ", ".join(f"{column} {values[row]}" for column, values in zip(Heads._fields, heads))
        raise EngineError(f"field {name!r}, row {row}: its parameters make no sense ({told}; room {room})")
    return heads


# ---------------------------------------------------------------- decoding


def cut(sizes: Array, capacity: int) -> List[Tuple[int, int]]:
    """Runs of rows (first, behind the last) whose sizes fit together. A row that never fits stands alone."""
    ends = np.cumsum(sizes)
    runs = []
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        behind = max(first + 1, int(np.searchsorted(ends, before + capacity, "right")))
        runs.append((first, behind))
        first = behind
    return runs


def places(sizes: Array) -> Array:
    """Where each begins when they lie one behind the other."""
    return np.cumsum(sizes) - sizes


def bitstreams(data: int, stride: int, rows: Array, heads: Heads, targets: Array) -> Bitstreams:
    """nvJPEG's arguments for some rows. ``data``: where row 0's bytes lie in the host's memory."""
    images = np.zeros((len(rows), 8), np.uint64)
    images[:, 0] = targets[rows]
    images[:, 4] = heads.width[rows] * 3
    sources = (data + rows * stride).astype(np.uint64)
    return Bitstreams(sources, heads.bytes[rows].astype(np.uint64), images, heads.sampling[rows])


def equal_runs(rows: Array, sizes: Array) -> List[Tuple[int, int]]:
    """Rows that follow each other and have the same size, as (first row, how many): one copy each."""
    if len(rows) == 0:
        return []
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(sizes[rows]) != 0)) + 1
    bounds = [0, *breaks.tolist(), len(rows)]
    return [(int(rows[a]), b - a) for a, b in zip(bounds, bounds[1:])]


# ---------------------------------------------------------------- the kernels


class Scratch(NamedTuple):
    """Memory of one block: two pictures, tables of weights."""

    picture: int
    tables: int

    @property
    def stretch(self) -> int:
        """Bytes of one block."""
        return 2 * self.picture + self.tables


def scratch_of(heads: Heads) -> Scratch:
    """What the largest of the rows needs."""
    return Scratch(*(int(aligned(part.max())) for part in (heads.picture, heads.tables)))


def blocks_of(count: int, cap: int, stretch: int, budget: int) -> int:
    """Blocks that make the pictures: no more than rows, than our share of the GPU, than scratch fits."""
    fitting = budget // stretch if stretch else cap
    return max(1, min(count, cap, fitting))


class Target(NamedTuple):
    """How a field's finished rows lie."""

    dtype: str
    layout: str
    width: int
    height: int

    @property
    def words(self) -> Sequence[int]:
        """The last arguments of every kernel: dtype, hwc, width, height."""
        return KERNEL[self.dtype], int(self.layout == "hwc"), self.width, self.height


def picture_arguments(
    rows: int, words: int, count: int, pictures: int, scratch: int, parts: Scratch, out: int, lookup: int,
    target: Target,
) -> Sequence[int]:  # fmt: skip
    """Arguments of ``picture``, in its order."""
    return rows, words, count, pictures, scratch, *parts, out, lookup, *target.words


def mix_arguments(rows: int, which: int, count: int, source: int, out: int, target: Target) -> Sequence[int]:
    """Arguments of ``mix``, in its order."""
    return rows, which, count, source, out, *target.words


def mix_steps(mixes: int, out: int, other: Optional[int]) -> Tuple[int, List[Tuple[int, int]]]:
    """Where ``picture`` writes, and (from, to) of each mix: the last one writes to ``out``."""
    if not mixes:
        return out, []
    if other is None:
        raise ValueError("mixing is done out of place: it needs a second array")
    ring = [out, other]
    path = [ring[(mixes - step) % 2] for step in range(mixes + 1)]
    return path[0], list(zip(path, path[1:]))
