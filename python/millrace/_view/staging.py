"""Takes a feed's batches through the device stage (_gpu/): what goes in, what comes back, how it ends.

Threads. ``submit``, ``wait`` and ``room`` are called by the thread that loops. ``drain`` may be called by the
garbage collector, in any thread; in the stage's own it returns at once. ``close`` is called when the feed is
closed, and when fields of another kind need another stage. There is no lock here.

A GPU that stands still: ``wait`` gives up after the feed's timeout, and from then on nothing waits for the
stage. Garbage collection: a finalizer tells the stage to end, and waits for nothing. Fork: see stage.py.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Set

import numpy as np

from .._client.client import Client
from .._stream.reading import Taken
from .._stream.run import Run
from .._stream.stream import without_nvcomp
from ..batch import Batch, Ragged, about_of
from ..errors import MillraceError, MissingError

if TYPE_CHECKING:
    from .._gpu.stage import DeviceStage
    from .._gpu.ticket import HostArray, Ticket


#: How often a waiting thread looks whether the GPU stands still (seconds).
LOOK = 0.5


def impossible(run: Run, device: int) -> Optional[str]:
    """Why nothing of this feed can be decoded on the GPU; None when something can."""
    opened = run.stream.opened
    pictures = any(field.layout or (field.device or {}).get("kind") == "picture" for field in run.fields)
    if not opened.generates and not pictures:
        if not opened.compressed:
            return "this feed has no images"
        lacking = without_nvcomp()
        if lacking is not None:
            return f"nvCOMP, to decompress arrays there, is missing: {lacking}"
    if run.shared:
        return "several members of a rank share its batches"
    try:
        from .._cuda import libraries
        from .._cuda.driver import driver_of

        # The first to load a library chooses its version for the process: that must suit the driver.
        major = driver_of(device).version // 1000
        needed = ("nvjpeg", "nvrtc") if pictures else ("nvrtc",) if opened.generates else ()
        for name in needed:
            libraries.load(name, major)
    except MissingError as error:
        return str(error)
    return None


class Staging:
    """Takes batches of a feed through a device stage. One a view; the stage is made when needed."""

    def __init__(
        self,
        run: Run,
        device: int,
        memory: Optional[Callable[[Any], Any]] = None,
        channels_last: bool = False,
        open_stage: Optional[Callable[..., "DeviceStage"]] = None,
        narrow: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._run = run
        self._device = device
        self._memory = memory
        self._channels_last = channels_last
        self._open_stage = open_stage
        #: Element types that are brought to the device as others.
        self._narrow = narrow or {}
        #: Whether a batch took longer than the timeout: nothing waits for the GPU any more.
        self.given_up = False
        self._stage: Optional["DeviceStage"] = None
        self._made_for: Any = None
        #: Ends the stage when this object is collected.
        self._finalizer: Optional["weakref.finalize[Any, Any]"] = None
        #: Fields that are made with their channels last.
        self._turned: Set[str] = set()
        run.on_close(self.close)

    # ------------------------------------------------------------ batches

    def submit(self, taken: Taken) -> "Ticket":
        """Puts a batch in line. From here on ``taken.batch`` has no arrays: the slot is the stage's."""
        from .._gpu.generate import Made
        from .._gpu.ticket import HostBatch

        client = self._run.stream.client
        host = taken.batch.settled()
        arrays = self._arrays(host)
        fields = client.memory.layout.fields
        stage = self._stage_for({field.name: field.device for field in fields if field.device}, client)
        about = about_of(host)
        made = None if about.rows is None else Made(about.epoch, about.positions, about.rows)
        named = (taken.ring, taken.number, about.count)
        ticket = stage.submit(HostBatch(arrays, redoing(client, taken.slot), made, *named))
        ticket.turned = self._turned
        taken.batch = shell(host)
        return ticket

    def _arrays(self, host: Batch) -> List["HostArray"]:
        from .._gpu.ticket import HostArray

        kinds = {field.name: field.kind for field in self._run.fields}
        arrays: List["HostArray"] = []
        for name, value in host.items():
            if isinstance(value, Ragged):
                arrays.append(self._array((name, "values"), value.values, kinds[name]))
                arrays.append(HostArray((name, "offsets"), value.offsets, "i32"))
            elif isinstance(value, np.ndarray):
                arrays.append(self._array(name, value, kinds.get(name, "bool")))
        return arrays

    def _array(self, name: Any, values: Any, kind: str) -> "HostArray":
        from .._gpu.ticket import HostArray

        if kind in self._narrow:
            kind, dtype = self._narrow[kind]
            values = values.astype(dtype)
        return HostArray(name, values, kind)

    def fill(self, batch: Batch, ticket: "Ticket", make: Callable[[Any], Any]) -> None:
        """Puts the finished arrays into the batch, as ``make`` has them."""
        ragged: Dict[str, Dict[str, Any]] = {}
        for name, value in ticket.arrays.items():
            address = value.data_ptr() if hasattr(value, "data_ptr") else value.address
            value = make(value)
            if isinstance(name, tuple):
                ragged.setdefault(name[0], {})[name[1]] = value
            else:
                field = str(name)
                batch.device_pointers[field] = address
                batch[field] = _as_chw(value) if field in ticket.turned else value
        for name, parts in ragged.items():
            batch[name] = Ragged(parts["values"], parts["offsets"])

    def wait(self, ticket: "Ticket") -> "Ticket":
        """Waits until a batch is on the streams; not forever, since a GPU may stand still."""
        patience = self._run.timeout
        # Looks are counted, not seconds: time in which the process was stopped (Ctrl-Z) does not count.
        for _ in range(max(1, ceil(patience / LOOK))):
            if ticket.comes(LOOK):
                return ticket.wait()
        self.given_up = True
        where = "gone" if self._stage is None else self._stage.give_up()
        raise MillraceError(
            f"{self._run.name}: the GPU has been at one batch for {patience:g} s; the thread that "
            f'drives it is {where}. Use decode="cpu", or raise "timeout" if that may take so long'
        )

    def room(self, wait: bool) -> None:
        """Lets go of the slots that the device has read; with ``wait``, waits for the oldest of them."""
        if self._stage is not None:
            self._stage.reap(wait)

    def drain(self, tickets: Iterable["Ticket"]) -> None:
        """Waits for batches that will not be handed out. Nothing refers to a slot when this is over."""
        # In the stage's own thread, to which a garbage collection may bring us, it would wait for itself.
        if self.given_up or (self._stage is not None and self._stage.here):
            return
        for ticket in tickets:
            with suppress(Exception):  # it would have been raised in its turn, which never comes
                self.wait(ticket)
        with suppress(MillraceError):  # a GPU that is lost reads no slots
            while self._stage is not None and self._stage.reap(wait=True):
                pass

    # ------------------------------------------------------------ the stage

    def _stage_for(self, told: Mapping[str, Any], client: Client) -> "DeviceStage":
        """The stage for fields like these. They are others after a change of who decodes."""
        generator = client.opened.generator or {}
        # The pool of a synthetic generator lies elsewhere with every ring, and is the same.
        made_for = (dict(told), {key: value for key, value in generator.items() if key != "pool"})
        if self._stage is None or self._made_for != made_for:
            self.adopt(self._make(told, client))
            self._made_for = made_for
        assert self._stage is not None
        return self._stage

    def adopt(self, stage: "DeviceStage") -> None:
        """Takes batches through this stage from now on. The one before it ends."""
        self.close()
        self._stage = stage
        # ``end`` waits for nothing: garbage is collected in any thread, the stage's own included.
        self._finalizer = weakref.finalize(self, stage.end)

    def _make(self, told: Mapping[str, Any], client: Client) -> "DeviceStage":
        from .._gpu.stage import open_stage

        make = self._open_stage or open_stage
        self._turned = {name for name, device in told.items() if self._turns(device)}
        fields = {name: hwc(device) if name in self._turned else device for name, device in told.items()}
        generator = client.opened.generator
        more: Dict[str, Any] = {} if generator is None else {"generator": generator}
        return make(fields, Path(client.opened.kernels), self._device, self._memory, **more)

    def _turns(self, device: Mapping[str, Any]) -> bool:
        """Whether it is made as hwc although it is chw."""
        return self._channels_last and device["kind"] == "picture" and device["layout"] == "chw"

    def compile_ahead(self) -> None:
        """Compiles the kernels beside everything else, where they may be needed soon."""
        from .._gpu.tools import compile_ahead

        compile_ahead(self._device, Path(self._run.stream.opened.kernels))

    def close(self) -> None:
        """Gives the device's memory back, except what is in the user's hands."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._finalizer = None
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()


def hwc(device: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same pictures with their channels last."""
    return {**device, "layout": "hwc", "shape": [device["height"], device["width"], 3]}


def _as_chw(value: Any) -> Any:
    """The shape of chw, on memory that is hwc: PyTorch's channels_last."""
    return value.permute(0, 3, 1, 2) if hasattr(value, "permute") else value.permuted(0, 3, 1, 2)


def shell(host: Batch) -> Batch:
    """A batch of which only what is known about it, and its text, is left: the slot may go."""
    left = Batch(about=about_of(host))
    for name, value in host.items():
        left[name] = None if isinstance(value, (np.ndarray, Ragged)) else value
    return left


def redoing(client: Client, slot: Optional[int]) -> Any:
    """Has the engine decode what the GPU refused. None where the batch is a copy: its slot is gone."""
    if slot is None:
        return None
    return lambda field, rows: client.ask({"redo": {"slot": slot, "field": field, "rows": rows}})["redone"]
