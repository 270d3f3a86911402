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

from functools import partial
from typing import Any, Callable, Deque, List, Optional

from .._cuda.reads import Reads
from .._stream.loop import Loop
from .._stream.reading import Taken
from .._stream.run import Run
from ..batch import Batch, Ragged
from .carrier import Carrier, Staged
from .meter import StreamMeter, StreamStep
from .on_gpu import OnGpu, decide
from .pins import Pins, driver_pins
from .staging import Staging
from .torch import Tensors, load_torch


class TorchCuda(Carrier):
    """Tensors on a CUDA device, ``prefetch`` batches ahead of the user.

    The last parameters are for tests of the order of things, without a GPU: ``cuda`` stands for torch.cuda,
    ``upload`` copies an array to the device.
    """

    to_device = by_events = True

    def __init__(
        self,
        run: Run,
        device: Any,
        prefetch: int,
        decode: str = "auto",
        channels_last: bool = False,
        cuda: Any = None,
        upload: Optional[Callable[[str, Any], Any]] = None,
        open_stage: Optional[Callable[..., Any]] = None,
        pins: Optional[Pins] = None,
    ) -> None:
        super().__init__(run)
        self.prefetch = max(0, prefetch)
        self._torch = torch = load_torch()
        self._device = device
        self._cuda: Any = torch.cuda if cuda is None else cuda
        #: The stream on which torch copies batches.
        self.side = self._cuda.Stream(device=device)
        #: Batches in slots that torch still copies from.
        self.copies = Reads()
        self._upload = upload or partial(Tensors(torch, run, channels_last).soon_on, device)
        index, simulated = _index(torch, device), cuda is not None and open_stage is None
        decision = decide(run, "cpu" if simulated else decode, index)
        staging = Staging(run, index, torch_memory(torch, index), channels_last, open_stage)
        #: Measures how long the user's stream waits for data.
        self.meter = StreamMeter(self._cuda, self._cuda.Stream(device=device))
        pins = pins or driver_pins(index)
        self._gpu = OnGpu(run, staging, pins, decision, self.meter, partial(beside, torch))

    # ------------------------------------------------------------ who decodes

    def enter(self) -> None:
        for step in self.meter.steps():  # the last ones of the loop before
            self._tell(step)
        self._gpu.enter()

    def asked(self, loop: Loop) -> None:
        for step in self.meter.steps():
            self._tell(step)
        self._gpu.step(loop)
        self.meter.ask(self._cuda.current_stream(self._device))

    def _tell(self, step: StreamStep) -> None:
        """Writes down what the user's stream did."""
        if step.asked is not None:
            there, end = step.asked + step.waited, step.asked + step.waited + step.worked
            self.run.consumer.measured(step.about, step.asked, there, end, step.asked + step.seconds)

    def record_end(self) -> None:
        self.meter.end(self._cuda.current_stream(self._device))

    # ------------------------------------------------------------ on the way

    def load(self, taken: Taken) -> Staged:
        if self.run.stream.opened.decode == "gpu":
            return self._gpu.load(taken)
        self._gpu.pin()
        host = taken.batch.settled()
        with self._cuda.stream(self.side):
            taken.batch = host.mapped(self._upload)
            event = self._cuda.Event()
            event.record(self.side)
        self.copies.add(event, host)
        return Staged(taken, taken.batch, event)

    def arrives(self, loop: Loop, staged: Deque[Staged]) -> bool:
        return self._gpu.arrives(loop, staged)

    def unload(self, staged: Staged) -> Batch:
        current = self._cuda.current_stream(self._device)

        def used(tensor: Any) -> Any:
            """PyTorch does not use its memory again before this stream is done with it."""
            tensor.record_stream(current)
            return tensor

        if staged.on_stage:
            self._gpu.wait(staged).before(current.cuda_stream)
            # Before rows are dropped: that reads what the stage has made, and leaves it to PyTorch.
            batch = self._gpu.finished(staged, used)
        else:
            current.wait_event(staged.ticket)
            batch = staged.taken.batch
            for tensor in tensors(batch):
                used(tensor)
        taken = staged.taken
        self.meter.there(current, taken.batch.count, self.run.consumer.about(taken, taken.rows))
        self._release()
        return batch

    # ------------------------------------------------------------ slots

    def has_room(self, staged: Deque[Staged]) -> bool:
        self._release()
        if staged:
            return self.run.stream.room
        # A batch is needed now: wait for a slot that is being copied from, rather than copying on the host.
        while not self.run.stream.room and self.copies.wait_for_oldest():
            pass
        self._gpu.make_room()
        return True

    def _release(self) -> None:
        """Gives back the slots that the device has read."""
        self.copies.let_go()
        self._gpu.release()

    def leave(self, staged: Deque[Staged]) -> None:
        while not (self._gpu.given_up or self.run.stream.foreign) and self.copies.wait_for_oldest():
            pass
        self._gpu.leave(staged)


def _index(torch: Any, device: Any) -> int:
    """The number of a CUDA device."""
    if device.index is not None:
        return int(device.index)
    return int(torch.cuda.current_device()) if torch.cuda.is_available() else 0


def beside(torch: Any, numbers: Any, array: Any) -> Any:
    """Numbers as a tensor on the device of another one."""
    # Indexes are int64, whatever they are for: u8 and bf16 know no row 299. The rest is as its neighbour.
    index = numbers.dtype not in ("int32", "bool")
    return array.new_tensor(numbers.tolist(), dtype=torch.long if index else array.dtype)


# A function, not a method: what it makes outlives the carrier, and must not refer to it.
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
