"""The batches of a ring, one after the other, whatever happens to the engine that makes them.

Threads. The thread that loops over the feed takes batches, moves the ring and opens another one. Any thread
may ask (``stats()``, names of samples, rows to be redone), and may be the first to find the engine dead.

Locks. ``_turn`` is held while a batch is taken, the ring is moved, or another ring is put in the place of the
present one: an engine is replaced once, however many threads find it dead. It is reentrant, since each of
these may find that. It is taken before the wire's lock, never after it.

The engine's death: a call finds it (``EngineDied``), a new engine goes on after the last batch taken.
``redo`` is not repeated: its batch lies in a slot that died with the engine, and is made again (on_gpu.py).
Ctrl-C: ``ahead`` and the ring are changed last, so that an interrupted call leaves the old ones.
Fork: the child gets a new lock, a closed client, and a ForkedError from every call.
Garbage collection: the client has a finalizer that ends the ring; nothing here has a destructor.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from .._client.client import Client, Opened, Place
from .._client.find_engine import Meeting
from .._client.say import say
from .._generated.slot_words import Header
from .._spans.records import SpanRead
from ..errors import EngineDied, ForkedError, MillraceError, printable
from .fork import watch
from .reading import Taken, read
from .stats import Stats

log = logging.getLogger("millrace")


def without_nvcomp() -> Optional[str]:
    """Why arrays are not decompressed on the device; None when they can be."""
    from .._cuda import nvcomp

    return nvcomp.missing()


class Stream:
    """Takes batches in order, from wherever it is moved to; replaces the engine when it dies."""

    def __init__(
        self, name: str, meeting: Meeting, request: Mapping[str, Any], restarts: int, stats: Stats
    ) -> None:
        self.name = name
        self._meeting = meeting
        self._request = dict(request)
        self._restarts = restarts
        self._stats = stats
        self._pid = os.getpid()
        self._client: Optional[Client] = None
        #: Whether it was closed, for good.
        self._ended = False
        self._turn = threading.RLock()
        #: The number of the next batch that is taken, counted from the last move of the ring.
        self.number = 0
        self._warned = False
        self._told: Set[str] = set()
        #: Where the next batch that is taken begins.
        self.ahead = Place(0, 0)
        #: By which the engine's tuner knows it, whichever ring it has.
        self._run = uuid.uuid4().hex
        #: Whether it is open who decodes images: the tuner finds out.
        self._decides = False
        #: Changes of a blend's weights; None: as the engine has them.
        self.changes: Optional[List[Any]] = None
        watch(self)

    # ------------------------------------------------------------ the engine

    @property
    def client(self) -> Client:
        """The present ring."""
        if self.foreign:
            raise ForkedError(
                f"this feed belongs to process {self._pid}, and this is a fork of it: "
                "open a Feed of its own here, or start processes by the method 'spawn'"
            )
        if self._client is None:
            raise MillraceError("this feed is closed: open it again")
        return self._client

    @property
    def opened(self) -> Opened:
        """What the engine said about the feed."""
        return self.client.opened

    def connect(self, state: Optional[Mapping[str, Any]]) -> None:
        """Opens a ring that begins with a state; one that is open already ends when that works."""
        request = {**self._request, "name": self.name, "run": self._run, "decides": self._decides}
        if state is not None:
            request["options"] = {**request["options"], "state": dict(state)}
            self.changes = list(state.get("changes", [])) or None
        before = self._client
        client = Client(self._meeting, request)
        self._tell(client.opened)
        # The client last: a Ctrl-C in between leaves the old one, which is known to be dead.
        self.number, self.ahead = 0, client.opened.place
        self._client = client
        if before is not None:
            before.close()
        if self._ended:  # another thread closed the feed meanwhile, and may have missed the new client
            self.close()
            raise MillraceError("this feed is closed: open it again")

    def rejoin(self, meeting: Meeting, request: Mapping[str, Any], place: Place) -> None:
        """Opens the ring of another rank in the place of this one, of which nothing was delivered."""
        before = self._meeting, self._request
        # What was tuned meanwhile stays so.
        ours = {name: request["options"][name] for name in ("rank", "world")}
        options = {**self._request["options"], **ours}
        self._meeting, self._request = meeting, {**request, "options": options}
        try:
            self._connect_at(place, self.opened)
        except BaseException:
            self._meeting, self._request = before
            raise

    def _tell(self, opened: Opened) -> None:
        """Says what the engine had to say about the data, such as files that were left out: once, on one
        rank."""
        if opened.rank == 0:
            for notice in [one for one in opened.notices if one not in self._told]:
                say(f"{self.name}: " + printable(notice).replace("\n", "\\n"))
        self._told.update(opened.notices)

    def beside(self, place: Place, stats: Stats) -> "Stream":
        """A ring of its own in the same engine, with the same batches from a place on: this one goes on."""
        # Without its other members, and with no more slots than are used.
        request = {name: value for name, value in self._request.items() if name != "share"}
        request["options"] = {
            **request["options"],
            "depth": self.opened.depth,
            "tune": "off",
            "log": None,  # it is no part of the run that is logged
        }
        other = Stream(f"{self.name} (diagnosed)", self._meeting, request, 0, stats)
        other.changes, other._told = self.changes, set(self._told)
        other._connect_at(place, self.opened)
        return other

    def tune(self, change: Mapping[str, int]) -> Dict[str, int]:
        """Changes workers or depth, of this ring and of those that are opened later."""
        tuned = dict(self.ask({"tune": change})["tuned"])
        self._request["options"] = {**self._request["options"], **{name: tuned[name] for name in change}}
        return tuned

    def decode_on(self, where: str, limit: Optional[int], cpu_share: float = 0.0) -> None:
        """Has images decoded elsewhere ("cpu" or "gpu") from the next batch on.

        With "gpu", the engine goes on to decode ``cpu_share`` of them. Only pixel values change, a little:
        samples, order and choices stay.
        """
        with self._turn:
            before = self._request["options"]
            if self.opened.decode == where and before.get("cpuShare", 0.0) == cpu_share:
                return
            nvcomp = where == "gpu" and bool(self.opened.compressed) and without_nvcomp() is None
            wanted: Dict[str, Any] = {"decode": where, "nvcomp": nvcomp, "cpuShare": cpu_share}
            if where == "gpu":
                # With one slot every batch is a copy, and what the GPU refuses can't be redone in its place.
                wanted.update({"depth": max(2, before["depth"])} if "depth" in before else {})
            self._request["options"] = {**before, **wanted}
            try:
                try:
                    self._connect_at(self.ahead, self.opened)
                except EngineDied as death:
                    self._revive(death, self.client)
            except BaseException:
                self._request["options"] = before  # everything is as it was, the ring included
                raise
            self.limit(limit)

    def decide(self, open_: bool) -> Optional[str]:
        """It is open who decodes images, or no longer. Gives the reason where the tuner can't find out."""
        told = self.ask({"decoder": {"open": open_}})["decoder"]
        self._decides = bool(told["open"])
        return None if self._decides == open_ else str(told["why"])

    def why_decoded(self) -> str:
        """Why images are decoded where they are, by the tuner."""
        return str(self.ask({"decoder": {}})["decoder"]["why"] or "")

    def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A question that any engine with this feed can answer."""
        while True:
            client = self.client
            try:
                return client.ask(message)
            except EngineDied as death:
                self._revive(death, client)

    def look(self, number: int) -> None:
        """Has the engine look at what its makers have done so far: accounts since then refer to it."""
        # By an id that is none of the wire's: an engine that does not know this is not heard.
        self.client.tell({"id": 0, "look": number})

    def names(self, epoch: int, positions: List[int]) -> List[str]:
        """Names of samples, by their places."""
        return list(self.ask({"names": {"epoch": epoch, "positions": positions}})["names"])

    def _revive(self, death: EngineDied, client: Client) -> None:
        """A new engine in place of the one that died, unless another thread has replaced it already."""
        with self._turn:
            if self._client is client:
                self._replace(death, client)

    def _replace(self, death: EngineDied, client: Client) -> None:
        """A new engine, which goes on after the last batch taken."""
        place, flying = self.ahead, client.in_flight()
        last = self._start_another(death, client, place, flying)
        self.ahead = place
        names: List[str] = []
        for epoch in sorted({p.epoch for p in flying}):
            names += self.names(epoch, [p.position for p in flying if p.epoch == epoch])
        log.warning(
            "%s; a new one goes on at position %d of epoch %d. In flight: %s%s",
            _first_line(last),
            place.position,
            place.epoch,
            ", ".join(names) or "nothing",
            f". Its last words:\n{last.last_words}" if last.last_words else "",
        )

    def _start_another(
        self, death: EngineDied, client: Client, place: Place, flying: Sequence[Place]
    ) -> EngineDied:
        """Starts engines until one has opened the ring. Raises when too many died; returns the last death."""
        while True:
            client.bury()
            if self._stats.restarts >= self._restarts:
                places = [f"position {p.position} of epoch {p.epoch}" for p in flying]
                raise EngineDied(_first_line(death), death.last_words, places) from None
            self._stats.restarts += 1
            try:
                self._connect_at(place, client.opened)
                return death
            except EngineDied as again:
                death = again

    def _connect_at(self, place: Place, opened: Opened) -> None:
        """Opens a ring that begins at a place, with the present weights."""
        changes = {"changes": self.changes} if self.changes else {}
        self.connect({**opened.state, **place._asdict(), **changes})

    # ------------------------------------------------------------ batches

    def go(self, place: Place, limit: Optional[int]) -> None:
        """Goes on from another place; what was made ahead is thrown away."""
        with self._turn:
            client = self.client
            try:
                client.move(place, limit, self.changes)
                self.number, self.ahead = 0, place
            except EngineDied as death:
                self.ahead = place
                self._revive(death, client)

    def limit(self, steps: Optional[int]) -> None:
        """Lets the workers make that many batches from here; None: without end."""
        self.client.tell({"limit": None if steps is None else self.number + steps})

    @property
    def room(self) -> bool:
        """Whether another batch can be lent without a copy.

        The last slot is not: no batch could be made any more.
        """
        leases, most = self.client.leases, self.client.memory.depth - 1
        if len(leases) >= most > 0:
            leases.settle()  # some may have been dropped a moment ago
        return len(leases) < most

    @property
    def least_depth(self) -> int:
        """How few slots will do: with all of them lent, no batch could be made any more."""
        self.client.leases.settle()
        lent = min(len(self.client.leases) + 1, self.client.memory.depth)
        return max(lent, 2 if self.opened.decode == "gpu" else 1)  # see decode_on

    def take(self, block: bool) -> Optional[Taken]:
        """The next batch; None when it is not ready and ``block`` is false."""
        with self._turn:
            return self._take(block)

    def _take(self, block: bool) -> Optional[Taken]:
        asked = time.perf_counter()
        while True:
            client = self.client
            try:
                slot = client.wait(self.number, block)
                if slot is None:
                    return None
                bad: Sequence[Mapping[str, Any]] = ()
                if client.memory.head(slot)[Header.BAD] > 0:
                    bad = client.ask({"bad": self.number})["bad"]
                break
            except EngineDied as death:
                self._revive(death, client)
        self._stats.waited(asked)
        copy = not self.room
        if copy:
            self._copied(client)
        try:
            taken = read(client, slot, copy, self.names)
        except BaseException:
            client.leases.forget(slot)
            raise
        taken.number, taken.ring = self.number, client.spans.ring
        self.number += 1
        self.ahead = taken.after
        taken.bad = bad
        taken.samples = taken.rows + (len(bad) if self.opened.policy == "drop" else 0)
        return taken

    def _copied(self, client: Client) -> None:
        self._stats.copies += 1
        if self._warned:
            return
        self._warned = True
        log.warning(
            "%s: %d batches are still referred to, and %d slots are in use: more are copied until some are "
            "dropped. Raise depth to keep more without a copy.",
            self.name,
            len(client.leases),
            client.memory.depth,
        )

    def spoilt(self, taken: Taken) -> bool:
        """Whether this batch will not be handed out: ``judge`` will end the run."""
        return any(one["row"] < 0 or self.opened.policy == "fail" for one in taken.bad)

    def judge(self, bad: Mapping[str, Any]) -> None:
        """Bad samples are counted at delivery, in order; the policy or the budget may end the run here."""
        self._stats.judge.sample(bad, self.opened.policy, self.opened.budget)

    def judge_batch(self, taken: Taken) -> Optional[str]:
        """A batch is about to be handed out. The last one of an epoch: what was dropped or masked in it."""
        judge, opened = self._stats.judge, self.opened
        rows = opened.length // opened.world
        judge.batch(taken.samples, opened.policy, rows)
        return judge.epoch_ends(opened.policy, rows) if taken.after.epoch > taken.epoch else None

    def spans(self, cursor: Optional[Sequence[int]]) -> SpanRead:
        """What the engine has done for this feed; also of an engine that died."""
        return self.client.spans.read_since(cursor)

    # ------------------------------------------------------------ ending

    @property
    def foreign(self) -> bool:
        """Whether this process is a fork of the one that it belongs to."""
        return os.getpid() != self._pid

    @property
    def closed(self) -> bool:
        """Whether it can't be used here any more."""
        return self._client is None or self.foreign

    def close(self) -> None:
        """Ends the ring; what is in the user's hands stays readable."""
        self._ended = True  # first: a ring that is being opened is closed by the thread that opens it
        client, self._client = self._client, None
        if client is not None and not self.foreign:
            client.close()

    def forked(self) -> None:
        """In a forked child."""
        self._turn = threading.RLock()  # another thread may have had it
        if self._client is not None:
            self._client.forked()


def _first_line(death: EngineDied) -> str:
    """What died, without its last words."""
    return str(death).split("\n")[0]
