"""A picture field of a batch: from parameter rows and JPEGs in the slot to finished rows on the device.

Each turn takes as many rows as an area holds, usually all of them:

    JPEGs ──nvJPEG──┐
    pixels ──copy───┼──► area ──┐
    refused: redone by the CPU ─┘  ├──► kernel `picture` ──► finished rows ──► kernels `mix`
    parameter rows ─────copy───────┘
"""

from __future__ import annotations

import base64
from contextlib import suppress
from math import prod
from typing import Any, List, Mapping, Optional

import numpy as np

from .._cuda.arrays import item_bytes
from .._cuda.errors import CudaError
from .._cuda.memory import Buffer
from .._generated.device import MIX_THREADS, PICTURE_THREADS
from .._generated.parameter_words import Form
from ..errors import EngineError
from . import plan
from .areas import Area
from .slot import Redo, Slot, redone, slot_of
from .tools import Tools


class PictureField:
    """One field: how its rows look, its kernels, its table of values. ``device`` is what the engine told."""

    def __init__(self, tools: Tools, name: str, device: Mapping[str, Any]) -> None:
        self._tools = tools
        self.name = name
        self.kind = str(device["dtype"])
        self.shape = tuple(device["shape"])
        self._words = int(device["words"])
        self._mixes = int(device.get("mixes", 0))
        self._target = plan.Target(self.kind, device["layout"], device["width"], device["height"])
        self._row_bytes = prod(self.shape) * item_bytes(self.kind)
        self._picture = tools.kernels.kernel("picture")
        self._mix = tools.kernels.kernel("mix") if self._mixes else None
        self._lookup = self._upload(base64.b64decode(device["lookup"]))

    @property
    def stream(self) -> int:
        """Where the finished rows are written."""
        return int(self._tools.work)

    def _upload(self, table: bytes) -> Buffer:
        expected = 3 * 256 * item_bytes(self.kind)
        if len(table) != expected:
            raise ValueError(f"field {self.name!r}: a table of {len(table)} bytes, not {expected}")
        buffer = self._tools.pool.take(len(table))
        host = np.frombuffer(table, np.uint8)
        self._tools.driver.copy_in(buffer.address, host.ctypes.data, len(table), self._tools.work)
        self._tools.driver.synchronize_stream(self._tools.work)
        return buffer

    def make(self, values: Any, out: int, redo: Optional[Redo]) -> List[Mapping[str, Any]]:
        """Puts everything on the streams; the rows that stay bad. ``values``: uint8[count, row bytes]."""
        count = len(values)
        if not count:
            return []
        slot = slot_of(values, self._words)
        heads = plan.read_heads(slot.rows, slot.room, self.name)
        other = self._tools.between(count * self._row_bytes) if self._mixes else None
        into, mixes = plan.mix_steps(self._mixes, out, other)
        bad: List[Mapping[str, Any]] = []
        for first, behind in plan.cut(plan.aligned(heads.pixels), self._tools.capacity):
            some = Turn(self._tools, slot.only(first, behind), heads.only(first, behind), first, self.name)
            try:
                bad += some.decode(redo)
                self._launch(some, into + first * self._row_bytes)
                if behind == count:
                    # Mixes are the same in all rows.
                    for which, (source, target) in enumerate(mixes):
                        self._launch_mix(some.area, which, count, source, target)
            except BaseException:
                # What is on the streams already uses the area; where the GPU is lost, nothing does.
                with suppress(CudaError):
                    self._tools.fed()
                    some.leave()
                raise
            some.leave()
        return bad

    def _launch(self, some: "Turn", out: int) -> None:
        tools, parts = self._tools, some.scratch
        blocks = plan.blocks_of(some.count, tools.blocks, parts.stretch, tools.scratch_budget)
        scratch = tools.scratch(blocks * parts.stretch)
        tools.fed()
        arguments = plan.picture_arguments(
            some.area.rows.address, self._words, some.count, some.area.pointers.address, scratch, parts,
            out, self._lookup.address, self._target,
        )  # fmt: skip
        self._picture.launch(blocks, PICTURE_THREADS, arguments, tools.work)

    def _launch_mix(self, area: Area, which: int, count: int, source: int, target: int) -> None:
        assert self._mix is not None
        arguments = plan.mix_arguments(area.rows.address, which, count, source, target, self._target)
        self._mix.launch(self._tools.blocks, MIX_THREADS, arguments, self._tools.work)


