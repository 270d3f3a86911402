"""One ring as a client sees it: opened over the socket, read in shared memory, gone with its engine.

Threads. Any thread may ask and tell; ``wait`` and ``move`` are called under the stream's lock. No lock here.
Ends: ``close``, or the finalizer when nothing refers to the client any more, in any thread; it tells the
engine, which ends the ring. Batches in the user's hands keep their mapping. Fork: ``forked`` closes
descriptors and mappings in the child, and tells nothing.
"""

from __future__ import annotations

import os
import time
import weakref
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .._generated.protocol import PROTOCOL
from .._spans.level import level_of
from ..errors import EngineDied, MillraceError
from .find_engine import Meeting
from .layout import Layout
from .leases import Leases
from .memory import Memory
from .process import Engine
from .ring_spans import RingSpans
from .wire import LOOK, ConnectionClosed, Wire

#: When the engine's heartbeat has stood still for so long (seconds) while we wait for a batch, we look
#: whether its process was stopped (SIGSTOP).
SILENCE = 1.5
#: An engine may be about to end when we connect; then we look for the next one, at most so often.
MEETINGS = 5
#: So many engines may crash before they have answered. Another client's feed may be the cause, so we try the
#: next one; if that goes on, the cause is ours.
CRASHES = 2


class Place(NamedTuple):
    """A place between two steps: everything before it has been handed out.

    An epoch's end is (epoch + 1, 0).
    """

    epoch: int
    position: int


def needed_changes(changes: Sequence[Mapping[str, Any]], place: Place, opened: "Opened") -> List[Any]:
    """Those changes of a blend's weights that matter from a place on.

    One that says what was drawn before it needs none before it. With "pad" the epoch's end is filled with
    its first samples, so all changes of the epoch matter until it ends.
    """
    draw = place.epoch * opened.length + (0 if opened.last == "pad" else place.position)
    passed = [i for i, change in enumerate(changes) if "drawn" in change and change["at"] <= draw]
    return list(changes[passed[-1] if passed else 0 :])


@dataclass
class Opened:
    """What the engine said about the feed."""

    rank: int
    world: int
    #: Samples in an epoch, and steps of one.
    length: int
    steps: int
    #: Batches by tokens: so many each. Epochs have different numbers of steps then, which the engine tells.
    bins: Optional[int]
    #: Feeds of tokens: places of a row.
    row_tokens: Optional[int]
    #: The order has one epoch, as Megatron's has.
    once: bool
    #: A loop goes on through epochs unless options end it.
    endless: bool
    #: What happens to the last samples of an epoch: drop, keep or pad.
    last: str
    depth: int
    place: Place
    #: A state without its place and changes.
    state: Dict[str, Any]
    policy: str
    budget: int
    notices: List[str]
    #: Claims that a batch is made in.
    chunks: int
    #: Who decodes images: "cpu", the engine; "gpu", the device stage here.
    decode: str
    #: Folder of the device stage's kernels.
    kernels: str
    #: What makes the batches on the device, where nothing is read (docs/protocol.md).
    generator: Optional[Mapping[str, Any]]
    #: Whether there would be such a thing with decode="gpu".
    generates: bool
    #: Fields that could be decompressed on the device, by nvCOMP.
    compressed: List[str]

    def settled(self, place: Place, rows: int) -> Place:
        """The same place; where no step of its epoch is left, the beginning of the next one."""
        left = self.length - place.position
        over = left < rows * self.world if self.last == "drop" else left == 0
        return Place(place.epoch + 1, 0) if over and self.length > 0 else place

    @staticmethod
    def read(told: Mapping[str, Any]) -> "Opened":
        """From ``opened`` of the protocol."""
        on_error = told["onError"]
        return Opened(
            rank=told["rank"],
            world=told["world"],
            length=told["length"],
            steps=told["steps"]["epoch"],
            bins=told.get("bins"),
            row_tokens=told.get("rowTokens"),
            once=told.get("once", False),
            endless=told.get("endless", False),
            last=told["last"],
            depth=told["depth"],
            place=Place(told["place"]["epoch"], told["place"]["position"]),
            state=dict(told["state"]),
            policy=on_error["policy"],
            budget=on_error["budget"],
            notices=list(told["notices"]),
            chunks=told["layout"].get("chunks", 0),
            decode=told.get("decode", "cpu"),
            kernels=told.get("kernels", ""),
            generator=told.get("generator"),
            generates=told.get("generates", False),
            compressed=list(told.get("compressed", [])),
        )


