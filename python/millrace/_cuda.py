"""Batches on a CUDA device: copied on a stream of their own, ahead of need, straight from page-locked slots.

    side stream   ──copy 1──●──copy 2──●──copy 3──●           ● event of a copy
                            │
    user's stream ──────────wait──step 1────────wait──step 2──

The user's stream waits for the event of the batch that it is handed, never for the host. The slot goes back
when the event of its copy has come; memory of the device is kept from reuse until the user's stream is done
with it.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, List, Optional, Sequence, Tuple

from ._memory import Memory
from ._reading import Taken
from ._torch import TorchView
from .batch import Batch, Ragged
from .views import Staged

if TYPE_CHECKING:
    from .feed import Feed

log = logging.getLogger("millrace")


class CudaView(TorchView):
    """Tensors on a CUDA device, ``prefetch`` batches ahead of the user."""

    def __init__(
        self, feed: "Feed", names: Optional[Sequence[str]], device: Any, prefetch: int, cuda: Any = None
    ) -> None:
        super().__init__(feed, names)
        self.prefetch = max(0, prefetch)
        self._device = device
        # A parameter, so that the order of things can be tested without a GPU.
        self._cuda: Any = self._torch.cuda if cuda is None else cuda
        self._side = self._cuda.Stream(device=device)
        self._pins = Pins(self._cuda)
        #: Copies under way, oldest first: the event of each, and what must not change until it has come.
        self._copying: Deque[Tuple[Any, Batch]] = deque()

    def _prepare(self, taken: Taken) -> Staged:
        cuda = self._cuda
        self._pins.lock(self.feed._stream.client.memory)
        host = taken.batch.settled()
        with cuda.stream(self._side):
            taken.batch = host.mapped(self._upload)
            event = cuda.Event()
            event.record(self._side)
        self._copying.append((event, host))
        return Staged(taken, taken.batch, event)

    def _upload(self, name: str, array: Any) -> Any:
        return self._tensor(name, array).to(self._device, non_blocking=True)

    def _deliver(self, staged: Staged) -> Batch:
        current = self._cuda.current_stream(self._device)
        current.wait_event(staged.ticket)
        for tensor in tensors(staged.fields):
            tensor.record_stream(current)
        self._release()
        return staged.fields

    def _release(self) -> None:
        """Lets go of the slots whose copies are done; they are done in order."""
        while self._copying and self._copying[0][0].query():
            self._copying.popleft()

    def _make_room(self, staged: Deque[Staged]) -> bool:
        self._release()
        stream = self.feed._stream
        if not staged:
            # A batch is needed now: a copy under way is soon done, and gives its slot back.
            while not stream.room and self._copying:
                self._copying.popleft()[0].synchronize()
            return True
        return bool(stream.room)

    def _finish(self, staged: Deque[Staged]) -> None:
        while self._copying:
            self._copying.popleft()[0].synchronize()
        staged.clear()


def tensors(batch: Batch) -> List[Any]:
    """The tensors of a batch."""
    found: List[Any] = []
    for value in batch.values():
        if isinstance(value, Ragged):
            found += [value.values, value.offsets]
        elif hasattr(value, "record_stream"):
            found.append(value)
    return found


class Pins:
    """Page-locks slots, once each: copies from them run beside everything else, at the speed of the bus."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._memory: Optional["weakref.ref[Memory]"] = None
        self._locked: List[int] = []
        self._refused = False

    def lock(self, memory: Memory) -> None:
        """Locks the slots in use. Those beyond the depth have no memory yet."""
        if self._memory is None or self._memory() is not memory:
            self._memory, self._locked = weakref.ref(memory), []
            # Before the mapping goes, with its last batch.
            weakref.finalize(memory, _unlock, self._cuda, self._locked)
        while len(self._locked) < memory.used and not self._refused:
            address = memory.address(len(self._locked))
            error = self._cuda.cudart().cudaHostRegister(address, memory.slot_bytes, 0)
            if int(error) == 0:
                self._locked.append(address)
                continue
            self._refused = True
            log.warning(
                "slots can't be page-locked (CUDA error %d): copies to the GPU are slower", int(error)
            )


def _unlock(cuda: Any, addresses: List[int]) -> None:
    for address in addresses:
        cuda.cudart().cudaHostUnregister(address)
