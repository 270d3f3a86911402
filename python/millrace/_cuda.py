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

from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, List, Optional, Sequence, Tuple

from ._decide import Decision
from ._meter import Meter
from ._pins import Pins
from ._reading import Taken
from ._staging import Staging, impossible, without_bad
from ._stats import say
from ._torch import TorchView
from .batch import Batch, Ragged
from .errors import MissingError
from .views import Staged

if TYPE_CHECKING:
    from ._loop import Loop
    from .feed import Feed


class CudaView(TorchView):
    """Tensors on a CUDA device, ``prefetch`` batches ahead of the user."""

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
    ) -> None:
        super().__init__(feed, names)
        self.prefetch = max(0, prefetch)
        self._device = device
        self._channels_last = channels_last
        # Parameters, so that the order of things can be tested without a GPU.
        self._cuda: Any = self._torch.cuda if cuda is None else cuda
        self._side = self._cuda.Stream(device=device)
        self._pins = pins_of(self._cuda)
        #: Copies under way, oldest first: the event of each, and what must not change until it has come.
        self._copying: Deque[Tuple[Any, Batch]] = deque()
        self._meter = Meter(self._cuda)
        memory = torch_memory(self._torch, self._index)
        self._staging = Staging(feed, self._index, memory, channels_last, open_stage)
        self._decision = self._decide(decode, simulated=cuda is not None and open_stage is None)
        if self._decision.open:
            self._staging.compile_ahead()
        feed._stats.device = self._report

    @property
    def _index(self) -> int:
        if self._device.index is not None:
            return int(self._device.index)
        return int(self._torch.cuda.current_device()) if self._torch.cuda.is_available() else 0

    # ------------------------------------------------------------ who decodes

    def _decide(self, asked: str, simulated: bool) -> Decision:
        opened = self.feed._stream.opened
        if opened.generator is not None:
            return Decision("gpu")
        reason = None
        if asked != "cpu" and not simulated:
            reason = impossible(self.feed, self._index)
            if asked == "gpu" and reason is not None:
                raise MissingError(f'decode="gpu": {reason}')
            if opened.generates and reason is None:
                asked = "gpu"  # it costs next to nothing there
        return Decision("cpu" if simulated else asked, reason)

    def _enter(self) -> None:
        self._meter.restart()
        self.feed._stream.decode_on(self._decision.where, None, self._decision.cpu_share)
        self._tell()

    def _ask(self, loop: "Loop") -> None:
        if self._decision.open:
            for step in self._meter.steps():
                if self._decision.step(*step):
                    self._decided(loop)
        else:
            deque(self._meter.steps(), maxlen=0)  # for the sums
        self._meter.ask(self._cuda.current_stream(self._device))

    def _decided(self, loop: "Loop") -> None:
        """Somebody else decodes from the next batch on; or it is known who does."""
        stream = self.feed._stream
        left = loop.left if loop.limited else None
        stream.decode_on(self._decision.where, left, self._decision.cpu_share)
        self._tell()

    def _tell(self) -> None:
        news = self._decision.news
        if news is not None:
            say(f"{self.feed.name}: {news}")

    def _report(self) -> dict[str, Any]:
        decision, meter = self._decision, self._meter
        return {
            "decode": decision.who,
            "cpuShare": decision.cpu_share,
            "deciding": decision.open,
            "why": decision.why,
            "waitMs": meter.waited * 1000,
            "ms": meter.seconds * 1000,
        }

    # ------------------------------------------------------------ on the way

    def _prepare(self, taken: Taken) -> Staged:
        self._pins.lock(self.feed._stream.client.memory)
        if self.feed._stream.opened.decode == "gpu":
            ticket = self._staging.submit(taken)
            return Staged(taken, taken.batch, ticket, on_stage=True)
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
        if staged.on_stage:
            batch = self._arrived(staged, current)
        else:
            current.wait_event(staged.ticket)
            batch = staged.taken.batch
        self._meter.there(current, staged.taken.batch.count)
        for tensor in tensors(batch):
            tensor.record_stream(current)
        self._release()
        return batch

    def _arrived(self, staged: Staged, current: Any) -> Batch:
        """What the stage has made of it. Rows that turned out to be bad are dealt with here, in order."""
        ticket = staged.ticket.wait()
        ticket.before(current.cuda_stream)
        batch = staged.taken.batch
        self._staging.fill(batch, ticket, lambda tensor: tensor)
        stream = self.feed._stream
        bad = [one for found in ticket.bad.values() for one in found]
        for one in bad:
            stream._judge(one, stream.opened)
        if bad:
            rows = sorted({int(one["row"]) for one in bad})
            batch = staged.taken.batch = without_bad(batch, rows, stream.opened.policy, _beside)
        return batch

    def _release(self) -> None:
        """Lets go of the slots that the device has read; it reads them in order."""
        while self._copying and self._copying[0][0].query():
            self._copying.popleft()
        self._staging.room(wait=False)

    def _make_room(self, staged: Deque[Staged]) -> bool:
        self._release()
        stream = self.feed._stream
        if not staged:
            # A batch is needed now: one on its way is soon there, and gives its slot back.
            while not stream.room and self._copying:
                self._copying.popleft()[0].synchronize()
            if not stream.room:
                self._staging.room(wait=True)
            return True
        return bool(stream.room)

    def _finish(self, staged: Deque[Staged]) -> None:
        while self._copying:
            self._copying.popleft()[0].synchronize()
        self._staging.drain(one.ticket for one in staged if one.on_stage)
        staged.clear()


# Neither of these may refer to a view: what they make outlives it.


def pins_of(cuda: Any) -> Pins:
    """Page-locking by torch's CUDA runtime."""

    def lock(address: int, size: int) -> Optional[str]:
        error = int(cuda.cudart().cudaHostRegister(address, size, 0))
        return None if error == 0 else f"CUDA error {error}"

    return Pins(lock, lambda address: cuda.cudart().cudaHostUnregister(address))


def torch_memory(torch: Any, device: int) -> Callable[[Any], Any]:
    """Finished batches are torch's own tensors."""

    def make(tools: Any) -> Any:
        from ._gpu.memory import TorchMemory

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


def _beside(numbers: Any, tensor: Any) -> Any:
    """Indexes are int64; everything else is as its neighbour."""
    made = tensor.new_tensor(numbers.tolist())
    return made if numbers.dtype in ("int32", "bool") else made.long()
