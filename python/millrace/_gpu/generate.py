"""Batches that are made on the device, out of nothing but epoch, positions and rows.

    positions, rows ──copy──► kernel of the user's, or `synthetic` ──► finished rows

``opened.generator`` says what makes them: a kernel as text, or the pool of a synthetic source.
"""

from __future__ import annotations

from ctypes import Structure, c_int, c_uint64
from dataclasses import dataclass
from math import prod
from os.path import basename
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._cuda.arrays import item_bytes
from .._cuda.errors import CudaError
from .._cuda.events import Event
from .._cuda.memory import Buffer
from .._generated.device import (
    COPY_BLOCKS,
    GENERATE_HEADER,
    GENERATE_ROWS,
    GENERATE_THREADS,
    SYNTHETIC_THREADS,
)
from .._generated.dtypes import KERNEL
from ..errors import DefinitionError, EngineError
from .areas import Numbers, Stretch
from .keyed import Random
from .plan import aligned
from .tools import Tools

#: Batches whose numbers may be on their way at once.
TURNS = 4


class Batch(Structure):
    """``millrace::Batch`` of millrace.cuh, the first argument of a user's kernel, by value."""

    _fields_ = [
        ("seed", c_uint64),
        ("epoch", c_uint64),
        ("positions", c_uint64),
        ("rows", c_uint64),
        ("count", c_int),
    ]


@dataclass(frozen=True)
class Made:
    """The batch that is to be made: of each row its position in the epoch, and its number in the source."""

    epoch: int
    positions: Any
    rows: Any

    @property
    def count(self) -> int:
        """Rows."""
        return len(self.rows)


class Output(NamedTuple):
    """A field that comes out: its name in the feed, its element type, and the shape of one row."""

    name: str
    kind: str
    shape: Tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return prod(self.shape) * item_bytes(self.kind)


def output_of(told: Mapping[str, Any]) -> Output:
    """From what the engine told of a field; it has no name where the feed leaves it out."""
    return Output(told["field"] or "", told["dtype"], tuple(told["shape"]))


