"""The control groups above this process: quota, throttling, memory.

A limit may be set at any level, and the tightest one rules. Version 1 has a tree for each controller,
version 2 one for all. The engine has the same in packages/observe/host/groups.ts.
"""

from __future__ import annotations

import posixpath
import re
from typing import Dict, List, NamedTuple, Optional

from . import proc

#: Version 1 writes a number near 2^63 where there is no limit.
_NO_LIMIT = 2**60


class Level(NamedTuple):
    """A folder with the files of a group."""

    version: int
    path: str

    def read(self, file: str) -> str:
        """A file in it; empty where there is none."""
        return proc.text(posixpath.join(self.path, file)).strip()


class Throttling(NamedTuple):
    """How often a quota ran out, of how many periods, and for how long (seconds, over all cores)."""

    periods: int
    throttled: int
    seconds: float


def levels(controller: str) -> List[Level]:
    """From the group of this process up to the mount point of its tree."""
    own: Dict[str, str] = {}
    for line in proc.text("/proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        own.update(dict.fromkeys(controllers.split(","), path))
    found: List[Level] = []
    for line in proc.text("/proc/self/mountinfo").splitlines():
        place, _, kind = (part.split(" ") for part in line.partition(" - "))
        if kind[0] not in ("cgroup", "cgroup2") or len(kind) < 3 or len(place) < 5:
            continue
        version = 1 if kind[0] == "cgroup" else 2
        if version == 1 and controller not in kind[2].split(","):
            continue
        group = own.get(controller if version == 1 else "")
        if group is not None:
            found += _upwards(version, _unescaped(place[3]), _unescaped(place[4]), group)
    return found


def _upwards(version: int, top: str, point: str, group: str) -> List[Level]:
    below = posixpath.relpath(group, top) if group else "."
    if below.startswith(".."):  # outside of what is mounted: it is seen at the mount point itself
        below = "."
    found = []
    while below not in ("", "."):
        found.append(Level(version, posixpath.join(point, below)))
        below = posixpath.dirname(below)
    return [*found, Level(version, point)]


def _unescaped(path: str) -> str:
    """mountinfo writes blanks and the like as octal."""
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), path)


def _keyed(text: str) -> Dict[str, int]:
    words = (line.split() for line in text.splitlines())
    return {word[0]: int(word[1]) for word in words if len(word) == 2 and word[1].isdigit()}


def _quota_of(level: Level) -> Optional[float]:
    files = ("cpu.max",) if level.version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    words = " ".join(level.read(file) for file in files).split()
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1]) or None


def _tightest() -> "tuple[Optional[float], Optional[Level]]":
    quotas = [(quota, level) for level in levels("cpu") for quota in [_quota_of(level)] if quota is not None]
    return min(quotas, key=lambda one: one[0]) if quotas else (None, None)


def quota() -> Optional[float]:
    """Cores that may be used; None: no limit."""
    return _tightest()[0]


def used() -> Optional[float]:
    """Seconds of CPU time of the group with the tightest quota; None: there is none, or it does not say."""
    level = _tightest()[1]
    if level is None:
        return None
    micros = _keyed(level.read("cpu.stat")).get("usage_usec")
    if micros is not None:
        return micros / 1e6
    nanos = level.read("cpuacct.usage")
    return int(nanos) / 1e9 if nanos.isdigit() else None


def throttling() -> List[Throttling]:
    """Of each group that has a quota or had one."""
    found = []
    for level in levels("cpu"):
        stat = _keyed(level.read("cpu.stat"))
        if "nr_periods" in stat and "nr_throttled" in stat:
            seconds = stat.get("throttled_usec", 0) / 1e6 + stat.get("throttled_time", 0) / 1e9
            found.append(Throttling(stat["nr_periods"], stat["nr_throttled"], seconds))
    return found


def throttled(before: List[Throttling], now: List[Throttling], seconds: float) -> Optional[float]:
    """Share of the time, of the group that was throttled most.

    The kernel adds times of all cores up: the share of the periods in which the quota ran out bounds it, too.
    """
    if not now or len(before) != len(now):
        return None
    shares = [0.0]
    for was, is_now in zip(before, now):
        periods = is_now.periods - was.periods
        if periods > 0:
            times = (is_now.throttled - was.throttled) / periods
            shares.append(min(1.0, times, (is_now.seconds - was.seconds) / seconds))
    return max(shares)


def memory_limit() -> Optional[int]:
    """Bytes that may be used; None: no limit."""
    files = {1: ("memory.limit_in_bytes",), 2: ("memory.max", "memory.high")}
    words = [level.read(file) for level in levels("memory") for file in files[level.version]]
    limits = [int(word) for word in words if word.isdigit() and int(word) < _NO_LIMIT]
    return min(limits) if limits else None