class Client:
    """A connection to an engine, and the ring it has opened there."""

    def __init__(self, meeting: Meeting, request: Mapping[str, Any]) -> None:
        self.meeting = meeting
        crashes = 0
        for attempt in range(MEETINGS):
            sock, self.engine = meeting.join()
            self.wire = Wire(sock)
            try:
                self._open(request)
                return
            except ConnectionClosed as error:
                self.wire.close()
                # It was about to end for want of clients, unless it crashed. The next one serves us.
                crashes += not self.engine.ended_well
                _sweep(meeting, self.engine)
                if crashes > CRASHES or attempt == MEETINGS - 1:
                    raise self.death(str(error)) from error
            except EngineDied:  # it was stopped before it answered: no other client will end it
                self.wire.close()
                if meeting.starter is None:
                    raise
                self.engine.kill()
                meeting.clear()
                if attempt == MEETINGS - 1:
                    raise
            except BaseException:
                self.wire.close()
                raise

    def _open(self, request: Mapping[str, Any]) -> None:
        message = {"open": {"version": PROTOCOL, "pid": os.getpid(), **request}}
        told = self.wire.ask(message, self._check_stopped)["opened"]
        if told["version"] != PROTOCOL:
            raise MillraceError(
                f"the engine speaks version {told['version']} of the protocol, this package {PROTOCOL}: "
                "install the same Millrace on both sides"
            )
        self.opened = Opened.read(told)
        try:
            self.memory = Memory(told["memory"], Layout.read(told["layout"]), told["depth"])
            self._ready = os.open(told["ready"]["path"], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError) as error:  # it died after it had answered
            raise ConnectionClosed("the engine closed the connection") from error
        level = level_of(request.get("options", {}).get("observe"))
        self.spans = RingSpans(told, str(request.get("name", "")), level)
        self.leases = Leases(self.wire)
        self._end = weakref.finalize(
            self, _end, self.wire, self.leases, self._ready, self.meeting, self.engine
        )

    # ------------------------------------------------------------ batches

    def wait(self, batch: int, block: bool = True) -> Optional[int]:
        """The slot of a batch, when it is ready."""
        memory, wire = self.memory, self.wire
        beat, since = 0.0, 0.0
        while True:
            if wire.ended:
                raise self.death("the engine died")
            slot = memory.ready(batch)
            if slot is not None:
                return slot
            failure = wire.failure
            if failure is not None:
                raise failure
            if not block:
                return None
            now = time.monotonic()
            if memory.heartbeat() != beat or since == 0:
                beat, since = memory.heartbeat(), now
            elif now - since > SILENCE:
                self._check_stopped()
            self._check_room()
            wire.wait(self._ready, LOOK)

    def _check_room(self) -> None:
        """No batch can be opened while all slots are lent: the depth may have been lowered meanwhile."""
        leases = self.leases
        if len(leases) >= self.memory.depth:
            leases.settle()  # some may have been dropped a moment ago
        if len(leases) >= self.memory.depth:
            self.tell({"id": 0, "holds": len(leases)})

    def move(self, place: Place, limit: Optional[int], changes: Optional[List[Any]]) -> None:
        """Throws away what was made ahead, and goes on from another place; batches count from 0 again."""
        to: Dict[str, Any] = {**place._asdict(), "limit": limit}
        if changes is not None:
            to["changes"] = changes
        self.ask(lambda: {"move": {**to, "held": sorted(self.leases.held())}})

    def ask(self, message: Any) -> Mapping[str, Any]:
        """A request over the socket, and its answer. EngineDied when the engine is gone."""
        try:
            return self.wire.ask(message, self._check_stopped)
        except ConnectionClosed as error:
            raise self.death("the engine died") from error

    def tell(self, message: Mapping[str, Any]) -> None:
        """A message without an answer; a dead engine is noticed later."""
        try:
            self.wire.send(message)
        except OSError:
            pass

    # ------------------------------------------------------------ the end

    def _check_stopped(self) -> None:
        if self.engine.stopped:
            raise self.death("the engine was stopped by a signal (SIGSTOP) and makes no more batches")

    def death(self, what: str) -> EngineDied:
        """The exception for an engine that is gone."""
        where = f"{what} (process {self.engine.pid}{self.engine.ending() if self.wire.ended else ''})"
        return EngineDied(where, self.engine.last_words())

    def in_flight(self) -> List[Place]:
        """What was being made when the engine died."""
        return [Place(*found) for found in self.memory.in_flight(self.opened.chunks)]

    def close(self) -> None:
        """Ends the ring. Batches in the user's hands stay as they are."""
        self._end()
        self.spans.close()

    def bury(self) -> None:
        """After the engine's death: makes sure of it, and removes what it could not."""
        if self.meeting.starter is not None:
            self.engine.kill()
        self.close()
        self.meeting.clear()

    def forked(self) -> None:
        """In a forked child: lets go of everything without a word to the engine."""
        self._end.detach()
        self.wire.forked()
        self.memory.forked()
        try:
            os.close(self._ready)
        except OSError:
            pass


def _end(wire: Wire, leases: Leases, ready: int, meeting: Meeting, engine: Engine) -> None:
    died = wire.ended
    if not died and meeting.starter is not None and engine.stopped:
        engine.kill()  # it would never hear that we leave
        died = True
    if not died:
        try:
            wire.send({"close": True})
        except OSError:
            pass
    wire.close()
    leases.close()
    if died:
        _sweep(meeting, engine)
    try:
        os.close(ready)
    except OSError:
        pass


def _sweep(meeting: Meeting, engine: Engine) -> None:
    """Removes what an engine that died could not remove itself."""
    if meeting.starter is not None:
        engine.wait(0.5)  # our connection may be the first thing that a dying process closes
        meeting.clear()
