"""Runs any loader with a step of a given length, watches it, and prints what was seen: ``Evidence`` as JSON.

    python -m millrace._diagnose.loader train:loader --seconds 10 --step-ms 20

``millrace diagnose --loader`` starts it, reads the last line of its output, and says why the loader is slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from bisect import bisect_right
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ..errors import MillraceError
from . import proc
from .host import Host, cores
from .makers import Makers
from .named import Loader, facts_of, find, kind_of, number_of, rows_of


class Trainer:
    """A loop over the loader, and what became of its time."""

    def __init__(self, step: Callable[[Any], None]) -> None:
        self._step = step
        self.steps: List[Dict[str, Any]] = []
        #: Seconds that it has waited, and since when it waits now. Both at once: another thread looks.
        self._waits: Tuple[float, Optional[float]] = (0.0, None)
        #: Times of the loop's thread outside of its waits, and when the last wait ended. None: it waits now.
        self._outside: Tuple[proc.Times, Optional[proc.Times]] = (proc.Times(0, 0), _thread_times())
        #: Of each step, the CPU time (ms) of this thread while it took the batch.
        self._taking: List[float] = []
        #: When batches came, and all samples up to each of them.
        self._came: List[float] = []
        self._samples: List[int] = []

    def waited(self) -> float:
        """Up to now."""
        waited, since = self._waits
        return waited + (0.0 if since is None else time.monotonic() - since)

    def within_waits(self, now: proc.Times) -> proc.Times:
        """What of the times of the loop's thread fell into its waits."""
        outside, left = self._outside
        last = left or now
        return proc.Times(last.cpu - outside.cpu, last.delay - outside.delay)

    def _asks(self) -> None:
        now, (outside, left) = _thread_times(), self._outside
        if now is not None and left is not None:
            cpu, delay = outside
            outside = proc.Times(cpu + now.cpu - left.cpu, delay + now.delay - left.delay)
        self._outside = (outside, None)

    def run(self, epoch: Callable[[], Iterator[Any]], seconds: float, steps: Optional[int]) -> None:
        """So long, or so many steps. Where an epoch ends, the next begins."""
        end = time.monotonic() + seconds
        again = True
        while again and not self._enough(end, steps):
            again = False
            for batch, times in self._batches(epoch):
                again = True
                begun = time.monotonic()
                self._step(batch)
                times["compute"] = (time.monotonic() - begun) * 1000
                del batch
                if self._enough(end, steps):
                    break

    def _enough(self, end: float, steps: Optional[int]) -> bool:
        return len(self.steps) >= steps if steps is not None else time.monotonic() >= end

    def _batches(self, start: Callable[[], Iterator[Any]]) -> Iterator[Tuple[Any, Dict[str, Any]]]:
        """One epoch. That the loader starts its workers is part of the wait for the first batch."""
        iterator: Optional[Iterator[Any]] = None
        begins = True
        while True:
            self._asks()
            waited, asked = self._waits[0], time.monotonic()
            self._waits = (waited, asked)
            try:
                iterator = start() if iterator is None else iterator
                ran = time.thread_time()
                batch = next(iterator)
                taking = time.thread_time() - ran
            except StopIteration:
                return
            finally:
                got = time.monotonic()
                self._waits = (waited + got - asked, None)
                self._outside = (self._outside[0], _thread_times())
            rows = rows_of(batch)
            times = {
                "asked": asked * 1000,
                "supply": (got - asked) * 1000,
                "handOver": 0,
                "transfer": 0,
                "compute": 0.0,
                "samples": rows,
                "count": 1,
            }
            if begins:
                times["epochStart" if self.steps else "first"] = True
            begins = False
            self.steps.append(times)
            self._taking.append(taking * 1000)
            self._came.append(got)
            self._samples.append(rows + (self._samples[-1] if self._samples else 0))
            yield batch, times
            del batch

    def tell_taking(self) -> None:
        """Where others make the batches, what this thread ran while it waited was taking them: unpickling,
        joining samples, pinning. That is hand-over, and no waiting for makers."""
        for times, taking in zip(self.steps, self._taking):
            times["handOver"] = min(times["supply"], taking)
            times["supply"] -= times["handOver"]

    def rows_until(self, at: float) -> float:
        """Samples that had come by then."""
        found = bisect_right(self._came, at)
        return self._samples[found - 1] if found else 0

    def batches_until(self, at: float) -> float:
        """Batches that had come by then."""
        return bisect_right(self._came, at)


