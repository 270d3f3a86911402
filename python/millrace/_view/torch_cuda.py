"""Batches on a CUDA device: brought there ahead of need, on streams of their own, from page-locked slots.

    side streams  ──batch 1──●──batch 2──●──batch 3──●         ● event: it is there
                             │
    user's stream ───────────wait──step 1────────wait──step 2──

Either images come finished from the engine (``decode="cpu"``) and are copied by torch, or they come as
JPEGs and what is to be done to them, and the device stage (_gpu/) does it (``"gpu"``). The user's stream
waits for the event of the batch that it is handed, never for the host. The slot goes back when the device has
read it; memory of the device is kept from reuse until the user's stream is done with it.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, List, Optional, Sequence, Tuple

from .._stream.reading import Taken
from ..batch import Batch, Ragged
from ..views import Staged
from .meter import StreamMeter
from .on_gpu import OnGpu, decide
from .pins import Pins, driver_pins
from .staging import Staging
from .torch import TorchView

if TYPE_CHECKING:
    from .._stream.loop import Loop
    from ..feed import Feed


class CudaView(OnGpu, TorchView):
    """Tensors on a CUDA device, ``prefetch`` batches ahead of the user."""

    _meter: StreamMeter

    def __init__(
        self,
        feed: "Feed",
        names: Optional[Sequence[str]],
        device: Any,
        prefetch: int,
        decode: str = "auto",
        channels_last: bool = False,
        cuda: Any = None,
        open_stage: Optional[Callable[..., Any]] = None,
        pins: Optional[Pins] = None,
    ) -> None:
        super().__init__(feed, names)
        self.prefetch = max(0, prefetch)
        self._device = device
        self._channels_last = channels_last
        # Parameters, so that the order of things can be tested without a GPU.
        self._cuda: Any = self._torch.cuda if cuda is None else cuda
        self._side = self._cuda.Stream(device=device)
        #: Copies under way, oldest first: the event of each, and what must not change until it has come.
        self._copying: Deque[Tuple[Any, Batch]] = deque()
        self._letting_go = threading.RLock()
        index, simulated = self._index, cuda is not None and open_stage is None
        decision = decide(feed, "cpu" if simulated else decode, index)
        staging = Staging(feed, index, torch_memory(self._torch, index), channels_last, open_stage)
        self._open(staging, pins or driver_pins(index), decision, StreamMeter(self._cuda))

    @property
    def _index(self) -> int:
        if self._device.index is not None:
            return int(self._device.index)
        return int(self._torch.cuda.current_device()) if self._torch.cuda.is_available() else 0

    # ------------------------------------------------------------ who decodes

    def _ask(self, loop: "Loop") -> None:
        for step in self._meter.steps():
            self._step(loop, *step)
        self._meter.ask(self._cuda.current_stream(self._device))

    # ------------------------------------------------------------ on the way

    def _prepare(self, taken: Taken) -> Staged:
        if self.feed._stream.opened.decode == "gpu":
            return super()._prepare(taken)
        self._pins.lock(self.feed._stream.client.memory)
        cuda = self._cuda
        host = taken.batch.settled()
        with cuda.stream(self._side):
            taken.batch = host.mapped(self._upload)
            event = cuda.Event()
            event.record(self._side)
        self._copying.append((event, host))
        return Staged(taken, taken.batch, event)

    def _upload(self, name: str, array: Any) -> Any:
        tensor = self._tensor(name, array).to(self._device, non_blocking=True)
        if self._channels_last and name in self._images:
            tensor = tensor.contiguous(memory_format=self._torch.channels_last)
        return tensor

    def _deliver(self, staged: Staged) -> Batch:
        current = self._cuda.current_stream(self._device)

        def used(tensor: Any) -> Any:
            """PyTorch gives its memory to nobody before this stream is done with it."""
            tensor.record_stream(current)
            return tensor

        if staged.on_stage:
            self._staging.wait(staged.ticket).before(current.cuda_stream)
            # Before rows are dropped: that reads what the stage has made, and leaves it to PyTorch.
            batch = self._arrived(staged, used)
        else:
            current.wait_event(staged.ticket)
            batch = staged.taken.batch
            for tensor in tensors(batch):
                used(tensor)
        self._meter.there(current, staged.taken.batch.count)
        self._release()
        return batch

    def _release(self) -> None:
        # The device reads them in order.
        while self._copying:
            oldest = self._copying[0]
            if not oldest[0].query():
                break
            self._let_go(oldest)
        super()._release()

    def _wait_for_room(self) -> None:
        while not self.feed._stream.room and self._copying:
            self._wait_for_oldest()
        if not self.feed._stream.room:
            super()._wait_for_room()

    def _finish(self, staged: Deque[Staged]) -> None:
        while self._copying and not (self._staging.given_up or self.feed._stream.foreign):
            self._wait_for_oldest()
        super()._finish(staged)

    def _wait_for_oldest(self) -> None:
        """The slot goes with the last reference to it: that is here, and must outlast the wait."""
        oldest = self._copying[0]
        oldest[0].synchronize()
        self._let_go(oldest)

    def _let_go(self, copy: Tuple[Any, Batch]) -> None:
        """A copy is over. A loop that was collected meanwhile, in any thread, may have seen that before."""
        with self._letting_go:
            if self._copying and self._copying[0] is copy:
                self._copying.popleft()

    def _beside(self, numbers: Any, array: Any) -> Any:
        # Indexes are int64, whatever they are for: u8 and bf16 know no row 299. The rest is as its neighbour.
        index = numbers.dtype not in ("int32", "bool")
        return array.new_tensor(numbers.tolist(), dtype=self._torch.long if index else array.dtype)


# It may not refer to a view: what it makes outlives that.
def torch_memory(torch: Any, device: int) -> Callable[[Any], Any]:
    """Finished batches are torch's own tensors."""

    def make(tools: Any) -> Any:
        from .._cuda.memory import TorchMemory

        return TorchMemory(torch, torch.device("cuda", device))

    return make


def tensors(batch: Batch) -> List[Any]:
    """The tensors of a batch."""
    found: List[Any] = []
    for value in batch.values():
        if isinstance(value, Ragged):
            found += [value.values, value.offsets]
        elif hasattr(value, "record_stream"):
            found.append(value)
    return found
