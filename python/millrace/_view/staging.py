"""A feed's batches and the device stage (_gpu/): what goes in, what comes back, what becomes of bad rows."""

from __future__ import annotations

import weakref
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Set

import numpy as np

from .._client.client import Client
from .._stream.reading import Taken
from .._stream.stream import without_nvcomp
from ..batch import Batch, Ragged
from ..errors import MillraceError, MissingError

if TYPE_CHECKING:
    from .._gpu.stage import DeviceStage
    from .._gpu.ticket import HostArray, Ticket
    from ..feed import Feed


#: How often whoever waits looks whether the GPU stands still (seconds).
LOOK = 0.5


def impossible(feed: "Feed", device: int) -> Optional[str]:
    """Why nothing of this feed can be decoded on the GPU; None when something can."""
    layout, opened = feed._stream.client.memory.layout, feed._stream.opened
    pictures = any(field.layout or (field.device or {}).get("kind") == "picture" for field in layout.fields)
    if not opened.generates and not pictures:
        if not opened.compressed:
            return "this feed has no images"
        lacking = without_nvcomp()
        if lacking is not None:
            return f"nvCOMP, to decompress arrays there, is missing: {lacking}"
    if feed._shared:
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
        feed: "Feed",
        device: int,
        memory: Optional[Callable[[Any], Any]] = None,
        channels_last: bool = False,
        open_stage: Optional[Callable[..., "DeviceStage"]] = None,
        narrow: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._feed = feed
        self._device = device
        self._memory = memory
        self._channels_last = channels_last
        self._open_stage = open_stage
        #: Element types that are brought to the device as others.
        self._narrow = narrow or {}
        #: Seconds that a batch may take, and whether one took longer: nobody waits for the GPU any more.
        self._patience = feed._timeout
        self.given_up = False
        self._stage: Optional["DeviceStage"] = None
        self._made_for: Any = None
        self._last_words: Optional["weakref.finalize[Any, Any]"] = None
        #: Fields that are made with their channels last.
        self._turned: Set[str] = set()
        # Those of views that are gone are let go of.
        alive = [end for end in feed._closers if end() is not None]
        feed._closers = [*alive, weakref.WeakMethod(self.close)]

    # ------------------------------------------------------------ batches

    def submit(self, taken: Taken) -> "Ticket":
        """Puts a batch in line. From here on ``taken`` knows the batch's fields no more, only about it."""
        from .._gpu.generate import Made
        from .._gpu.ticket import HostBatch

        client = self._feed._stream.client
        host = taken.batch.settled()
        arrays = self._arrays(host)
        fields = client.memory.layout.fields
        stage = self._stage_for({field.name: field.device for field in fields if field.device}, client)
        about = host._known
        made = None if about.rows is None else Made(about.epoch, about.positions, about.rows)
        ticket = stage.submit(HostBatch(arrays, redoing(client, taken.slot), made))
        ticket.turned = self._turned
        taken.batch = shell(host)
        return ticket

    def _arrays(self, host: Batch) -> List["HostArray"]:
        from .._gpu.ticket import HostArray

        kinds = {field.name: field.kind for field in self._feed._stream.client.memory.layout.fields}
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
        # Looks are counted, since a process that was stopped meanwhile (Ctrl-Z) has seen nothing.
        for _ in range(max(1, ceil(self._patience / LOOK))):
            if ticket.comes(LOOK):
                return ticket.wait()
        self.given_up = True
        where = "gone" if self._stage is None else self._stage.give_up()
        raise MillraceError(
            f"{self._feed.name}: the GPU has been at one batch for {self._patience:g} s; the thread that "
            f'drives it is {where}. Use decode="cpu", or raise "timeout" if that may take so long'
        )

    def room(self, wait: bool) -> None:
        """Lets go of the slots that the device has read; with ``wait``, waits for the oldest of them."""
        if self._stage is not None:
            self._stage.reap(wait)

    def drain(self, tickets: Iterable["Ticket"]) -> None:
        """Waits for batches that nobody wants any more. Nothing refers to a slot when this is over."""
        # Loops are closed by the garbage collector, too, in any thread: in the stage's own, it lets go of
        # the slots later.
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
        """The stage for fields like these: they are others once somebody else decodes."""
        generator = client.opened.generator or {}
        # The pool of a synthetic generator lies elsewhere with every ring, and is the same.
        made_for = (dict(told), {key: value for key, value in generator.items() if key != "pool"})
        if self._stage is None or self._made_for != made_for:
            self.close()
            self._stage = self._make(told, client)
            self._made_for = made_for
            # Nobody waits for it: garbage is collected in any thread, the stage's own included.
            self._last_words = weakref.finalize(self, self._stage.end)
        return self._stage

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

        compile_ahead(self._device, Path(self._feed._stream.opened.kernels))

    def close(self) -> None:
        """Gives the device's memory back, except what is in the user's hands."""
        if self._last_words is not None:
            self._last_words.detach()
        self._last_words = None
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()


def hwc(device: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same pictures with their channels last."""
    return {**device, "layout": "hwc", "shape": [device["height"], device["width"], 3]}


def _as_chw(value: Any) -> Any:
    """hwc in memory, chw to whoever looks: PyTorch's channels_last."""
    return value.permute(0, 3, 1, 2) if hasattr(value, "permute") else value.permuted(0, 3, 1, 2)


def shell(host: Batch) -> Batch:
    """A batch of which only what is known about it, and its text, is left: the slot may go."""
    left = Batch(about=host._about)
    for name, value in host.items():
        left[name] = None if isinstance(value, (np.ndarray, Ragged)) else value
    return left


def redoing(client: Client, slot: Optional[int]) -> Any:
    """Has the engine decode what the GPU refused. None: the batch is a copy, and its slot long gone."""
    if slot is None:
        return None
    return lambda field, rows: client.ask({"redo": {"slot": slot, "field": field, "rows": rows}})["redone"]


#: Numbers as an array beside another one, of its library and on its device: ``(numbers, beside)``.
Beside = Callable[["np.ndarray[Any, Any]", Any], Any]


def without_bad(batch: Batch, rows: List[int], policy: str, beside: Beside) -> Batch:
    """The batch after rows turned out to be bad on the device: as marked zeros (mask), or without them.

    Fillers become zeros, and a batch that has some keeps its size: blank fillers stand for what is dropped.
    """
    about = batch._about
    assert about is not None
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
    about = batch._known
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