class Turn:
    """Some rows of a batch, from row ``first`` on, in one area."""

    def __init__(self, tools: Tools, slot: Slot, heads: plan.Heads, first: int, name: str) -> None:
        self._tools = tools
        self._slot = slot
        self._heads = heads
        self._first = first
        self._name = name
        self.count = len(slot.rows)
        self.area = tools.next_area()
        sizes = plan.aligned(heads.pixels)
        base = self.area.pixels.reserve(int(sizes.sum()))
        self._targets = np.where(sizes > 0, base + plan.places(sizes), 0)
        #: Rows that the CPU decoded after all lie outside of the area.
        self._extra: Optional[Buffer] = None

    @property
    def scratch(self) -> plan.Scratch:
        """Memory that a block needs for these rows."""
        return plan.scratch_of(self._heads)

    def decode(self, redo: Optional[Redo]) -> List[Mapping[str, Any]]:
        """Brings pixels, addresses and parameter rows to the device; the rows that stay bad."""
        form = self._heads.form
        self._copy_pixels(np.flatnonzero(form == Form.PIXELS))
        jpegs = np.flatnonzero(form == Form.JPEG)
        bad: List[Mapping[str, Any]] = []
        if len(jpegs):
            some = plan.bitstreams(self._slot.data, self._slot.stride, jpegs, self._heads, self._targets)
            refused = self._tools.jpegs.decode(some, self._tools.feed)
            if refused:
                bad = self._redo({int(jpegs[row]): reason for row, reason in refused}, redo)
        self._copy_rows()
        return bad

    def _copy_pixels(self, rows: Any) -> None:
        driver, slot = self._tools.driver, self._slot
        for first, count in plan.equal_runs(rows, self._heads.pixels):
            size = int(self._heads.pixels[first])
            driver.copy_rows_in(
                int(self._targets[first]), plan.aligned(size), slot.data + first * slot.stride, slot.stride,
                size, count, self._tools.feed,
            )  # fmt: skip

    def _copy_rows(self) -> None:
        """The parameter rows, one behind the other, and the addresses of the pictures."""
        driver, area, feed = self._tools.driver, self.area, self._tools.feed
        width = self._slot.row_bytes
        rows = area.rows.reserve(width * self.count)
        driver.copy_rows_in(rows, width, self._slot.address, self._slot.stride, width, self.count, feed)
        pointers = area.pointers.reserve(8 * self.count)
        driver.copy_in(pointers, area.numbers.put(self._targets), 8 * self.count, feed)

    def _redo(self, reasons: Mapping[int, str], redo: Optional[Redo]) -> List[Mapping[str, Any]]:
        """Rows that nvJPEG refused are decoded by the CPU, in place; what it can't decode, either, is bad."""
        rows = sorted(reasons)
        good, bad = redone(redo, self._name, {self._first + row: reasons[row] for row in rows})
        good -= self._first
        self._heads = plan.read_heads(self._slot.rows, self._slot.room, self._name)
        if (self._heads.form[good] != Form.PIXELS).any():
            raise EngineError(f"field {self._name!r}: rows were not redone as asked")
        # A row without a picture becomes zeros.
        self._targets[rows] = 0
        if len(good):
            sizes = plan.aligned(self._heads.pixels[good])
            self._extra = self._tools.pool.take(int(sizes.sum()))
            self._targets[good] = self._extra.address + plan.places(sizes)
            self._copy_pixels(good)
        return bad

    def leave(self) -> None:
        """The kernels are on the stream: after them, the memory of this turn is free."""
        event = self._tools.worked()
        self.area.leave(event)
        if self._extra is not None:
            self._extra.finished = event
