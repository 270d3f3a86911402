"""What the makers of a loader do meanwhile: its worker processes, or its threads, looked at every 50 ms."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import proc

#: Seconds between two looks.
LOOK = 0.05
#: Fewer bytes read than this between two looks are messages between processes, not data.
_DATA = 65536
#: Threads that ran less than this share of the time are no makers.
_IDLE = 0.01


class Look(NamedTuple):
    """At one process or thread."""

    at: float
    times: proc.Times
    bytes: int
    reads: int
    disk: int
    #: How long the loop had waited up to here, and for how much of that its thread ran itself, in seconds.
    waited: float
    took: float


class Makers:
    """Looks at them in a thread of its own.

    ``waited`` says how long the loop has waited so far (seconds), ``within_waits`` what of the times of the
    loop's thread fell into its waits: outside of them it trained.
    """

    def __init__(self, waited: Callable[[], float], within_waits: Callable[[proc.Times], proc.Times]) -> None:
        self._waited = waited
        self._within_waits = within_waits
        self._processes: Dict[int, List[Look]] = {}
        self._threads: Dict[int, List[Look]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="looks", daemon=True)
        self._loop = threading.get_native_id()
        #: Threads of libraries that were there before the loader: those of numpy and torch spin now and then.
        python = {thread.native_id for thread in threading.enumerate()}
        self._strange = set(proc.threads_of(os.getpid())) - python
        #: When everything was last looked at, how long the loop had waited by then, and run meanwhile.
        self._last: Optional[Tuple[float, float, float]] = None
        self._took = 0.0

    def start(self) -> None:
        """Begins to look."""
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """A last look."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        over = False
        while not over:
            over = self._over.wait(LOOK)
            self._look()

    def _look(self) -> None:
        loop = proc.times_of(f"/proc/self/task/{self._loop}")
        if loop is not None:
            self._took = max(self._took, self._within_waits(loop).cpu / 1000)
        for pid in proc.children_of(os.getpid()):
            self._add(self._processes, pid, proc.process_times(pid), proc.read_bytes(pid))
        for tid in proc.threads_of(os.getpid()):
            if tid == self._thread.native_id or tid in self._strange:
                continue
            times = proc.times_of(f"/proc/self/task/{tid}")
            if tid == self._loop and times is not None:
                times = self._within_waits(times)
            self._add(self._threads, tid, times, {})
        self._last = (time.monotonic(), self._waited(), self._took)

    def _add(
        self, known: Dict[int, List[Look]], number: int, times: Optional[proc.Times], read: Dict[str, int]
    ) -> None:
        if times is None:
            return
        looks = known.setdefault(number, [])
        if not looks and self._last is not None:  # it was started since the last look
            at, waited, took = self._last
            looks.append(Look(at, proc.Times(0, 0), 0, 0, 0, waited, took))
        figures = (read.get("rchar", 0), read.get("syscr", 0), read.get("read_bytes", 0))
        looks.append(Look(time.monotonic(), times, *figures, self._waited(), self._took))

    # ------------------------------------------------------------ what was seen

    @property
    def looks(self) -> List[List[Look]]:
        """Of each maker: processes, where there are any; else threads that ran; else the loop itself."""
        if self._processes:
            return list(self._processes.values())
        others = [looks for tid, looks in self._threads.items() if tid != self._loop and _ran(looks)]
        return others or [self._threads.get(self._loop, [])]

    @property
    def count(self) -> int:
        """How many there are at a time; 0: the loop makes its batches itself."""
        if not self._processes and self.looks == [self._threads.get(self._loop, [])]:
            return 0
        return 1 + max(_places(self.looks), default=-1)

    @property
    def processes(self) -> bool:
        """Whether they are processes of their own."""
        return bool(self._processes)

    @property
    def disk_bytes(self) -> int:
        """Bytes that came from the disk."""
        return sum(looks[-1].disk - looks[0].disk for looks in self._processes.values())

    def cores(self, seconds: float) -> float:
        """Cores that makers used, where they are not the loop itself."""
        if self.count == 0:
            return 0.0
        return (
            sum(looks[-1].times.cpu - looks[0].times.cpu for looks in self.looks) / 1000 / max(seconds, 1e-9)
        )

    def slices(
        self, rows_until: Callable[[float], float], batches_until: Callable[[float], float]
    ) -> List[Any]:
        """``MakerSlice`` of the evidence, between each two looks of each maker."""
        found = []
        makers, inside = self.looks, self.count == 0
        places = _places(makers)
        lives = [(looks[0].at, looks[-1].at) for looks in makers if looks]
        for maker, looks in zip(places, makers):
            for before, now in zip(looks, looks[1:]):
                middle = (before.at + now.at) / 2
                share = 1 / max(1, sum(start <= middle <= end for start, end in lives))
                rows = (rows_until(now.at) - rows_until(before.at)) * share
                claims = (batches_until(now.at) - batches_until(before.at)) * share
                found.append(_slice(maker, before, now, rows, claims, inside))
        return found


def _places(makers: List[List[Look]]) -> List[int]:
    """A number for each: a loader may start new workers in each epoch, which take the place of the old."""
    ends: List[float] = []
    found = []
    for looks in makers:
        first, last = looks[0].at if looks else 0.0, looks[-1].at if looks else 0.0
        place = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[place : place + 1] = [last]
        found.append(place)
    return found


def _ran(looks: List[Look]) -> bool:
    first, last = looks[0], looks[-1]
    return last.times.cpu - first.times.cpu > _IDLE * (last.at - first.at) * 1000


def _slice(maker: int, before: Look, now: Look, rows: float, claims: float, inside: bool) -> Dict[str, Any]:
    length = (now.at - before.at) * 1000
    waited = min(length, (now.waited - before.waited) * 1000)
    if not inside:  # while the loop's own thread ran, it did not wait for this maker
        waited = max(0.0, waited - (now.took - before.took) * 1000)
    cpu = max(0.0, now.times.cpu - before.times.cpu)
    delay = max(0.0, now.times.delay - before.times.delay)
    most = waited if inside else length
    ran = min(cpu + delay, most)  # a process has several threads, and clocks are read one after the other
    # A maker that does not run while the loop waits is held up by something. While the loop does not wait, it
    # may as well have nothing to do: that is what it is taken for.
    blocked = min(most - ran, waited)
    idle = length - ran - blocked
    data = now.bytes - before.bytes if now.bytes - before.bytes >= _DATA else 0
    work = dict.fromkeys(("open", "read", "decode", "transform", "map", "close"), 0.0)
    work["map"] = ran
    work["read" if data else "map"] += blocked
    return {
        "maker": maker,
        "from": before.at * 1000,
        "to": now.at * 1000,
        "work": work,
        "wait": idle,
        "idle": 0,
        "cpu": cpu,
        "delay": delay,
        "gc": 0,
        "bytes": data,
        "rows": rows,
        "claims": claims,
        "reads": now.reads - before.reads if data else 0,
        "opens": 0,
    }
