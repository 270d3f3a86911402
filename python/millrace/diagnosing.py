"""``feed.diagnose()``: judges the loop that is on; without one, a run of its own beside the feed."""

from __future__ import annotations

import math
import time
from numbers import Real
from typing import Any, Optional

from ._stream.account import Diagnosis
from ._stream.run import Run
from ._view.carrier import Carrier
from .errors import DefinitionError, MillraceError
from .views import View

#: However slow the feed is: the first step does not count, and of none nothing can be said.
LEAST = 2


def diagnose(run: Run, seconds: float, step_ms: Optional[float]) -> Diagnosis:
    """Of the last ``seconds`` of the loop that is on, or of a run that takes so long."""
    seconds = _number("seconds", seconds, "above 0")
    if step_ms is not None:
        step_ms = _number("step_ms", step_ms, "from 0")
    if run.stream.closed and not run.stream.foreign:  # a fork is told that it is one
        raise MillraceError("this feed is closed, and has no loop to diagnose: open it again")
    return _of_loop(run, seconds, step_ms) if run.looping else _alone(run, seconds, step_ms)


def _of_loop(run: Run, seconds: float, step_ms: Optional[float]) -> Diagnosis:
    given = {} if step_ms is None else {"idealMs": step_ms}
    found = run.account.diagnosis(seconds=seconds, **given)
    if found is None:
        raise MillraceError(
            f"no step of this loop was seen in the last {seconds:g} s: a step is over when the next batch is "
            "asked for, and the first one does not count. Call diagnose() some steps later, or give more "
            "seconds"
        )
    return found


def _alone(run: Run, seconds: float, step_ms: Optional[float]) -> Diagnosis:
    """A step of no length: there is no trainer, and the engine says so."""
    alone = run.beside()
    try:
        since = _loop(alone, seconds, step_ms or 0.0)
        found = alone.account.diagnosis(since=since, idealMs=step_ms or 0.0)
    finally:
        alone.close()
    if found is None:
        raise MillraceError(
            f"no loop is running, and a run of the feed by itself showed no step in {seconds:g} s: give more "
            "seconds"
        )
    return found


def _loop(run: Run, seconds: float, step_ms: float) -> float:
    """Loops over the feed for so long, with steps that sleep. When that began (ms of CLOCK_MONOTONIC)."""
    view, begun = View(run, Carrier(run)), time.monotonic()
    steps, before = 0, -1
    while steps > before:
        before = steps
        for _ in view:
            steps += 1
            if step_ms > 0:
                time.sleep(step_ms / 1000)
            if steps >= LEAST and time.monotonic() >= begun + seconds:
                return begun * 1000
        if run.stream.opened.once:
            break
    if steps == 0:
        raise MillraceError("the feed has no batches to diagnose")
    return begun * 1000


def _number(name: str, value: Any, range_: str) -> float:
    good = isinstance(value, Real) and math.isfinite(value)
    if not good or value < 0 or (range_ == "above 0" and value == 0):
        raise DefinitionError(f"{name}: expected a number {range_}, not {value!r}")
    return float(value)