class Turns:
    """Small arrays on their way to the device, for several batches in turn."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._turns = [(Stretch(tools.driver), Numbers(tools.driver)) for _ in range(TURNS)]
        self._left: List[Optional[Event]] = [None] * TURNS
        self._turn = 0

    def put(self, numbers: "np.ndarray[Any, Any]") -> int:
        """Where uint64 numbers will lie on the device, from here on in the order of the work stream."""
        self._turn = (self._turn + 1) % TURNS
        event = self._left[self._turn]
        if event is not None:
            event.synchronize()
        stretch, host = self._turns[self._turn]
        address = stretch.reserve(numbers.nbytes)
        self._tools.driver.copy_in(address, host.put(numbers), numbers.nbytes, self._tools.work)
        return address

    def leave(self) -> None:
        """The kernels that read the latest ones are on the stream."""
        self._left[self._turn] = self._tools.worked()

    def close(self) -> None:
        """Gives the memory back, once the device is done with it."""
        self._tools.driver.synchronize_stream(self._tools.work)
        for stretch, host in self._turns:
            stretch.close()
            host.close()


class KernelGenerator:
    """A CUDA kernel of the user's."""

    def __init__(self, tools: Tools, told: Mapping[str, Any]) -> None:
        self._tools = tools
        self._told = told
        #: One for each argument after the batch; without a name: left out of the feed, made and thrown away.
        self._arguments = [output_of(field) for field in told["fields"]]
        self.outputs = [argument for argument in self._arguments if argument.name]
        self._numbers = Turns(tools)
        self._function = self._compile()

    def _compile(self) -> int:
        told, kernels = self._told, self._tools.kernels
        name = basename(told["file"])
        try:
            module = kernels.load(
                name, told["source"], {**told["headers"], GENERATE_HEADER: kernels.headers[GENERATE_HEADER]}
            )
        except CudaError as error:
            if not error.name.startswith("NVRTC"):
                raise
            raise DefinitionError(f"{told['file']}: {error}") from error
        try:
            return int(self._tools.driver.function(module, told["entry"]))
        except CudaError as error:
            raise DefinitionError(
                f"{told['file']} has no kernel {told['entry']!r} ({error.name}): declare it "
                f'extern "C" __global__ void {told["entry"]}(millrace::Batch batch, …)'
            ) from error

    def make(self, batch: Made, addresses: Mapping[str, int]) -> None:
        """Puts a batch on the work stream. ``addresses``: where the rows of each output go."""
        if not batch.count:
            return
        numbers = self._numbers.put(np.concatenate([batch.positions, batch.rows]).astype(np.uint64))
        for rows, arguments in self.launches(batch, addresses, numbers):
            blocks = (-(-int(self._told["threads"]) // GENERATE_THREADS), rows)
            self._tools.driver.launch(self._function, blocks, GENERATE_THREADS, arguments, self._tools.work)
        self._numbers.leave()

    def launches(
        self, batch: Made, addresses: Mapping[str, int], numbers: int
    ) -> List[Tuple[int, Sequence[Any]]]:
        """Rows and arguments of each launch. ``numbers``: where positions and rows lie on the device."""
        count = batch.count
        firsts = self._places(count, addresses)
        out: List[Tuple[int, Sequence[Any]]] = []
        for first in range(0, count, GENERATE_ROWS):
            rows = min(GENERATE_ROWS, count - first)
            positions = numbers + 8 * first
            head = Batch(self._told["seed"], batch.epoch, positions, positions + 8 * count, rows)
            fields = [
                c_uint64(place + first * argument.row_bytes)
                for place, argument in zip(firsts, self._arguments)
            ]
            out.append((rows, [head, *fields]))
        return out

    def _places(self, count: int, addresses: Mapping[str, int]) -> List[int]:
        """Where each argument's rows go: what is left out of the feed goes into memory that is not read."""
        sizes = [0 if argument.name else aligned(count * argument.row_bytes) for argument in self._arguments]
        spare = self._tools.between(sum(sizes)) if sum(sizes) else 0
        places = []
        for argument, size in zip(self._arguments, sizes):
            places.append(addresses[argument.name] if argument.name else spare)
            spare += size
        return places

    def close(self) -> None:
        """Gives its memory back."""
        self._numbers.close()


class SyntheticGenerator:
    """Rows of a synthetic source: stretches of a pool of random elements, the same as the CPU makes."""

    def __init__(self, tools: Tools, told: Mapping[str, Any]) -> None:
        self._tools = tools
        self._seed, self._places = int(told["seed"]), int(told["places"])
        self._kind, self._elements = str(told["dtype"]), int(told["elements"])
        self.outputs = [output_of(field) for field in told["fields"]]
        self._numbers = Turns(tools)
        self._kernel = tools.kernels.kernel("synthetic")
        self._pool: Optional[Buffer] = self._upload(told["pool"])

    def _upload(self, pool: Mapping[str, Any]) -> Buffer:
        host = np.fromfile(pool["path"], np.uint8)
        if len(host) != pool["bytes"]:
            raise EngineError(f"the pool of random elements has {len(host)} bytes, not {pool['bytes']}")
        buffer = self._tools.pool.take(len(host))
        self._tools.driver.copy_in(buffer.address, host.ctypes.data, len(host), self._tools.work)
        self._tools.driver.synchronize_stream(self._tools.work)
        return buffer

    def numbers(self, rows: Any) -> "np.ndarray[Any, Any]":
        """Of each row its first element (int64), then where it begins in the pool (uint32)."""
        rows = np.asarray(rows).astype(np.int64)
        count = len(rows)
        out = np.zeros(count + (count + 1) // 2, np.uint64)
        out[:count] = rows & 1 if self._kind == "bool" else rows
        out[count:].view(np.uint32)[:count] = Random(self._seed, 0, rows, 1).int(self._places)
        return out

    def make(self, batch: Made, addresses: Mapping[str, int]) -> None:
        """Puts a batch on the work stream. ``addresses``: where the rows of each output go."""
        if not batch.count:
            return
        assert self._pool is not None, "it is closed"
        firsts = self._numbers.put(self.numbers(batch.rows))
        dtype = KERNEL["u8" if self._kind == "bool" else self._kind]
        for output in self.outputs:
            arguments = (
                self._pool.address, firsts + 8 * batch.count, firsts, batch.count, self._elements, dtype,
                addresses[output.name],
            )  # fmt: skip
            self._kernel.launch(
                COPY_BLOCKS * self._tools.blocks, SYNTHETIC_THREADS, arguments, self._tools.work
            )
        self._numbers.leave()

    def close(self) -> None:
        """Gives its memory back."""
        self._numbers.close()
        self._pool = None


KINDS: Dict[str, Any] = {"kernel": KernelGenerator, "synthetic": SyntheticGenerator}


def generator_of(tools: Tools, told: Mapping[str, Any]) -> Any:
    """What makes batches, from what the engine told of it; in the stage's thread."""
    if told["kind"] not in KINDS:
        raise EngineError(
            f"there is no generator {told['kind']!r} here: install the same Millrace on both sides"
        )
    return KINDS[told["kind"]](tools, told)
