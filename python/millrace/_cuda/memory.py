"""Memory of the device for what a batch becomes: from a pool of our own, or from PyTorch's.

    taken ──► filled by the stage, used by the trainer ──► dropped (nothing refers to it)
      ▲                                                        │ an event on each stream that used it
      └───────────── spare ◄─────── the events have come ◄── cooling

Threads. A pool belongs to the stage's thread. A buffer may die in any thread, in the middle of a garbage
collection: its destructor only puts what is left of it into a queue. The stage's thread takes it from there
when it needs the next buffer, and records the events then: they stand for at least the work that was queued
when the buffer died. There is no lock.
"""

from __future__ import annotations

from math import prod
from queue import SimpleQueue
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Set, Tuple

from ..errors import MissingError
from .arrays import DeviceArray, item_bytes
from .errors import CudaError
from .events import Event, Events

#: Sizes are rounded up to an eighth of a power of two, at least this many bytes: lengths that differ from
#: batch to batch share their buffers, and at most an eighth is lost.
SMALLEST = 4096


def rounded(size: int) -> int:
    """Bytes of the buffer in which so many are kept."""
    if size <= SMALLEST:
        return SMALLEST
    step = 1 << max(0, (size - 1).bit_length() - 4)
    return (size + step - 1) // step * step


class Memory(Protocol):
    """Where the results come from."""

    def array(self, shape: Sequence[int], kind: str, stream: int) -> Tuple[int, Any]:
        """Address and value of an array that is first written on this stream."""

    def finish(self, values: Sequence[Any], event: Event) -> None:
        """The event after which the values are what they should be."""

    def close(self) -> None:
        """Nothing will be asked for any more."""


class Spent(NamedTuple):
    """What is left of a buffer that was dropped."""

    address: int
    size: int
    finished: Optional[Event]
    streams: Set[int]


class Buffer:
    """A stretch of the device's memory. It goes back to the pool when nothing refers to it."""

    __slots__ = ("__weakref__", "_dropped", "address", "finished", "size", "streams")

    def __init__(self, address: int, size: int, dropped: "SimpleQueue[Spent]") -> None:
        self.address = address
        self.size = size
        #: After it, the stage itself is done with it.
        self.finished: Optional[Event] = None
        #: Streams of the consumer on which it may be used.
        self.streams: Set[int] = set()
        self._dropped = dropped

    def __del__(self) -> None:
        self._dropped.put(Spent(self.address, self.size, self.finished, self.streams))


class Passed(Protocol):
    """A moment in the consumer's work: an Event, or what a library has in its place."""

    def query(self) -> bool:
        """Whether it has come."""

    def synchronize(self) -> None:
        """Waits for it, on the host."""


