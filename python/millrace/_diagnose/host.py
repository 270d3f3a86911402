"""What the machine did between two looks: ``HostSignals`` of the evidence."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Optional

from . import groups, proc


def cores() -> float:
    """Cores that this process may use: by its affinity and its control group."""
    allowed = len(os.sched_getaffinity(0))
    most = groups.quota()
    return allowed if most is None else min(allowed, most)


class Host:
    """A look at the machine when this is made, and another when it is asked for the difference."""

    def __init__(self) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self._at = time.monotonic()
        self._busy = proc.busy_of_cores(self._cores)
        self._cpu = time.process_time()
        self._pressure = {kind: proc.pressure(kind) for kind in ("cpu", "io", "memory")}
        self._throttling = groups.throttling()
        self._used = groups.used()
        self._read = proc.read_bytes(os.getpid())

    def signals(self, maker_cores: float, makers_apart: bool, disk_bytes: int) -> Dict[str, Any]:
        """Since then. ``makers_apart``: they are processes of their own, not threads of this one."""
        seconds = max(time.monotonic() - self._at, 1e-9)
        now = proc.busy_of_cores(self._cores)
        busy = [min(1.0, (now[core] - was) / seconds) for core, was in self._busy.items() if core in now]
        own = (time.process_time() - self._cpu) / seconds
        trainer = own if makers_apart else max(0.0, own - maker_cores)
        allowed, others = cores(), self._others(seconds, busy, maker_cores + trainer)

        def share(was: Optional[float], is_now: Optional[float]) -> Optional[float]:
            return None if was is None or is_now is None else min(1.0, max(0.0, is_now - was) / seconds)

        read = proc.read_bytes(os.getpid())
        disk = read.get("read_bytes", 0) - self._read.get("read_bytes", 0)
        pids = [os.getpid(), *proc.children_of(os.getpid())]
        return {
            "seconds": seconds,
            "allowed": allowed,
            "coreBusy": busy,
            "idleCores": max(0.0, min(len(busy) - sum(busy), allowed - maker_cores - trainer - others)),
            "engineCores": maker_cores,
            "trainerCores": trainer,
            "otherCores": others,
            "psi": {kind: share(was, proc.pressure(kind)) for kind, was in self._pressure.items()},
            "throttled": groups.throttled(self._throttling, groups.throttling(), seconds),
            "rssBytes": sum(proc.resident(pid) for pid in pids),
            "pageCacheBytes": proc.page_cache(),
            "memoryLimitBytes": groups.memory_limit(),
            "diskBytes": disk + disk_bytes if read else None,
            "readBytes": None,
        }

    def _others(self, seconds: float, busy: List[float], ours: float) -> float:
        """Cores of other processes.

        They use those first that a quota keeps from us; those in our control group use the quota itself.
        """
        allowed, used = cores(), groups.used()
        outside = sum(busy) - ours - (len(busy) - allowed)
        within = 0.0 if used is None or self._used is None else (used - self._used) / seconds - ours
        return min(max(outside, within, 0.0), allowed)