def _thread_times() -> Optional[proc.Times]:
    """Of the thread that calls."""
    return proc.times_of("/proc/thread-self")


def step_of(options: argparse.Namespace) -> Callable[[Any], None]:
    """What is done with each batch. A GPU at work leaves the CPU alone, and so does sleeping."""
    if options.train is not None:
        train = find(options.train)
        if not callable(train):
            raise MillraceError(f"{options.train}: expected a function, which is called with each batch")
        return lambda batch: train(batch) and None
    seconds = options.step_ms / 1000
    return lambda batch: time.sleep(seconds) if seconds > 0 else None


def slept(step_ms: float) -> float:
    """How long a sleep of so many ms takes on this machine (ms): a little longer than it is told to."""
    times = min(30, int(400 / step_ms)) if step_ms > 0 else 0
    begun = time.monotonic()
    for _ in range(times):
        time.sleep(step_ms / 1000)
    return (time.monotonic() - begun) * 1000 / times if times > 0 else step_ms


def watch(options: argparse.Namespace) -> Dict[str, Any]:
    """The evidence of a run."""
    source = Loader(options.loader)
    loader = source.loader
    trainer = Trainer(step_of(options))
    ideal = slept(options.step_ms) if options.train is None else None  # no maker is at work yet
    makers = Makers(trainer.waited, trainer.within_waits)
    print(f"{kind_of(loader)}: watched for {_how_long(options)}", file=sys.stderr, flush=True)
    begun, host = time.monotonic(), Host()
    makers.start()
    try:
        trainer.run(source.epoch, options.seconds, options.steps)
    finally:
        seconds = time.monotonic() - begun
        makers.stop()
    if not trainer.steps:
        raise MillraceError(f"{options.loader}: it gave no batch")
    probes = {} if ideal is None else {"ideal": {"ms": ideal, "from": "given", "steps": len(trainer.steps)}}
    asked = number_of(loader, "num_workers")
    workers = makers.count if asked is None else asked
    if makers.count > 0:
        trainer.tell_taking()
    rows = number_of(loader, "batch_size") or trainer.steps[0]["samples"]
    return {
        "version": 1,
        "from": begun * 1000,
        "to": (begun + seconds) * 1000,
        "facts": facts_of(loader, workers, rows, cores()),
        "steps": trainer.steps,
        "makers": makers.slices(trainer.rows_until, trainer.batches_until),
        "host": host.signals(makers.cores(seconds), makers.processes, makers.disk_bytes),
        "probes": probes,
        "lost": 0,
    }


def _how_long(options: argparse.Namespace) -> str:
    return f"{options.steps} steps" if options.steps is not None else f"{options.seconds:g} s"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Its last line of output is the evidence."""
    parser = argparse.ArgumentParser(prog="python -m millrace._diagnose.loader", description=__doc__)
    parser.add_argument("loader", help="module:object, or file.py:object: a loader, or what makes one")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--steps", type=int, help="how many steps, in place of seconds")
    parser.add_argument("--step-ms", type=float, default=0.0, help="how long a step takes (default: 0)")
    parser.add_argument("--train", help="module:function, called with each batch, in place of --step-ms")
    options = parser.parse_args(arguments)
    try:
        evidence = watch(options)
    except MillraceError as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 2
    sys.stderr.flush()
    print(f"\n{json.dumps(evidence)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