class Pool:
    """Buffers by size. ``take`` and ``close`` belong to one thread."""

    def __init__(self, driver: Any, events: Events) -> None:
        self._driver = driver
        self._events = events
        #: Of consumers that do not name the streams on which they compute: the moment when all that they were
        #: given so far is done.
        self.fence: Optional[Callable[[], Passed]] = None
        self._dropped: "SimpleQueue[Spent]" = SimpleQueue()
        self._uncooled: List[Spent] = []
        self._cooling: List[Tuple[List[Passed], Spent]] = []
        self._spare: Dict[int, List[int]] = {}
        #: Buffers that are lent, and bytes taken from the device, in use or not.
        self._lent = 0
        self.held = 0

    def take(self, size: int) -> Buffer:
        """A buffer of at least so many bytes, that no work on the device touches any more."""
        size = rounded(size)
        self.collect()
        spare = self._spare.get(size)
        address = spare.pop() if spare else self._alloc(size)
        self._lent += 1
        return Buffer(address, size, self._dropped)

    def _alloc(self, size: int) -> int:
        try:
            address = int(self._driver.alloc(size))
        except CudaError:
            self.trim()  # other sizes may lie idle
            address = int(self._driver.alloc(size))
        self.held += size
        return address

    def collect(self) -> None:
        """Sees what was dropped, and what of it may be used again."""
        self._uncooled += self._drain()
        still: List[Spent] = []
        fences: List[Passed] = []
        if self.fence is not None and any(spent.streams for spent in self._uncooled):
            fences.append(self.fence())
        for spent in self._uncooled:
            if any(self._driver.capturing(stream) for stream in spent.streams):
                still.append(spent)  # an event recorded now would become a part of the graph that is captured
                continue
            passed: List[Passed] = [self._events.take().record(stream) for stream in sorted(spent.streams)]
            self._cooling.append((passed + fences if spent.streams else passed, spent))
        self._uncooled = still
        warm = []
        for passed, spent in self._cooling:
            waited = passed if spent.finished is None else [*passed, spent.finished]
            if all(event.query() for event in waited):
                self._spare.setdefault(spent.size, []).append(spent.address)
            else:
                warm.append((passed, spent))
        self._cooling = warm

    @property
    def idle(self) -> int:
        """Buffers that may be used again."""
        return sum(map(len, self._spare.values()))

    def trim(self) -> None:
        """Gives back to the device what lies idle."""
        for size, addresses in self._spare.items():
            for address in addresses:
                self._driver.free(address)
                self.held -= size
        self._spare.clear()

    def close(self) -> None:
        """Frees everything that is not lent; waits for the device to be done with it."""
        self.collect()
        for passed, spent in self._cooling:
            for event in passed if spent.finished is None else [*passed, spent.finished]:
                event.synchronize()
        self.collect()
        self.trim()

    def linger(self) -> None:
        """After the end: frees the buffers that are still used, one by one, as they are dropped."""
        while self._lent:
            self._uncooled.append(self._dropped.get())
            self._lent -= 1
            self.close()

    def _drain(self) -> List[Spent]:
        found = []
        while not self._dropped.empty():
            found.append(self._dropped.get())
        self._lent -= len(found)
        return found


class PoolMemory:
    """Results in buffers of our own, as arrays that every library can take over (DLPack)."""

    def __init__(self, driver: Any, pool: Pool) -> None:
        self._driver = driver
        self._pool = pool

    def array(self, shape: Sequence[int], kind: str, stream: int) -> Tuple[int, Any]:
        """A contiguous array in a buffer of the pool."""
        buffer = self._pool.take(prod(shape) * item_bytes(kind))
        return buffer.address, DeviceArray(self._driver, buffer, buffer.address, tuple(shape), kind)

    def finish(self, values: Sequence[Any], event: Event) -> None:
        """Consumers wait for the event, and so does the reuse of the buffer."""
        for value in values:
            value.ready = value.owner.finished = event

    def close(self) -> None:
        """Nothing to do: the tools that made the pool close it."""


class TorchMemory:
    """Results as PyTorch's own tensors: in its statistics, under its limits, ``record_stream`` respected."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = torch.device(device)
        self._streams: Dict[int, Any] = {}
        self._dtypes = {
            "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
            "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
            "bool": torch.bool, "u16": getattr(torch, "uint16", None), "u32": getattr(torch, "uint32", None),
        }  # fmt: skip

    def array(self, shape: Sequence[int], kind: str, stream: int) -> Tuple[int, Any]:
        """A tensor that PyTorch allocates for our stream: it comes back to that stream, in its order."""
        torch, dtype = self._torch, self._dtypes[kind]
        if dtype is None:
            raise MissingError(f"PyTorch {torch.__version__} has no type for {kind}: version 2.3 has it")
        if stream not in self._streams:
            self._streams[stream] = torch.cuda.ExternalStream(stream, device=self._device)
        with torch.cuda.stream(self._streams[stream]):
            tensor = torch.empty(tuple(shape), dtype=dtype, device=self._device)
        return tensor.data_ptr(), tensor

    def finish(self, values: Sequence[Any], event: Event) -> None:
        """The view makes its stream wait, and tells PyTorch by ``record_stream``."""

    def close(self) -> None:
        """PyTorch keeps its memory."""
        self._streams.clear()
